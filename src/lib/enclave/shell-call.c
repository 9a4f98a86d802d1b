/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words for a call, as a shell would have them:
 *
 *     cd /srv/job && LANG=C /usr/bin/git push origin < 12 bytes, 3b5d…
 *
 * Somebody who agrees to a call agrees to this text, so everything is in it that decides what the
 * command does, and no two calls have the same one: words are quoted unless they are plain, the
 * program is a path, and input is there by its length and hash. Nor has it bytes that a terminal
 * takes for orders, or that turn what is read around: those are written as $'\xNN'.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "host/resolver.h"
#include "lib/enclave/beneath.h"
#include "lib/process/call.h"
#include "lib/enclave/shell.h"

enum { WORDS_MAX = 65536, HASH_BYTES = 16 };

void enclave_shell_deinit(struct enclave_shell *s)
{
	arena_deinit(&s->arena);
}

static size_t enclave_shell_call_count(const char *const *words)
{
	size_t n = 0;

	while (words && words[n] && n <= WORDS_MAX)
		n++;
	return n;
}

/* The folder */

/* NULL: the session's own, which is there without a grant. */
static const char *enclave_shell_call_folder_of(const struct enclave_shell *s)
{
	return s->call.cwd ? s->call.cwd : s->c.enclave->variables.values[VARIABLE_WORK_DIR];
}

static void add_request(struct enclave_shell *s, enum operation op, const char *target)
{
	s->requests[s->n_requests++] = (struct request){ .op = op, .target = target };
}

/*
 * Its name must be granted, and each that a link makes of it; where they end the command starts. A
 * name that is not granted is not looked up: a link is no way to find out what there is.
 */
static int enclave_shell_call_add_folder(struct enclave_shell *s, struct error *e)
{
	const char *folder = enclave_shell_call_folder_of(s);
	char next[PATH_BYTES];
	int r = folder ? 1 : 0;

	for (unsigned i = 0; r == 1 && i <= BENEATH_LINKS_MAX; i++) {
		add_request(s, OPERATION_FS_READ, folder);
		if (i)
			s->call.cwd = folder;
		if (enclave_look(&s->c, &s->requests[s->n_requests - 1], 1) != VERDICT_ALLOW)
			return 0;
		r = beneath_next(folder, next, NULL);
		if (r != 1)
			break;
		folder = arena_strdup(&s->arena, next);
		if (!folder)
			return -ENOMEM;
	}
	/* What is not there, or not to be seen, the sandbox has words for. */
	if (r == 0 || r == -ENOENT || r == -ENOTDIR || r == -EACCES)
		return 0;
	return error_set(e, r == 1 || r == -EXDEV ? -ELOOP : r, NULL,
		"the links in the folder %.256s cannot be followed", folder);
}

/* The program */

static int enclave_shell_call_keep(struct enclave_shell *s, const char *path, size_t len)
{
	s->argv[0] = arena_strndup(&s->arena, path, len);
	return s->argv[0] ? 0 : -ENOMEM;
}

/* A path that is not absolute is one from the folder, as a shell has it. */
static int enclave_shell_call_find_path(
	struct enclave_shell *s, const char *program, struct error *e)
{
	const char *folder = program[0] == '/' ? "" : enclave_shell_call_folder_of(s);
	char joined[2 * PATH_BYTES], normal[PATH_BYTES];
	size_t len;
	int n = folder ? snprintf(joined, sizeof(joined), "%s/%s", folder, program) : -1;

	if (n < 0 || n >= (int)sizeof(joined) ||
		path_normalize(joined, (size_t)n, normal, &len) < 0)
		return error_set(e, -EINVAL, NULL, "there is no program %.256s%s", program,
			folder ? "" : ": a path from no folder");
	return enclave_shell_call_keep(s, normal, len);
}

static int enclave_shell_call_find_program(struct enclave_shell *s, struct error *e)
{
	const char *program = s->argv[0];
	char path[PATH_BYTES];

	if (strchr(program, '/'))
		return enclave_shell_call_find_path(s, program, e);
	if (resolver_find(program, path) == 0)
		return enclave_shell_call_keep(s, path, strlen(path));
	return 0;
}

/* Words */

/* Whether a person sees all of it as it is: no control characters, nothing that is no text. */
static bool enclave_shell_call_is_visible(const char *word)
{
	auto_buffer shown = { 0 };

	buffer_add_visible(&shown, word, strlen(word));
	return !shown.failed && strcmp(buffer_text(&shown), word) == 0;
}

/* As $'…', with "\xNN" for what cannot be seen; a backslash that is one is doubled. */
static void print_escaped(struct buffer *out, const char *word)
{
	auto_buffer escaped = { 0 };

	for (; *word; word++) {
		if (*word == '\'' || *word == '\\')
			buffer_addc(&escaped, '\\');
		buffer_addc(&escaped, *word);
	}
	buffer_adds(out, "$'");
	buffer_add_visible(out, buffer_text(&escaped), escaped.len);
	buffer_addc(out, '\'');
	out->failed = out->failed || escaped.failed;
}

