/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON Lines and CSV have all fields of the table, in its order.
 *
 * CSV is RFC 4180: lines end with CR LF, texts are in quotes, and a quote in them is doubled. Two
 * things more, since people open such files in spreadsheets: control characters are made visible
 * (so a row is a line), and a text that begins as a formula would, with = + - or @, gets an
 * apostrophe in front.
 */
#include "audit/export/export.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "audit/export/internal.h"
#include "base/array.h"

static void export_jsonl(const struct audit_row *r, struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	for (size_t i = 0; i < AUDIT_FIELDS; i++)
		export_put_field(&w, &audit_fields[i], r);
	json_end_line(&w);
}

static void csv_put_text(struct buffer *out, const char *text)
{
	auto_buffer visible = { 0 };

	buffer_add_visible(&visible, text, strlen(text));
	buffer_addc(out, '"');
	if (*text && strchr("=+-@", *text))
		buffer_addc(out, '\'');
	for (const char *c = buffer_text(&visible); *c; c++) {
		if (*c == '"')
			buffer_addc(out, '"');
		buffer_addc(out, *c);
	}
	buffer_addc(out, '"');
	out->failed = out->failed || visible.failed;
}

static void export_csv(const struct audit_row *r, struct buffer *out)
{
	for (size_t i = 0; i < AUDIT_FIELDS; i++) {
		char room[AUDIT_FIELD_BYTES];
		const char *text = audit_field_print(&audit_fields[i], r, room);

		buffer_adds(out, i ? "," : "");
		if (audit_fields[i].is.type == SCHEMA_TEXT)
			csv_put_text(out, text);
		else
			buffer_adds(out, text);
	}
	buffer_adds(out, "\r\n");
}

/* The names of the columns, made when they are first asked for. */
static char csv_head[256];

static void csv_make_head(void)
{
	char *p = csv_head;

	for (size_t i = 0; i < AUDIT_FIELDS; i++) {
		p = stpcpy(p, audit_fields[i].is.name);
		p = stpcpy(p, i + 1 < AUDIT_FIELDS ? "," : "\r\n");
	}
}

const char *const audit_format_names[AUDIT_FORMAT_COUNT + 1] = {
	[AUDIT_JSONL] = "jsonl",
	[AUDIT_OCSF] = "ocsf",
	[AUDIT_CEF] = "cef",
	[AUDIT_CSV] = "csv",
};

static export_writer *const export_writers[] = {
	[AUDIT_JSONL] = export_jsonl,
	[AUDIT_OCSF] = export_ocsf,
	[AUDIT_CEF] = export_cef,
	[AUDIT_CSV] = export_csv,
};
_Static_assert(ROWS(export_writers) == AUDIT_FORMAT_COUNT, "each has a writer");

const char *audit_export_head(enum audit_format f)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (f != AUDIT_CSV)
		return "";
	(void)pthread_once(&once, csv_make_head);
	return csv_head;
}

void audit_export_row(enum audit_format f, const struct audit_row *r, struct buffer *out)
{
	if ((unsigned)f < AUDIT_FORMAT_COUNT)
		export_writers[f](r, out);
}

static unsigned export_read_port(const char *text, size_t len)
{
	unsigned port = 0;

	if (len == 0 || len > 5 || strspn(text, "0123456789") < len)
		return 0;
	for (size_t i = 0; i < len; i++)
		port = 10 * port + (unsigned)(text[i] - '0');
	return port <= UINT16_MAX ? port : 0;
}

struct export_host export_host(const char *target)
{
	const char *scheme = strstr(target, "://"), *colon;
	struct export_host h = { .protocol = "tcp", .name = target };

	if (strncmp(target, "unix:", 5) == 0)
		return (struct export_host){ "unix", target + 5, strlen(target + 5), 0 };
	if (strncmp(target, "udp://", 6) == 0)
		h.protocol = "udp";
	if (scheme)
		h.name = scheme + 3;
	h.len = strcspn(h.name, "/?#");
	colon = memrchr(h.name, ':', h.len);
	if (colon) {
		h.port = export_read_port(colon + 1, h.len - (size_t)(colon + 1 - h.name));
		if (h.port)
			h.len = (size_t)(colon - h.name);
	}
	if (h.len >= 2 && h.name[0] == '[' && h.name[h.len - 1] == ']') {
		h.name++;
		h.len -= 2;
	}
	return h;
}

void export_put_field(struct json_writer *w, const struct audit_field *f, const struct audit_row *r)
{
	char room[AUDIT_FIELD_BYTES];
	const char *text = audit_field_print(f, r, room);

	if (!audit_field_is_bare(f))
		json_put_text(w, f->is.name, text);
	else
		json_put_raw(w, f->is.name, text);
}
