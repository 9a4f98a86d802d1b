/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The same bytes as an event and as a text.
 *
 * An event has one encoding: whatever is decoded is encoded again as exactly the bytes it came
 * from, and is one line of valid JSON. What is not decoded leaves the output untouched. In a text,
 * no value that is to be redacted is left, and lines in front of it change nothing.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "audit/event.h"
#include "audit/export/export.h"
#include "audit/redact/redact.h"
#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_untouched(const void *object, size_t size)
{
	const unsigned char *p = object;

	for (size_t i = 0; i < size; i++) {
		if (p[i] != 0x5a)
			return false;
	}
	return true;
}

static void check_json(const struct audit_row *row, enum audit_format f)
{
	auto_buffer line = { 0 };
	auto_document d;
	struct error error;

	audit_export_row(f, row, &line);
	require(strcspn(line.data, "\n") == line.len - 1);
	require(json_read(&d, NULL, line.data, line.len, &error) == 0);
}

static void check_line(const struct audit_row *row, enum audit_format f, const char *end)
{
	auto_buffer line = { 0 };

	audit_export_row(f, row, &line);
	require(strcmp(line.data + strcspn(line.data, "\r\n"), end) == 0);
}

static void fuzz_event(const uint8_t *data, size_t size)
{
	struct audit_event e;
	struct audit_row row = { .number = 1 };
	auto_buffer again = { 0 };
	int r;

	memset(&e, 0x5a, sizeof(e));
	r = audit_event_decode(&e, data, size);
	if (r < 0) {
		require(r == -EBADMSG && is_untouched(&e, sizeof(e)));
		return;
	}
	audit_event_encode(&e, &again);
	require(again.len == size && memcmp(again.data, data, size) == 0);
	row.event = e;
	check_json(&row, AUDIT_JSONL);
	check_json(&row, AUDIT_OCSF);
	check_line(&row, AUDIT_CEF, "\n");
	check_line(&row, AUDIT_CSV, "\r\n");
}

static const char *const values[] = { "canary", "canary-in-a-mine", "aryca", "p@ss/w:rd",
	"two words" };
enum { N_VALUES = ROWS(values) };

static struct redactor *make_redactor(void)
{
	static struct redactor *r;

	if (r)
		return r;
	require(redactor_new(&r) == 0);
	for (size_t i = 0; i < N_VALUES; i++)
		require(redactor_add(r, "VARIABLE", values[i]) == 0);
	return r;
}

/* What is found does not depend on where in a text it stands. */
static void check_moved(const char *text, const char *redacted)
{
	static const char lines[] = "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n";
	auto_buffer moved = { 0 }, out = { 0 };

	buffer_adds(&moved, lines);
	buffer_adds(&moved, text);
	if (moved.len > REDACT_TEXT_MAX)
		return;
	redact_text(NULL, moved.data, &out);
	require(strncmp(buffer_text(&out), lines, strlen(lines)) == 0);
	require(strcmp(out.data + strlen(lines), redacted) == 0);
}

static void fuzz_text(const char *text)
{
	auto_buffer out = { 0 }, by_form = { 0 };

	redact_text(make_redactor(), text, &out);
	require(!out.failed);
	for (size_t i = 0; i < N_VALUES; i++)
		require(!strstr(buffer_text(&out), values[i]));
	redact_text(NULL, text, &by_form);
	require(!by_form.failed);
	check_moved(text, buffer_text(&by_form));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buffer text = { 0 };

	fuzz_event(data, size);
	buffer_add(&text, data, size);
	fuzz_text(text.data);
	return 0;
}
