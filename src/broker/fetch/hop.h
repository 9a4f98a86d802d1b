/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Redirects: which request comes next, as browsers have it. Whether it may be made is the policy's
 * matter, which is asked about each. Pure.
 *
 *     301, 302   POST becomes GET, without its body
 *     303        everything but HEAD becomes GET, without its body
 *     307, 308   the same method and body once more
 *
 * To another origin (scheme, host and port) no Authorization and no Cookie goes along. From https
 * to http none is followed, nor to another scheme, nor more than HOPS_MAX.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "broker/value.h"
#include "policy/network/url.h"

enum { HOPS_MAX = 10, HOP_ORIGIN_BYTES = 300 };

struct hop {
	const char *method, *url;
	const struct value_item *headers;
	size_t n_headers;
	bool has_body;
	unsigned count; /* redirects that were followed */
};

/*
 * 1: *h is the next request; its texts live in the arena. 0: the response is no redirect. -EINVAL:
 * it is one that is not followed; *why says so, in the arena too. -ENOMEM.
 */
int hop_follow(
	struct hop *h, uint64_t status, const char *location, struct arena *a, const char **why);
/* "host:port" of a URL, as policies write it. -EINVAL: it is none. */
int hop_origin(const char *url, char out[HOP_ORIGIN_BYTES]);
/* Whether what a relay denied ("host:port", a name, a URL) is of this "host:port": requests at the
 * same time share a relay, and each hears of the denials of all. */
bool hop_is_of(const char *origin, const char *target);
