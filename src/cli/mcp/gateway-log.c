/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/gateway-log.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "audit/place.h"
#include "audit/trail.h"
#include "codec/encoding.h"
#include "host/account.h"

enum { SESSION_BYTES = 8, PATIENCE_MS = 10 * 1000 };

int mcp_gateway_log_open(struct mcp_gateway_log *l, struct error *e)
{
	char user[ACCOUNT_NAME_BYTES], session[2 * SESSION_BYTES + 1];
	uint8_t bytes[SESSION_BYTES];
	auto_buffer path = { 0 };
	int r = audit_place_named(&path, true, e);
	const struct audit_store_options store = { .path = buffer_text(&path),
		.patience_ms = PATIENCE_MS };
	const struct audit_trail_options o = {
		.store = &store, .session = session, .user = user, .sandbox = "corral mcp gateway"
	};

	l->trail = NULL;
	if (r != 0)
		return r < 0 ? r : 0;
	if (account_name("/etc/passwd", getuid(), user) < 0)
		return error_no_memory(e);
	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_set(e, -errno, NULL, "getrandom: %s", strerror(errno));
	(void)encoding_hex(bytes, sizeof(bytes), session);
	return audit_trail_new(&l->trail, &o, e);
}

void mcp_gateway_log_add(struct mcp_gateway_log *l, const struct audit_event *event)
{
	struct audit_event copy = *event;

	if (!l->trail)
		return;
	copy.pid = (uint32_t)getpid();
	(void)audit_trail_add(l->trail, &copy);
}

int mcp_gateway_log_turn(struct mcp_gateway_log *l, struct error *e)
{
	int r = l->trail ? audit_trail_tick(l->trail, e) : 0;

	if (r < 0)
		return r == -1 ? -EIO : r;
	return l->trail ? audit_trail_wait_ms(l->trail) : -1;
}

int mcp_gateway_log_close(struct mcp_gateway_log *l, struct error *e)
{
	const int r = l->trail ? audit_trail_close(l->trail, e) : 0;

	l->trail = NULL;
	return r;
}
