/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * FRAME_SERVICE: the first frame that a back end gets. It has all that the back end will ever know:
 * its name, the section of services.yaml (with its password), whom it serves, and what the policy
 * grants of this one service.
 */
#include <stddef.h>

#include "base/arena.h"
#include "broker/value.h"

struct buffer;

struct service_setup {
	const char *backend;             /* a row of broker/service/table.h */
	const char *sandbox;             /* name of the skill or sandbox, for people; not empty */
	const struct value_item *config; /* key, text */
	size_t n_config;
	/* Permissions of this service alone (broker/service/grants.h); all must allow. */
	const struct value_item *layers; /* text */
	size_t n_layers;
};

/* -EINVAL, -ENOMEM. */
int service_setup_encode(const struct service_setup *s, struct buffer *out);
/* Texts point into the body, lists are in the arena. -EPROTO, -ENOMEM. */
int service_setup_decode(struct service_setup *ret, const void *body, size_t len, struct arena *a);

/*
 * FRAME_SERVICE_PROBE: try your server, folder or bus for real, and change nothing. Answered by
 * FRAME_CALL_ANSWER with these fields, or FRAME_CALL_REFUSED.
 */
enum { SERVICE_PROBE_FOUND };
extern const struct schema_field service_probe_fields[];
