/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox is to be, collected call by call:
 *
 *     (what it started from ∪ merged permissions ∪ single grants − denies) ∩ each restriction
 *
 * Restrictions stand apart until the end, so that no later grant reaches beyond one. A grant goes
 * into every layer of what is there, which is the same as a union with it, but leaves lists of
 * programs as they are: a folder that may be read does not become one whose files may run.
 *
 * builder-build.c makes a sandbox of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy/service-table.h"
#include "policy/match/service.h"
#include "codec/yaml.h"
#include "base/path.h"
#include "host/runtime.h"
#include "lib/api/handles.h"
#include "lib/sandbox/builder.h"
#include "lib/sandbox/sandbox.h"
#include "lib/sandbox/skill.h"
#include "policy/algebra/algebra.h"
#include "policy/format/mode.h"
#include "policy/format/permissions-text.h"
#include "wire/question.h"

_Static_assert((int)CORRAL_MODE_SANDBOX == AGENT_MODE_SANDBOX &&
		       (int)CORRAL_MODE_RX == AGENT_MODE_RX &&
		       (int)CORRAL_MODE_RWX == AGENT_MODE_RWX,
	"modes");

enum { BUILDER_ASK_MS = 60 * 1000 };

/* Where a failure is written; only the first is kept. */
static struct error *builder_error(struct corral_builder *b)
{
	return b->code < 0 ? NULL : &b->error;
}

/* Returns code unchanged. */
static int builder_fail(struct corral_builder *b, int code)
{
	b->code = b->code < 0 ? b->code : code;
	return code;
}

static int builder_keep_path(
	struct corral_builder *b, char **where, const char *path, const char *what)
{
	char *copy;

	if (!path || !path_is_normal(path, strlen(path)))
		return builder_fail(
			b, error_set(builder_error(b), -EINVAL, NULL,
				   "%s must be an absolute path without . or .., and %s is not",
				   what, path ? path : "nothing"));
	copy = strdup(path);
	if (!copy)
		return builder_fail(b, error_no_memory(builder_error(b)));
	free(*where);
	*where = copy;
	return 0;
}

/* Life */

/* Takes over p, also on failure. */
static int builder_new_from(struct corral_builder **ret, struct permissions *p)
{
	struct corral_builder *b = p ? calloc(1, sizeof(*b)) : NULL;

	if (!b) {
		permissions_free(p);
		return -ENOMEM;
	}
	b->granted = p;
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		b->limits.values[i] = LIMIT_NONE;
	b->ask_ms = BUILDER_ASK_MS;
	*ret = b;
	return 0;
}

int corral_builder_new(struct corral_builder **ret)
{
	return builder_new_from(ret, permissions_new());
}

int corral_builder_from_permissions(struct corral_builder **ret, const struct corral_permissions *p)
{
	struct corral_builder *b = NULL;
	int r = builder_new_from(&b, permissions_copy(p->p));

	if (r == 0 && p->skill_dir) {
		b->variables[VARIABLE_SKILL_DIR] = strdup(p->skill_dir);
		r = b->variables[VARIABLE_SKILL_DIR] ? 0 : -ENOMEM;
	}
	if (r < 0) {
		corral_builder_free(b);
		return r;
	}
	b->touched = true;
	*ret = b;
	return 0;
}

int sandbox_builder_set_source(struct corral_builder *b, const char *path)
{
	b->source = strdup(path);
	return b->source ? 0 : -ENOMEM;
}

int sandbox_builder_guard(struct corral_builder *b, const char *path)
{
	if (b->n_guarded == BUILDER_GUARDED_MAX)
		return builder_fail(
			b, error_set(builder_error(b), -E2BIG, NULL,
				   "at most %d paths can be guarded", BUILDER_GUARDED_MAX));
	b->guarded[b->n_guarded] = strdup(path);
	if (!b->guarded[b->n_guarded])
		return builder_fail(b, error_no_memory(builder_error(b)));
	b->n_guarded++;
	return 0;
}

