/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What `corral security` found: each finding is one thing that is wrong now, where it is, and what
 * to do. The same thing has the same id in each look, so that whoever looks again (corrald) can say
 * what is new and what is cured.
 */
#include <stdbool.h>

#include "cli/verb.h"

enum security_severity { SECURITY_LOW, SECURITY_MEDIUM, SECURITY_HIGH };
const char *security_severity_name(enum security_severity s);

/* A finding that cannot be stored is not said: the next look finds it, too. */
enum { SECURITY_FINDINGS_MAX = 256 };

struct finding {
	char id[64]; /* kind-HASH */
	const char *kind;
	enum security_severity severity;
	const char *text, *where, *remedy;
};

struct security {
	struct call *call;
	bool is_system; /* of the machine: all users, /run/corral, /etc/corral, /var/lib/corral */
	bool records;   /* what is seen for the first time is recorded (known.h) */
	bool accepts;   /* what has changed is recorded, too */
	const char *home, *config, *state, *runtime; /* NULL: there is none */
	struct finding *items;
	size_t n, cap;
	bool is_cut; /* there were more */
};

/* Texts live in the call's arena. where: a path, or "pid 7"; it is the finding's identity. */
void security_add(struct security *s, const char *kind, enum security_severity severity,
	const char *where, const char *text, const char *remedy);

/* agents.c: programs of agents that run outside of sandboxes. */
void security_check_agents(struct security *s);
/* modes.c: owner and mode of sockets, token, policies, log. */
void security_check_modes(struct security *s);
/* drift.c: profiles and wrappers that are not what they were. */
void security_check_drift(struct security *s);

/* ignored.c: policies that are not read. */
void security_check_ignored(struct security *s);
/* skills.c: skills that are not what was approved. */
void security_check_skills(struct security *s);

/* A wrapper: a script in PATH that has the name of an agent, and runs it by `corral run`. */
struct security_wrapper {
	const char *name, *path, *agent;
	const char *state;   /* "installed", "drifted", "missing" */
	const char *profile; /* of --profile or --mode in it; NULL: none is named */
	const char *why;     /* of drifted; NULL */
};
/* Calls back for each; drift.c. */
void security_each_wrapper(
	struct security *s, void (*tell)(void *data, const struct security_wrapper *w), void *data);

/* agents.c: whether a program of this name is one of the agents that are known. */
bool security_is_agent(const char *name);
const char *const *security_agents(void);
