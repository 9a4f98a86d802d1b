/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "codec/json-writer.h"

static struct stream_item *stream_at(const struct stream *s, uint64_t place)
{
	return (struct stream_item *)&s->items[place % STREAM_EVENTS_MAX];
}

static void stream_drop_first(struct stream *s)
{
	struct stream_item *item = stream_at(s, s->first++);

	s->bytes -= item->len;
	free(item->text);
	*item = (struct stream_item){ 0 };
}

int stream_add(struct stream *s, uint64_t id, const char *type, const char *json)
{
	auto_buffer text = { 0 };

	buffer_printf(&text, "id: %" PRIu64 "\nevent: %s\ndata: %s\n\n", id, type, json);
	if (text.failed)
		return -ENOMEM;
	while (s->next > s->first &&
		(s->next - s->first == STREAM_EVENTS_MAX || s->bytes + text.len > STREAM_BYTES_MAX))
		stream_drop_first(s);
	*stream_at(s, s->next) = (struct stream_item){ .id = id, .len = text.len };
	s->bytes += text.len;
	stream_at(s, s->next++)->text = buffer_take(&text);
	s->last_id = id;
	return 0;
}

uint64_t stream_find(const struct stream *s, uint64_t id)
{
	uint64_t place = s->next;

	while (id > 0 && place > s->first && stream_at(s, place - 1)->id > id)
		place--;
	return place;
}

/* Numbers that the listener will not see. */
static void stream_add_dropped(struct buffer *out, uint64_t from, uint64_t to)
{
	struct json_writer w = { .out = out };

	buffer_adds(out, "event: dropped\ndata: ");
	json_open_map(&w, NULL);
	json_put_count(&w, "from", from);
	json_put_count(&w, "to", to);
	json_close(&w);
	buffer_adds(out, "\n\n");
}

void stream_copy(
	const struct stream *s, uint64_t *place, uint64_t *last, size_t room, struct buffer *out)
{
	if (*place < s->first)
		*place = s->first;
	for (; *place < s->next && out->len < room; ++*place) {
		const struct stream_item *item = stream_at(s, *place);

		if (*last && item->id > *last + 1)
			stream_add_dropped(out, *last + 1, item->id - 1);
		buffer_add(out, item->text, item->len);
		*last = item->id;
	}
}

void stream_deinit(struct stream *s)
{
	while (s->first < s->next)
		stream_drop_first(s);
}
