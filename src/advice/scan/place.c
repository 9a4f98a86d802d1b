/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Markdown and other documents, line by line: sentences, blocks of code between fences, and what a
 * reader of the rendered page does not see (comments, alternative texts, hidden elements). It is no
 * renderer: what it takes for text that is code, or the other way round, gets other weight, and is
 * looked at all the same.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "advice/scan/internal.h"
#include "base/array.h"
#include "base/words.h"

enum { ALT_LONG = 40 }; /* alternative texts are shorter */

struct document_state {
	struct scan *scan;
	char fence;       /* '`' or '~' inside of a block; NUL: none */
	size_t fence_len; /* how many */
	size_t block;     /* where its first line starts */
	uint32_t block_line;
	enum scan_language language;
	bool in_comment;
};

static const struct {
	char tag[16];
	enum scan_language language;
} tags[] = {
	{ "bash", LANGUAGE_SHELL },
	{ "sh", LANGUAGE_SHELL },
	{ "shell", LANGUAGE_SHELL },
	{ "zsh", LANGUAGE_SHELL },
	{ "console", LANGUAGE_SHELL },
	{ "terminal", LANGUAGE_SHELL },
	{ "python", LANGUAGE_PYTHON },
	{ "py", LANGUAGE_PYTHON },
	{ "python3", LANGUAGE_PYTHON },
	{ "javascript", LANGUAGE_NODE },
	{ "js", LANGUAGE_NODE },
	{ "mjs", LANGUAGE_NODE },
	{ "typescript", LANGUAGE_NODE },
	{ "ts", LANGUAGE_NODE },
	{ "jsx", LANGUAGE_NODE },
	{ "tsx", LANGUAGE_NODE },
};

static enum scan_language place_language(const char *tag, size_t len)
{
	while (len && isspace((unsigned char)tag[0])) {
		tag++;
		len--;
	}
	for (size_t i = 0; i < ROWS(tags); i++) {
		const size_t n = strlen(tags[i].tag);

		if (len >= n && strncasecmp(tag, tags[i].tag, n) == 0 &&
			(len == n || !isalnum((unsigned char)tag[n])))
			return tags[i].language;
	}
	return LANGUAGE_OTHER;
}

/* A fence at the start of a line; its length, or 0. */
static size_t place_fence(const char *line, size_t len, char *ret)
{
	size_t start = 0, n = 0;

	while (start < len && (line[start] == ' ' || line[start] == '\t' || line[start] == '>'))
		start++;
	if (start == len || (line[start] != '`' && line[start] != '~'))
		return 0;
	while (start + n < len && line[start + n] == line[start])
		n++;
	*ret = line[start];
	return n >= 3 ? n : 0;
}

/* Behind what markup hides, in this line: where it starts and ends. */
static bool place_hidden_element(const char *line, size_t len, size_t *start, size_t *end)
{
	static const char marks[][24] = { "display:none", "display: none", "visibility:hidden",
		"visibility: hidden", "font-size:0", "font-size: 0", "opacity:0", " hidden>",
		" hidden=", "color:white", "color:#fff", "[//]: # " };

	for (size_t i = 0; i < ROWS(marks); i++) {
		const char *at = memmem(line, len, marks[i], strlen(marks[i]));
		const char *close = at ? memchr(at, '>', len - (size_t)(at - line)) : NULL;

		if (!at ||
			(marks[i][0] != '[' && (!close || !memchr(line, '<', (size_t)(at - line)))))
			continue;
		*start = marks[i][0] == '[' ? (size_t)(at - line) + strlen(marks[i])
					    : (size_t)(close - line) + 1;
		*end = len;
		return true;
	}
	return false;
}

/* ![alternative text](…): longer than any that describes a picture. */
static bool place_alt_text(const char *line, size_t len, size_t *start, size_t *end)
{
	const char *at = memmem(line, len, "![", 2), *close;

	close = at ? memmem(at, len - (size_t)(at - line), "](", 2) : NULL;
	if (!close || close - at < ALT_LONG)
		return false;
	*start = (size_t)(at - line) + 2;
	*end = (size_t)(close - line);
	return true;
}

/* Commands in `…` are instructions to run them, not only words. */
static bool place_is_command(const char *text, size_t len)
{
	static const char *const programs[] = { "curl", "wget", "bash", "sh", "zsh", "python",
		"python3", "node", "npx", "uvx", "pip", "pip3", "npm", "nc", "ncat", "cat", "env",
		"eval", "echo", "rm", "find", "dd", "sudo", "powershell", "iwr", "source", "tar",
		"git", "deno", "bunx", "pipx", "aws", "scp", "ssh", "chmod", NULL };
	size_t n = 0;

	while (n < len && text[n] != ' ')
		n++;
	return n < len && words_find(programs, text, n) >= 0;
}

