/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/method.h"

#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "broker/value.h"

/* In the order of enum encoding. */
const char *const method_encodings[] = { "utf-8", "utf8", "base64", "hex", NULL };

static const char *const http_methods[] = { "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE",
	"OPTIONS", NULL };

static const char *const output_streams[] = { "stdout", "stderr", NULL };

enum {
	BOTH = CHANNEL_SOCKET | CHANNEL_HTTP,
	TIMEOUT_MAX = 600 * 1000, /* ms */
	URL_MAX = 8 << 10,
	MODE_MAX = 0777,
	LIST_NAME_MAX = 255,
	ITEM_ID_MAX = 1024,
	ITEM_TITLE_MAX = 1024,
	ITEM_NOTES_MAX = 16 << 10,
	ITEM_TIME_MAX = 64,
	ITEM_RULE_MAX = 512,
	ETAG_MAX = 128,
	LISTING_MAX = 3 << 20,
	LIMIT_MAX = 20000,
	ADDRESS_MAX = 300,
};

#define PATH(key, text)                                              \
	{                                                            \
		key, SCHEMA_PATH, true, PATH_BYTES - 1, .help = text \
	}
#define ENCODING                                                               \
	{                                                                      \
		"encoding", SCHEMA_CHOICE, false,                              \
			.words = method_encodings,                             \
			.help = "how content is written: utf-8, base64 or hex" \
	}
#define TIMEOUT                                                    \
	{                                                          \
		"timeout", SCHEMA_NUMBER, false, TIMEOUT_MAX,      \
			.help = "milliseconds; 30000 if not given" \
	}
#define URL(text)                                               \
	{                                                       \
		"url", SCHEMA_TEXT, true, URL_MAX, .help = text \
	}
#define HEADERS                                                                  \
	{                                                                        \
		"headers", SCHEMA_PAIRS, false, .help = "headers of the request" \
	}

#define SOCKET(is_required, text)                                              \
	{                                                                      \
		"socket", SCHEMA_NUMBER, is_required, UINT32_MAX, .help = text \
	}

/* Reminders and calendars: fields that several methods have. */
#define LIST_NAME(key, is_required, text)                                  \
	{                                                                  \
		key, SCHEMA_TEXT, is_required, LIST_NAME_MAX, .help = text \
	}
#define ITEM_ID                                                                    \
	{                                                                          \
		"id", SCHEMA_TEXT, true, ITEM_ID_MAX, .help = "as the list has it" \
	}
#define ITEM_TEXT(key, is_required, size, text)                   \
	{                                                         \
		key, SCHEMA_TEXT, is_required, size, .help = text \
	}
#define ETAG                                                                                   \
	{                                                                                      \
		"etag", SCHEMA_TEXT, false, ETAG_MAX,                                          \
			.help = "only if it is this version still; else the newest is changed" \
	}
#define OCCURRENCE                                                                                 \
	{                                                                                          \
		"occurrence", SCHEMA_TEXT, false, ITEM_TIME_MAX,                                   \
			.help = "only this one of an event that recurs: as calendar.list names it" \
	}
#define LISTING(what, names)                                                              \
	{ what, SCHEMA_JSON, true, LISTING_MAX, .help = "maps, one for each" },           \
		{ names, SCHEMA_WORDS, true, .help = "those that may be read" },          \
		{ "truncated", SCHEMA_FLAG, true, .help = "there are more" },             \
	{                                                                                 \
		"skipped", SCHEMA_NUMBER, true, UINT64_MAX, .help = "that cannot be read" \
	}
#define CHANGED(where)                                                                   \
	{ "id", SCHEMA_TEXT, true, ITEM_ID_MAX, .help = "of the item" },                 \
		{ where, SCHEMA_TEXT, true, LIST_NAME_MAX, .help = "where it is" },      \
	{                                                                                \
		"etag", SCHEMA_TEXT, true, ETAG_MAX, .help = "its version; may be empty" \
	}
#define DELETED                                              \
	{                                                    \
		"deleted", SCHEMA_FLAG, true, .help = "true" \
	}
#define LIMIT                                                         \
	{                                                             \
		"limit", SCHEMA_NUMBER, false, LIMIT_MAX,             \
			.help = "how many at most; 1000 if not given" \
	}

const struct method method_rows[METHOD_COUNT] = {
#define METHOD(name, handler, ...) [METHOD_##name] = { .id = METHOD_##name, __VA_ARGS__ },
#define METHOD_ASIDE(name, ...) [METHOD_##name] = { .id = METHOD_##name, __VA_ARGS__ },
#include "broker/method-table.h"
};

static bool method_is_called(const char *a, const char *name, size_t len)
{
	return a && strlen(a) == len && memcmp(a, name, len) == 0;
}

const struct method *method_find(const char *name, size_t len, bool *ret_shield)
{
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		const struct method *m = &method_rows[i];

		*ret_shield = method_is_called(m->shield, name, len);
		if (*ret_shield || method_is_called(m->name, name, len))
			return m;
	}
	return NULL;
}

const char *method_called(const struct method *m, bool by_shield)
{
	return (by_shield && m->shield) || !m->name ? m->shield : m->name;
}

int method_param(const struct method *m, const char *name, bool by_shield)
{
	for (int i = 0; m->params[i].name; i++) {
		const char *called = method_called_field(&m->params[i], by_shield);

		if (called && strcmp(called, name) == 0)
			return i;
	}
	return -1;
}

uint64_t method_timeout_ms(const struct method *m, const struct values *params)
{
	const int at = method_param(m, "timeout", false);

	if (at >= 0 && params->v[at].type == SCHEMA_NUMBER && params->v[at].number > 0)
		return params->v[at].number;
	return (m->seconds ? m->seconds : 30) * UINT64_C(1000);
}
