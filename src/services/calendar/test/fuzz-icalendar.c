/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An object as another program, or a server, could give it. What is read has its bounds; what
 * occurs lies in the window; an edit leaves an object that is read again, with the new text and all
 * other lines as they were.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "services/calendar/compose.h"
#include "services/calendar/edit.h"
#include "services/calendar/expand.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* What is found by its id can be changed, and be taken away; others stay. */
static void check_one(struct item *i, const struct occurrence *o)
{
	const struct composition c = { .title = "new", .now = 1794830400 };
	auto_buffer changed = { 0 }, rest = { 0 };
	auto_item after = NULL;
	struct occurrence found = { 0 };
	struct error e = { 0 };
	int r = expand_find(i, &o->id, &found);

	if (r < 0)
		return;
	r = compose_change_one(i, &found, &c, &changed, &e);
	if (r == 0 && item_parse(&after, changed.data, changed.len) == 0)
		require(after->n_changed >= i->n_changed && strcmp(after->uid, i->uid) == 0);
	(void)compose_remove_one(i, &found, c.now, &rest);
}

static void check_window(struct item *i)
{
	/* November 2026. */
	const struct window w = { 1793491200, 1796083200 };
	struct occurrences found = { 0 };
	auto_arena a = { 0 };
	int r = expand(i, &w, &a, &found);

	require(found.n <= EXPAND_MAX + 1);
	for (size_t n = 0; r >= 0 && n < found.n; n++) {
		const struct occurrence *o = &found.items[n];
		auto_buffer text = { 0 };

		require(o->start.at < w.to && o->end.at >= w.from && o->end.at >= o->start.at);
		moment_print(&o->start, &text);
	}
	if (r >= 0 && found.n > 0 && found.items[0].id.is_set)
		check_one(i, &found.items[0]);
	r = expand_is_within(i, &w);
	require(r <= 1);
}

static void check_edit(struct item *i)
{
	static const char title[] = "one\ntwo; three\\, \xc3\xbc";
	auto_edit e = { .lines = &i->lines };
	auto_buffer line = { 0 }, out = { 0 };
	auto_item again = NULL;
	auto_arena a = { 0 };
	const char *read;
	int r;

	edit_add_text(&line, "SUMMARY", title);
	require(edit_set(&e, item_part(i), "SUMMARY", line.data) == 0);
	edit_print(&e, &out);
	r = item_parse(&again, out.data, out.len);
	require(r == 0 || r == -EFBIG);
	if (r < 0)
		return;
	read = item_text(again, item_part(again), "SUMMARY", SIZE_MAX, &a);
	require(read && strcmp(read, title) == 0);
	require(strcmp(again->uid, i->uid) == 0 && again->lines.n_parts == i->lines.n_parts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_item i = NULL;
	auto_arena a = { 0 };

	if (item_parse(&i, (const char *)data, size) < 0)
		return 0;
	(void)item_text(i, item_part(i), "DESCRIPTION", 100, &a);
	(void)item_priority(i);
	check_window(i);
	check_edit(i);
	return 0;
}