static void place_inline_code(struct scan *s, uint32_t line, const char *text, size_t len)
{
	size_t i = 0;

	while (i < len) {
		const char *open = memchr(text + i, '`', len - i);
		const size_t start = open ? (size_t)(open - text) + 1 : len;
		const char *close = start < len ? memchr(text + start, '`', len - start) : NULL;

		if (!close)
			return;
		if (place_is_command(text + start, (size_t)(close - text) - start) &&
			!scan_is_forbidden(text, len, start))
			scan_block(s, LANGUAGE_SHELL, line, text + start,
				(size_t)(close - text) - start);
		i = (size_t)(close - text) + 1;
	}
}

/* A sentence goes on in the next line, unless that starts something else. */
static bool place_goes_on(const char *text, size_t len, size_t at)
{
	size_t i = at + 1;

	while (i < len && (text[i] == ' ' || text[i] == '\t'))
		i++;
	if (i >= len || strchr("\r\n#-*+|>`~<[!", text[i]))
		return false;
	return !isdigit((unsigned char)text[i]);
}

/* Headings and what introduces a list say how what follows is meant. */
static void place_note_warning(struct scan *s, const char *text, size_t len)
{
	size_t start = 0;

	while (start < len && isspace((unsigned char)text[start]))
		start++;
	while (len > start && isspace((unsigned char)text[len - 1]))
		len--;
	if (start == len || strchr("-*+|>", text[start]) || isdigit((unsigned char)text[start]))
		return;
	s->warned = (text[start] == '#' || text[len - 1] == ':') &&
		    scan_is_warning(text + start, len - start);
}

static void place_sentence(
	struct document_state *d, uint32_t line, const char *text, size_t len, bool goes_on)
{
	struct scan *s = d->scan;
	size_t start = 0, end = 0;

	place_note_warning(s, text, len);
	while (len) {
		const char *open = d->in_comment ? text : memmem(text, len, "<!--", 4);
		size_t n = open ? (size_t)(open - text) : len;
		const char *close;

		if (n && (place_hidden_element(text, n, &start, &end) ||
				 place_alt_text(text, n, &start, &end)))
			scan_piece(s, PLACE_HIDDEN, LANGUAGE_PROSE, line, text + start, end - start,
				false);
		if (n) {
			place_inline_code(s, line, text, n);
			scan_piece(
				s, PLACE_TEXT, LANGUAGE_PROSE, line, text, n, goes_on && n == len);
		}
		if (!open)
			return;
		close = memmem(open, len - n, "-->", 3);
		d->in_comment = !close;
		end = close ? (size_t)(close - text) + 3 : len;
		scan_piece(s, PLACE_HIDDEN, LANGUAGE_PROSE, line, open, end - n, d->in_comment);
		text += end;
		len -= end;
	}
}

/* The line is inside of a block, or starts or ends one. */
static bool place_block(
	struct document_state *d, const char *text, size_t at, size_t len, uint32_t line)
{
	char fence = '\0';
	size_t n = place_fence(text + at, len, &fence);

	if (!d->fence && n) {
		const char *tag = memchr(text + at, fence, len);

		d->fence = fence;
		d->fence_len = n;
		d->block = at + len + 1;
		d->block_line = line + 1;
		d->language = place_language(tag + n, len - (size_t)(tag - (text + at)) - n);
		return true;
	}
	if (d->fence && n >= d->fence_len && fence == d->fence) {
		if (at > d->block)
			scan_block(d->scan, d->language, d->block_line, text + d->block,
				at - d->block);
		d->fence = '\0';
		return true;
	}
	return d->fence != '\0';
}

void scan_document(struct scan *s, const char *text, size_t len)
{
	struct document_state d = { .scan = s };
	uint32_t line = 0;
	size_t at = 0;

	while (at < len) {
		const char *newline = memchr(text + at, '\n', len - at);
		const size_t n = newline ? (size_t)(newline - text) - at : len - at;

		line++;
		if (d.in_comment || !place_block(&d, text, at, n, line))
			place_sentence(&d, line, text + at, n,
				newline && place_goes_on(text, len, at + n));
		at += n + 1;
	}
	if (d.fence && d.block < len)
		scan_block(s, d.language, d.block_line, text + d.block, len - d.block);
}