void sandbox_builder_joined(
	struct corral_builder *b, struct joined *j, void (*turn)(void *turns), void *turns)
{
	b->no_daemon = true;
	b->joined = j;
	b->turn = turn;
	b->turns = turns;
}

void sandbox_builder_share(struct corral_builder *b, const int *ledger)
{
	b->ledger = ledger;
}

void sandbox_builder_lend(struct corral_builder *b, const struct sandbox_lent *lent)
{
	b->lent = lent;
}

/* What is read is what is guarded: "link/../x" is x. */
static int builder_absolute(const char *path, char out[PATH_BYTES], struct error *e)
{
	char cwd[PATH_BYTES], text[2 * PATH_BYTES];
	size_t len;
	int n, r;

	if (path[0] != '/' && !getcwd(cwd, sizeof(cwd)))
		return error_set(
			e, -errno, NULL, "the current folder is not known: %s", strerror(errno));
	n = snprintf(text, sizeof(text), "%s%s%s", path[0] == '/' ? "" : cwd,
		path[0] == '/' ? "" : "/", path);
	r = n < (int)sizeof(text) ? path_normalize(text, (size_t)n, out, &len) : -ENAMETOOLONG;
	return r < 0 ? error_set(e, r, NULL, "cannot read %.100s: the path is too long", path) : 0;
}

int corral_builder_from_manifest(
	struct corral_builder **ret, const char *path, struct corral_error **e)
{
	struct sandbox_skill *skill = NULL;
	struct corral_builder *b = NULL;
	struct error error = { 0 };
	const struct launch_skill *s;
	char named[PATH_BYTES];
	int r = builder_absolute(path, named, &error);

	if (r == 0)
		r = sandbox_skill_new(&skill, named, &error);
	if (r < 0 || !skill)
		return handles_error(e, &error, r);
	s = &skill->skill;
	r = builder_new_from(&b, permissions_copy(s->manifest.permissions));
	if (r == 0)
		r = runtime_imply(&s->manifest, s->path, b->granted);
	if (r == 0) {
		b->touched = true;
		b->is_skill = s->is_skill;
		/* Whether it is approved is known now, and told when the sandbox is built. */
		(void)launch_skill_check(
			s, s->path, "call corral_builder_allow_unapproved_skill()", &b->refusal);
		b->variables[VARIABLE_SKILL_DIR] = strdup(s->path);
		b->source = strdup(named);
		r = b->variables[VARIABLE_SKILL_DIR] && b->source ? 0 : -ENOMEM;
	}
	/* A file that is not the manifest of a folder has nothing that could be copied. */
	if (r == 0 && s->copy >= 0)
		b->skill = sandbox_skill_ref(skill);
	sandbox_skill_unref(skill);
	if (r < 0) {
		corral_builder_free(b);
		return handles_error(e, &error, r);
	}
	*ret = b;
	return 0;
}

/* -EINVAL: there is no such mode (an enum of the host may hold any number), or no fit folder. */
static int builder_check_mode(enum corral_mode mode, const char *data_dir, struct error *e)
{
	if ((unsigned)mode > CORRAL_MODE_RWX)
		return error_set(e, -EINVAL, NULL, "unknown mode %d", (int)mode);
	if (!data_dir && mode != CORRAL_MODE_RWX)
		return error_set(e, -EINVAL, NULL, "mode %s requires a data folder",
			agent_mode_name((enum agent_mode)mode));
	if (data_dir && !agent_mode_is_printable(data_dir))
		return error_set(e, -EINVAL, NULL,
			"the data folder contains control characters or is not UTF-8");
	return 0;
}

