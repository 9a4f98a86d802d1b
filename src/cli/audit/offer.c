/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/offer.h"

#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "cli/run/network.h"

#define OFFER_NAME "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

static const struct {
	const char *option;
	const char *only;   /* the characters that a target may have; NULL: all but these: */
	const char *except; /* what means more than itself in a pattern */
} offer_rows[AUDIT_ACTION_COUNT] = {
	[AUDIT_FS_READ] = { "--read", NULL, "*?[]{}\\$" },
	[AUDIT_FS_WRITE] = { "--write", NULL, "*?[]{}\\$" },
	/* After a program come arguments. */
	[AUDIT_EXEC] = { "--exec", NULL, "*?[]{}\\$ :\"'" },
	[AUDIT_NET_CONNECT] = { "--net", OFFER_NAME ":[]", NULL },
	[AUDIT_NET_NAME] = { "--net", OFFER_NAME, NULL },
};

/* Nothing but a grant was missing. What follows a semicolon says why a grant would not do. */
static bool audit_offer_is_missing(const struct audit_event *v)
{
	static const char missing[] = "nothing in ";

	return v->decision == AUDIT_DENIED && !*v->rule &&
	       strncmp(v->reason, missing, strlen(missing)) == 0 && !strchr(v->reason, ';');
}

static bool audit_offer_is_literal(enum audit_action action, const char *target)
{
	static const char udp[] = "udp://", socket[] = "unix:";
	const char *only = offer_rows[action].only, *except = offer_rows[action].except;
	auto_buffer visible = { 0 };

	/* What is behind a socket is not confined: the run says so where it offers one. */
	if (action == AUDIT_NET_CONNECT && strncmp(target, socket, strlen(socket)) == 0)
		return false;
	if (action == AUDIT_NET_CONNECT && strncmp(target, udp, strlen(udp)) == 0)
		target += strlen(udp);
	if (!*target || (only && target[strspn(target, only)]) ||
		(except && strpbrk(target, except)))
		return false;
	buffer_add_visible(&visible, target, strlen(target));
	return !visible.failed && strcmp(buffer_text(&visible), target) == 0;
}

const char *audit_offer(const struct audit_event *v, struct buffer *value)
{
	const struct record asked = { .program = v->program, .target = v->target };

	if (!offer_rows[v->action].option || !audit_offer_is_missing(v) ||
		!audit_offer_is_literal(v->action, v->target))
		return NULL;
	buffer_adds(value, v->target);
	if (v->action == AUDIT_NET_NAME)
		buffer_printf(value, ":%u", run_network_port(&asked, NULL, 0));
	return offer_rows[v->action].option;
}
