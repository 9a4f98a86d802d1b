/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Logins of `corral link` in the vault. Of a login NAME:
 *
 *     LINK_NAME        the access token, with the source link:NAME; granted in `header` for the
 *                      host of the server
 *     LINK_NAME_LOGIN  the login (oauth/record.h): client, refresh token, where it is refreshed;
 *                      granted as `login` for the host of the token endpoint, to no sandbox
 *
 * The login is read as a process of a sandbox reads a secret: by its grant. So a refresh token goes
 * to the host that the grant names, or nowhere, and the log has each use.
 */
#include "cli/vault/session.h"
#include "oauth/answer.h"
#include "oauth/record.h"

/* The name is fit for a login. -EINVAL with a sentence. */
int keep_check_name(const char *name, struct error *e);
/*
 * Only one process at a time refreshes a login or replaces it; the lock ends with its process, or
 * when *ret is closed. -EBUSY: not within that time.
 */
int keep_lock(const char *name, unsigned most_ms, int *ret, struct error *e);

/* The login. -ENOENT: there is none, with what to do. */
int keep_read(struct vault_session *s, const char *name, struct oauth_record *ret);
/* In place of what is there; makes both secrets and their grants where they are not as they are to
 * be. */
int keep_write(struct vault_session *s, const char *name, const struct oauth_record *r);
/* Another state of the same login: one write of the vault. */
int keep_replace(struct vault_session *s, const char *name, const struct oauth_record *r);
/* The access token; NULL: there is none any more. expires_s: time of day. */
int keep_token(struct vault_session *s, const char *name, const char *token, uint64_t expires_s);
/* Both secrets, with their grants. */
int keep_remove(struct vault_session *s, const char *name);
/* -EEXIST: the vault has something else by these names. Before a login begins. */
int keep_check_free(struct vault_session *s, const char *name);
/* What VAULT_LIST says of the access token; NULL: there is none. */
const struct node *keep_find(const struct node *secrets, const char *name, const char *suffix);
/* Until when the token is good; 0: there is none. The vault is asked for its list. */
int keep_expiry(struct vault_session *s, const char *name, uint64_t *ret);