int corral_builder_from_mode(struct corral_builder **ret, enum corral_mode mode,
	const char *data_dir, const char *const *extra, struct corral_error **e)
{
	struct corral_builder *b = NULL;
	struct error error = { 0 };
	size_t n = 0;
	int r = builder_check_mode(mode, data_dir, &error);

	while (extra && extra[n])
		n++;
	if (r == 0)
		r = builder_new_from(&b, permissions_new());
	/* In mode rwx the permissions are what a policy would say; nothing looks at them. */
	if (r == 0)
		r = agent_mode_permissions(
			(enum agent_mode)mode, data_dir, extra, n, b->granted, &error);
	if (r == 0 && data_dir)
		r = corral_builder_data_dir(b, data_dir);
	if (r == 0 && data_dir)
		r = builder_keep_path(
			b, &b->variables[VARIABLE_WORK_DIR], data_dir, "the data folder");
	if (b && b->code < 0)
		error = b->error;
	if (r < 0 || !b) {
		corral_builder_free(b);
		return handles_error(e, &error, r);
	}
	b->backend = mode == CORRAL_MODE_RWX ? BACKEND_NONE : BACKEND_NAMESPACES;
	b->is_mode = mode != CORRAL_MODE_RWX;
	/* With rwx it stays as it is: who adds something wants it to be enforced. */
	b->touched = mode != CORRAL_MODE_RWX;
	*ret = b;
	return 0;
}

int corral_builder_allow_unapproved_skill(struct corral_builder *b)
{
	b->unapproved = true;
	return 0;
}

void corral_builder_free(struct corral_builder *b)
{
	if (!b)
		return;
	permissions_free(b->granted);
	for (size_t i = 0; i < b->n_restrictions; i++)
		permissions_free(b->restrictions[i]);
	for (size_t i = 0; i < VARIABLE_COUNT; i++)
		free(b->variables[i]);
	sandbox_skill_unref(b->skill);
	free(b->warden);
	free(b->services);
	free(b->source);
	for (size_t i = 0; i < b->n_guarded; i++)
		free(b->guarded[i]);
	free(b);
}

/* Grants */

static bool builder_has_exec_list(const struct permissions *p)
{
	bool has = p->exec_listed;

	for (size_t i = 0; i < p->n_all_of; i++)
		has = has || builder_has_exec_list(p->all_of[i]);
	return has;
}

/*
 * To every layer; `listed`: only to those that have a list of programs, as the others already let
 * pass what can be read.
 */
static int builder_add_to_layers(
	struct permissions *p, enum permission_list list, const char *pattern, bool listed)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = builder_add_to_layers(p->all_of[i], list, pattern, listed);
	if (p->n_all_of || (listed && !p->exec_listed))
		return r;
	p->exec_listed = p->exec_listed || list == LIST_EXEC;
	return permissions_add(p, permissions_list(p, list), pattern, NULL);
}

static int builder_add_grant(
	struct corral_builder *b, enum permission_list list, const char *pattern)
{
	auto_arena scratch = { 0 };
	struct error *e = builder_error(b);
	const char *canonical = NULL;
	int r = pattern ? permissions_list_canonical(list, pattern, &scratch, &canonical, NULL, e)
			: error_set(e, -EINVAL, NULL, "no pattern was given");

	if (r == 0)
		r = builder_add_to_layers(b->granted, list, canonical,
			list == LIST_EXEC && builder_has_exec_list(b->granted));
	b->touched = true;
	return r < 0 ? builder_fail(b, r) : 0;
}

int corral_builder_allow_fs_read(struct corral_builder *b, const char *pattern)
{
	return builder_add_grant(b, LIST_FS_READ, pattern);
}

int corral_builder_allow_fs_write(struct corral_builder *b, const char *pattern)
{
	return builder_add_grant(b, LIST_FS_WRITE, pattern);
}

int corral_builder_allow_network(struct corral_builder *b, const char *host)
{
	return builder_add_grant(b, LIST_NETWORK_ALLOW, host);
}

int corral_builder_allow_exec(struct corral_builder *b, const char *program)
{
	return builder_add_grant(b, LIST_EXEC, program);
}

int corral_builder_allow_env(struct corral_builder *b, const char *name)
{
	return builder_add_grant(b, LIST_ENV, name);
}

int corral_builder_deny_fs(struct corral_builder *b, const char *pattern)
{
	return builder_add_grant(b, LIST_FS_DENY, pattern);
}

int corral_builder_deny_network(struct corral_builder *b, const char *host)
{
	return builder_add_grant(b, LIST_NETWORK_DENY, host);
}

