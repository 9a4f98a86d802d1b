/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/weight.h"

#include <inttypes.h>

enum launch_weight launch_weight_of(const struct audit_event *e)
{
	if (e->decision == AUDIT_DENIED || e->decision == AUDIT_ASKED)
		return LAUNCH_WEIGHT_HEAVY;
	switch (e->action) {
	case AUDIT_FS_READ:
	case AUDIT_FS_LIST:
	case AUDIT_NET_NAME:
	case AUDIT_NET_CLOSE:
	case AUDIT_ENV:
		return LAUNCH_WEIGHT_READ;
	case AUDIT_FS_WRITE:
	case AUDIT_FS_DELETE:
	case AUDIT_NET_CONNECT:
	case AUDIT_EXEC:
	case AUDIT_SERVICE:
		return LAUNCH_WEIGHT_CALL;
	default:
		return LAUNCH_WEIGHT_HEAVY;
	}
}

uint64_t launch_weights_sum(const struct launch_weights *w)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < LAUNCH_WEIGHT_COUNT; i++)
		sum += w->n[i];
	return sum;
}

void launch_weights_move(struct launch_weights *to, struct launch_weights *from)
{
	for (size_t i = 0; i < LAUNCH_WEIGHT_COUNT; i++)
		to->n[i] += from->n[i];
	*from = (struct launch_weights){ 0 };
}

void launch_weights_print(const struct launch_weights *w, struct buffer *out)
{
	static const char *const words[LAUNCH_WEIGHT_COUNT] = {
		[LAUNCH_WEIGHT_READ] = "reads",
		[LAUNCH_WEIGHT_CALL] = "other allowed calls",
		[LAUNCH_WEIGHT_HEAVY] = "denials and changes",
	};
	const char *separator = "";

	for (size_t i = LAUNCH_WEIGHT_COUNT; i-- > 0;) {
		if (!w->n[i])
			continue;
		buffer_printf(out, "%s%" PRIu64 " %s", separator, w->n[i], words[i]);
		separator = ", ";
	}
}
