/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox is to be, collected call by call:
 *
 *     (what it started from ∪ merged permissions ∪ single grants − denies) ∩ each restriction
 *
 * Restrictions stand apart until the end, so that no later grant reaches beyond one. A grant goes
 * into every layer of what is there, which is the same as a union with it, but leaves lists of
 * programs as they are: a folder that may be read does not become one whose files may run.
 */
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "policy/service-table.h"
#include "policy/match/service.h"
#include "codec/yaml.h"
#include "base/array.h"
#include "base/path.h"
#include "host/planted.h"
#include "host/runtime.h"
#include "launch/settings.h"
#include "lib/api/handles.h"
#include "lib/sandbox/sandbox.h"
#include "lib/sandbox/skill.h"
#include "policy/algebra/algebra.h"
#include "policy/format/mode.h"
#include "policy/format/permissions-text.h"

_Static_assert((int)CORRAL_MODE_SANDBOX == AGENT_MODE_SANDBOX &&
		       (int)CORRAL_MODE_RX == AGENT_MODE_RX &&
		       (int)CORRAL_MODE_RWX == AGENT_MODE_RWX,
	"modes");

enum { BUILDER_LAYERS_MAX = 32, BUILDER_GUARDED_MAX = 48 };

struct corral_builder {
	enum backend_kind backend;
	struct permissions *granted;
	bool touched; /* something was granted or denied */
	struct permissions *restrictions[BUILDER_LAYERS_MAX];
	size_t n_restrictions;
	struct limits limits;
	char *variables[VARIABLE_COUNT];
	char *warden;
	bool broker, broker_http;
	char *services; /* sections of services.yaml; NULL: none */
	char *source; /* the file that the permissions came from, as it was named; NULL: none did */
	char *guarded[BUILDER_GUARDED_MAX]; /* beside it */
	size_t n_guarded;
	const int *ledger; /* or NULL */
	bool no_daemon;
	struct joined *joined; /* of whoever has the sandbox; or NULL */
	corral_audit_sink *sink;
	void *context;
	bool is_mode;                /* it was made from an agent mode that confines */
	bool is_skill;               /* it was made from a skill's manifest */
	struct sandbox_skill *skill; /* the skill that it was made from; NULL: none */
	bool unapproved;             /* a skill may run that nobody approved */
	bool serves;                 /* by workers that answer calls */
	struct error refusal;        /* why this one may not; "": somebody did */
	/* The first failure. */
	int code;
	struct error error;
};

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
	*ret = b;
	return 0;
}

int corral_builder_new(struct corral_builder **ret)
{
	return builder_new_from(ret, permissions_new());
}

