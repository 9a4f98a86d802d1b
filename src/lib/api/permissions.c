/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/resolver.h"
#include "lib/api/handles.h"
#include "policy/algebra/algebra.h"
#include "policy/format/manifest.h"
#include "policy/format/permissions-text.h"
#include "policy/match/service.h"
#include "policy/algebra/subset.h"

enum { LAYERS_MAX = 64 };

/* Wraps p, which is taken over even on failure. */
static int wrap(struct corral_permissions **ret, struct permissions *p)
{
	struct corral_permissions *handle = p ? calloc(1, sizeof(*handle)) : NULL;

	if (!handle) {
		permissions_free(p);
		return -ENOMEM;
	}
	handle->p = p;
	handle->session[0] = '\0';
	*ret = handle;
	return 0;
}

int corral_permissions_new(struct corral_permissions **ret)
{
	return wrap(ret, permissions_new());
}

int corral_permissions_copy(struct corral_permissions **ret, const struct corral_permissions *p)
{
	int r = wrap(ret, permissions_copy(p->p));

	if (r == 0 && p->skill_dir) {
		(*ret)->skill_dir = strdup(p->skill_dir);
		if (!(*ret)->skill_dir) {
			corral_permissions_free(*ret);
			*ret = NULL;
			r = -ENOMEM;
		}
	}
	return r;
}

void corral_permissions_free(struct corral_permissions *p)
{
	if (!p)
		return;
	permissions_free(p->p);
	free(p->skill_dir);
	free(p);
}

/* The folder of a skill's manifest, if `file` says where that is. */
static int permissions_skill_dir(const struct manifest *m, const char *file, char **ret)
{
	const bool is_skill = m->kind == MANIFEST_SKILL || m->kind == MANIFEST_SKILL_MD ||
			      m->kind == MANIFEST_NANOCRAB;
	const char *slash = is_skill && file && file[0] == '/' ? strrchr(file, '/') : NULL;

	if (!slash)
		return 0;
	*ret = slash == file ? strdup("/") : strndup(file, (size_t)(slash - file));
	return *ret ? 0 : -ENOMEM;
}

