/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From what a person asks to what the policy is asked. The policy judges bytes; here the file
 * system is looked at, so that the answer is about what would really happen:
 *
 *   files     are judged as they are named and as what their symbolic links lead to
 *   programs  by the file that the name stands for (resolver.h), with the links of that file
 *   command lines   are taken apart (advice/shell/shell.h); every program and every file that the
 * shell itself opens is judged. Builtins are the shell's own matter
 *
 * Where several answers meet, the strictest counts. What is only known at run time is denied.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/verb.h"
#include "policy/policy.h"
#include "policy/variable.h"

enum judged_kind {
	JUDGED_REQUEST, /* the policy was asked: `request` and `decision` say what */
	JUDGED_BUILTIN, /* the shell does it itself */
	JUDGED_UNKNOWN, /* it depends on what happens before: see `unknown` */
};

/* One thing that was asked, or one command of a line. */
struct judged {
	enum judged_kind kind;
	const char *text;    /* the path, the host …; in a line: the command as it is written */
	const char *unknown; /* what is only known at run time: "the program" … */
	enum verdict verdict;
	struct request request; /* the form that decided */
	struct decision decision;
	const char *name;          /* a program that was asked for by name: that name */
	const char *real;          /* where its links lead, if that is another path */
	enum verdict real_verdict; /* what is said of that path */
	bool by_real;              /* it was stricter, and decided */
	bool not_found;  /* a program that the trusted folders do not have: judged by its name */
	bool is_dynamic; /* some of its arguments are only known at run time */
	unsigned depth;  /* in a command line: how deep it stands */
};

struct judgement {
	struct judged *items; /* at least one; more for a command line */
	size_t n, cap;
	bool is_line;
	const struct judged *deciding; /* the first of the strictest */
};

struct judge {
	struct call *call;
	const struct policy *policy;
	const struct variables *variables;
};

/* Judges a request whose target is as it was typed. *ret lives in the call's arena. */
int judge_request(const struct judge *j, const struct request *r, struct judgement *ret);

/* Why it was decided so: one sentence without a full stop. */
void judge_reason(const struct judged *j, struct buffer *out);
/* The request as the remedy should name it: a program by its name where that was asked. */
struct request judge_remedy_request(const struct judged *j);
/* A request that is allowed runs a program that runs any code it is given. */
bool judge_is_interpreter(const struct judged *j);

/* Judges one program, and sets its text to what that is. */
int judge_program(const struct judge *j, const struct request *r, struct judged *ret);
int judge_add(const struct judge *j, struct judgement *to, const struct judged *item);
