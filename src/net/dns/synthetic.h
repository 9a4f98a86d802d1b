/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Addresses that stand for names. Inside the sandbox a name that may be asked for has an address
 * out of 198.18.0.0/15 and its twin in IPv6; whoever connects to one of them means that name, and
 * the relay resolves it outside. An address is given to one name for as long as the session lasts
 * and never to another; when all are given, no further name gets one.
 *
 *     198.18.0.1 … 198.19.254.254   fd53:0:0:1::1 … by the same number
 *     198.19.255.1   fd53::1        the sandbox's own address (capture.h)
 *     198.19.255.53  fd53::53       the name server in its resolv.conf
 */
#include <stdint.h>

#include "policy/network/address.h"

#define SYNTHETIC_SELF_4 "198.19.255.1"
#define SYNTHETIC_SELF_6 "fd53::1"
#define SYNTHETIC_SERVER_4 "198.19.255.53"
#define SYNTHETIC_SERVER_6 "fd53::53"

struct synthetic;

/* max: how many names, 0 for all that there is room for. */
int synthetic_new(struct synthetic **ret, uint32_t max);
void synthetic_free(struct synthetic *s);
/*
 * The number of a name (normal form: lower-case A-labels, no dot at the end), from 1; a new one if
 * it has none. -ENOSPC: all are given. -ENOMEM.
 */
int synthetic_take(struct synthetic *s, const char *name, uint32_t *ret);
struct address synthetic_v4(uint32_t number);
struct address synthetic_v6(uint32_t number);
/* a lies in one of the two ranges, whether it was given or not. */
int synthetic_covers(const struct address *a);
/* The name that a was given to; NULL: none. Lives as long as s. */
const char *synthetic_name(const struct synthetic *s, const struct address *a);
