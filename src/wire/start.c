/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fixed part, then the strings, each with its NUL: folder, program, arguments, environment. What
 * one writes and the other accepts is the same set: both go through start_is_valid().
 */
#include "wire/start.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/reader.h"

struct start_head {
	uint32_t flags;
	uint16_t rows, columns;
	uint64_t timeout_ms, memory, pids, file_size, open_files;
	uint32_t n_argv, n_env;
};
_Static_assert(sizeof(struct start_head) == 56, "no padding goes over the wire");

enum { STRINGS = 2 }; /* cwd and program */

static bool start_is_valid(const struct start *s)
{
	if ((s->flags & ~(uint32_t)START_FLAGS) || s->n_argv == 0)
		return false;
	if (s->cwd[0] != '/' || s->program[0] == '\0')
		return false;
	for (size_t i = 0; i < s->n_env; i++) {
		const char *equals = strchr(s->env[i], '=');

		if (!equals || equals == s->env[i])
			return false;
	}
	return true;
}

static bool is_too_many(size_t n_argv, size_t n_env)
{
	return n_argv > START_WORDS_MAX || n_env > START_WORDS_MAX - n_argv;
}

/* By their place in the body. */
static const char *start_string(const struct start *s, size_t i)
{
	if (i < STRINGS)
		return i == 0 ? s->cwd : s->program;
	i -= STRINGS;
	return i < s->n_argv ? s->argv[i] : s->env[i - s->n_argv];
}

int start_encode(const struct start *s, struct buffer *out)
{
	struct start_head h = {
		.flags = s->flags,
		.rows = s->rows,
		.columns = s->columns,
		.timeout_ms = s->timeout_ms,
		.memory = s->memory,
		.pids = s->pids,
		.file_size = s->file_size,
		.open_files = s->open_files,
		.n_argv = (uint32_t)s->n_argv,
		.n_env = (uint32_t)s->n_env,
	};
	size_t n = STRINGS + s->n_argv + s->n_env, size = sizeof(h);

	if (is_too_many(s->n_argv, s->n_env))
		return -E2BIG;
	if ((s->n_argv && !s->argv) || (s->n_env && !s->env))
		return -EINVAL;
	/* Strings are bounded by memory, so their sum does not overflow. */
	for (size_t i = 0; i < n; i++) {
		const char *string = start_string(s, i);

		if (!string)
			return -EINVAL;
		size += strlen(string) + 1;
	}
	if (!start_is_valid(s))
		return -EINVAL;
	if (size > FRAME_MEMFD_MAX)
		return -E2BIG;
	buffer_add(out, &h, sizeof(h));
	for (size_t i = 0; i < n; i++)
		buffer_add(out, start_string(s, i), strlen(start_string(s, i)) + 1);
	return out->failed ? -ENOMEM : 0;
}

static int read_words(struct reader *r, struct arena *a, size_t n, const char *const **ret)
{
	const char **words = arena_calloc(a, n + 1, sizeof(*words));

	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		words[i] = reader_string(r);
		if (!words[i])
			return -EPROTO;
	}
	*ret = words;
	return 0;
}

int start_decode(struct start *ret, const void *body, size_t len, struct arena *a)
{
	struct reader r = { body, len };
	struct start s;
	struct start_head h;
	int err;

	if (!reader_bytes(&r, &h, sizeof(h)))
		return -EPROTO;
	s = (struct start){
		.flags = h.flags,
		.rows = h.rows,
		.columns = h.columns,
		.timeout_ms = h.timeout_ms,
		.memory = h.memory,
		.pids = h.pids,
		.file_size = h.file_size,
		.open_files = h.open_files,
		.n_argv = h.n_argv,
		.n_env = h.n_env,
	};
	/* Each has at least its NUL, so what is held is bounded by what was sent. */
	if (is_too_many(s.n_argv, s.n_env) || s.n_argv + s.n_env + STRINGS > r.left)
		return -EPROTO;
	s.cwd = reader_string(&r);
	s.program = reader_string(&r);
	if (!s.cwd || !s.program)
		return -EPROTO;
	err = read_words(&r, a, s.n_argv, &s.argv);
	if (err == 0)
		err = read_words(&r, a, s.n_env, &s.env);
	if (err < 0)
		return err;
	if (r.left > 0 || !start_is_valid(&s))
		return -EPROTO;
	*ret = s;
	return 0;
}
