/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where calls of `corral mcp serve --http` run. A place is an enclave, which makes its sandbox when
 * a first command needs one, and the tools on it:
 *
 *     a session                 one of its own, as long as it lasts
 *     execute_command           one for this call; with a handle of create_sandbox the one of that
 *                               name, if it is this principal's
 *     whatever else stands      one for all of a principal: files are the same in each, and its log
 *     alone                     has all of them
 */
#include <stdbool.h>

#include <corral/enclave.h>

#include "base/link.h"
#include "mcp/backend.h"
#include "mcp/web/web.h"

struct mcp_places {
	/* Makes an enclave: negative errno, with a sentence. */
	int (*enclose)(void *context, struct corral_enclave **ret, struct error *e);
	void *context;
	struct mcp_backend_options options; /* of all, but for what differs */
	/* Private. */
	struct link all;
	struct holder_asking rates[WEB_TOKENS_MAX];
};

void mcp_places_init(struct mcp_places *p);
/* As struct web_host has it, but for what the server asks with. */
int mcp_places_open(struct mcp_places *p, struct mcp_server *s, size_t principal,
	const struct mcp_message *m, struct buffer *why);
void mcp_places_close(struct mcp_places *p, struct mcp_server *s);
/* Ends those with handles that were not used for long. */
void mcp_places_turn(struct mcp_places *p);
/* After all servers. Accepts one that was never initialised. */
void mcp_places_deinit(struct mcp_places *p);
