/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Writes JSON into a buffer as it is produced. Commas, quotes, escapes and line breaks come from
 * here alone, so what is written is JSON, whatever the values are. Nothing is allocated but the
 * room of the buffer.
 *
 *	struct json_writer w = { .out = &text };
 *
 *	json_open_map(&w, NULL);
 *	json_put_text(&w, "name", name);
 *	json_open_list(&w, "sizes");
 *	for (size_t i = 0; i < n; i++)
 *		json_put_count(&w, NULL, sizes[i]);
 *	json_close(&w);
 *	r = json_end(&w);
 *
 * gives {"name":"x","sizes":[1,2]}. In a map every value has a key, elsewhere the key is NULL. Keys
 * are not compared: the caller gives each once.
 *
 * The first failure stays: it makes later calls do nothing, json_end() returns it, and it sets
 * out->failed, so a caller that checks its buffer need not call json_end().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/encoding.h"
#include "codec/json.h"

struct buffer;

/* Lists and maps around a value: those of a document that was read, within as many again. */
enum { JSON_WRITER_DEPTH_MAX = 2 * NODE_DEPTH_MAX };

struct json_writer {
	struct buffer *out;
	enum json_style style; /* of lists and maps that are opened from now on */
	/* Private. */
	int error;
	uint8_t depth;
	bool is_line_next;
	struct {
		uint8_t style : 2, is_map : 1, is_filled : 1;
	} levels[JSON_WRITER_DEPTH_MAX + 1]; /* the first is around the whole text */
};

void json_open_map(struct json_writer *w, const char *key);
void json_open_list(struct json_writer *w, const char *key);
/* Closes what was opened last. */
void json_close(struct json_writer *w);

/* The next value, with its key, or bracket begins a line; for text without indentation. */
void json_line(struct json_writer *w);

/* NULL is null. Bytes that are not UTF-8 become U+FFFD. */
void json_put_text(struct json_writer *w, const char *key, const char *text);
void json_put_bytes(struct json_writer *w, const char *key, const char *text, size_t len);
/* Fails if the buffer did. */
void json_put_buffer(struct json_writer *w, const char *key, const struct buffer *text);
/* Allocates only where the text needs escapes. */
void json_put_format(struct json_writer *w, const char *key, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void json_put_encoded(struct json_writer *w, const char *key, enum encoding encoding,
	const void *data, size_t len);
void json_put_number(struct json_writer *w, const char *key, int64_t value);
void json_put_count(struct json_writer *w, const char *key, uint64_t value);
void json_put_flag(struct json_writer *w, const char *key, bool value);
void json_put_null(struct json_writer *w, const char *key);
void json_put_node(struct json_writer *w, const char *key, const struct node *n);
/* One value that is JSON already; it is not checked. NULL is null. */
void json_put_raw(struct json_writer *w, const char *key, const char *json);

/*
 * Closes what is open. 0 if one whole value was written; -ENOMEM; -E2BIG: nested too deep; -EINVAL:
 * the calls do not make JSON (no value, or one without its key).
 */
int json_end(struct json_writer *w);
/* The same, and a newline. */
void json_end_line(struct json_writer *w);