static void builder_list_programs(struct permissions *p)
{
	if (p->n_all_of == 0)
		p->exec_listed = true;
	for (size_t i = 0; i < p->n_all_of; i++)
		builder_list_programs(p->all_of[i]);
}

int corral_builder_restrict_exec(struct corral_builder *b)
{
	builder_list_programs(b->granted);
	b->touched = true;
	return 0;
}

/* Merging with nothing would widen limits: nothing has none. */
int corral_builder_merge_permissions(struct corral_builder *b, const struct corral_permissions *p)
{
	struct permissions *merged = b->touched ? NULL : permissions_copy(p->p);
	int r = 0;

	if (b->touched)
		r = algebra_merge(&merged, b->granted, p->p);
	if (r < 0 || !merged)
		return builder_fail(b, error_set(builder_error(b), r < 0 ? r : -ENOMEM, NULL,
					       "these permissions cannot be merged"));
	permissions_free(b->granted);
	b->granted = merged;
	b->touched = true;
	return 0;
}

int corral_builder_restrict(struct corral_builder *b, const struct corral_permissions *p)
{
	struct permissions *copy;

	if (b->n_restrictions == BUILDER_LAYERS_MAX)
		return builder_fail(b, error_set(builder_error(b), -E2BIG, NULL,
					       "there are too many restrictions"));
	copy = permissions_copy(p->p);
	if (!copy)
		return builder_fail(b, error_no_memory(builder_error(b)));
	b->restrictions[b->n_restrictions++] = copy;
	return 0;
}

/* Limits */

static int builder_limit(struct corral_builder *b, enum limit which, uint64_t value)
{
	b->limits.values[which] = value;
	return 0;
}

int corral_builder_timeout(struct corral_builder *b, uint64_t milliseconds)
{
	return builder_limit(b, LIMIT_TIMEOUT_MS, milliseconds);
}

int corral_builder_memory_limit(struct corral_builder *b, uint64_t bytes)
{
	return builder_limit(b, LIMIT_MEMORY, bytes);
}

int corral_builder_pids_limit(struct corral_builder *b, uint64_t processes)
{
	return builder_limit(b, LIMIT_PIDS, processes);
}

int corral_builder_output_limit(struct corral_builder *b, uint64_t bytes)
{
	return builder_limit(b, LIMIT_OUTPUT, bytes);
}

int corral_builder_file_size_limit(struct corral_builder *b, uint64_t bytes)
{
	return builder_limit(b, LIMIT_FILE_SIZE, bytes);
}

int corral_builder_open_files_limit(struct corral_builder *b, uint64_t descriptors)
{
	return builder_limit(b, LIMIT_OPEN_FILES, descriptors);
}

/* The rest */

int corral_builder_work_dir(struct corral_builder *b, const char *dir)
{
	return builder_keep_path(b, &b->variables[VARIABLE_WORK_DIR], dir, "the work folder");
}

int corral_builder_data_dir(struct corral_builder *b, const char *dir)
{
	return builder_keep_path(b, &b->variables[VARIABLE_DATA_DIR], dir, "the data folder");
}

int corral_builder_variable(struct corral_builder *b, const char *name, const char *value)
{
	enum variable v;

	if (!name || variable_parse(name, strlen(name), &v) < 0)
		return builder_fail(b, error_set(builder_error(b), -EINVAL, NULL,
					       "unknown variable %s", name ? name : "(null)"));
	return builder_keep_path(b, &b->variables[v], value, name);
}

int corral_builder_with_audit(struct corral_builder *b, corral_audit_sink *sink, void *context)
{
	b->sink = sink;
	b->context = context;
	return 0;
}

int corral_builder_without_daemon(struct corral_builder *b)
{
	b->no_daemon = true;
	return 0;
}

int corral_builder_ask_ms(struct corral_builder *b, uint64_t ms)
{
	if (ms > QUESTION_WAIT_MAX_MS)
		return builder_fail(b, error_set(builder_error(b), -EINVAL, NULL,
					       "a question waits a day at most"));
	b->ask_ms = (uint32_t)ms;
	return 0;
}