static void enclave_shell_call_print_word(struct buffer *out, const char *word)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789_@%+=:,./-";

	if (*word && word[strspn(word, plain)] == '\0') {
		buffer_adds(out, word);
		return;
	}
	if (!enclave_shell_call_is_visible(word)) {
		print_escaped(out, word);
		return;
	}
	buffer_addc(out, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			buffer_adds(out, "'\\''");
		else
			buffer_addc(out, *word);
	}
	buffer_addc(out, '\'');
}

static void print_command(const struct enclave_shell *s, struct buffer *out)
{
	for (size_t i = 0; i < s->n_argv; i++) {
		if (i)
			buffer_addc(out, ' ');
		enclave_shell_call_print_word(out, s->argv[i]);
	}
}

static void print_surroundings(const struct enclave_shell *s, struct buffer *out)
{
	const char *folder = enclave_shell_call_folder_of(s);

	if (folder) {
		buffer_adds(out, "cd ");
		enclave_shell_call_print_word(out, folder);
		buffer_adds(out, " && ");
	}
	for (size_t i = 0; s->call.env && s->call.env[i]; i++) {
		const char *value = strchr(s->call.env[i], '=') + 1;
		auto_buffer name = { 0 };

		/* A name, too, may be anything that a pattern grants. */
		buffer_add(&name, s->call.env[i], (size_t)(value - s->call.env[i]) - 1);
		enclave_shell_call_print_word(out, buffer_text(&name));
		buffer_addc(out, '=');
		enclave_shell_call_print_word(out, value);
		buffer_addc(out, ' ');
		out->failed = out->failed || name.failed;
	}
}

static void print_input(const struct enclave_shell *s, struct buffer *out)
{
	unsigned char hash[HASH_BYTES];
	char hex[2 * HASH_BYTES + 1];

	if (s->call.stdio && s->call.stdio[CORRAL_STDIN] >= 0)
		buffer_adds(out, " < a descriptor of the host");
	if (s->call.input_len == 0)
		return;
	(void)crypto_generichash(hash, sizeof(hash), s->call.input, s->call.input_len, NULL, 0);
	(void)sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	buffer_printf(out, " < %zu bytes, %s", s->call.input_len, hex);
}

static int enclave_shell_call_describe(struct enclave_shell *s)
{
	auto_buffer command = { 0 }, whole = { 0 };

	print_command(s, &command);
	print_surroundings(s, &whole);
	buffer_adds(&whole, buffer_text(&command));
	print_input(s, &whole);
	if (command.failed || whole.failed)
		return -ENOMEM;
	s->c.target = arena_strdup(&s->arena, buffer_text(&command));
	s->c.object = arena_strdup(&s->arena, buffer_text(&whole));
	return s->c.target && s->c.object ? 0 : -ENOMEM;
}

/* Reading */

static int read_call(struct enclave_shell *s, const char *const *argv,
	const struct corral_call *call, struct error *e)
{
	int r = call_read(&s->call, call, e);

	if (r < 0)
		return r;
	if (!argv || !argv[0] || !argv[0][0])
		return error_set(e, -EINVAL, NULL, "there is no command");
	if (s->call.flags & (CORRAL_CALL_INPUT | CORRAL_CALL_RAW))
		return error_set(e, -EINVAL, NULL,
			"nobody could write to the command, or read from it, while the call waits "
			"for its end");
	if (enclave_shell_call_count(argv) > WORDS_MAX ||
		enclave_shell_call_count(s->call.env) > WORDS_MAX)
		return error_set(e, -E2BIG, NULL, "the command is too long");
	return 0;
}

static void enclave_shell_call_add_command(struct enclave_shell *s)
{
	for (size_t i = 0; s->call.env && s->call.env[i]; i++)
		add_request(s, OPERATION_ENV, s->call.env[i]);
	s->requests[s->n_requests++] = (struct request){ .op = OPERATION_EXEC,
		.target = s->argv[0],
		.args = s->argv + 1,
		.n_args = s->n_argv - 1 };
}

int enclave_shell_read(struct enclave_shell *s, const char *const *argv,
	const struct corral_call *call, struct error *e)
{
	size_t n_requests;
	int r = read_call(s, argv, call, e);

	if (r < 0)
		return r;
	s->n_argv = enclave_shell_call_count(argv);
	s->argv = arena_calloc(&s->arena, s->n_argv + 1, sizeof(*s->argv));
	n_requests = BENEATH_LINKS_MAX + 1 + enclave_shell_call_count(s->call.env) + 1;
	s->requests = arena_calloc(&s->arena, n_requests, sizeof(*s->requests));
	if (!s->argv || !s->requests)
		return -ENOMEM;
	memcpy(s->argv, argv, s->n_argv * sizeof(*argv));
	/* The words are about the folder where the links end, and so is a path from there. */
	r = enclave_shell_call_add_folder(s, e);
	if (r == 0)
		r = enclave_shell_call_find_program(s, e);
	if (r == 0)
		r = enclave_shell_call_describe(s);
	if (r == 0)
		enclave_shell_call_add_command(s);
	return r;
}
