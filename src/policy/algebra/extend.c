/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/algebra/extend.h"

#include <errno.h>

/* Everything of the file that is a list of some kind. */
static int extend_lists(struct permissions *p, const struct permissions *file)
{
	int r = 0;

	for (int l = 0; r == 0 && l < LIST_COUNT; l++)
		r = permissions_add_list(p, permissions_list(p, l), permissions_list(file, l));
	for (size_t i = 0; r == 0 && i < file->n_services; i++)
		r = permissions_add_service(p, &file->services[i]);
	for (size_t i = 0; r == 0 && i < file->n_guest_paths; i++)
		r = permissions_add_guest_path(p, &file->guest_paths[i]);
	for (size_t i = 0; r == 0 && i < file->n_rules; i++)
		r = permissions_add_rule(p, &file->rules[i]);
	return r;
}

static int extend_layer(struct permissions *p, const struct permissions *file)
{
	for (size_t i = 0; i < p->n_all_of; i++) {
		int r = extend_layer(p->all_of[i], file);

		if (r < 0)
			return r;
	}
	p->origin = file->origin ? arena_strdup(p->arena, file->origin) : NULL;
	if (file->origin && !p->origin)
		return -ENOMEM;
	/* A line that would help goes into the file: the profile may be built in. */
	p->line_place = file->line_place;
	if (p->n_all_of)
		return 0;
	p->exec_listed = p->exec_listed || file->exec_listed;
	for (int i = 0; i < LIMIT_COUNT; i++) {
		if (file->limits.values[i] != LIMIT_NONE)
			p->limits.values[i] = file->limits.values[i];
	}
	if (file->network.rate.count)
		p->network.rate = file->network.rate;
	if (file->network.max_bytes != LIMIT_NONE)
		p->network.max_bytes = file->network.max_bytes;
	if (file->network.max_request_size != LIMIT_NONE)
		p->network.max_request_size = file->network.max_request_size;
	if (file->fallback != VERDICT_DENY)
		p->fallback = file->fallback;
	if (file->mode != MODE_ENFORCE)
		p->mode = file->mode;
	return extend_lists(p, file);
}

int extend_permissions(
	struct permissions **ret, const struct permissions *base, const struct permissions *file)
{
	auto_permissions *p = NULL;
	int r;

	if (base->extends || file->n_all_of)
		return -EINVAL;
	p = permissions_copy(base);
	r = p ? extend_layer(p, file) : -ENOMEM;
	if (r < 0)
		return r;
	*ret = p;
	p = NULL;
	return 0;
}
