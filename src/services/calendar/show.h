/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Events and reminders as callers get them: one JSON map each. */
#include "codec/json-writer.h"
#include "services/calendar/expand.h"

/* {"id":…,"list":…,"title":…,…} */
void show_reminder(struct item *i, const char *list, const char *tag, struct json_writer *w);
/* {"id":…,"calendar":…,"title":…,"start":…,"end":…,…}: one occurrence of it. */
void show_event(struct item *i, const struct occurrence *o, const char *calendar, const char *tag,
	struct json_writer *w);
