/* SPDX-License-Identifier: Apache-2.0 */
/* Network patterns, without compiling them: names by their ends, addresses bit by bit. */
#include <arpa/inet.h>
#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/baseline.h"
#include "policy/test/test-naive.h"

enum { TEXT = 128, NETS = 256 };

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static void copy(char *to, size_t size, const char *from, size_t len)
{
	assert(len < size);
	memcpy(to, from, len);
	to[len] = '\0';
}

struct host {
	enum { TCP, UDP, UNIX } transport;
	bool any, below, is_address; /* `*`, `*.name`; neither: name or address */
	char name[TEXT];
	unsigned char bytes[16];
	unsigned bits, length; /* of an address, of its prefix */
	unsigned lo, hi;
	char path[TEXT]; /* of a URL; "" if it has none */
};

static void read_ports(const char *s, struct host *h)
{
	const char *dash = strchr(s, '-');

	if (strcmp(s, "*") == 0)
		return;
	h->lo = (unsigned)strtoul(s, NULL, 10);
	h->hi = dash ? (unsigned)strtoul(dash + 1, NULL, 10) : h->lo;
}

static void read_v6(const char *s, struct host *h)
{
	const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	int r = inet_pton(AF_INET6, s, h->bytes);

	assert(r == 1);
	h->is_address = true;
	h->bits = h->length = 128;
	if (memcmp(h->bytes, mapped, 12) == 0) {
		memmove(h->bytes, h->bytes + 12, 4);
		memset(h->bytes + 4, 0, 12);
		h->bits = h->length = 32;
	}
}

static void read_name(const char *s, struct host *h)
{
	struct in_addr v4;
	size_t n = 0;

	h->any = strcmp(s, "*") == 0;
	h->below = starts(s, "*.");
	for (s += h->below ? 2 : 0; *s && n < TEXT - 1; s++)
		h->name[n++] = (char)tolower((unsigned char)*s);
	if (n && h->name[n - 1] == '.')
		n--;
	h->name[n] = '\0';
	/* Also 127.1 and the like. */
	if (!h->any && !h->below && inet_aton(h->name, &v4)) {
		h->is_address = true;
		h->bits = h->length = 32;
		memcpy(h->bytes, &v4, 4);
	}
}

/* "host", "host/length", "host:ports", "[v6]/length:ports". */
static void read_endpoint(const char *s, struct host *h)
{
	char host[TEXT];
	size_t n = *s == '[' ? strcspn(s, "]") : strcspn(s, "/:");

	copy(host, sizeof(host), s + (*s == '['), n - (*s == '['));
	if (*s == '[') {
		read_v6(host, h);
		n++;
	} else {
		read_name(host, h);
	}
	s += n;
	if (*s == '/') {
		h->length = (unsigned)strtoul(s + 1, NULL, 10);
		s += strcspn(s, ":");
	}
	if (*s == ':')
		read_ports(s + 1, h);
}

/* Ports of a pattern are any by default, those of a target unknown. */
static void read_host(const char *s, struct host *h, bool target)
{
	*h = (struct host){ .lo = target ? 0 : 1, .hi = target ? 0 : 65535 };
	if (starts(s, "unix:")) {
		h->transport = UNIX;
		copy(h->name, TEXT, s + 5, strlen(s + 5));
		return;
	}
	if (starts(s, "http://") || starts(s, "https://")) {
		const char *rest = strstr(s, "://") + 3, *slash = strchr(rest, '/');
		size_t n = slash ? (size_t)(slash - rest) : strlen(rest);
		char endpoint[TEXT];

		copy(endpoint, sizeof(endpoint), rest, n);
		h->lo = h->hi = s[4] == 's' ? 443 : 80;
		read_endpoint(endpoint, h);
		if (slash && (target || (strcmp(slash, "/") != 0 && strcmp(slash, "/*") != 0 &&
						strcmp(slash, "/**") != 0)))
			copy(h->path, TEXT, slash, strlen(slash));
		else if (target)
			copy(h->path, TEXT, "/", 1);
		return;
	}
	h->transport = starts(s, "udp://") ? UDP : TCP;
	read_endpoint(h->transport == UDP ? s + 6 : s, h);
}

