/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/shebang.h"
#include "host/links.h"
#include "host/resolver.h"
#include "host/runtime.h"

/* Files */

static bool program_is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

static bool program_is_executable(const char *path)
{
	return program_is_file(path) && access(path, X_OK) == 0;
}

/* The next folder of a list that has such a program; NULL: none has, else where to go on. */
static const char *program_next(const char *list, const char *name, char out[PATH_BYTES])
{
	while (list && *list) {
		size_t len = strcspn(list, ":");
		int n = list[0] == '/' ? snprintf(out, PATH_BYTES, "%.*s/%s", (int)len, list, name)
				       : 0;

		list += len;
		list += *list == ':';
		if (n > 0 && n < PATH_BYTES && program_is_executable(out))
			return list;
	}
	return NULL;
}

bool launch_program_in(const char *list, const char *name, char out[PATH_BYTES])
{
	return program_next(list, name, out);
}

static const char *program_path_of(const char *const *env)
{
	for (; env && *env; env++) {
		if (strncmp(*env, "PATH=", 5) == 0)
			return *env + 5;
	}
	return NULL;
}

/* A first word with a slash in it, from the command's folder. */
static bool program_join(struct launch_program *p)
{
	char joined[2 * PATH_BYTES];
	const char *name = p->argv[0];
	size_t len;
	int n = snprintf(joined, sizeof(joined), "%s%s%s", name[0] == '/' ? "" : p->cwd,
		name[0] == '/' ? "" : "/", name);

	return n > 0 && n < (int)sizeof(joined) &&
	       path_normalize(joined, (size_t)n, p->path, &len) == 0;
}

/* The policy */

static enum launch_answer program_ask(struct launch_program *p, const char *target)
{
	p->request.target = target;
	return policy_decide(p->policy, &p->request, &p->decision) == 0 &&
			       p->decision.verdict == VERDICT_ALLOW
		       ? LAUNCH_ALLOWED
		       : LAUNCH_FORBIDDEN;
}

/* Asks about `path`, with the command's arguments or none, and about where its links lead. */
static enum launch_answer program_judge(struct launch_program *p, bool with_arguments)
{
	enum launch_answer answer;

	p->request = (struct request){ .op = OPERATION_EXEC };
	if (with_arguments) {
		p->request.args = p->argv + 1;
		while (p->request.args[p->request.n_args])
			p->request.n_args++;
	}
	answer = program_ask(p, p->path);
	if (answer == LAUNCH_ALLOWED && links_follow(p->path, NULL, NULL, p->real) == 0 &&
		strcmp(p->path, p->real) != 0)
		answer = program_ask(p, p->real);
	return answer;
}

enum launch_answer launch_program_find(struct launch_program *p)
{
	const char *list = program_path_of(p->env);
	char first[PATH_BYTES] = "";

	if (strchr(p->argv[0], '/')) {
		if (!program_join(p) || !program_is_executable(p->path))
			return LAUNCH_NOT_FOUND;
		return program_judge(p, true);
	}
	while ((list = program_next(list, p->argv[0], p->path))) {
		if (program_judge(p, true) == LAUNCH_ALLOWED)
			return LAUNCH_ALLOWED;
		if (!first[0])
			memcpy(first, p->path, sizeof(first));
	}
	if (!first[0])
		return LAUNCH_NOT_FOUND;
	memcpy(p->path, first, sizeof(first));
	return program_judge(p, true);
}

static enum launch_answer program_not_found(struct launch_program *p, const char *what)
{
	(void)snprintf(p->path, sizeof(p->path), "%s", what);
	return LAUNCH_NOT_FOUND;
}

enum launch_answer launch_program_why(struct launch_program *p)
{
	const char *name = p->argv[0];
	bool found = strchr(name, '/')
			     ? program_join(p) && program_is_file(p->path)
			     : launch_program_in(program_path_of(p->env), name, p->path) ||
				       resolver_find(name, p->path) == 0 ||
				       launch_program_in(p->host_path, name, p->path);
	enum launch_answer answer;
	struct shebang s;
	auto_fd fd = -1;

	p->is_interpreter = false;
	if (!found)
		return program_not_found(p, name);
	answer = program_judge(p, true);
	if (answer != LAUNCH_ALLOWED)
		return answer;
	if (access(p->path, X_OK) < 0)
		return LAUNCH_NOT_EXECUTABLE;
	/* The file itself is fine; of a script there is its interpreter, too. */
	fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || shebang_read(&s, fd) < 0)
		return LAUNCH_ALLOWED;
	p->is_interpreter = true;
	if (!program_is_file(s.program))
		return program_not_found(p, s.program);
	memcpy(p->path, s.program, sizeof(s.program));
	return program_judge(p, false);
}

/* Scripts */

/* What the #! line says, of the first bytes of the file; no word for a program that needs no
 * interpreter. */
static int script_words(const char *path, const char *head, size_t len, struct arena *a,
	const char *words[2], struct error *e)
{
	struct shebang s = { 0 };
	int r = shebang_parse(&s, head, len);

	if (r == -ENOEXEC && len >= SELFMAG && memcmp(head, ELFMAG, SELFMAG) == 0)
		return 0;
	if (r == -ENOEXEC || s.is_cut) {
		(void)error_set(e, -ENOEXEC, NULL,
			"%s does not start with a #! line that names a program", path);
		error_hint(e, "name the runtime: \"python\", \"node\", \"bash\" …");
		return -ENOEXEC;
	}
	words[0] = arena_strdup(a, s.program);
	words[1] = s.argument[0] ? arena_strdup(a, s.argument) : NULL;
	return words[0] && (words[1] || !s.argument[0]) ? 0 : error_no_memory(e);
}

static int script_check_path(const char *path, struct error *e)
{
	return path && path_is_normal(path, strlen(path))
		       ? 0
		       : error_set(e, -EINVAL, NULL,
				 "the path of a script must be absolute, without . or ..");
}

static int script_command(const char *const words[2], const char *path, const char *const *args,
	struct arena *a, const char *const **ret, struct error *e)
{
	const char **argv;
	size_t n_args = 0, n = 0;

	while (args && args[n_args])
		n_args++;
	argv = arena_calloc(a, n_args + 4, sizeof(*argv));
	if (!argv)
		return error_no_memory(e);
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

int launch_script_bytes(const char *path, const char *head, size_t len, const char *const *args,
	struct arena *a, const char *const **ret, struct error *e)
{
	const char *words[2] = { NULL, NULL };
	int r = script_check_path(path, e);

	if (r == 0)
		r = script_words(path, head, len, a, words, e);
	return r < 0 ? r : script_command(words, path, args, a, ret, e);
}

int launch_script(const char *path, const char *runtime, const char *const *args, struct arena *a,
	const char *const **ret, struct error *e)
{
	const char *words[2] = { runtime ? runtime_program(runtime) : NULL, NULL };
	char head[SHEBANG_BYTES];
	auto_fd fd = -1;
	ssize_t n;
	int r = script_check_path(path, e);

	if (r < 0 || runtime)
		return r < 0 ? r : script_command(words, path, args, a, ret, e);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);
	r = n < 0 ? -errno : 0;
	if (r < 0)
		return error_set(e, r, NULL, "cannot read the script %s: %s", path, strerror(-r));
	return launch_script_bytes(path, head, (size_t)n, args, a, ret, e);
}
