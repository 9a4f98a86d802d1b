/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses a row, the rest is a value. What is allowed as text is allowed as a node
 * and as a number, too, and means the same; what is refused has a sentence that repeats no secret.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "codec/json.h"
#include "codec/schema.h"
#include "codec/test/fuzz.h"

static const char *const words[] = { "tls", "starttls", "plain", NULL };

static const struct schema_field rows[] = {
	{ "text", SCHEMA_TEXT, false, 64, .help = "", .min = 1 },
	{ "path", SCHEMA_PATH, false, 64, .help = "" },
	{ "line", SCHEMA_LINE, false, .help = "" },
	{ "number", SCHEMA_NUMBER, false, .help = "" },
	{ "port", SCHEMA_NUMBER, false, 65535, .help = "", .min = 1 },
	{ "flag", SCHEMA_FLAG, false, .help = "" },
	{ "choice", SCHEMA_CHOICE, false, .words = words, .help = "" },
	{ "words", SCHEMA_WORDS, false, 256, .help = "" },
	{ "pairs", SCHEMA_PAIRS, false, 256, .help = "" },
	{ "maps", SCHEMA_JSON, false, 256, .help = "" },
	{ "map", SCHEMA_MAP, false, 256, .help = "" },
	{ "size", SCHEMA_SIZE, false, 1 << 30, .help = "", .min = 1 },
	{ "duration", SCHEMA_DURATION, false, .help = "" },
	{ "rate", SCHEMA_RATE, false, .help = "" },
	{ "secret", SCHEMA_LINE, false, 8, .help = "", .is_secret = true },
	{ 0 },
};

static void check_refusal(const struct schema_field *f, const char *text)
{
	struct error e = { 0 };

	fuzz_require(schema_refuse(f, "`x`", text, NULL, &e) == -EINVAL);
	fuzz_require(strncmp(e.text, "`x` must be ", 12) == 0);
	fuzz_require(!f->is_secret || strcmp(e.text, "`x` must be one line of text") == 0);
}

/* A text as JSON has it; what is a number or a list there is read as it stands. */
static void check_node(const struct schema_field *f, const char *text, int r, uint64_t value)
{
	const bool is_raw = f->type == SCHEMA_NUMBER || f->type == SCHEMA_FLAG ||
			    f->type == SCHEMA_WORDS || f->type == SCHEMA_PAIRS ||
			    f->type == SCHEMA_JSON || f->type == SCHEMA_MAP;
	auto_document d = { 0 };
	auto_buffer quoted = { 0 };
	uint64_t again = 0;
	int k;

	if (is_raw && json_read(&d, NULL, text, strlen(text), NULL) < 0)
		return;
	if (!is_raw) {
		d.root = node_new_text(&d.arena, text);
		if (!d.root)
			return;
	}
	k = schema_parse_node(f, d.root, &again);
	/* As text numbers go beyond those of JSON, and lists are bounded by their bytes. */
	fuzz_require(!(k == 0 && f->type == SCHEMA_NUMBER) || schema_allows_number(f, again));
	if (is_raw)
		return;
	fuzz_require((k == 0) == (r == 0) && (r < 0 || again == value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct schema_field *f = &rows[(size ? data[0] : 0) % schema_count(rows)];
	char text[4096];
	const size_t len = size > sizeof(text) ? sizeof(text) - 1 : size ? size - 1 : 0;
	uint64_t value = 0;
	int r;

	if (len)
		memcpy(text, data + 1, len);
	text[len] = '\0';
	r = schema_parse(f, text, &value);
	fuzz_require(r == 0 || r == -EINVAL || r == -ERANGE || r == -ENOMEM);
	if (r < 0)
		check_refusal(f, text);
	if (r == 0 && (f->type == SCHEMA_NUMBER || f->type == SCHEMA_CHOICE))
		fuzz_require(schema_allows_number(f, value));
	check_node(f, text, r, value);
	return 0;
}
