/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/lines.h"

#include <string.h>

static size_t mcp_lines_max(const struct mcp_lines *l)
{
	return l->max ? l->max : MCP_LINE_MAX;
}

/* What was handed out is not needed any more. */
static void mcp_lines_compact(struct mcp_lines *l)
{
	if (l->at == 0)
		return;
	memmove(l->held.data, l->held.data + l->at, l->held.len - l->at);
	l->held.len -= l->at;
	l->scanned -= l->at;
	l->at = 0;
}

void mcp_lines_add(struct mcp_lines *l, const char *data, size_t len)
{
	mcp_lines_compact(l);
	buffer_add(&l->held, data, len);
}

/* There is no newline in what is held. */
static enum mcp_line mcp_lines_wait(struct mcp_lines *l)
{
	const bool is_long = !l->is_skipping && l->held.len - l->at > mcp_lines_max(l);

	l->is_skipping = l->is_skipping || is_long;
	if (l->is_skipping) {
		/* Its memory, too. */
		buffer_deinit(&l->held);
		l->at = l->scanned = 0;
	} else {
		l->scanned = l->held.len;
	}
	return is_long ? MCP_LINE_LONG : MCP_LINE_NONE;
}

enum mcp_line mcp_lines_next(struct mcp_lines *l, const char **ret, size_t *ret_len)
{
	while (l->scanned < l->held.len) {
		const char *from = l->held.data + l->scanned;
		const char *end = memchr(from, '\n', l->held.len - l->scanned);
		const size_t at = l->at;
		size_t len;

		if (!end)
			return mcp_lines_wait(l);
		len = (size_t)(end - l->held.data) - at;
		l->at = l->scanned = at + len + 1;
		if (l->is_skipping) {
			l->is_skipping = false;
			continue;
		}
		if (len > mcp_lines_max(l))
			return MCP_LINE_LONG;
		*ret = l->held.data + at;
		*ret_len = len;
		return MCP_LINE_WHOLE;
	}
	return MCP_LINE_NONE;
}

void mcp_lines_deinit(struct mcp_lines *l)
{
	buffer_deinit(&l->held);
	l->at = l->scanned = 0;
}
