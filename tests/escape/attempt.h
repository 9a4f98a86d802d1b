/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What attempts have in common. An attempt is a row of a table: a name, the idea in one sentence,
 * and a function that tries it. The same function runs bare and inside; it does not know which.
 *
 * Where things are comes from the file `scene` in the current folder, lines of KEY=VALUE that the
 * runner (run.py) writes. For each attempt NAME there is a file OUT/NAME, outside of every grant,
 * and a file RO/NAME, granted for reading; both hold a canary. The runner looks at them afterwards,
 * so an attempt that says "held" but changed something is found out as well.
 */
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum outcome {
	ESCAPED = 0, /* it worked, and the attempt has seen that it did */
	HELD = 1,    /* it was refused */
	BROKEN = 2,  /* the attempt itself went wrong: always a failure */
	ABSENT = 3,  /* this kernel does not have it: inside as good as HELD */
	DONE = 4,    /* nothing refused it; only the host can tell whether it had an effect */
};

struct attempt {
	const char *name;
	const char *set;   /* under which options of `corral run`: SETS in run.py */
	const char *needs; /* bare: the capability without which the kernel itself refuses; or "" */
	const char *idea;  /* what the attacker hopes for */
	int (*run)(const struct attempt *a);
	const void *arg;
};

struct theme {
	const char *name, *title;
	const struct attempt *attempts;
	size_t n;
};

extern const struct theme theme_files, theme_readonly, theme_deny, theme_proc, theme_process,
	theme_mount, theme_namespace, theme_kernel, theme_device, theme_socket, theme_family,
	theme_relay, theme_exec, theme_fd, theme_env, theme_ipc, theme_own, theme_limit, theme_tty,
	theme_race, theme_outside;

#define THEME(ident, heading, table)                                 \
	const struct theme theme_##ident = { #ident, heading, table, \
		sizeof(table) / sizeof(*table) }

/* The value of a key; the attempt is BROKEN if there is none. scene_has() asks first. */
const char *scene(const char *key);
bool scene_has(const char *key);
long scene_number(const char *key);
/* In a sandbox, where pid 1 keeps the command, and not bare. */
bool is_inside(void);

/* Text that is never freed: an attempt is a process. */
char *format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
char *out_file(const struct attempt *a);  /* OUT/NAME: outside, has a canary */
char *out_made(const struct attempt *a);  /* OUT/NAME.made: outside, does not exist */
char *ro_file(const struct attempt *a);   /* RO/NAME: granted for reading */
char *work_file(const struct attempt *a); /* NAME.work: in the workspace, does not exist yet */

/* What the person who reads the result should know; the last one counts. */
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void broken(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A system call's result: negative is HELD (ABSENT for ENOSYS), with errno as the note. */
int verdict(long result);
/* The same, but only the host can tell whether it had an effect. */
int claim(long result);
/* errno tells whether the permission was there: `wanted` comes only after the kernel checked it. */
int permitted(long result, int wanted);

/* Is there a canary in these bytes, the descriptor's, the file's? */
bool has_canary(const void *data, size_t n);
int canary_fd(int fd); /* -1 is HELD, with errno; closes it */
int canary_file(const char *path);

/* Makes a file (0755) with this text, or a copy of another one. BROKEN if that fails. */
void make_file(const char *path, const char *text);
void copy_file(const char *from, const char *to);
void copy_to(const char *from, int fd);

/* Runs a program with its output thrown away; its exit status, 128+signal, or -errno. */
int run_program(const char *path, char *const argv[]);
/* The exit status of a child that runs f(arg), 128+signal; BROKEN if there can be no child. */
int in_child(int (*f)(void *), void *arg);
/* 0: the server that the set `relay` grants answers. In escape-relay.c. */
int relay_granted(void);
/* What a program exits with that should not have run: `attempt --ran`. */
#define RAN 42
