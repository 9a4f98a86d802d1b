/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/show.h"

#include "base/buffer.h"

/* A property of the part, if it has it. */
static void show_property(struct item *i, uint32_t part, const char *name, const char *key,
	size_t max, struct json_writer *w)
{
	auto_arena a = { 0 };
	const char *text = item_text(i, part, name, max, &a);

	if (text && *text)
		json_put_text(w, key, text);
}

static void show_moment(const char *key, const struct moment *m, struct json_writer *w)
{
	auto_buffer text = { 0 };

	moment_print(m, &text);
	json_put_buffer(w, key, &text);
}

static void show_head(struct item *i, uint32_t part, struct json_writer *w)
{
	auto_arena a = { 0 };
	const char *title = item_text(i, part, "SUMMARY", ITEM_TITLE_MAX, &a);

	json_open_map(w, NULL);
	json_put_text(w, "id", i->uid);
	json_put_text(w, "title", title ? title : "");
	show_property(i, part, "DESCRIPTION", "notes", ITEM_NOTES_MAX, w);
	show_property(i, part, "LOCATION", "location", ITEM_TITLE_MAX, w);
	show_property(i, part, "URL", "url", ITEM_TITLE_MAX, w);
}

void show_reminder(struct item *i, const char *list, const char *tag, struct json_writer *w)
{
	const uint32_t part = item_part(i);
	struct moment m;

	show_head(i, part, w);
	json_put_text(w, "list", list);
	if (item_moment(i, part, "DUE", &m) == 1)
		show_moment("due", &m, w);
	if (item_priority(i) > 0)
		json_put_count(w, "priority", item_priority(i));
	json_put_flag(w, "completed", item_is_completed(i));
	if (item_is_completed(i) && item_moment(i, part, "COMPLETED", &m) == 1)
		show_moment("completedAt", &m, w);
	if (item_recurs(i))
		json_put_flag(w, "recurring", true);
	json_put_text(w, "etag", tag);
	json_close(w);
}

void show_event(struct item *i, const struct occurrence *o, const char *calendar, const char *tag,
	struct json_writer *w)
{
	const char *zone = zone_name(o->start.zone);

	show_head(i, o->part, w);
	json_put_text(w, "calendar", calendar);
	show_moment("start", &o->start, w);
	show_moment("end", &o->end, w);
	json_put_flag(w, "allDay", o->start.is_date);
	if (zone && !o->start.is_date)
		json_put_text(w, "timezone", zone);
	show_property(i, o->part, "STATUS", "status", 64, w);
	if (o->id.is_set) {
		json_put_flag(w, "recurring", true);
		show_moment("occurrence", &o->id, w);
	}
	json_put_text(w, "etag", tag);
	json_close(w);
}
