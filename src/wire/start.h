/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The body of FRAME_START: one command to run. */
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"

enum {
	START_TTY = 1 << 0, /* a new terminal inside; its master comes back with FRAME_STARTED */
	/* The descriptor is a pipe of which no other process has this end: it goes in as it is. */
	START_OWN_STDIN = 1 << 1,
	START_OWN_STDOUT = 1 << 2,
	START_OWN_STDERR = 1 << 3,
	/* Its limits of memory and pids are the init's to look after: no cgroup is made for them,
	 * which takes longer than most commands. */
	START_NO_CGROUP = 1 << 4,
	/* The caller does not wait for its start: no FRAME_STARTED, unless there is a terminal to
	 * hand over. Its end tells that it ran, and a wake-up is saved while it starts. */
	START_QUIET = 1 << 5,
	/* It begins with the signal ignored, as its caller did (nohup, a shell's &). */
	START_IGNORE_HUP = 1 << 6,
	START_IGNORE_INT = 1 << 7,
	START_IGNORE_QUIT = 1 << 8,
	START_FLAGS = 511,
};
enum { START_WORDS_MAX = 65536, START_NONE = 0 };

struct start {
	uint32_t flags;
	uint16_t rows, columns; /* of the terminal */
	/* Limits of this command; 0: none. */
	uint64_t timeout_ms;
	uint64_t memory;     /* bytes, all its processes together */
	uint64_t pids;       /* processes and threads */
	uint64_t file_size;  /* bytes that one file may grow to */
	uint64_t open_files; /* of one process */
	const char *cwd;     /* inside the jail; absolute */
	const char
		*program; /* with a slash: that file; without: looked up in PATH of env, inside */
	const char *const *argv; /* both end with NULL */
	const char *const *env;
	size_t n_argv, n_env;
};

/*
 * Appends the body to out. -E2BIG past the bounds (words, FRAME_MEMFD_MAX bytes); -EINVAL: cwd is
 * not absolute, there is no program or no argv, a variable is not NAME=value; -ENOMEM.
 */
int start_encode(const struct start *s, struct buffer *out);
/*
 * Reads a body. Strings point into it and live as long as it does; the two vectors are in the
 * arena. -EPROTO: it breaks the rules (lengths, NULs, no argv, unknown flags, rest at the end);
 * -ENOMEM.
 */
int start_decode(struct start *ret, const void *body, size_t len, struct arena *a);
