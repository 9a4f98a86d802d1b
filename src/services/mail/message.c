/* SPDX-License-Identifier: Apache-2.0 */
#include "services/mail/message.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "codec/encoding.h"

enum {
	/*
	 * Bytes of one encoded word: 52 characters of base64 and 12 around them. Behind the longest
	 * name of a header, and before the longest thing that follows it, that stays below the 76
	 * of RFC 2047.
	 */
	WORD_BYTES = 39,
	PLAIN_MAX = 64,  /* characters of a text that needs no encoding */
	LINE_BYTES = 57, /* 76 characters of base64 */
};

const char *message_subject_fault(const char *subject, size_t len)
{
	if (len > MESSAGE_SUBJECT_MAX)
		return "the subject is longer than 512 bytes";
	for (size_t i = 0; i < len; i++) {
		if (ascii_is_control(subject[i]))
			return "the subject must be one line, without control characters";
	}
	return utf8_valid(subject, len, NULL) ? NULL : "the subject must be UTF-8";
}

/* Headers */

/* It means itself in a header: printable ASCII, nothing that reads as an encoded word. */
static bool message_is_plain(const char *text, size_t len)
{
	if (len > PLAIN_MAX || (len > 0 && (text[0] == ' ' || text[len - 1] == ' ')) ||
		memmem(text, len, "=?", 2))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	}
	return true;
}

/* Encoded words (RFC 2047), each on a line of its own, that hold whole characters. */
static void message_print_words(struct buffer *out, const char *text, size_t len)
{
	for (size_t at = 0; at < len;) {
		size_t n = 0, more;
		uint32_t c;

		do {
			more = utf8_decode(text + at + n, len - at - n, &c);
			n += more;
		} while (more > 0 && at + n < len && n + 4 <= WORD_BYTES);
		/* Bytes that are no text do not come here; they would stand for themselves. */
		n = n > 0 ? n : 1;
		buffer_adds(out, at > 0 ? "\r\n =?UTF-8?B?" : "=?UTF-8?B?");
		encoding_print(ENCODING_BASE64, text + at, n, out);
		buffer_adds(out, "?=");
		at += n;
	}
}

static void message_print_mailbox(struct buffer *out, const struct mailbox *m)
{
	const size_t len = strlen(m->name);

	/* An address may be long: then it gets its line. */
	if (len == 0) {
		buffer_printf(
			out, "%s%s", strlen(m->address) > PLAIN_MAX ? "\r\n " : "", m->address);
		return;
	}
	/* A name has no quotes or backslashes (mailbox.c). */
	if (message_is_plain(m->name, len))
		buffer_printf(out, "\"%s\"", m->name);
	else
		message_print_words(out, m->name, len);
	buffer_printf(out, "\r\n <%s>", m->address);
}

static void message_print_mailboxes(
	struct buffer *out, const char *header, const struct mailbox *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		buffer_printf(out, "%s%s", i == 0 ? header : ",\r\n", i == 0 ? ": " : " ");
		message_print_mailbox(out, &list[i]);
	}
	if (n > 0)
		buffer_adds(out, "\r\n");
}

/* "Mon, 16 Nov 2026 07:30:00 +0000", whatever the locale. */
static void message_print_date(struct buffer *out, int64_t seconds)
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug",
		"Sep", "Oct", "Nov", "Dec" };
	const time_t time = (time_t)seconds;
	struct tm t = { 0 };

	(void)gmtime_r(&time, &t);
	buffer_printf(out, "Date: %s, %d %s %d %02d:%02d:%02d +0000\r\n", days[t.tm_wday],
		t.tm_mday, months[t.tm_mon], t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

static void message_print_head(struct buffer *out, const struct message *m)
{
	const size_t len = strlen(m->subject);

	message_print_date(out, m->date);
	message_print_mailboxes(out, "From", &m->from, 1);
	message_print_mailboxes(out, "To", m->to, m->n_to);
	message_print_mailboxes(out, "Cc", m->cc, m->n_cc);
	buffer_adds(out, "Subject: ");
	if (message_is_plain(m->subject, len))
		buffer_adds(out, m->subject);
	else
		message_print_words(out, m->subject, len);
	/* RFC 3834: robots need not answer. */
	buffer_printf(out,
		"\r\nMessage-ID: <%s>\r\n"
		"Auto-Submitted: auto-generated\r\n"
		"MIME-Version: 1.0\r\n",
		m->id);
}

/* Parts */

static void message_print_base64(struct buffer *out, const unsigned char *data, size_t len)
{
	for (size_t at = 0; at < len; at += LINE_BYTES) {
		encoding_print(ENCODING_BASE64, data + at,
			len - at < LINE_BYTES ? len - at : LINE_BYTES, out);
		buffer_adds(out, "\r\n");
	}
}

/* Lines of text end with CR LF in mail (RFC 2046, 4.1.1), whatever they ended with before. */
static void message_add_lines(struct buffer *out, const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, "\r\n");

		buffer_add(out, text, n);
		text += n;
		if (*text)
			buffer_adds(out, "\r\n");
		text += text[0] == '\r' && text[1] == '\n' ? 2 : *text != '\0';
	}
}

