/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Secrets that are lent to a sandbox. Whoever started their lender passes on what that said, as it
 * came (wire/lend.h); values are in none of it.
 */
#include <stddef.h>

#include "wire/lend.h"

struct sandbox_lent {
	const void *setup, *ready; /* bodies of LEND_SETUP and LEND_READY */
	size_t setup_len, ready_len;
	int relays[LEND_RELAYS_MAX]; /* the sockets of LEND_READY */
	size_t n_relays;
	/* NAME=value of its commands, whatever the policy says of variables. Ends with NULL. */
	const char *const *env;
};