int corral_permissions_parse(struct corral_permissions **ret, const char *file, const char *text,
	size_t len, struct corral_error **e)
{
	auto_manifest m = { 0 };
	struct error error = { 0 };
	int r = len && !text
			? error_set(&error, -EINVAL, NULL, "the text has a length and no bytes")
			: manifest_read(&m, MANIFEST_UNKNOWN, file, text, len, &error);

	if (r == 0) {
		/* Its texts are in the arena of the permissions. */
		const char *session = m.session_id ? m.session_id : "";

		r = wrap(ret, m.permissions);
		m.permissions = NULL;
		if (r == 0)
			(void)snprintf((*ret)->session, sizeof((*ret)->session), "%s", session);
		if (r == 0)
			r = permissions_skill_dir(&m, file, &(*ret)->skill_dir);
		if (r < 0 && *ret) {
			corral_permissions_free(*ret);
			*ret = NULL;
		}
	}
	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_permissions_to_yaml(const struct corral_permissions *p, char **ret)
{
	auto_buffer out = { 0 };

	permissions_print_yaml(p->p, &out);
	return handles_text(&out, ret);
}

int corral_permissions_to_json(const struct corral_permissions *p, char **ret)
{
	auto_buffer out = { 0 };

	permissions_print_json(p->p, &out);
	return handles_text(&out, ret);
}

static int allow_service(struct permissions *p, const char *text, struct error *e)
{
	struct service_request parsed;
	struct service s = { 0 };
	auto_arena scratch = { 0 };

	if (service_request_parse(&parsed, text) < 0 || parsed.access == 0 || parsed.value)
		return error_set(e, -EINVAL, NULL, "%s is not of the form NAME.ACCESS", text);
	s.name = arena_strndup(&scratch, parsed.name, parsed.name_len);
	s.access = parsed.access;
	return s.name ? permissions_add_service(p, &s) : -ENOMEM;
}

static int add_entry(
	struct permissions *p, enum permission_list which, const char *pattern, struct error *e)
{
	auto_arena scratch = { 0 };
	const char *canonical;
	int r = permissions_list_canonical(which, pattern, &scratch, &canonical, NULL, e);

	if (r == 0)
		r = permissions_add(p, permissions_list(p, which), canonical, NULL);
	p->exec_listed = p->exec_listed || (r == 0 && which == LIST_EXEC);
	return r;
}

static int refuse_layers(const struct permissions *p, const char *pattern, struct error *e)
{
	if (!pattern)
		return error_set(e, -EINVAL, NULL, "no pattern was given");
	return p->n_all_of ? error_set(e, -EINVAL, NULL,
				     "these permissions have several layers; merge a grant instead")
			   : 0;
}

int corral_permissions_allow(struct corral_permissions *p, enum corral_operation op,
	const char *pattern, struct corral_error **e)
{
	struct error error = { 0 };
	int r = refuse_layers(p->p, pattern, &error);

	if (r == 0 && (unsigned)op >= OPERATION_COUNT)
		r = error_set(&error, -EINVAL, NULL, "unknown operation %d", (int)op);
	else if (r == 0 && op == CORRAL_SERVICE)
		r = allow_service(p->p, pattern, &error);
	else if (r == 0)
		r = add_entry(p->p, operation_rows[op].allow, pattern, &error);
	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_permissions_deny(struct corral_permissions *p, enum corral_operation op,
	const char *pattern, struct corral_error **e)
{
	enum permission_list deny =
		(unsigned)op < OPERATION_COUNT ? operation_rows[op].deny : LIST_NONE;
	struct error error = { 0 };
	int r = refuse_layers(p->p, pattern, &error);

	if (r == 0 && deny == LIST_NONE)
		r = error_set(&error, -EINVAL, NULL, "only files and hosts can be denied");
	else if (r == 0)
		r = add_entry(p->p, deny, pattern, &error);
	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_permissions_restrict_exec(struct corral_permissions *p)
{
	if (p->p->n_all_of)
		return -EINVAL;
	p->p->exec_listed = true;
	return 0;
}

int corral_permissions_dangerously_allow(
	struct corral_permissions *p, const char *pattern, struct corral_error **e)
{
	struct error error = { 0 };
	int r = refuse_layers(p->p, pattern, &error);

	if (r == 0)
		r = add_entry(p->p, LIST_DANGEROUSLY_ALLOW, pattern, &error);
	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_permissions_set_limit(
	struct corral_permissions *p, enum corral_limit limit, uint64_t value)
{
	if ((unsigned)limit >= LIMIT_COUNT || p->p->n_all_of)
		return -EINVAL;
	p->p->limits.values[limit] = value;
	return 0;
}

uint64_t corral_permissions_limit(const struct corral_permissions *p, enum corral_limit limit)
{
	const struct permissions *layers[LAYERS_MAX];
	uint64_t least = CORRAL_LIMIT_NONE;
	int n;

	if ((unsigned)limit >= LIMIT_COUNT)
		return 0;
	n = permissions_layers(p->p, layers, LAYERS_MAX);
	for (int i = 0; i < n; i++) {
		if (layers[i]->limits.values[limit] < least)
			least = layers[i]->limits.values[limit];
	}
	return n < 0 ? 0 : least;
}

int corral_permissions_merge(struct corral_permissions **ret, const struct corral_permissions *a,
	const struct corral_permissions *b)
{
	struct permissions *p;
	int r = algebra_merge(&p, a->p, b->p);

	return r < 0 ? r : wrap(ret, p);
}

int corral_permissions_intersect(struct corral_permissions **ret,
	const struct corral_permissions *a, const struct corral_permissions *b)
{
	struct permissions *p;
	int r = algebra_intersect(&p, a->p, b->p);

	return r < 0 ? r : wrap(ret, p);
}

int corral_permissions_is_empty(const struct corral_permissions *p)
{
	return permissions_is_empty(p->p);
}

int corral_permissions_subset(const struct corral_permissions *a,
	const struct corral_permissions *b, const struct corral_variable *variables, size_t n,
	char **ret_witness, struct corral_error **e)
{
	auto_subset answer = { 0 };
	auto_buffer text = { 0 };
	struct error error = { 0 };
	struct variables vars;
	struct policy_options options = { .variables = &vars, .resolver = &resolver_system };
	int r = handles_variables(&vars, variables, n, &error);

	if (r == 0)
		r = subset_compare(&answer, a->p, b->p, &options, &error);
	/* The answer as one text: "fs.read /etc/shadow", "too complex: exec". */
	if (answer.answer == SUBSET_NO)
		buffer_printf(&text, "%s %s", answer.what, buffer_text(&answer.witness));
	else
		buffer_printf(&text, "too complex: %s", buffer_text(&answer.reason));
	if (r == 0 && answer.answer != SUBSET_YES && ret_witness)
		r = handles_text(&text, ret_witness);
	if (r < 0)
		return handles_error(e, &error, r);
	return answer.answer == SUBSET_YES;
}
