/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/event.h"

#include <errno.h>

#include "audit/event.h"

int event_check(const struct frame *f)
{
	const bool is_empty = f->len == 0 && f->id == 0;

	return f->n_fds || f->len > AUDIT_EVENT_MAX || is_empty ? -EPROTO : 0;
}
