/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/show.h"

#include <string.h>

#include "codec/json.h"

static void show_text(struct buffer *out, const char *key, const char *text)
{
	buffer_printf(out, ",\"%s\":", key);
	json_print_string(out, text, strlen(text));
}

/* A property of the part, if it has it. */
static void show_property(struct item *i, uint32_t part, const char *name, const char *key,
	size_t max, struct buffer *out)
{
	auto_arena a = { 0 };
	const char *text = item_text(i, part, name, max, &a);

	if (text && *text)
		show_text(out, key, text);
}

static void show_moment(const char *key, const struct moment *m, struct buffer *out)
{
	buffer_printf(out, ",\"%s\":\"", key);
	moment_print(m, out);
	buffer_addc(out, '"');
}

static void show_head(struct item *i, uint32_t part, struct buffer *out)
{
	auto_arena a = { 0 };
	const char *title = item_text(i, part, "SUMMARY", ITEM_TITLE_MAX, &a);

	buffer_adds(out, "{\"id\":");
	json_print_string(out, i->uid, strlen(i->uid));
	show_text(out, "title", title ? title : "");
	show_property(i, part, "DESCRIPTION", "notes", ITEM_NOTES_MAX, out);
	show_property(i, part, "LOCATION", "location", ITEM_TITLE_MAX, out);
	show_property(i, part, "URL", "url", ITEM_TITLE_MAX, out);
}

void show_reminder(struct item *i, const char *list, const char *tag, struct buffer *out)
{
	const uint32_t part = item_part(i);
	struct moment m;

	show_head(i, part, out);
	show_text(out, "list", list);
	if (item_moment(i, part, "DUE", &m) == 1)
		show_moment("due", &m, out);
	if (item_priority(i) > 0)
		buffer_printf(out, ",\"priority\":%u", item_priority(i));
	buffer_printf(out, ",\"completed\":%s", item_is_completed(i) ? "true" : "false");
	if (item_is_completed(i) && item_moment(i, part, "COMPLETED", &m) == 1)
		show_moment("completedAt", &m, out);
	if (item_recurs(i))
		buffer_adds(out, ",\"recurring\":true");
	show_text(out, "etag", tag);
	buffer_addc(out, '}');
}

void show_event(struct item *i, const struct occurrence *o, const char *calendar, const char *tag,
	struct buffer *out)
{
	const char *zone = zone_name(o->start.zone);

	show_head(i, o->part, out);
	show_text(out, "calendar", calendar);
	show_moment("start", &o->start, out);
	show_moment("end", &o->end, out);
	buffer_printf(out, ",\"allDay\":%s", o->start.is_date ? "true" : "false");
	if (zone && !o->start.is_date)
		show_text(out, "timezone", zone);
	show_property(i, o->part, "STATUS", "status", 64, out);
	if (o->id.is_set) {
		buffer_adds(out, ",\"recurring\":true");
		show_moment("occurrence", &o->id, out);
	}
	show_text(out, "etag", tag);
	buffer_addc(out, '}');
}
