/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolv.conf(5) and hosts(5), read as leniently as C libraries do: what is not known, or no
 * address or no name, is passed over, and so are servers beyond the third. `search` has no meaning
 * here, as names are whole. The text of the hosts is kept, cut into words in place, and the pairs
 * point into it.
 */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "net/dns/lookup.h"
#include "policy/network/host.h"

enum {
	RESOLV_CONF_BYTES = 1 << 20,
	HOSTS_BYTES = 16 << 20,
	PORT = 53,
	TIMEOUT_S = 2,
	TIMEOUT_S_MAX = 30,
	ATTEMPTS = 2,
	ATTEMPTS_MAX = 5,
};

/* A piece of a line; len 0: there is none. */
struct lookup_word {
	char *text;
	size_t len;
};

static bool lookup_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* The line starts after it then. */
static struct lookup_word lookup_next_word(char **line, const char *end)
{
	char *start = *line, *stop;

	while (start < end && lookup_is_blank(*start))
		start++;
	for (stop = start; stop < end && !lookup_is_blank(*stop); stop++)
		;
	*line = stop;
	return (struct lookup_word){ start, (size_t)(stop - start) };
}

static bool lookup_word_is(const struct lookup_word *w, const char *text)
{
	return w->len == strlen(text) && memcmp(w->text, text, w->len) == 0;
}

static int lookup_read_lines(
	struct buffer *text, int (*read_line)(void *context, char *line, char *end), void *context)
{
	char *at = text->data, *end = at + text->len;
	int r = 0;

	while (r == 0 && at < end) {
		char *newline = memchr(at, '\n', (size_t)(end - at));

		r = read_line(context, at, newline ? newline : end);
		at = newline ? newline + 1 : end;
	}
	return r;
}

/* Hosts */

struct lookup_pair {
	const char *name;
	size_t order; /* in the file */
	struct address address;
};

struct lookup_hosts {
	struct buffer text;
	struct lookup_pair *pairs;
	size_t n, cap;
};

/* Makes a word lower case and drops the dot at its end. False: it is no name. */
static bool lookup_hosts_normalise(struct lookup_word *w)
{
	if (w->text[w->len - 1] == '.')
		w->len--;
	if (w->len == 0 || w->len >= HOST_NAME_BYTES)
		return false;
	for (size_t i = 0; i < w->len; i++) {
		char c = w->text[i];

		if (c >= 'A' && c <= 'Z')
			w->text[i] = (char)(c | 0x20);
		else if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '-' &&
			 c != '_' && c != '.')
			return false;
	}
	return true;
}

/* The byte at end may be written: it is the end of the line, the start of a comment, or the NUL. */
static int lookup_hosts_read_line(void *context, char *line, char *end)
{
	struct lookup_hosts *h = context;
	char *comment = memchr(line, '#', (size_t)(end - line));
	struct lookup_word w;
	struct address a;
	int r = 0;

	end = comment ? comment : end;
	w = lookup_next_word(&line, end);
	if (w.len == 0 || address_parse(w.text, w.len, &a) < 0)
		return 0;
	for (w = lookup_next_word(&line, end); r == 0 && w.len; w = lookup_next_word(&line, end)) {
		char *stop = line;
		struct lookup_pair p = { .name = w.text, .order = h->n, .address = a };

		if (stop < end)
			line++;
		if (!lookup_hosts_normalise(&w))
			continue;
		*stop = '\0';
		w.text[w.len] = '\0';
		r = ARRAY_PUSH(h->pairs, h->n, h->cap, p);
	}
	return r;
}

static int lookup_hosts_compare(const void *a, const void *b)
{
	const struct lookup_pair *p = a, *q = b;
	int r = strcmp(p->name, q->name);

	return r ? r : (p->order > q->order) - (p->order < q->order);
}

