/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The option that would have allowed what was denied, for a record of the log. Only where nothing
 * but a grant was missing: no rule, no baseline, no reason beside that; and only where the target
 * means itself alone, because a command chooses it, and as a pattern it could mean any host or a
 * whole tree. allowAddress() of the dashboard (words.js) follows the same rows:
 * tests/data/audit/offered.tsv.
 */
#include "audit/event.h"
#include "base/buffer.h"

/* Returns the option, such as "--net", and adds its value to `value`; NULL, and value untouched:
 * there is none to offer. */
const char *audit_offer(const struct audit_event *v, struct buffer *value);
