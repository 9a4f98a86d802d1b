/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The verbs of `corral link`. */
#include "cli/link/keep.h"
#include "cli/link/request.h"

extern const struct verb verb_link_auth, verb_link_import, verb_link_list, verb_link_logout,
	verb_link_refresh, verb_link_renew, verb_link_status;

/* NAME of a login that there may be, for a shell. */
void link_offer(struct call *c, struct buffer *out);
/* Of the vault's list: the name of the login whose token this secret is; NULL: it is none. */
const char *link_name_of(const struct node *secret);

/* Tokens that came just now, with the login that they are of; refresh of it may be the old one. */
int link_store(struct vault_session *s, const char *name, struct oauth_record *record,
	const struct oauth_tokens *t);
/*
 * The whole verbs, of which the first word is the name of a login. place: the address of the server
 * (*ret NULL: that of the login that there is); -ENOENT: no server is known by this name.
 */
int link_auth(struct call *c, int (*place)(struct call *c, const char **ret));
int link_logout(struct call *c, int (*place)(struct call *c, const char **ret));
/* "corral link auth NAME URL" as what to do. */
void link_hint_login(struct error *e, const char *name, const char *url);

struct link_renewal {
	uint64_t expires_s;
	struct oauth_tokens tokens; /* of one that does not last; else empty */
};
/*
 * A token that lasts, in the vault: the one that is there, or a new one. Once for all who ask at
 * the same time. -EKEYEXPIRED: the user must log in again.
 */
int link_renew(struct vault_session *s, const char *name, bool is_forced, struct link_renewal *ret);
