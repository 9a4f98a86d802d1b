/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/setup.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"

enum { BACKEND, SANDBOX, CONFIG, LAYERS };

/* The bytes of a frame bound the layers. */
static const struct schema_field service_setup_fields[] = {
	[BACKEND] = { "backend", .type = SCHEMA_TEXT, .required = true },
	[SANDBOX] = { "sandbox", .type = SCHEMA_TEXT, .required = true },
	[CONFIG] = { "config", .type = SCHEMA_PAIRS, .required = true, .max = 64 << 10 },
	[LAYERS] = { "layers", .type = SCHEMA_WORDS, .required = true, .max = 8 << 20 },
	{ 0 },
};

const struct schema_field service_probe_fields[] = {
	[SERVICE_PROBE_FOUND] = { "found", .type = SCHEMA_TEXT, .required = true },
	{ 0 },
};

int service_setup_encode(const struct service_setup *s, struct buffer *out)
{
	struct values v = { 0 };

	v.v[BACKEND] = value_text(s->backend, strlen(s->backend));
	v.v[SANDBOX] = value_text(s->sandbox, strlen(s->sandbox));
	v.v[CONFIG] = (struct value){ .type = SCHEMA_PAIRS, .items = s->config, .n = s->n_config };
	v.v[LAYERS] = (struct value){ .type = SCHEMA_WORDS, .items = s->layers, .n = s->n_layers };
	return values_encode(service_setup_fields, &v, out);
}

int service_setup_decode(struct service_setup *ret, const void *body, size_t len, struct arena *a)
{
	struct values v = { 0 };
	int r = values_decode(service_setup_fields, body, len, a, &v);

	if (r < 0)
		return r;
	*ret = (struct service_setup){ .backend = v.v[BACKEND].text,
		.sandbox = v.v[SANDBOX].text,
		.config = v.v[CONFIG].items,
		.n_config = v.v[CONFIG].n,
		.layers = v.v[LAYERS].items,
		.n_layers = v.v[LAYERS].n };
	return 0;
}
