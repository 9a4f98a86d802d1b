/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/parts.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "lib/sandbox/sandbox.h"
#include "policy/format/permissions-text.h"

enum { FILES = 1 << OPERATION_FS_READ | 1 << OPERATION_FS_WRITE };

static const struct {
	unsigned part, operations;
} parts[] = {
	{ CORRAL_PART_FILES, FILES },
	/* Without a list, a program runs if its file can be read. */
	{ CORRAL_PART_PROGRAMS, 1 << OPERATION_EXEC | FILES },
	{ CORRAL_PART_NETWORK, 1 << OPERATION_NET_CONNECT },
	{ CORRAL_PART_VARIABLES, 1 << OPERATION_ENV },
	{ CORRAL_PART_LIMITS, 0 },
};
enum { N_PARTS = ROWS(parts) };

static unsigned sandbox_parts_operations_of(unsigned part)
{
	for (size_t i = 0; i < N_PARTS; i++)
		if (parts[i].part == part)
			return parts[i].operations;
	return 0;
}

static int take_files(struct permissions *to, const struct permissions *from)
{
	int r = permissions_add_list(to, &to->fs_read, &from->fs_read);

	if (r == 0)
		r = permissions_add_list(to, &to->fs_write, &from->fs_write);
	if (r == 0)
		r = permissions_add_list(to, &to->fs_deny, &from->fs_deny);
	for (size_t i = 0; r == 0 && i < from->n_guest_paths; i++)
		r = permissions_add_guest_path(to, &from->guest_paths[i]);
	return r;
}

static int take_programs(struct permissions *to, const struct permissions *from)
{
	to->exec_listed = from->exec_listed;
	return from->exec_listed ? permissions_add_list(to, &to->exec, &from->exec)
				 : take_files(to, from);
}

static int take_network(struct permissions *to, const struct permissions *from)
{
	int r = permissions_add_list(to, &to->network_allow, &from->network_allow);

	if (r == 0)
		r = permissions_add_list(to, &to->network_deny, &from->network_deny);
	if (r == 0)
		r = permissions_add_list(to, &to->listen, &from->listen);
	if (r == 0)
		r = permissions_add_list(to, &to->network.methods, &from->network.methods);
	to->network.rate = from->network.rate;
	to->network.max_bytes = from->network.max_bytes;
	to->network.max_request_size = from->network.max_request_size;
	return r;
}

static int take_rules(struct permissions *to, const struct permissions *from, unsigned operations)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		struct rule rule = from->rules[i];

		rule.operations &= operations;
		if (rule.operations != 0)
			r = permissions_add_rule(to, &rule);
	}
	return r;
}

/* Defaults, and exceptions from the baseline, are about everything but limits. */
static int take_layer(struct permissions *to, const struct permissions *from, unsigned part)
{
	int r = 0;

	if (part == CORRAL_PART_LIMITS) {
		to->limits = from->limits;
		return 0;
	}
	if (part == CORRAL_PART_FILES)
		r = take_files(to, from);
	else if (part == CORRAL_PART_PROGRAMS)
		r = take_programs(to, from);
	else if (part == CORRAL_PART_NETWORK)
		r = take_network(to, from);
	else
		r = permissions_add_list(to, &to->env, &from->env);
	to->fallback = from->fallback;
	to->mode = from->mode;
	if (r == 0)
		r = permissions_add_list(to, &to->dangerously_allow, &from->dangerously_allow);
	return r < 0 ? r : take_rules(to, from, sandbox_parts_operations_of(part));
}

static int sandbox_parts_add_layer(
	struct permissions *to, const struct permissions *from, unsigned part)
{
	auto_permissions *layer = permissions_new();
	int r = layer ? take_layer(layer, from, part) : -ENOMEM;

	return r < 0 ? r : permissions_add_layer(to, layer);
}

struct permissions *sandbox_parts_take(const struct permissions *p, unsigned part)
{
	const struct permissions *layers[SANDBOX_LAYERS_MAX];
	auto_permissions *taken = permissions_new();
	struct permissions *ret;
	int n = permissions_layers(p, layers, SANDBOX_LAYERS_MAX),
	    r = n < 0 || !taken ? -ENOMEM : 0;

	for (int i = 0; r == 0 && i < n; i++)
		r = sandbox_parts_add_layer(taken, layers[i], part);
	if (r < 0)
		return NULL;
	ret = taken;
	taken = NULL;
	return ret;
}

static int sandbox_parts_print(const struct permissions *p, unsigned part, struct buffer *out)
{
	auto_permissions *taken = sandbox_parts_take(p, part);

	if (!taken)
		return -ENOMEM;
	permissions_print_json(taken, out);
	return out->failed ? -ENOMEM : 0;
}

int sandbox_parts_compare(
	const struct permissions *a, const struct permissions *b, unsigned *ret_changed)
{
	unsigned changed = 0;

	for (size_t i = 0; i < N_PARTS; i++) {
		auto_buffer one = { 0 }, other = { 0 };
		int r = sandbox_parts_print(a, parts[i].part, &one);

		if (r == 0)
			r = sandbox_parts_print(b, parts[i].part, &other);
		if (r < 0)
			return r;
		if (strcmp(buffer_text(&one), buffer_text(&other)) != 0)
			changed |= parts[i].part;
	}
	*ret_changed = changed;
	return 0;
}
