/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts(5), read leniently: what is no address or no name is passed over. The text of the file is
 * kept, cut into words in place, and the pairs point into it.
 */
#include "net/dns/lookup-hosts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "policy/network/host.h"

enum { FILE_MAX_BYTES = 16 << 20 };

struct pair {
	const char *name;
	size_t order; /* in the file */
	struct address address;
};

struct lookup_hosts {
	struct buffer text;
	struct pair *pairs;
	size_t n, cap;
};

static bool lookup_hosts_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The next word of a line, its length in *ret_len; NULL: none. The line starts behind it then. */
static char *lookup_hosts_next_word(char **line, const char *end, size_t *ret_len)
{
	char *start = *line, *stop;

	while (start < end && lookup_hosts_is_blank(*start))
		start++;
	for (stop = start; stop < end && !lookup_hosts_is_blank(*stop); stop++)
		;
	*line = stop;
	*ret_len = (size_t)(stop - start);
	return *ret_len ? start : NULL;
}

/* Makes a word lower case and drops the dot at its end. False: it is no name. */
static bool normalise(char *word, size_t *len)
{
	if (word[*len - 1] == '.')
		--*len;
	if (*len == 0 || *len >= HOST_NAME_BYTES)
		return false;
	for (size_t i = 0; i < *len; i++) {
		char c = word[i];

		if (c >= 'A' && c <= 'Z')
			word[i] = (char)(c | 0x20);
		else if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' &&
			 c != '_' && c != '.')
			return false;
	}
	return true;
}

static int add_pair(struct lookup_hosts *h, const char *name, const struct address *a)
{
	if (h->n == h->cap) {
		size_t cap = h->cap ? h->cap * 2 : 16;
		struct pair *grown = reallocarray(h->pairs, cap, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		h->pairs = grown;
		h->cap = cap;
	}
	h->pairs[h->n] = (struct pair){ .name = name, .order = h->n, .address = *a };
	h->n++;
	return 0;
}

/* The byte at end may be written: it is the end of the line, the start of a comment, or the NUL. */
static int lookup_hosts_read_line(struct lookup_hosts *h, char *line, const char *end)
{
	struct address a;
	size_t len;
	char *word = lookup_hosts_next_word(&line, end, &len);
	int r = 0;

	if (!word || address_parse(word, len, &a) < 0)
		return 0;
	while (r == 0 && (word = lookup_hosts_next_word(&line, end, &len))) {
		char *stop = line;

		if (stop < end)
			line++;
		if (!normalise(word, &len))
			continue;
		*stop = '\0';
		word[len] = '\0';
		r = add_pair(h, word, &a);
	}
	return r;
}

static int lookup_hosts_read_lines(struct lookup_hosts *h)
{
	char *at = h->text.data, *end = at + h->text.len;
	int r = 0;

	while (r == 0 && at < end) {
		char *newline = memchr(at, '\n', (size_t)(end - at));
		char *stop = newline ? newline : end;
		char *comment = memchr(at, '#', (size_t)(stop - at));

		r = lookup_hosts_read_line(h, at, comment ? comment : stop);
		at = stop + 1;
	}
	return r;
}

static int compare_pairs(const void *a, const void *b)
{
	const struct pair *p = a, *q = b;
	int r = strcmp(p->name, q->name);

	return r ? r : (p->order > q->order) - (p->order < q->order);
}

int lookup_hosts_read(struct lookup_hosts **ret, const char *path)
{
	struct lookup_hosts *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	r = file_read(path, FILE_MAX_BYTES, &h->text);
	if (r == -ENOENT)
		r = 0;
	if (r == 0 && h->text.len > 0)
		r = lookup_hosts_read_lines(h);
	if (r < 0) {
		lookup_hosts_free(h);
		return r;
	}
	if (h->n > 0)
		qsort(h->pairs, h->n, sizeof(*h->pairs), compare_pairs);
	*ret = h;
	return 0;
}

void lookup_hosts_free(struct lookup_hosts *h)
{
	if (!h)
		return;
	buffer_deinit(&h->text);
	free(h->pairs);
	free(h);
}

/* Where the pairs of this name start, or would. */
static size_t find_first(const struct lookup_hosts *h, const char *name)
{
	size_t low = 0, high = h->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(h->pairs[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t lookup_hosts_find(
	const struct lookup_hosts *h, const char *name, struct address *ret, size_t max)
{
	size_t n = 0;

	if (!h)
		return 0;
	for (size_t i = find_first(h, name); i < h->n && n < max; i++) {
		if (strcmp(h->pairs[i].name, name) != 0)
			break;
		ret[n++] = h->pairs[i].address;
	}
	return n;
}
