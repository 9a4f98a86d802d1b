/* SPDX-License-Identifier: Apache-2.0 */
/* Where Corral was built without a fetcher. */
#include "mcp/backend.h"

void mcp_http_start(
	struct mcp_fetcher *fetcher, const struct mcp_backend_options *o, struct mcp_call *c)
{
	struct mcp_result answer = { .is_error = true };

	(void)fetcher;
	(void)o;
	buffer_adds(&answer.text,
		"this server cannot make requests: Corral was built without libcurl; a command "
		"can connect to granted hosts itself\n");
	mcp_server_answer(c, &answer);
}

void mcp_http_cancel(struct mcp_call *c)
{
	(void)c;
}

void mcp_fetcher_deinit(struct mcp_fetcher *f)
{
	(void)f;
}
