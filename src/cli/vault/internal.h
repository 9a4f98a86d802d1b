/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The verbs of `corral vault`. */
#include "cli/vault/session.h"

extern const struct verb verb_vault_set, verb_vault_rotate, verb_vault_remove, verb_vault_import,
	verb_vault_export;
extern const struct verb verb_vault_list, verb_vault_uses, verb_vault_doctor;
extern const struct verb verb_vault_grant, verb_vault_revoke;

/* "30m", in seconds; the target is a uint64_t. */
extern options_taker *const vault_take_duration;
