/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One host with one port, "api.github.com:443", as lists name them that have no patterns: `secrets`
 * and `network.inspect`. Two are equal or have nothing in common.
 */
#include "policy/network/host.h"

/* Adds the canonical text. hint: what such an entry is for. -EINVAL: it is a pattern, has no port,
 * or is not by TCP. */
int one_host_spell(const char *text, const char *hint, struct buffer *out,
	const struct location *where, struct error *e);
/* The first len bytes of a text. -EINVAL: no TCP, no port, or more than that. */
int one_host_parse(const char *text, size_t len, struct host_request *ret);
/* Whatever is requested of it. */
bool one_host_is(const struct host_request *a, const struct host_request *b);
