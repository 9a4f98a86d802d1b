/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolv.conf(5), read as leniently as C libraries do: words that are not known are passed over,
 * and so are servers beyond the third. `search` has no meaning here, as names are whole.
 */
#include "net/dns/lookup.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "net/dns/lookup-hosts.h"

enum {
	FILE_MAX_BYTES = 1 << 20,
	PORT = 53,
	TIMEOUT_S = 2,
	TIMEOUT_S_MAX = 30,
	ATTEMPTS = 2,
	ATTEMPTS_MAX = 5,
};

/* A piece of a line; len 0: there is none. */
struct word {
	const char *text;
	size_t len;
};

static bool lookup_config_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

static struct word lookup_config_next_word(const char **line, const char *end)
{
	const char *start = *line, *stop;

	while (start < end && lookup_config_is_blank(*start))
		start++;
	for (stop = start; stop < end && !lookup_config_is_blank(*stop); stop++)
		;
	*line = stop;
	return (struct word){ start, (size_t)(stop - start) };
}

static bool word_is(const struct word *w, const char *text)
{
	return w->len == strlen(text) && memcmp(w->text, text, w->len) == 0;
}

/* The number of an interface by its name; 0: there is none. */
static uint32_t parse_zone(const char *text, size_t len)
{
	char name[IF_NAMESIZE] = "";

	if (len >= sizeof(name))
		return 0;
	memcpy(name, text, len);
	return if_nametoindex(name);
}

static void add_server(struct lookup_config *c, const struct word *w)
{
	const char *percent = memchr(w->text, '%', w->len);
	size_t len = percent ? (size_t)(percent - w->text) : w->len;
	struct lookup_server s = { .port = PORT };

	if (c->n_servers == LOOKUP_SERVERS_MAX || address_parse(w->text, len, &s.address) < 0)
		return;
	if (percent) {
		s.zone = parse_zone(percent + 1, w->len - len - 1);
		if (s.zone == 0 || s.address.bits != 128)
			return;
	}
	c->servers[c->n_servers++] = s;
}

/* "timeout:3": whether it is this option with a number; at least 1 and at most max. */
static bool parse_option(const struct word *w, const char *name, unsigned max, unsigned *ret)
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

static void lookup_config_read_options(struct lookup_config *c, const char *line, const char *end)
{
	for (struct word w = lookup_config_next_word(&line, end); w.len;
		w = lookup_config_next_word(&line, end)) {
		unsigned seconds;

		if (parse_option(&w, "timeout:", TIMEOUT_S_MAX, &seconds))
			c->timeout_ms = seconds * 1000;
		else
			(void)parse_option(&w, "attempts:", ATTEMPTS_MAX, &c->attempts);
	}
}

static void lookup_config_read_line(struct lookup_config *c, const char *line, const char *end)
{
	struct word keyword = lookup_config_next_word(&line, end);

	if (word_is(&keyword, "nameserver")) {
		struct word w = lookup_config_next_word(&line, end);

		add_server(c, &w);
	} else if (word_is(&keyword, "options")) {
		lookup_config_read_options(c, line, end);
	}
}

static void lookup_config_read_lines(struct lookup_config *c, const char *at, size_t len)
{
	const char *end = at + len;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;

		lookup_config_read_line(c, at, stop);
		at = newline ? newline + 1 : end;
	}
}

int lookup_config_read(struct lookup_config *ret, const char *resolv_conf, const char *hosts)
{
	struct lookup_config c = { .timeout_ms = TIMEOUT_S * 1000, .attempts = ATTEMPTS };
	auto_buffer text = { 0 };
	int r = file_read(resolv_conf, FILE_MAX_BYTES, &text);

	if (r < 0 && r != -ENOENT)
		return r;
	lookup_config_read_lines(&c, buffer_text(&text), text.len);
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
