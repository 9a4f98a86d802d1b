/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The names in /etc/hosts, lower case, sorted. */
#include "policy/network/address.h"

struct lookup_hosts;

/* No such file: no names. -EFBIG. */
int lookup_hosts_read(struct lookup_hosts **ret, const char *path);
void lookup_hosts_free(struct lookup_hosts *h);

/* The addresses of a name, in the order of the file; at most max of them. h may be NULL. */
size_t lookup_hosts_find(
	const struct lookup_hosts *h, const char *name, struct address *ret, size_t max);
