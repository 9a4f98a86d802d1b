/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/grants.h"

#include <errno.h>
#include <string.h>

#include "policy/format/image.h"
#include "policy/format/manifest.h"
#include "policy/match/service.h"
#include "policy/network/host.h"
#include "policy/service-table.h"

enum { GRANTS_LAYERS_MAX = 64 };

/* Reducing */

static int grants_read(struct permissions **ret, const char *layer, struct error *e)
{
	auto_manifest m = { 0 };
	int r;

	if (!image_is_text(layer)) {
		r = manifest_read(&m, MANIFEST_UNKNOWN, "policy", layer, strlen(layer), e);
		if (r == 0) {
			*ret = m.permissions;
			m.permissions = NULL;
		}
		return r;
	}
	*ret = permissions_new();
	r = *ret ? image_read_text(*ret, layer) : -ENOMEM;
	return r < 0 ? error_set(e, r, NULL, "the permissions cannot be read") : 0;
}

static int grants_copy(struct permissions *to, const struct permissions *from, const char *service)
{
	int r = 0;

	to->origin = from->origin ? arena_strdup(to->arena, from->origin) : NULL;
	to->fallback = from->fallback;
	to->mode = from->mode;
	for (size_t i = 0; r == 0 && i < from->n_services; i++)
		if (strcmp(from->services[i].name, service) == 0)
			r = permissions_add_service(to, &from->services[i]);
	for (size_t i = 0; r == 0 && i < from->n_rules; i++) {
		struct rule rule = from->rules[i];

		rule.operations &= 1U << OPERATION_SERVICE;
		if (rule.operations)
			r = permissions_add_rule(to, &rule);
	}
	return r;
}

int grants_reduce(const char *layer, const char *service, struct buffer *out, struct error *e)
{
	const struct permissions *layers[GRANTS_LAYERS_MAX] = { 0 };
	auto_permissions *whole = NULL, *less = permissions_new();
	int r = less ? grants_read(&whole, layer, e) : -ENOMEM;
	int n = r == 0 ? permissions_layers(whole, layers, GRANTS_LAYERS_MAX) : r;

	if (n == 1 && layers[0])
		r = grants_copy(less, layers[0], service);
	for (int i = 0; n > 1 && r == 0 && i < n && layers[i]; i++) {
		auto_permissions *one = permissions_new();

		r = one ? grants_copy(one, layers[i], service) : -ENOMEM;
		if (r == 0)
			r = permissions_add_layer(less, one);
	}
	if (n < 0)
		r = n;
	if (r == 0)
		r = image_write_text(less, out);
	if (r == 0 && out->failed)
		r = -ENOMEM;
	return r == -ENOMEM ? error_no_memory(e) : r;
}

int grants_compile_whole(struct policy **ret, const char *const *layers, size_t n,
	const struct variables *variables, struct error *e)
{
	struct permissions *read[GRANTS_LAYERS_MAX] = { 0 };
	const struct permissions *flat[GRANTS_LAYERS_MAX] = { 0 };
	const struct policy_options o = { .variables = variables };
	int r = n > GRANTS_LAYERS_MAX ? -E2BIG : 0;
	size_t n_flat = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		int more;

		r = grants_read(&read[i], layers[i], e);
		if (r < 0)
			break;
		more = permissions_layers(read[i], flat + n_flat, GRANTS_LAYERS_MAX - n_flat);
		r = more < 0 ? more : 0;
		n_flat += more < 0 ? 0 : (size_t)more;
	}
	if (r == 0)
		r = policy_new(ret, flat, n_flat, &o, e);
	for (size_t i = 0; i < n && i < GRANTS_LAYERS_MAX; i++)
		permissions_free(read[i]);
	return r;
}

int grants_compile(struct policy **ret, const struct value_item *layers, size_t n, struct error *e)
{
	const char *texts[GRANTS_LAYERS_MAX];

	if (n > GRANTS_LAYERS_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++)
		texts[i] = layers[i].text;
	return grants_compile_whole(ret, texts, n, NULL, e);
}

/* Asking */

bool grants_allow(const struct policy *p, const char *request)
{
	const struct request r = { .op = OPERATION_SERVICE, .target = request };

	return policy_allows(p, &r);
}

/* The wider one of two bounds of an entry each. */
static void grants_widen(const struct service_bounds *more, bool is_first, struct service_bounds *b)
{
	if (is_first) {
		*b = *more;
		return;
	}
	if (b->range_seconds && (!more->range_seconds || more->range_seconds > b->range_seconds))
		b->range_seconds = more->range_seconds;
	if (b->max_size && (!more->max_size || more->max_size > b->max_size))
		b->max_size = more->max_size;
	if (!service_rate_within(&more->rate, &b->rate))
		b->rate = more->rate;
}

/* What one layer says. One that allows it by a rule has no bounds. */
static void grants_layer_bounds(
	const struct layer *l, const struct service_request *r, struct service_bounds *ret)
{
	bool is_first = true;

	*ret = (struct service_bounds){ 0 };
	for (size_t i = 0; i < l->n_services; i++) {
		if (!service_covers(&l->services[i], r))
			continue;
		grants_widen(&l->services[i].bounds, is_first, ret);
		is_first = false;
	}
}

static void grants_narrow_amount(uint64_t *value, uint64_t other)
{
	if (other && (!*value || other < *value))
		*value = other;
}

static void grants_narrow(const struct service_bounds *other, struct service_bounds *b)
{
	const struct rate *x = &other->rate;

	grants_narrow_amount(&b->range_seconds, other->range_seconds);
	grants_narrow_amount(&b->max_size, other->max_size);
	if (x->count && !b->rate.count)
		b->rate = *x;
	else if (x->count)
		b->rate = (struct rate){ .count = x->count < b->rate.count ? x->count
									   : b->rate.count,
			.seconds = x->seconds > b->rate.seconds ? x->seconds : b->rate.seconds };
}

void grants_bounds(const struct policy *p, const char *request, struct service_bounds *ret)
{
	char value[PATH_BYTES];
	struct host_request host;
	struct service_request r;

	*ret = (struct service_bounds){ 0 };
	if (service_request_parse(&r, request) < 0 || service_value_normal(&r, value, &host) < 0)
		return;
	for (size_t i = 0; i < policy_layers(p); i++) {
		struct service_bounds one;

		grants_layer_bounds(policy_layer(p, i), &r, &one);
		grants_narrow(&one, ret);
	}
}
