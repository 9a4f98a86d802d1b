/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the tests of sessions have in common: a plan made by hand, and sessions with it. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "warden/session/session.h"

enum { BOX_EVENTS = 512, BOX_PATIENCE_MS = 60000, BOX_FAMILY = 1024 };
/* Of a session's descriptor: on a slow machine each brings a part of one event. */
enum { BOX_ROUNDS = 100000 };

/* The events of a session, in order. */
struct seen {
	struct session_event events[BOX_EVENTS];
	char texts[BOX_EVENTS][256];
	size_t n;
	/* Of records, which come at any time: how many, and the last. */
	size_t n_records;
	char target[64], program[64];
};

/* The system to read and run, /home/u and /tmp to write. */
void box_plan(struct plan *p);
struct session *box_open(const struct plan *p, struct seen *seen, bool single);
/* For a single command, until session_build_finish(). */
struct session *box_begin(const struct plan *p, struct seen *seen);
/* Waits until that many events were seen, or the session is gone. */
void box_until(struct session *s, struct seen *seen, size_t n);
/* Waits until the init that was asked for is here. */
void box_await_spare(struct session *s);
struct start box_shell(const char **argv, const char *line);
/* Runs a line with the shell. out: its standard output, or -1. */
void box_start(struct session *s, uint64_t id, const char *line, int out, uint64_t ms);
/* The same, and waits: the exit code. */
int box_run(struct session *s, struct seen *seen, uint64_t id, const char *line);
/*
 * Returns when the zygote has heard of all that was done to the host's files before. It looks at
 * those first, then at what it is asked for: so more commands than there can be inits that wait.
 */
void box_settle(struct session *s, struct seen *seen);
int box_capture(struct session *s, struct seen *seen, uint64_t id, const char *line, char *text,
	size_t size);
size_t box_read(int fd, char *text, size_t size);

/* The children of a process that live, and all its descendants, from outside. */
size_t box_children(pid_t root, pid_t pids[BOX_FAMILY]);
size_t box_family(pid_t root, pid_t pids[BOX_FAMILY]);
/* The same by descriptor, so that nothing else is taken for them later. */
struct box_hold {
	int fds[BOX_FAMILY];
	size_t n;
	struct timespec since;
};
void box_hold(struct box_hold *h, pid_t root);
/* Waits for the end of all of them: milliseconds since box_hold(). */
double box_await_end(struct box_hold *h);

/* A file of the host that is masked, or only to be read, in a folder that may be written. */
struct cover {
	char folder[64];
	char secret[96], kept[96];
	struct plan plan;
	struct plan_entry entries[24];
};
void cover_make(struct cover *c);
void cover_remove(struct cover *c);
struct plan_entry cover_entry(enum plan_kind kind, const char *path, bool writable, bool over);
void cover_write(const char *path, const char *text);
/* As an editor saves. */
void cover_replace(const char *path, const char *text);
int cover_run(struct session *s, struct seen *seen, const struct cover *c, const char *format);
