/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is texts between NULs: a mailbox, a subject, a body, a file's name, and its bytes.
 * Whatever they are, the mail has the headers that it has without them, in the same order; lines
 * end with CR LF, are short, of printable ASCII, and none begins with a dot; no line is a boundary
 * but those between parts; and the bytes of the file come back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sodium/utils.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "services/mail/message.h"

enum { BOX, SUBJECT, BODY, NAME, TEXTS };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BOUNDARY "0123456789abcdef0123456789abcdef"

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* Names of headers in the order in which they must stand, in the head and in the parts. */
static const char *const expected[] = { "Date", "From", "To", "Cc", "Subject", "Message-ID",
	"Auto-Submitted", "MIME-Version", "Content-Type", "", "--", "Content-Type",
	"Content-Transfer-Encoding", "", "base64", "--", "Content-Type",
	"Content-Transfer-Encoding", "Content-Disposition", "", "base64", "--end" };

static bool is_base64(const char *line, size_t n)
{
	return n > 0 && n <= 76 &&
	       strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=") ==
		       n;
}

/* Which of the above a line is, if it can be that one. */
static bool is_expected(const char *line, size_t n, const char *what)
{
	if (strcmp(what, "") == 0)
		return n == 0;
	if (strcmp(what, "--") == 0)
		return n == strlen("--" BOUNDARY) && memcmp(line, "--" BOUNDARY, n) == 0;
	if (strcmp(what, "--end") == 0)
		return n == strlen("--" BOUNDARY "--") && memcmp(line, "--" BOUNDARY "--", n) == 0;
	return n > strlen(what) && line[strlen(what)] == ':' &&
	       memcmp(line, what, strlen(what)) == 0;
}

static void check_lines(const struct buffer *out)
{
	const char *line = out->data;
	size_t at = 0;

	while (*line) {
		const size_t n = strcspn(line, "\r\n");

		require(line[n] == '\r' && line[n + 1] == '\n' && line[0] != '.');
		for (size_t i = 0; i < n; i++)
			require(line[i] >= 0x20 && line[i] < 0x7f);
		require(n <= 78 ||
			(line[0] == ' ' && n <= (line[1] == 'f' ? 998 : MAILBOX_ADDRESS_MAX + 4)));
		if (at < ROWS(expected) && strcmp(expected[at], "base64") == 0) {
			if (!is_base64(line, n))
				at++;
		}
		if (at < ROWS(expected) && strcmp(expected[at], "base64") != 0) {
			/* A line that goes on with the header before. */
			if (n == 0 || line[0] != ' ') {
				require(is_expected(line, n, expected[at]));
				at++;
			}
		}
		line += n + 2;
	}
	require(at == ROWS(expected));
}

/* What stands between the last empty line and the last boundary. */
static void check_file(const struct buffer *out, const uint8_t *data, size_t len)
{
	const char *end = out->data + out->len - strlen("--" BOUNDARY "--\r\n"), *from = NULL;
	unsigned char *bytes = malloc(len + 1);
	size_t n = 0;

	for (const char *p = out->data; (p = strstr(p, "\r\n\r\n")) != NULL; p += 2)
		from = p + 4;
	require(bytes && from && from <= end);
	require(sodium_base642bin(bytes, len + 1, from, (size_t)(end - from), "\r\n", &n, NULL,
			sodium_base64_VARIANT_ORIGINAL) == 0 ||
		n == len);
	require(n == len && (len == 0 || memcmp(bytes, data, len) == 0));
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = calloc(1, size + TEXTS + 1), *texts[TEXTS];
	struct mailbox box;
	struct message_file file = { .data = data };
	struct message m = { .id = "id@example.com", .boundary = BOUNDARY, .date = (int64_t)size };
	auto_buffer out = { 0 };
	const char *why;
	size_t at = 0;

	require(copy);
	memcpy(copy, data, size);
	for (size_t i = 0; i < TEXTS; i++) {
		texts[i] = copy + (at < size ? at : size);
		at += strlen(texts[i]) + 1;
	}
	at = at < size ? at : size;
	file.name = texts[NAME];
	file.data = data + at;
	file.len = size - at;
	if (strlen(texts[NAME]) < 256 && utf8_valid(texts[BODY], strlen(texts[BODY]), NULL) &&
		mailbox_parse(&box, texts[BOX], strlen(texts[BOX]), &why) == 0 &&
		!message_subject_fault(texts[SUBJECT], strlen(texts[SUBJECT]))) {
		m.from = box;
		m.to = m.cc = &box;
		m.n_to = m.n_cc = 1;
		m.subject = texts[SUBJECT];
		m.body = texts[BODY];
		m.files = &file;
		m.n_files = 1;
		require(message_print(&m, &out) == 0);
		check_lines(&out);
		check_file(&out, file.data, file.len);
	}
	free(copy);
	return 0;
}
