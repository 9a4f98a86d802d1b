/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/weight.h"

#include <inttypes.h>

enum holder_weight holder_weight_of(const struct audit_event *e)
{
	if (e->decision == AUDIT_DENIED || e->decision == AUDIT_ASKED)
		return HOLDER_WEIGHT_HEAVY;
	switch (e->action) {
	case AUDIT_FS_READ:
	case AUDIT_FS_LIST:
	case AUDIT_NET_NAME:
	case AUDIT_NET_CLOSE:
	case AUDIT_ENV:
		return HOLDER_WEIGHT_READ;
	case AUDIT_FS_WRITE:
	case AUDIT_FS_DELETE:
	case AUDIT_NET_CONNECT:
	case AUDIT_EXEC:
	case AUDIT_SERVICE:
		return HOLDER_WEIGHT_CALL;
	default:
		return HOLDER_WEIGHT_HEAVY;
	}
}

uint64_t holder_weights_sum(const struct holder_weights *w)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < HOLDER_WEIGHT_COUNT; i++)
		sum += w->n[i];
	return sum;
}

void holder_weights_move(struct holder_weights *to, struct holder_weights *from)
{
	for (size_t i = 0; i < HOLDER_WEIGHT_COUNT; i++)
		to->n[i] += from->n[i];
	*from = (struct holder_weights){ 0 };
}

void holder_weights_print(const struct holder_weights *w, struct buffer *out)
{
	static const char *const words[HOLDER_WEIGHT_COUNT] = {
		[HOLDER_WEIGHT_READ] = "reads",
		[HOLDER_WEIGHT_CALL] = "other allowed calls",
		[HOLDER_WEIGHT_HEAVY] = "denials and changes",
	};
	const char *separator = "";

	for (size_t i = HOLDER_WEIGHT_COUNT; i-- > 0;) {
		if (!w->n[i])
			continue;
		buffer_printf(out, "%s%" PRIu64 " %s", separator, w->n[i], words[i]);
		separator = ", ";
	}
}
