/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/denial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice/shell/shell.h"
#include "base/buffer.h"
#include "host/resolver.h"
#include "launch/program.h"
#include "lib/process/result.h"
#include "lib/sandbox/sandbox.h"
#include "policy/explain.h"

const char *denial_put(char **at, const char *text)
{
	char *start = *at;

	*at = stpcpy(start, text) + 1;
	return start;
}

struct corral_denial *denial_copy(const struct corral_denial *d)
{
	size_t size = strlen(d->target) + strlen(d->rule) + strlen(d->reason) + strlen(d->remedy);
	struct corral_denial *copy = malloc(sizeof(*copy) + size + 4);
	char *at;

	if (!copy)
		return NULL;
	at = (char *)(copy + 1);
	*copy = (struct corral_denial){ .op = d->op, .exact = d->exact, .count = d->count };
	copy->target = denial_put(&at, d->target);
	copy->rule = denial_put(&at, d->rule);
	copy->reason = denial_put(&at, d->reason);
	copy->remedy = denial_put(&at, d->remedy);
	return copy;
}

struct corral_denial *denial_new(const struct request *r, const struct decision *d, bool exact)
{
	auto_buffer rule = { 0 }, reason = { 0 }, remedy = { 0 };

	explain_rule(d, &rule);
	explain_reason(r, d, &reason);
	explain_remedy(r, d, &remedy);
	if (rule.failed || reason.failed || remedy.failed)
		return NULL;
	return denial_copy(&(struct corral_denial){
		.op = (enum corral_operation)r->op,
		.target = r->target ? r->target : "",
		.rule = buffer_text(&rule),
		.reason = buffer_text(&reason),
		.remedy = buffer_text(&remedy),
		.exact = exact,
		.count = 1,
	});
}

void denial_free(struct corral_denial *d)
{
	free(d);
}

/* Programs */

/* Sentence and denial for something that the policy forbids. Always -EACCES. */
static int denial_forbid(const struct request *r, const struct decision *d, bool exact,
	struct corral_denial **ret_denial, struct error *e)
{
	struct corral_denial *denial = denial_new(r, d, exact);

	if (!denial)
		return error_set(e, -EACCES, NULL, "the policy denies %s", r->target);
	(void)error_set(e, -EACCES, NULL, "%s %s: %s", r->target,
		r->op == OPERATION_EXEC ? "may not run" : "is not visible in the sandbox",
		denial->reason);
	if (denial->remedy[0])
		error_hint(e, "%s", denial->remedy);
	*ret_denial = denial;
	return -EACCES;
}

int denial_find_program(const struct sandbox_setup *setup, const char *const *argv,
	const char *const *env, const char *cwd, struct arena *a, const char **ret,
	struct corral_denial **ret_denial, struct error *e)
{
	struct launch_program p = { .policy = setup->policy, .argv = argv, .env = env, .cwd = cwd };

	if (!setup->exec_listed) {
		*ret = argv[0];
		return 0;
	}
	switch (launch_program_find(&p)) {
	case LAUNCH_ALLOWED:
		*ret = arena_strdup(a, p.path);
		return *ret ? 0 : -ENOMEM;
	case LAUNCH_FORBIDDEN:
		return denial_forbid(&p.request, &p.decision, true, ret_denial, e);
	default:
		return error_set(e, -ENOENT, NULL, "command not found: %s", argv[0]);
	}
}

int denial_explain(const struct sandbox_setup *setup, const char *program, const char *cwd,
	struct corral_denial **ret_denial, struct error *e)
{
	const char *const *folders = setup->base->variables.values;
	const char *const argv[] = { program, NULL };
	struct launch_program p = { .policy = setup->policy, .argv = argv, .cwd = cwd };
	struct request r = { .op = OPERATION_FS_READ, .target = cwd };
	struct decision d;
	struct stat st;

	/* PATH of the host, as it was when the sandbox was built. */
	for (const char *const *v = setup->base->environment; *v && !p.host_path; v++)
		p.host_path = strncmp(*v, "PATH=", 5) == 0 ? *v + 5 : NULL;
	if (*program && launch_program_why(&p) == LAUNCH_FORBIDDEN)
		return denial_forbid(&p.request, &p.decision, false, ret_denial, e);
	/* Folders of the session's own are there without a grant. */
	if (stat(cwd, &st) < 0 || !S_ISDIR(st.st_mode) ||
		strcmp(cwd, folders[VARIABLE_HOME]) == 0 ||
		strcmp(cwd, folders[VARIABLE_TEMP]) == 0 ||
		policy_decide(setup->policy, &r, &d) < 0 || d.verdict == VERDICT_ALLOW)
		return 0;
	return denial_forbid(&r, &d, false, ret_denial, e);
}

/* Lines */

/* Enough to act on; a line of thousands of commands must not make a result of thousands of texts.
 */
