/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The authority of one sandbox: a key and a certificate that exist in the injector's memory alone,
 * and certificates for the hosts that it stands in for. It ends with the sandbox. Its certificate
 * names the hosts that it may sign for (name constraints), so a sandbox that trusts it trusts it
 * for those hosts and no others.
 */
#include <stddef.h>

#include "base/buffer.h"
#include "base/error.h"

struct authority;
struct ssl_ctx_st;

/* hosts: names or addresses, without ports; at least one. */
int authority_new(struct authority **ret, const char *const *hosts, size_t n, struct error *e);
void authority_free(struct authority *a);
/* Its certificate, as PEM. */
int authority_print(const struct authority *a, struct buffer *out, struct error *e);
/*
 * What a server for this host needs: the certificate, made at the first time, and its key. It stays
 * the authority's. -ENOENT: no host of this authority.
 */
int authority_server(
	struct authority *a, const char *host, struct ssl_ctx_st **ret, struct error *e);
