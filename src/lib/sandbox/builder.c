/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "lib/api/handles.h"
#include "host/runtime.h"
#include "launch/skill.h"
#include "policy/algebra/algebra.h"
#include "policy/format/mode.h"
#include "policy/format/permissions-text.h"

/* Keeps the first failure; returns code unchanged. */
static int builder_fail(struct corral_builder *b, int code, const struct error *e)
{
	if (b->code < 0)
		return code;
	b->code = code;
	b->error = *e;
	return code;
}

static int fail_text(struct corral_builder *b, int code, const char *text)
{
	struct error e = { 0 };

	return builder_fail(b, error_set(&e, code, NULL, "%s", text), &e);
}

static int keep_path(struct corral_builder *b, char **where, const char *path, const char *what)
{
	struct error e = { 0 };
	char *copy;

	if (!path || !path_is_normal(path, strlen(path)))
		return builder_fail(b,
			error_set(&e, -EINVAL, NULL,
				"%s must be an absolute path without . or .., and %s is not", what,
				path ? path : "nothing"),
			&e);
	copy = strdup(path);
	if (!copy)
		return fail_text(b, -ENOMEM, "out of memory");
	free(*where);
	*where = copy;
	return 0;
}

/* Life */

/* Takes over p, also on failure. */
static int new_from(struct corral_builder **ret, struct permissions *p)
{
	struct corral_builder *b = p ? calloc(1, sizeof(*b)) : NULL;

	if (!b) {
		permissions_free(p);
		return -ENOMEM;
	}
	b->granted = p;
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		b->limits.values[i] = LIMIT_NONE;
	*ret = b;
	return 0;
}

int corral_builder_new(struct corral_builder **ret)
{
	return new_from(ret, permissions_new());
}

int corral_builder_from_permissions(struct corral_builder **ret, const struct corral_permissions *p)
{
	int r = new_from(ret, permissions_copy(p->p));

	if (r == 0)
		(*ret)->touched = true;
	return r;
}

/* Whether it is approved is known now, and told when the sandbox is built. */
static int builder_take_skill(struct corral_builder *b, const struct launch_skill *s)
{
	b->touched = true;
	b->is_skill = s->is_skill;
	(void)launch_skill_check(
		s, s->path, "call corral_builder_allow_unapproved_skill()", &b->refusal);
	b->variables[VARIABLE_SKILL_DIR] = strdup(s->path);
	return b->variables[VARIABLE_SKILL_DIR] ? 0 : -ENOMEM;
}

int corral_builder_from_manifest(
	struct corral_builder **ret, const char *path, struct corral_error **e)
{
	auto_arena a = { 0 };
	auto_launch_skill s = { .fd = -1 };
	struct corral_builder *b = NULL;
	struct error error = { 0 };
	int r = launch_skill_read(&s, path, &a, &error);

	if (r == 0)
		r = new_from(&b, permissions_copy(s.manifest.permissions));
	if (r == 0)
		r = runtime_imply(&s.manifest, s.path, b->granted);
	if (r == 0)
		r = builder_take_skill(b, &s);
	if (r < 0) {
		corral_builder_free(b);
		return handles_error(e, &error, r);
	}
	*ret = b;
	return 0;
}

_Static_assert((int)CORRAL_MODE_SANDBOX == AGENT_MODE_SANDBOX &&
		       (int)CORRAL_MODE_RX == AGENT_MODE_RX &&
		       (int)CORRAL_MODE_RWX == AGENT_MODE_RWX,
	"modes");

/* An enum of the host may hold any number. */
static int builder_check_mode(enum corral_mode mode, const char *data_dir, struct error *e)
{
	if ((unsigned)mode > CORRAL_MODE_RWX)
		return error_set(e, -EINVAL, NULL, "there is no mode %d", (int)mode);
	if (!data_dir && mode != CORRAL_MODE_RWX)
		return error_set(e, -EINVAL, NULL, "mode %s needs a data folder",
			agent_mode_name((enum agent_mode)mode));
	if (data_dir && !agent_mode_is_printable(data_dir))
		return error_set(e, -EINVAL, NULL,
			"the data folder holds control characters or is not UTF-8");
	return 0;
}

/* In mode rwx the permissions are what a policy would say; nothing looks at them. */
static int builder_set_mode(struct corral_builder *b, enum corral_mode mode, const char *data_dir,
	const char *const *extra, struct error *e)
{
	size_t n = 0;
	int r;

	while (extra && extra[n])
		n++;
	r = agent_mode_permissions((enum agent_mode)mode, data_dir, extra, n, b->granted, e);
	if (r == 0 && data_dir)
		r = keep_path(b, &b->variables[VARIABLE_DATA_DIR], data_dir, "the data folder");
	if (r == 0 && data_dir)
		r = keep_path(b, &b->variables[VARIABLE_WORK_DIR], data_dir, "the data folder");
	if (b->code < 0)
		*e = b->error;
	b->backend = mode == CORRAL_MODE_RWX ? BACKEND_NONE : BACKEND_NAMESPACES;
	/* With rwx it stays as it is: who adds something wants it to be enforced. */
	b->touched = mode != CORRAL_MODE_RWX;
	return r;
}