static bool same_bits(const unsigned char *a, const unsigned char *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if ((a[i / 8] ^ b[i / 8]) >> (7 - i % 8) & 1)
			return false;
	}
	return true;
}

static bool name_below(const char *name, const char *of)
{
	size_t n = strlen(name), m = strlen(of);

	return n > m && strcmp(name + n - m, of) == 0 && name[n - m - 1] == '.';
}

/* All of p lies in an entry of the baseline. */
static bool lies_in(const struct host *p, const struct host *net)
{
	if (p->transport == UNIX || p->any || net->is_address != p->is_address)
		return false;
	if (!net->is_address)
		return strcmp(p->name, net->name) == 0 || name_below(p->name, net->name);
	return p->bits == net->bits && p->length >= net->length &&
	       same_bits(p->bytes, net->bytes, net->length);
}

/* The baseline's entries, read from their texts when they are first needed. */
static const struct host *nets(void)
{
	static struct host all[NETS];
	static bool done;

	assert(baseline_n_nets <= NETS);
	for (size_t i = 0; i < baseline_n_nets && !done; i++) {
		const char *text = baseline_net_text(&baseline_nets[i]);
		char host[TEXT];
		int n = (int)strcspn(text, "/");

		(void)snprintf(host, sizeof(host), strchr(text, ':') ? "[%.*s]%s" : "%.*s%s", n,
			text, text + n);
		read_endpoint(host, &all[i]);
	}
	done = true;
	return all;
}

/* The first entry of a kind that h lies in; NULL if there is none. */
static const struct host *find_net(const struct host *h, bool never)
{
	for (size_t i = 0; i < baseline_n_nets; i++) {
		if (baseline_nets[i].never == never && lies_in(h, &nets()[i]))
			return &nets()[i];
	}
	return NULL;
}

static bool covers_name(const struct host *p, const struct host *t)
{
	if (p->any)
		return true;
	if (p->is_address)
		return t->is_address && p->bits == t->bits &&
		       same_bits(p->bytes, t->bytes, p->length);
	if (t->is_address)
		return false;
	return p->below ? name_below(t->name, p->name) : strcmp(p->name, t->name) == 0;
}

static bool covers_place(const struct host *p, const struct host *t, bool wide)
{
	const struct host *guard = find_net(t, false);

	return covers_name(p, t) && (wide || !guard || find_net(p, false) == guard);
}

static bool covers_host(const struct host *p, const struct host *t, bool wide)
{
	struct host local = *p;

	if (p->transport != t->transport)
		return false;
	if (p->transport == UNIX)
		return strcmp(p->name, t->name) == 0;
	if (t->lo == 0 ? p->lo != 1 || p->hi != 65535 : t->lo < p->lo || t->lo > p->hi)
		return false;
	if (p->path[0] && (!t->path[0] || !naive_glob(p->path, t->path)))
		return false;
	if (covers_place(p, t, wide))
		return true;
	if (p->below || strcmp(p->name, "localhost") != 0)
		return false;
	/* localhost is 127.0.0.1 and ::1 too. */
	read_endpoint("127.0.0.1", &local);
	if (covers_place(&local, t, wide))
		return true;
	read_endpoint("[::1]", &local);
	return covers_place(&local, t, wide);
}

bool naive_host(const char *pattern, const char *target, bool wide)
{
	struct host p, t;

	read_host(pattern, &p, false);
	read_host(target, &t, true);
	return covers_host(&p, &t, wide);
}

bool naive_host_guarded(const char *target)
{
	struct host t;

	read_host(target, &t, true);
	return t.transport == UNIX || find_net(&t, false) != NULL;
}

bool naive_host_never(const char *target)
{
	struct host t;

	read_host(target, &t, true);
	return find_net(&t, true) != NULL;
}
