/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Servers that are in a client's file, to be run by `corral mcp wrap`. */
#include "mcp/client/edit.h"

/* Each of them but ours; what is done with each is in *ret. */
void wrapping_apply(struct client_edit *x, const struct client_install *in,
	const struct text_place *servers, struct client_changes *ret);