int corral_builder_from_mode(struct corral_builder **ret, enum corral_mode mode,
	const char *data_dir, const char *const *extra, struct corral_error **e)
{
	struct corral_builder *b = NULL;
	struct error error = { 0 };
	int r = builder_check_mode(mode, data_dir, &error);

	if (r == 0)
		r = new_from(&b, permissions_new());
	if (r == 0)
		r = builder_set_mode(b, mode, data_dir, extra, &error);
	if (r < 0) {
		corral_builder_free(b);
		return handles_error(e, &error, r);
	}
	*ret = b;
	return 0;
}

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
	free(b->warden);
	free(b->broker);
	free(b);
}

/* Grants */

/* One of a layer's lists; NULL: this layer is not meant. */
typedef struct grant_list *list_of(struct permissions *p);

static struct grant_list *list_read(struct permissions *p)
{
	return &p->fs_read;
}

static struct grant_list *list_write(struct permissions *p)
{
	return &p->fs_write;
}

static struct grant_list *list_deny(struct permissions *p)
{
	return &p->fs_deny;
}

static struct grant_list *list_network(struct permissions *p)
{
	return &p->network_allow;
}

static struct grant_list *list_network_deny(struct permissions *p)
{
	return &p->network_deny;
}

static struct grant_list *list_env(struct permissions *p)
{
	return &p->env;
}

static struct grant_list *list_exec(struct permissions *p)
{
	p->exec_listed = true;
	return &p->exec;
}

/* Where some layer has a list of programs, those without one already let pass what can be read. */
static struct grant_list *list_exec_listed(struct permissions *p)
{
	return p->exec_listed ? &p->exec : NULL;
}

static bool has_exec_list(const struct permissions *p)
{
	bool has = p->exec_listed;

	for (size_t i = 0; i < p->n_all_of; i++)
		has = has || has_exec_list(p->all_of[i]);
	return has;
}

static int add_to_layers(struct permissions *p, list_of *list, const char *pattern)
{
	struct grant_list *to = p->n_all_of ? NULL : list(p);
	int r = to ? permissions_add(p, to, pattern, NULL) : 0;

	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = add_to_layers(p->all_of[i], list, pattern);
	return r;
}

static int sandbox_builder_add(
	struct corral_builder *b, enum operation op, list_of *list, const char *pattern)
{
	auto_arena scratch = { 0 };
	struct error e = { 0 };
	const char *canonical = NULL;
	int r = pattern ? permissions_canonical(op, pattern, &scratch, &canonical, NULL, &e)
			: error_set(&e, -EINVAL, NULL, "there is no pattern");

	if (r == 0)
		r = add_to_layers(b->granted, list, canonical);
	b->touched = true;
	return r < 0 ? builder_fail(b, r, &e) : 0;
}

int corral_builder_allow_fs_read(struct corral_builder *b, const char *pattern)
{
	return sandbox_builder_add(b, OPERATION_FS_READ, list_read, pattern);
}

int corral_builder_allow_fs_write(struct corral_builder *b, const char *pattern)
{
	return sandbox_builder_add(b, OPERATION_FS_WRITE, list_write, pattern);
}

int corral_builder_allow_network(struct corral_builder *b, const char *host)
{
	return sandbox_builder_add(b, OPERATION_NET_CONNECT, list_network, host);
}

int corral_builder_allow_exec(struct corral_builder *b, const char *program)
{
	return sandbox_builder_add(b, OPERATION_EXEC,
		has_exec_list(b->granted) ? list_exec_listed : list_exec, program);
}

int corral_builder_allow_env(struct corral_builder *b, const char *name)
{
	return sandbox_builder_add(b, OPERATION_ENV, list_env, name);
}

int corral_builder_deny_fs(struct corral_builder *b, const char *pattern)
{
	return sandbox_builder_add(b, OPERATION_FS_READ, list_deny, pattern);
}

int corral_builder_deny_network(struct corral_builder *b, const char *host)
{
	return sandbox_builder_add(b, OPERATION_NET_CONNECT, list_network_deny, host);
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
		return fail_text(b, r < 0 ? r : -ENOMEM, "these permissions cannot be merged");
	permissions_free(b->granted);
	b->granted = merged;
	b->touched = true;
	return 0;
}

int corral_builder_restrict(struct corral_builder *b, const struct corral_permissions *p)
{
	struct permissions *copy;

	if (b->n_restrictions == BUILDER_LAYERS_MAX)
		return fail_text(b, -E2BIG, "there are too many restrictions");
	copy = permissions_copy(p->p);
	if (!copy)
		return fail_text(b, -ENOMEM, "out of memory");
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
	return keep_path(b, &b->variables[VARIABLE_WORK_DIR], dir, "the work folder");
}

int corral_builder_data_dir(struct corral_builder *b, const char *dir)
{
	return keep_path(b, &b->variables[VARIABLE_DATA_DIR], dir, "the data folder");
}

int corral_builder_variable(struct corral_builder *b, const char *name, const char *value)
{
	struct error e = { 0 };
	enum variable v;

	if (!name || variable_parse(name, strlen(name), &v) < 0)
		return builder_fail(b,
			error_set(&e, -EINVAL, NULL, "unknown variable %s", name ? name : "(null)"),
			&e);
	return keep_path(b, &b->variables[v], value, name);
}

int corral_builder_with_audit(struct corral_builder *b, corral_audit_sink *sink, void *context)
{
	b->sink = sink;
	b->context = context;
	return 0;
}

int corral_builder_with_broker(struct corral_builder *b, const char *socket)
{
	return keep_path(b, &b->broker, socket, "the socket of a broker");
}

int corral_builder_warden(struct corral_builder *b, const char *path)
{
	return keep_path(b, &b->warden, path, "the warden");
}