int lookup_hosts_read(struct lookup_hosts **ret, const char *path)
{
	struct lookup_hosts *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return -ENOMEM;
	r = file_read(path, HOSTS_BYTES, &h->text);
	if (r == -ENOENT)
		r = 0;
	if (r == 0 && h->text.len > 0)
		r = lookup_read_lines(&h->text, lookup_hosts_read_line, h);
	if (r < 0) {
		lookup_hosts_free(h);
		return r;
	}
	if (h->n > 0)
		qsort(h->pairs, h->n, sizeof(*h->pairs), lookup_hosts_compare);
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

size_t lookup_hosts_find(
	const struct lookup_hosts *h, const char *name, struct address *ret, size_t max)
{
	size_t low = 0, high = h ? h->n : 0, n = 0;

	/* Where the pairs of this name start, or would. */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(h->pairs[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; h && low < h->n && n < max && strcmp(h->pairs[low].name, name) == 0; low++)
		ret[n++] = h->pairs[low].address;
	return n;
}

/* Servers */

static void lookup_config_add_server(struct lookup_config *c, const struct lookup_word *w)
{
	const char *percent = memchr(w->text, '%', w->len);
	size_t len = percent ? (size_t)(percent - w->text) : w->len;
	size_t zone_len = percent ? w->len - len - 1 : 0;
	struct lookup_server s = { .port = PORT };
	char zone[IF_NAMESIZE] = "";

	if (c->n_servers == LOOKUP_SERVERS_MAX || address_parse(w->text, len, &s.address) < 0)
		return;
	if (percent) {
		if (zone_len >= sizeof(zone) || s.address.bits != 128)
			return;
		memcpy(zone, percent + 1, zone_len);
		s.zone = if_nametoindex(zone);
		if (s.zone == 0)
			return;
	}
	c->servers[c->n_servers++] = s;
}

/* "timeout:3": whether it is this option with a number; at least 1 and at most max. */
static bool lookup_config_option(
	const struct lookup_word *w, const char *name, unsigned max, unsigned *ret)
{
	size_t len = strlen(name);
	unsigned value = 0;

	if (w->len <= len || memcmp(w->text, name, len) != 0)
		return false;
	for (size_t i = len; i < w->len; i++) {
		if (w->text[i] < '0' || w->text[i] > '9')
			return false;
		value = value * 10 + (unsigned)(w->text[i] - '0');
		if (value > max)
			value = max;
	}
	*ret = value ? value : 1;
	return true;
}

static int lookup_config_read_line(void *context, char *line, char *end)
{
	struct lookup_config *c = context;
	struct lookup_word keyword = lookup_next_word(&line, end);
	struct lookup_word w = lookup_next_word(&line, end);
	unsigned seconds;

	if (lookup_word_is(&keyword, "nameserver"))
		lookup_config_add_server(c, &w);
	if (!lookup_word_is(&keyword, "options"))
		return 0;
	for (; w.len; w = lookup_next_word(&line, end)) {
		if (lookup_config_option(&w, "timeout:", TIMEOUT_S_MAX, &seconds))
			c->timeout_ms = seconds * 1000;
		else
			(void)lookup_config_option(&w, "attempts:", ATTEMPTS_MAX, &c->attempts);
	}
	return 0;
}

int lookup_config_read(struct lookup_config *ret, const char *resolv_conf, const char *hosts)
{
	struct lookup_config c = { .timeout_ms = TIMEOUT_S * 1000, .attempts = ATTEMPTS };
	auto_buffer text = { 0 };
	int r = file_read(resolv_conf, RESOLV_CONF_BYTES, &text);

	if (r < 0 && r != -ENOENT)
		return r;
	if (text.len > 0)
		(void)lookup_read_lines(&text, lookup_config_read_line, &c);
	if (c.n_servers == 0)
		c.servers[c.n_servers++] = (struct lookup_server){
			.address = { .bits = 32, .bytes = { 127, 0, 0, 1 } },
			.port = PORT,
		};
	r = lookup_hosts_read(&c.hosts, hosts);
	if (r == 0)
		*ret = c;
	return r;
}

void lookup_config_deinit(struct lookup_config *c)
{
	lookup_hosts_free(c->hosts);
	*c = (struct lookup_config){ 0 };
}
