/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `corral run --ask-denied`: what nothing grants becomes a question. A layer of the base that has
 * no rule about a request asks instead of denying; what a list, a rule, the baseline, or the user's
 * and the system's own policies deny stays denied, and is not asked about.
 *
 *   hosts              wait in the relay for the answer (net/asker.h)
 *   files, programs    are asked about when the command has failed; a yes is a grant of the next
 *                      run in the same folder (later.c)
 *
 * Questions are shown by the daemon, as those of --ask are, and on the terminal of an interactive
 * run (prompt.c). An answer takes the same way from both. Those about files and programs are kept
 * where there is no terminal (kept.h).
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/question.h"

struct run;
struct run_stdio;
struct output;
struct error;

/* Where the answer `always` goes: the file of the project, by whoever has read and approved it. */
struct ask_project {
	/* Adds the grant to the file, shows the line and approves the result. Refuses with a
	 * sentence if the file on disk is not the approved one. NULL: the run has no such file, and
	 * `always` is not offered. */
	int (*add)(void *context, uint32_t op, const char *pattern, struct error *e);
	void *context;
};

enum ask_prompt_state {
	ASK_PROMPT_NONE,
	ASK_PROMPT_QUIET, /* the question is shown; what is typed is dropped until no key comes */
	ASK_PROMPT_OPEN,  /* a line is read */
};

enum { ASK_PROMPT_LINE = 16, ASK_QUIET_MS = 600 };

/* A question on the terminal of an interactive run. */
struct ask_prompt {
	enum ask_prompt_state state;
	uint64_t id;       /* of the question that is shown */
	uint64_t answered; /* the last one that was answered here, or is not to be shown again */
	uint64_t quiet_ms; /* monotonic: from when on a line is read */
	char line[ASK_PROMPT_LINE];
	size_t len;
	bool is_login; /* it is r->login */
	bool is_over;  /* the question does not wait any more */
	enum question_end how;
	char refused[512]; /* why the answer was refused; "": it was not */
};

/* May the vault keep the tokens of a login inside (--login)? On the terminal alone. */
struct ask_login {
	uint64_t number; /* 0: nothing is asked */
	uint64_t until_ms;
	bool replaces;
	const char *name, *place, *hosts, *principal;
};

/* ask.c */

/* The base asks where it would deny. After the grants, before the layers are stacked. */
int ask_begin(struct run *r);
/* Questions can be shown on the terminal. */
bool ask_has_terminal(const struct run *r);
/* Says so where no user can be asked. */
void ask_note(const struct run *r, struct output *o);

/* words.c: what the user reads. */

/* One question, on several lines. Names are written so that no two look alike. */
void ask_words(const struct question *q, bool can_always, struct output *o);
/* "read", "connect to": what is done with the target. */
const char *ask_words_of(uint32_t op);
/* A name that a person decides by; where it has letters that are not ASCII, also how they are
 * written, as some look like others. */
void ask_words_name(struct output *o, const char *name);
enum ask_word {
	ASK_WORD_NONE,
	ASK_WORD_NO,
	ASK_WORD_ONCE,
	ASK_WORD_DAY,
	ASK_WORD_RUN,
	ASK_WORD_ALWAYS,
};
enum ask_word ask_words_read(const char *line);

/* The same of what was denied to a command that has failed. */
struct explain_offer;
void ask_words_later(
	const struct explain_offer *offer, const char *folder, bool can_always, struct output *o);

/* later.c: answers about files and programs, which are grants of later runs in the same folder. */

/* Those of earlier runs join the options of this one, and are noted. Before the grants. */
int ask_later_begin(struct run *r);
/* The command has failed: asks about what it was denied, on the terminal; or keeps the question for
 * `corral questions` where there is none. */
void ask_later(struct run *r, struct run_stdio *s);

/* prompt.c: each for a run without a terminal, too. */

/* Shows the next question if one waits, and takes down one that does not wait any more. */
void ask_prompt_refresh(struct run *r, struct run_stdio *s);
/* To be polled for reading; -1: no question is shown. */
int ask_prompt_fd(const struct run *r);
int ask_prompt_wait_ms(const struct run *r, int otherwise);
/* Something was typed. */
void ask_prompt_read(struct run *r, struct run_stdio *s);
/* The command has ended. */
void ask_prompt_end(struct run *r, struct run_stdio *s);
/* Asks at the end of a run, with the terminal to itself. NO without an answer in time, or where the
 * terminal is in other hands. */
enum ask_word ask_prompt_wait(struct run_stdio *s, uint64_t ms);
/* login.c */

struct lend_consent;
/* The lender asks. Without a terminal it is answered at once. */
void ask_login_begin(struct run *r, const struct lend_consent *c);
/* What the user reads. */
void ask_login_words(const struct ask_login *l, struct output *o);
/* The user's word; NONE and others are no. Nothing is asked any more. */
void ask_login_answer(struct run *r, enum ask_word word);
/* True: it is too late for an answer, which was given then. */
bool ask_login_is_late(struct run *r);
/* Hooks of holder/live.h. */
void ask_prompt_over(struct run *r, uint64_t question, enum question_end how);
void ask_prompt_refused(struct run *r, uint64_t question, const char *why);