enum { DENIALS_MAX = 16, ARENA_BYTES = 4 << 20 };

/* The host's file for a command's name, or NULL: it has none, or it is only known at run time. */
static const char *denial_program_of(const struct shell_command *c, char found[PATH_BYTES])
{
	const char *name = c->n_words > 0 && !c->is_builtin ? c->words[0].text : "";

	if (!*name || c->words[0].dynamic)
		return NULL;
	if (name[0] == '/')
		return access(name, F_OK) == 0 ? name : NULL;
	return resolver_find(name, found) == 0 ? found : NULL;
}

void denial_guess(const struct sandbox_setup *setup, const char *line, struct corral_result *r)
{
	auto_arena a = { .budget = ARENA_BYTES };
	struct shell_script script;

	if (shell_parse(&script, &a, line, strlen(line), NULL) < 0)
		return;
	for (size_t i = 0; i < script.n_commands && r->n_denials < DENIALS_MAX; i++) {
		char found[PATH_BYTES];
		const char *program = denial_program_of(&script.commands[i], found);
		const struct request request = { .op = OPERATION_EXEC, .target = program };
		struct decision d;
		size_t known = 0;

		while (program && known < r->n_denials &&
			strcmp(r->denials[known]->target, program) != 0)
			known++;
		if (program && known == r->n_denials &&
			policy_decide(setup->policy, &request, &d) == 0 &&
			d.verdict != VERDICT_ALLOW)
			(void)result_add_denial(r, denial_new(&request, &d, false));
	}
}

/* Files that could not be replaced */

/* Of what was printed, the end; and paths in it. */
enum { PRINTED_MAX = 16 << 10, NAMED_MAX = 32 };

/* Blanks, quotes and what is not ASCII end a path in a message. */
static bool denial_is_edge(char c)
{
	return (unsigned char)c <= ' ' || (unsigned char)c >= 127 || strchr("'\"`()=:;,", c);
}

/* The next absolute path, from the second byte of a text on; NULL: there is none. */
static const char *denial_next_path(const char *at, const char *end, char ret[PATH_BYTES])
{
	for (size_t len = 0; at < end; at += len ? len : 1, len = 0) {
		if (*at != '/' || !denial_is_edge(at[-1]))
			continue;
		while (at + len < end && !denial_is_edge(at[len]))
			len++;
		if (len < 2 || len >= PATH_BYTES)
			continue;
		memcpy(ret, at, len);
		ret[len] = '\0';
		return at + len;
	}
	return NULL;
}

/* A file that may be written while the names beside it may not: it is a mount. */
static bool denial_is_mount(const struct sandbox_setup *setup, const char *path)
{
	char beside[PATH_BYTES + 16];
	struct stat st;

	(void)snprintf(beside, sizeof(beside), "%s.corral-1", path);
	return path_is_normal(path, strlen(path)) && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       policy_allows(setup->policy,
		       &(struct request){ .op = OPERATION_FS_WRITE, .target = path }) &&
	       !policy_allows(setup->policy,
		       &(struct request){ .op = OPERATION_FS_WRITE, .target = beside });
}

static void denial_add_mount(
	const struct sandbox_setup *setup, const char *path, struct corral_result *r)
{
	const char *home = setup->base->variables.values[VARIABLE_HOME];
	const size_t len = (size_t)(strrchr(path, '/') - path);
	auto_buffer remedy = { 0 };
	struct corral_denial d = { .op = CORRAL_FS_WRITE,
		.target = path,
		.rule = "",
		.reason = "a file that is granted by itself can be changed, but not be replaced",
		.count = 1 };

	for (size_t i = 0; i < r->n_denials; i++)
		if (strcmp(r->denials[i]->target, path) == 0)
			return;
	/* The home itself is never suggested, nor the root. */
	if (len == 0 || (home && strlen(home) == len && strncmp(home, path, len) == 0))
		buffer_adds(&remedy, "keep it in a folder of its own, and grant all in that");
	else
		buffer_printf(&remedy, "fs.write: %.*s/**", (int)len, path);
	d.remedy = buffer_text(&remedy);
	if (!remedy.failed)
		(void)result_add_denial(r, denial_copy(&d));
}

void denial_guess_replaced(const struct sandbox_setup *setup, struct corral_result *r)
{
	const struct buffer *printed = &r->err.kept;
	const size_t len = printed->len < PRINTED_MAX ? printed->len : PRINTED_MAX;
	const char *end = buffer_text(printed) + printed->len, *at = end - len;
	char path[PATH_BYTES];

	if (len < 2 || !memmem(at, len, "resource busy", strlen("resource busy")))
		return;
	at++;
	for (size_t i = 0; i < NAMED_MAX && r->n_denials < DENIALS_MAX; i++) {
		at = denial_next_path(at, end, path);
		if (!at)
			return;
		if (denial_is_mount(setup, path))
			denial_add_mount(setup, path, r);
	}
}
