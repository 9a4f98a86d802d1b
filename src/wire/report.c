/* SPDX-License-Identifier: Apache-2.0 */
/* Plain structs: what is sent is the struct, and reading it is checking it. */
#include "wire/report.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { EXIT_CODE_MAX = 255, SIGNAL_MAX = 64 };

_Static_assert(sizeof(struct report) == 56, "no padding goes over the wire");
_Static_assert(sizeof(struct ready) == 8, "no padding goes over the wire");

static bool report_is_valid(const struct report *r)
{
	if ((r->flags & ~(uint32_t)REPORT_FLAGS) || r->reserved)
		return false;
	if (r->memory_by > REPORT_BY_POLLING || r->pids_by > REPORT_BY_POLLING)
		return false;
	if (r->signal < 0 || r->signal > SIGNAL_MAX)
		return false;
	return r->signal || (r->exit_code >= 0 && r->exit_code <= EXIT_CODE_MAX);
}

int report_decode(struct report *ret, const void *body, size_t len)
{
	struct report r;

	if (len != sizeof(r))
		return -EPROTO;
	memcpy(&r, body, sizeof(r));
	if (!report_is_valid(&r))
		return -EPROTO;
	*ret = r;
	return 0;
}

int ready_decode(struct ready *ret, const void *body, size_t len)
{
	struct ready r;

	if (len != sizeof(r))
		return -EPROTO;
	memcpy(&r, body, sizeof(r));
	if (r.tier < READY_TIER_MIN || r.tier > READY_TIER_MAX || r.reserved)
		return -EPROTO;
	*ret = r;
	return 0;
}
