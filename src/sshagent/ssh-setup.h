/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What `corral run --ssh-agent` hands to corral-ssh-agent: for which logins and which namespaces it
 * may have signatures made, and the files with the keys of hosts, as they are.
 *
 *     SSH_SETUP  holder -> corral-ssh-agent, first. Answered by READY (no body) or FAILED
 *     SSH_PEER   holder -> corral-ssh-agent: u32, the process that may connect to its socket
 *     EVENT      corral-ssh-agent -> holder: a signature, or a refusal (audit/event.h)
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

enum {
	SSH_GRANTS_MAX = 16, /* logins, and namespaces, of each */
	SSH_FILES_MAX = 4,
	SSH_FILES_BYTES_MAX = 4 << 20, /* of all files */
	SSH_USER_BYTES = 256,
	SSH_HOST_BYTES = 256,
	SSH_LOGIN_BYTES = SSH_USER_BYTES + SSH_HOST_BYTES + 16,
	SSH_NAMESPACE_MAX = 64,
	SSH_PORT = 22,
};

/* [plain:]USER@HOST[:PORT]. */
struct ssh_login {
	char user[SSH_USER_BYTES];
	char host[SSH_HOST_BYTES]; /* in lower case; an address of IPv6 without brackets */
	uint16_t port;
	bool is_plain; /* it says so */
};

struct ssh_file {
	const char *name; /* for messages */
	const void *data;
	size_t len;
};

struct ssh_setup {
	const char *logins[SSH_GRANTS_MAX], *namespaces[SSH_GRANTS_MAX];
	struct ssh_file files[SSH_FILES_MAX];
	size_t n_logins, n_namespaces, n_files;
};

/* A pattern is no host, and no user is none: -EINVAL, with *ret untouched. */
int ssh_setup_login_parse(const char *text, struct ssh_login *ret);
/*
 * Whether its requests need not name the key of the host: it says so, or is one of a forge that may
 * not know publickey-hostbound. Whoever has such a host's key gets logins elsewhere signed.
 */
bool ssh_setup_may_be_plain(const struct ssh_login *l);
/* "git@github.com:22", "plain:git@[::1]:22"; into SSH_LOGIN_BYTES. */
void ssh_setup_login_print(const struct ssh_login *l, char *out);
/* Of SSHSIG: letters, digits and "@._-", such as `git`. */
bool ssh_setup_namespace_is_valid(const char *text);

/* They append. -E2BIG, -EINVAL: beyond the bounds; -ENOMEM. */
int ssh_setup_encode(const struct ssh_setup *s, struct buffer *out);
/* Texts and files point into the body. -EPROTO: it breaks a rule. */
int ssh_setup_decode(struct ssh_setup *ret, const void *body, size_t len);
