/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The keys that files of the form known_hosts (sshd(8)) have for one host: by its name, by a
 * pattern of names, or by a hashed name. A key that @revoked names for the host is none of them.
 * Keys of
 * @cert-authority are none either: that there is one is only noted.
 */
#include "base/arena.h"
#include "sshagent/blob.h"

enum { KNOWN_HOSTS_KEYS_MAX = 64, KNOWN_HOSTS_NAME = 272 };

struct known_hosts {
	struct blob keys[KNOWN_HOSTS_KEYS_MAX]; /* in the arena */
	size_t n;
	struct blob revoked[KNOWN_HOSTS_KEYS_MAX];
	size_t n_revoked;
	bool has_authority; /* a line of @cert-authority is about the host */
	bool has_other;     /* a key of another kind is (host-key.h) */
};

/* How the file names a host: "github.com", "[github.com]:2222". */
void known_hosts_name(const char *host, unsigned port, char out[KNOWN_HOSTS_NAME]);
/*
 * Adds what a file says of the host. -E2BIG: more keys than there is room for, or a line that is
 * too long, of which one may revoke a key; -ENOMEM.
 */
int known_hosts_read(
	struct known_hosts *k, const char *name, const void *data, size_t len, struct arena *a);
/* After all files: whether this key is the host's. */
bool known_hosts_has(const struct known_hosts *k, struct blob key);
/* Keys that are not revoked. */
size_t known_hosts_count(const struct known_hosts *k);