int corral_builder_from_permissions(struct corral_builder **ret, const struct corral_permissions *p)
{
	int r = builder_new_from(ret, permissions_copy(p->p));

	if (r == 0)
		(*ret)->touched = true;
	return r;
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

void sandbox_builder_joined(struct corral_builder *b, struct joined *j)
{
	b->no_daemon = true;
	b->joined = j;
}

void sandbox_builder_share(struct corral_builder *b, const int *ledger)
{
	b->ledger = ledger;
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

/* Building */

/* Every missing folder on the way, for nobody but the user. */
static int builder_make_folders(const char *path, struct error *e)
{
	char part[PATH_BYTES];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return error_set(e, -ENAMETOOLONG, NULL, "the path of %s is too long", path);
	memcpy(part, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (part[i] != '/' && part[i] != '\0')
			continue;
		part[i] = '\0';
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return error_set(e, -errno, NULL, "cannot create the folder %s: %s", part,
				strerror(errno));
		part[i] = i < len ? '/' : '\0';
	}
	return 0;
}

/* What such a variable names is granted; a link that a command may have left there is not meant. */
static int builder_check_planted(const char *value, const char *home, struct error *e)
{
	struct planted planted;

	if (planted_find(value, home, &planted) != 1)
		return 0;
	(void)error_set(e, -EPERM, NULL,
		"cannot use the folder %s: it resolves to %s through the symbolic link %s, which "
		"an earlier command could have created",
		value, planted.real, planted.link);
	error_hint(e, "use %s itself if that is intended", planted.real);
	return -EPERM;
}

/* Inside, things have the names that they have without links. */
static int builder_set_variable(
	struct sandbox_base *s, enum variable v, const char *value, struct error *e)
{
	/* Two are private folders inside, and need not exist on the host; of the third `corral run`
	 * has a default, which its broker hands on. */
	bool may_be_missing = v == VARIABLE_HOME || v == VARIABLE_TEMP || v == VARIABLE_SHARED_DIR;
	char real[PATH_BYTES];
	struct stat st;

	if (!may_be_missing || stat(value, &st) == 0) {
		if (!realpath(value, real) || stat(real, &st) < 0)
			return error_set(e, -errno, NULL, "cannot use the folder %s: %s", value,
				strerror(errno));
		if (!S_ISDIR(st.st_mode))
			return error_set(e, -ENOTDIR, NULL, "%s is not a folder", value);
		value = real;
	}
	s->variables.values[v] = arena_strdup(&s->arena, value);
	return s->variables.values[v] ? 0 : -ENOMEM;
}

static int builder_set_variables(
	struct sandbox_base *s, const struct corral_builder *b, struct error *e)
{
	const char *home =
		b->variables[VARIABLE_HOME] ? b->variables[VARIABLE_HOME] : handles_home();
	int r = 0;

	for (int v = 0; r == 0 && v < VARIABLE_COUNT; v++)
		if (b->variables[v] && v != VARIABLE_HOME && v != VARIABLE_TEMP)
			r = builder_check_planted(b->variables[v], home, e);
	/* The work folder may be the same, or below. */
	if (r == 0 && b->variables[VARIABLE_DATA_DIR])
		r = builder_make_folders(b->variables[VARIABLE_DATA_DIR], e);
	for (int v = 0; r == 0 && v < VARIABLE_COUNT; v++) {
		const char *value = b->variables[v];

		if (!value && v == VARIABLE_HOME)
			value = home;
		if (!value && v == VARIABLE_TEMP)
			value = HANDLES_TEMP;
		if (value)
			r = builder_set_variable(s, (enum variable)v, value, e);
	}
	return r;
}

/* Corral's own folders, where profiles and approvals are; those of the default are in the baseline.
 */
static const struct {
	const char *variable, *fallback;
} own_folders[] = {
	{ "XDG_CONFIG_HOME", ".config" },
	{ "XDG_STATE_HOME", ".local/state" },
};
_Static_assert(1 + ROWS(own_folders) + BUILDER_GUARDED_MAX <= CONFIGURE_GUARDED_MAX,
	"all of it fits into a frame");

static int builder_set_guarded(struct sandbox_base *s, const struct corral_builder *b)
{
	char normal[PATH_BYTES];
	size_t len;

	/* A skill's folder is a copy; but a link to it could lead to another skill. */
	if (b->source &&
		(!b->skill || (realpath(b->source, normal) && strcmp(normal, b->source) != 0)))
		s->guarded[s->n_guarded++] = arena_strdup(&s->arena, b->source);
	for (size_t i = 0; i < ROWS(own_folders); i++) {
		const char *folder = secure_getenv(own_folders[i].variable);
		const char *path = folder && folder[0] == '/'
					   ? arena_printf(&s->arena, "%s/corral", folder)
					   : arena_printf(&s->arena, "%s/%s/corral", handles_home(),
						     own_folders[i].fallback);

		if (path && path_normalize(path, strlen(path), normal, &len) == 0)
			s->guarded[s->n_guarded++] = arena_strdup(&s->arena, normal);
	}
	for (size_t i = 0; i < b->n_guarded; i++)
		s->guarded[s->n_guarded++] = arena_strdup(&s->arena, b->guarded[i]);
	for (uint32_t i = 0; i < s->n_guarded; i++)
		if (!s->guarded[i])
			return -ENOMEM;
	return 0;
}

/* Its programs, as they are named now. */
static int builder_find_broker(struct sandbox_base *s, struct error *e)
{
	struct launch_broker found;
	int r = launch_broker_find(&found, e);

	if (r < 0)
		return r;
	s->broker = (struct launch_broker){ .program = arena_strdup(&s->arena, found.program),
		.caller = found.caller ? arena_strdup(&s->arena, found.caller) : NULL };
	return s->broker.program && (s->broker.caller || !found.caller) ? 0 : -ENOMEM;
}

static void builder_make_token(struct sandbox_base *s)
{
	unsigned char bytes[sizeof(s->http_token) / 2];

	randombytes_buf(bytes, sizeof(bytes));
	(void)sodium_bin2hex(s->http_token, sizeof(s->http_token), bytes, sizeof(bytes));
}

static int builder_set_up(struct sandbox_base *s, const struct corral_builder *b, struct error *e)
{
	const char *warden = b->warden ? b->warden : secure_getenv("CORRAL_WARDEN");
	int r = builder_set_variables(s, b, e);
	const char **copy;
	size_t n = 0;

	while (environ && environ[n])
		n++;
	s->environment = copy = arena_calloc(&s->arena, n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++) {
		copy[i] = arena_strdup(&s->arena, environ[i]);
		if (!copy[i])
			copy = NULL;
	}
	if (r == 0 && !copy)
		r = -ENOMEM;
	if (r == 0)
		r = builder_set_guarded(s, b);
	if (r == 0)
		r = account_name("/etc/passwd", getuid(), s->user);
	s->ledger = b->ledger;
	s->no_daemon = b->no_daemon;
	s->of_others = b->joined;
	s->warden = arena_strdup(&s->arena, warden && *warden ? warden : CORRAL_WARDEN_PATH);
	s->services = b->services ? arena_strdup(&s->arena, b->services) : NULL;
	if (r == 0 && b->services && !s->services)
		r = -ENOMEM;
	if (r == 0 && b->broker)
		r = builder_find_broker(s, e);
	if (r == 0 && b->broker_http)
		builder_make_token(s);
	s->backend = &backends[b->backend];
	s->limits = b->limits;
	s->is_skill = b->is_skill;
	s->skill = sandbox_skill_ref(b->skill);
	s->unapproved = b->unapproved;
	s->serves = b->serves;
	s->sink = b->sink;
	s->context = b->context;
	return r == 0 && !s->warden ? -ENOMEM : r;
}

static int builder_check(const struct corral_builder *b, struct error *e)
{
	/* What only a jail could enforce would be a promise that nobody keeps. */
	const struct {
		const char *name;
		bool given;
	} held[] = {
		{ "grants and denials", b->touched },
		{ "a restriction", b->n_restrictions > 0 },
		{ "a limit of memory", b->limits.values[LIMIT_MEMORY] != LIMIT_NONE },
		{ "a limit of processes", b->limits.values[LIMIT_PIDS] != LIMIT_NONE },
	};

	if (b->code < 0) {
		*e = b->error;
		return b->code;
	}
	if (b->backend == BACKEND_NONE)
		for (size_t i = 0; i < ROWS(held); i++)
			if (held[i].given)
				return error_set(e, -EOPNOTSUPP, NULL,
					"mode rwx does not confine anything, so %s cannot be "
					"enforced",
					held[i].name);
	if (b->refusal.text[0] && !b->unapproved) {
		*e = b->refusal;
		return -EACCES;
	}
	if (b->broker && b->backend == BACKEND_NONE)
		return error_set(
			e, -EOPNOTSUPP, NULL, "mode rwx has no sandbox, and so no broker for one");
	return 0;
}

/* As they are now: a builder can be used again. */
static int builder_keep_settings(
	const struct corral_builder *b, const char *home, struct permissions **ret, struct error *e)
{
	auto_permissions *p = permissions_copy(b->granted);
	int r = p ? launch_settings_deny(p, home) : -ENOMEM;

	if (r < 0)
		return error_set(e, r, NULL, "the agent's settings: %s", strerror(-r));
	*ret = p;
	p = NULL;
	return 0;
}

const struct sandbox_skill *sandbox_builder_skill(const struct corral_builder *b)
{
	return b->skill;
}

void sandbox_builder_serve(struct corral_builder *b)
{
	b->serves = true;
}

int corral_builder_build(
	struct corral_builder *b, struct corral_sandbox **ret, struct corral_error **e)
{
	return sandbox_builder_build(b, NULL, ret, e);
}

int sandbox_builder_build(struct corral_builder *b, const struct permissions *layer,
	struct corral_sandbox **ret, struct corral_error **e)
{
	const struct permissions *all[2 + BUILDER_LAYERS_MAX] = { b->granted };
	auto_permissions *kept = NULL;
	struct sandbox_base base = { 0 };
	struct permissions *permissions = NULL;
	struct error error = { 0 };
	size_t n = 1 + b->n_restrictions;
	int r = builder_check(b, &error);

	for (size_t i = 0; i < b->n_restrictions; i++)
		all[1 + i] = b->restrictions[i];
	if (layer)
		all[n++] = layer;
	if (r == 0)
		r = builder_set_up(&base, b, &error);
	if (r == 0 && b->is_mode && base.variables.values[VARIABLE_HOME])
		r = builder_keep_settings(b, base.variables.values[VARIABLE_HOME], &kept, &error);
	if (kept)
		all[0] = kept;
	if (r == 0)
		r = sandbox_combine(&permissions, all, n, &error);
	if (r == 0)
		r = sandbox_new(ret, &base, permissions, &error);
	else
		sandbox_base_deinit(&base);
	return r < 0 ? handles_error(e, &error, r) : 0;
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
