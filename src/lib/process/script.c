/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/script.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/shebang.h"
#include "host/runtime.h"

/* What the #! line of a script says; neither word for a program that needs none. */
static int script_read(const char *path, struct arena *a, const char *words[2], struct error *e)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char magic[SELFMAG] = "";
	struct shebang s;
	int r = fd < 0 ? -errno : shebang_read(&s, fd);

	if (r == -ENOEXEC && pread(fd, magic, SELFMAG, 0) == SELFMAG &&
		memcmp(magic, ELFMAG, SELFMAG) == 0)
		return 0;
	if (r == -ENOEXEC || (r == 0 && s.is_cut)) {
		(void)error_set(e, -ENOEXEC, NULL,
			"%s does not start with a #! line that names a program", path);
		error_hint(e, "name the runtime: \"python\", \"node\", \"bash\" …");
		return -ENOEXEC;
	}
	if (r < 0)
		return error_set(e, r, NULL, "cannot read the script %s: %s", path, strerror(-r));
	words[0] = arena_strdup(a, s.program);
	words[1] = s.argument[0] ? arena_strdup(a, s.argument) : NULL;
	return words[0] && (words[1] || !s.argument[0]) ? 0 : -ENOMEM;
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
		r = script_read(path, a, words, e);
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