static void message_print_body(struct buffer *out, const char *body)
{
	auto_buffer lines = { 0 };

	message_add_lines(&lines, body);
	buffer_adds(out, "Content-Type: text/plain; charset=utf-8\r\n"
			 "Content-Transfer-Encoding: base64\r\n\r\n");
	message_print_base64(out, (const unsigned char *)buffer_text(&lines), lines.len);
	out->failed = out->failed || lines.failed;
}

/* Text of any kind is bytes here: it has lines and characters as its owner wrote them. */
static const char *message_type(const char *name)
{
	static const struct {
		const char *ending, *type;
	} types[] = {
		{ ".gif", "image/gif" },
		{ ".jpeg", "image/jpeg" },
		{ ".jpg", "image/jpeg" },
		{ ".json", "application/json" },
		{ ".pdf", "application/pdf" },
		{ ".png", "image/png" },
		{ ".webp", "image/webp" },
		{ ".zip", "application/zip" },
	};
	const char *ending = strrchr(name, '.');

	for (size_t i = 0; ending && i < ROWS(types); i++) {
		if (strcasecmp(ending, types[i].ending) == 0)
			return types[i].type;
	}
	return "application/octet-stream";
}

/* A file's name as it may be shown: what is no character, or makes text lie, becomes "_". */
static void message_file_name(struct buffer *out, const char *name)
{
	const size_t len = strlen(name);

	for (size_t at = 0, n; at < len; at += n) {
		uint32_t c = 0;

		n = utf8_decode(name + at, len - at, &c);
		if (n == 0 || c < 0x20 || c == 0x7f || c == '/' || c == '\\' || c == '"' ||
			utf8_is_deceptive(c)) {
			buffer_addc(out, '_');
			n = n > 0 ? n : 1;
		} else {
			buffer_add(out, name + at, n);
		}
	}
	if (out->len == 0)
		buffer_adds(out, "_");
}

/* RFC 2231 where it is more than a short text. */
static void message_print_file_name(struct buffer *out, const char *name)
{
	auto_buffer shown = { 0 };

	message_file_name(&shown, name);
	out->failed = out->failed || shown.failed;
	if (message_is_plain(buffer_text(&shown), shown.len)) {
		buffer_printf(out, "filename=\"%s\"", buffer_text(&shown));
		return;
	}
	buffer_adds(out, "filename*=utf-8''");
	encoding_percent(buffer_text(&shown), shown.len, "._-", out);
}

static void message_print_file(struct buffer *out, const struct message_file *f)
{
	buffer_printf(out,
		"Content-Type: %s\r\n"
		"Content-Transfer-Encoding: base64\r\n"
		"Content-Disposition: attachment;\r\n ",
		message_type(f->name));
	message_print_file_name(out, f->name);
	buffer_adds(out, "\r\n\r\n");
	message_print_base64(out, f->data, f->len);
}

int message_print(const struct message *m, struct buffer *out)
{
	message_print_head(out, m);
	if (m->n_files == 0) {
		message_print_body(out, m->body);
	} else {
		/* Base64 has no hyphen: no line of a part is the boundary. */
		buffer_printf(out,
			"Content-Type: multipart/mixed;\r\n boundary=\"%s\"\r\n\r\n--%s\r\n",
			m->boundary, m->boundary);
		message_print_body(out, m->body);
		for (size_t i = 0; i < m->n_files; i++) {
			buffer_printf(out, "--%s\r\n", m->boundary);
			message_print_file(out, &m->files[i]);
		}
		buffer_printf(out, "--%s--\r\n", m->boundary);
	}
	return out->failed ? -ENOMEM : 0;
}
