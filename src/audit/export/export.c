/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/export/export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sodium.h>
#include <string.h>
#include <time.h>

#include "audit/export/internal.h"
#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"

static const struct {
	const char *name;
	export_writer *write;
	const char *head;
} formats[] = {
	[AUDIT_JSONL] = { "jsonl", export_jsonl, "" },
	[AUDIT_OCSF] = { "ocsf", export_ocsf, "" },
	[AUDIT_CEF] = { "cef", export_cef, "" },
	[AUDIT_CSV] = { "csv", export_csv, export_csv_head },
};
_Static_assert(ROWS(formats) == AUDIT_FORMAT_COUNT, "each has a writer");

const char *audit_format_name(enum audit_format f)
{
	return (unsigned)f < AUDIT_FORMAT_COUNT ? formats[f].name : "unknown";
}

int audit_format_parse(const char *word)
{
	for (int i = 0; i < AUDIT_FORMAT_COUNT; i++) {
		if (strcmp(formats[i].name, word) == 0)
			return i;
	}
	return -EINVAL;
}

const char *audit_export_head(enum audit_format f)
{
	return (unsigned)f < AUDIT_FORMAT_COUNT ? formats[f].head : "";
}

void audit_export_row(enum audit_format f, const struct audit_row *r, struct buffer *out)
{
	if ((unsigned)f < AUDIT_FORMAT_COUNT)
		formats[f].write(r, out);
}

const char *export_time(uint64_t time_ns, char out[EXPORT_TIME_BYTES])
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm parts;
	size_t len;

	(void)gmtime_r(&seconds, &parts);
	len = strftime(out, EXPORT_TIME_BYTES, "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(out + len, EXPORT_TIME_BYTES - len, ".%09" PRIu64 "Z", time_ns % 1000000000);
	return out;
}

const char *export_hash(const struct hash *h, char out[EXPORT_HASH_BYTES])
{
	return sodium_bin2hex(out, EXPORT_HASH_BYTES, h->bytes, HASH_BYTES);
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

static void export_put_key(struct buffer *out, const char *key)
{
	char last = out->len > 0 ? out->data[out->len - 1] : '{';

	if (last != '{')
		buffer_addc(out, ',');
	json_print_string(out, key, strlen(key));
	buffer_addc(out, ':');
}

void export_put_text(struct buffer *out, const char *key, const char *text)
{
	export_put_key(out, key);
	json_print_string(out, text, strlen(text));
}

void export_put_number(struct buffer *out, const char *key, uint64_t n)
{
	export_put_key(out, key);
	buffer_printf(out, "%" PRIu64, n);
}

void export_put_signed(struct buffer *out, const char *key, int64_t n)
{
	export_put_key(out, key);
	buffer_printf(out, "%" PRId64, n);
}

void export_put_flag(struct buffer *out, const char *key, bool flag)
{
	export_put_key(out, key);
	buffer_adds(out, flag ? "true" : "false");
}

void export_open(struct buffer *out, const char *key)
{
	if (key)
		export_put_key(out, key);
	buffer_addc(out, '{');
}

void export_close(struct buffer *out)
{
	buffer_addc(out, '}');
}