int corral_builder_with_broker(struct corral_builder *b, const char *socket)
{
	if (socket)
		return builder_fail(
			b, error_set(builder_error(b), -EOPNOTSUPP, NULL,
				   "a broker serves one session: it has that sandbox's root and "
				   "permissions; NULL starts one"));
	b->broker = true;
	return 0;
}

int corral_builder_broker_http(struct corral_builder *b)
{
	b->broker = b->broker_http = true;
	return 0;
}

/* To every layer, as other grants. */
static int builder_add_service(struct permissions *p, const struct service_row *row,
	const struct service_request *r, const char *value)
{
	struct service s = { .name = row->name, .access = r->access ? r->access : row->access };
	struct service_scope scope = { .key = row->scopes[0].key };
	struct grant grant = { .all = &value, .n = 1 };
	int code = 0;

	for (size_t i = 0; code == 0 && i < p->n_all_of; i++)
		code = builder_add_service(p->all_of[i], row, r, value);
	if (p->n_all_of || code < 0)
		return code;
	if (value) {
		scope.values = (struct grant_list){ .items = &grant, .n = 1 };
		s.scopes = &scope;
		s.n_scopes = 1;
	}
	return permissions_add_service(p, &s);
}

int corral_builder_allow_service(struct corral_builder *b, const char *pattern)
{
	auto_arena scratch = { 0 };
	struct error *e = builder_error(b);
	const struct service_row *row = NULL;
	struct service_request r = { 0 };
	const char *canonical = NULL;
	int code =
		pattern ? service_spell(OPERATION_SERVICE, pattern, &scratch, &canonical, NULL, e)
			: error_set(e, -EINVAL, NULL, "no service was given");

	if (code == 0 && service_request_parse(&r, canonical) == 0)
		row = service_row_find(r.name, r.name_len);
	if (code == 0 && !row)
		code = error_set(e, -EINVAL, NULL, "`%s` names no service", pattern);
	if (row)
		code = builder_add_service(b->granted, row, &r, r.value);
	b->touched = true;
	return code < 0 ? builder_fail(b, code) : 0;
}

int corral_builder_services(struct corral_builder *b, const char *yaml)
{
	const char *text = yaml ? yaml : "";
	auto_document d = { 0 };
	char *copy = NULL;
	int r = yaml_read(&d, "services", 1, text, strlen(text), builder_error(b));

	if (r == 0) {
		copy = strdup(text);
		r = copy ? 0 : error_no_memory(builder_error(b));
	}
	if (r < 0)
		return builder_fail(b, r);
	free(b->services);
	b->services = copy;
	b->broker = true;
	return 0;
}

int corral_builder_warden(struct corral_builder *b, const char *path)
{
	return builder_keep_path(b, &b->warden, path, "the warden");
}

const struct sandbox_skill *sandbox_builder_skill(const struct corral_builder *b)
{
	return b->skill;
}

void sandbox_builder_serve(struct corral_builder *b)
{
	b->serves = true;
}

/* The names of modes, and their words (policy/format/mode.h) */

const char *corral_mode_name(enum corral_mode mode)
{
	return (unsigned)mode > CORRAL_MODE_RWX ? NULL : agent_mode_name((enum agent_mode)mode);
}

int corral_mode_parse(const char *name, enum corral_mode *ret)
{
	enum agent_mode mode;
	int r = name ? agent_mode_parse(name, &mode) : -EINVAL;

	if (r == 0)
		*ret = (enum corral_mode)mode;
	return r;
}

int corral_mode_prompt(
	enum corral_mode mode, const char *data_dir, char **ret, struct corral_error **e)
{
	auto_arena a = { 0 };
	struct error error = { 0 };
	char *text = NULL;
	int r = builder_check_mode(mode, data_dir, &error);

	if (r == 0) {
		const char *prompt =
			mode == CORRAL_MODE_RWX
				? ""
				: agent_mode_prompt((enum agent_mode)mode, data_dir, &a);

		text = prompt ? strdup(prompt) : NULL;
		r = text ? 0 : error_no_memory(&error);
	}
	if (r < 0)
		return handles_error(e, &error, r);
	*ret = text;
	return 0;
}
