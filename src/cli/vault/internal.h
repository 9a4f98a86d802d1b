/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The verbs of `corral vault`. */
#include "cli/vault/session.h"

extern const struct verb verb_vault_set, verb_vault_rotate, verb_vault_remove, verb_vault_import,
	verb_vault_export;
extern const struct verb verb_vault_status, verb_vault_list, verb_vault_uses, verb_vault_doctor;
extern const struct verb verb_vault_grant, verb_vault_revoke, verb_vault_lend;

/* One host and one port, as the policy would write them: names as A-labels in lower case. */
int vault_host_word(struct call *c, const char *text, struct buffer *out);

/* Prints whether there is a vault, and whether it is open: a line, or JSON with its secrets. */
int vault_put_state(struct vault_session *s);

/* "30m", in seconds; the target is a uint64_t. */
extern options_taker *const vault_take_duration;
