/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "host/runtime.h"

/* The kernel reads as much of the first line, too. */
enum { LINE_MAX_BYTES = 256 };

/*
 * The first line without its end; 1 if the file is a program itself; -ENOEXEC if it is no #! line,
 * or longer than one may be.
 */
static int script_read_line(const char *path, char line[LINE_MAX_BYTES], struct error *e)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd < 0 ? -1 : read(fd, line, LINE_MAX_BYTES - 1);
	char *end;

	if (n < 0)
		return error_set(
			e, -errno, NULL, "cannot read the script %s: %s", path, strerror(errno));
	line[n] = '\0';
	if (n >= 4 && memcmp(line,
			      "\x7f"
			      "ELF",
			      4) == 0)
		return 1;
	end = strchr(line, '\n');
	if (n < 2 || line[0] != '#' || line[1] != '!' || (!end && n == LINE_MAX_BYTES - 1)) {
		(void)error_set(e, -ENOEXEC, NULL, "%s does not start with a #! line", path);
		error_hint(e, "name the runtime: \"python\", \"node\", \"bash\" …");
		return -ENOEXEC;
	}
	if (end)
		*end = '\0';
	return 0;
}

static char *script_trim(char *s)
{
	size_t n;

	s += strspn(s, " \t");
	n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		s[--n] = '\0';
	return s;
}

/* As the kernel reads it: the interpreter, and all the rest as one argument; NULL: none. */
static int read_shebang(const char *path, struct arena *a, const char *words[2], struct error *e)
{
	char line[LINE_MAX_BYTES], *program, *rest;
	int r = script_read_line(path, line, e);

	if (r != 0)
		return r < 0 ? r : 0;
	program = script_trim(line + 2);
	rest = program + strcspn(program, " \t");
	if (*rest)
		*rest++ = '\0';
	rest = script_trim(rest);
	if (!*program)
		return error_set(e, -ENOEXEC, NULL, "the #! line of %s names no program", path);
	words[0] = arena_strdup(a, program);
	words[1] = *rest ? arena_strdup(a, rest) : NULL;
	return words[0] && (words[1] || !*rest) ? 0 : -ENOMEM;
}

int script_command(const char *path, const char *runtime, const char *const *args, struct arena *a,
	const char *const **ret, struct error *e)
{
	const char *words[2] = { NULL, NULL };
	const char **argv;
	size_t n_args = 0, n = 0;
	int r = 0;

	if (!path || !path_is_normal(path, strlen(path)))
		return error_set(
			e, -EINVAL, NULL, "a script is named by an absolute path without . or ..");
	if (runtime)
		words[0] = runtime_program(runtime);
	else
		r = read_shebang(path, a, words, e);
	if (r < 0)
		return r;
	while (args && args[n_args])
		n_args++;
	argv = arena_calloc(a, n_args + 4, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	if (words[0])
		argv[n++] = words[0];
	if (words[1])
		argv[n++] = words[1];
	argv[n++] = path;
	for (size_t i = 0; i < n_args; i++)
		argv[n++] = args[i];
	*ret = argv;
	return 0;
}
