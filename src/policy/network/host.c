/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pattern matches, said as plainly as possible: hostset.c is tested against this. Then
 * patterns as sets: which contains which, and what two have in common.
 *
 * Of two hosts in patterns one always encloses the other, or they have nothing in common: names
 * form a tree, prefixes too. The guard rule cuts these sets. A part that lies within a guard means
 * all of itself; every other part means itself without all that is guarded. So for an inner and an
 * outer part:
 *
 *   both within a guard      they share the inner one
 *   neither                  both have lost the same places: they share the inner one, cut as it is
 *   only the inner one       the outer one has lost all of it: nothing is shared
 *
 * and the outer one cannot be within a guard without the inner one. That makes every meet exact.
 */
#include "policy/network/host.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "policy/baseline.h"
#include "policy/match/glob.h"
#include "policy/match/service.h"

static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS",
	"TRACE", "PATCH" };

unsigned host_method(const char *word)
{
	for (unsigned i = 0; i < ROWS(methods); i++)
		if (strcmp(word, methods[i]) == 0)
			return 1u << i;
	return 0;
}

uint64_t host_name_hash(const struct hash_key *k, const char *name)
{
	size_t end = strlen(name);
	uint64_t hash = 0;

	for (;;) {
		const char *dot = memrchr(name, '.', end);
		size_t start = dot ? (size_t)(dot - name) + 1 : 0;

		hash = hash_keyed(k, hash, name + start, end - start);
		if (!dot)
			return hash;
		end = start - 1;
	}
}

bool host_name_below(const char *name, const char *ancestor)
{
	size_t n = strlen(name), m = strlen(ancestor);

	return n > m && name[n - m - 1] == '.' && memcmp(name + n - m, ancestor, m) == 0;
}

size_t host_pattern_split(const struct host_pattern *p, struct host_pattern ret[HOST_PARTS_MAX])
{
	static const struct prefix loopback4 = { { 32, { 127, 0, 0, 1 } }, 32 };
	static const struct prefix loopback6 = { { 128, { [15] = 1 } }, 128 };

	ret[0] = *p;
	if (p->kind != HOST_NAME || strcmp(p->name, "localhost") != 0)
		return 1;
	ret[1] = ret[2] = *p;
	ret[1].kind = ret[2].kind = HOST_PREFIX;
	ret[1].name = ret[2].name = NULL;
	ret[1].prefix = loopback4;
	ret[2].prefix = loopback6;
	return 3;
}

const struct baseline_net *host_pattern_guard(const struct host_pattern *part)
{
	switch (part->kind) {
	case HOST_NAME:
	case HOST_SUBDOMAINS:
		return baseline_guard_of_name(part->name);
	case HOST_PREFIX:
		return baseline_guard_of_prefix(&part->prefix);
	case HOST_ANY:
	case HOST_SOCKET:
	case HOST_GLOB:
		break;
	}
	return NULL;
}

bool host_pattern_has_port(const struct host_pattern *p, uint16_t port)
{
	if (port == 0)
		return p->port_lo == 0 || (p->port_lo == 1 && p->port_hi == HOST_PORT_MAX);
	return p->port_lo <= port && port <= p->port_hi;
}

/* Matching */

bool host_glob_matches(const char *glob, const struct host_request *r)
{
	char text[ADDRESS_TEXT_BYTES];

	if (r->transport == TRANSPORT_UNIX)
		return false;
	if (!r->is_address)
		return service_word_matches(glob, r->name, strlen(r->name));
	return service_word_matches(glob, text, address_text(&r->address, text));
}

static bool host_part_has(const struct host_pattern *part, const struct host_request *r)
{
	switch (part->kind) {
	case HOST_NAME:
		return !r->is_address && strcmp(r->name, part->name) == 0;
	case HOST_SUBDOMAINS:
		return !r->is_address && host_name_below(r->name, part->name);
	case HOST_PREFIX:
		return r->is_address && prefix_has(&part->prefix, &r->address);
	case HOST_ANY:
		return true;
	case HOST_SOCKET:
		return strcmp(r->socket, part->name) == 0;
	case HOST_GLOB:
		return host_glob_matches(part->name, r);
	}
	return false;
}

bool host_pattern_is_about_opened(const struct host_pattern *p)
{
	if (host_pattern_is_narrowed(p) && p->wide)
		return false;
	for (size_t i = 0; i < p->n_url_paths; i++)
		if (host_path_is_unseen(p->url_paths[i]))
			return false;
	return true;
}

bool host_pattern_matches(const struct host_pattern *p, const struct host_request *r)
{
	const struct baseline_net *guard = baseline_guard(r);
	struct host_pattern parts[HOST_PARTS_MAX];
	size_t n = host_pattern_split(p, parts);

	if (p->kind == HOST_GLOB)
		return host_glob_matches(p->name, r);
	if (p->transport != r->transport || !host_pattern_has_port(p, r->port) ||
		(!r->is_opened && p->methods && !(p->methods & r->method)) ||
		(r->is_opened && !host_pattern_is_about_opened(p)))
		return false;
	for (size_t i = 0; !r->is_opened && i < p->n_url_paths; i++)
		if (host_path_is_unseen(p->url_paths[i]) == r->has_url_path ||
			(r->has_url_path && !glob_match_text(p->url_paths[i], r->url_path)))
			return false;
	/* What is guarded is granted only by a pattern that lies wholly within that guard. */
	for (size_t i = 0; i < n; i++)
		if (host_part_has(&parts[i], r) &&
			(!guard || parts[i].wide || guard == host_pattern_guard(&parts[i])))
			return true;
	return false;
}

/* Printing */

/* ":443", ":1-5", ":*". */
static void host_print_ports(uint16_t lo, uint16_t hi, struct buffer *out)
{
	if (lo == 1 && hi == HOST_PORT_MAX)
		buffer_adds(out, ":*");
	else if (lo == hi)
		buffer_printf(out, ":%u", lo);
	else
		buffer_printf(out, ":%u-%u", lo, hi);
}

static void host_print_address(const struct address *a, struct buffer *out)
{
	buffer_adds(out, a->bits == 128 ? "[" : "");
	address_print(a, out);
	buffer_adds(out, a->bits == 128 ? "]" : "");
}

static void host_print_name(const struct host_pattern *p, struct buffer *out)
{
	switch (p->kind) {
	case HOST_NAME:
	case HOST_SOCKET:
		buffer_adds(out, p->name);
		break;
	case HOST_SUBDOMAINS:
		buffer_printf(out, "*.%s", p->name);
		break;
	case HOST_ANY:
		buffer_addc(out, '*');
		break;
	case HOST_PREFIX:
		host_print_address(&p->prefix.address, out);
		if (p->prefix.length < p->prefix.address.bits)
			buffer_printf(out, "/%u", p->prefix.length);
		break;
	case HOST_GLOB:
		buffer_printf(out, "glob:%s", p->name);
		break;
	}
}

/*
 * The scheme is not kept, only its port: a URL is printed with one that has the same. After an
 * address the port is always written, so that no path is taken for the length of a prefix.
 */
static void host_print_url(const struct host_pattern *p, const char *path, struct buffer *out)
{
	static const struct {
		uint16_t port;
		const char *scheme;
	} own[] = { { 80, "http" }, { 443, "https" }, { 21, "ftp" } };
	const char *scheme = NULL;

	for (size_t i = 0; i < ROWS(own); i++)
		if (p->port_lo == own[i].port && p->port_hi == own[i].port)
			scheme = own[i].scheme;
	buffer_printf(out, "%s://", scheme ? scheme : "http");
	host_print_name(p, out);
	if (!scheme || p->kind == HOST_PREFIX)
		host_print_ports(p->port_lo, p->port_hi, out);
	buffer_adds(out, path);
}

void host_pattern_print(const struct host_pattern *p, struct buffer *out)
{
	for (size_t i = 0; i < p->n_url_paths; i++) {
		if (i > 0)
			buffer_adds(out, " & ");
		host_print_url(p, p->url_paths[i], out);
	}
	if (p->n_url_paths > 0)
		return;
	if (p->transport != TRANSPORT_TCP)
		buffer_adds(out, p->transport == TRANSPORT_UDP ? "udp://" : "unix:");
	host_print_name(p, out);
	if (p->transport != TRANSPORT_UNIX && p->kind != HOST_GLOB)
		host_print_ports(p->port_lo, p->port_hi, out);
}

void host_request_print(const struct host_request *r, struct buffer *out)
{
	if (r->transport == TRANSPORT_UNIX) {
		buffer_printf(out, "unix:%s", r->socket);
		return;
	}
	if (r->transport == TRANSPORT_UDP)
		buffer_adds(out, "udp://");
	if (r->is_address)
		host_print_address(&r->address, out);
	else
		buffer_adds(out, r->name);
	if (r->port)
		buffer_printf(out, ":%u", r->port);
}

/* Sets */

/* All hosts of b are hosts of a, before any guard. The transports are equal. */
static bool encloses(const struct host_pattern *a, const struct host_pattern *b)
{
	switch (a->kind) {
	case HOST_ANY:
		/* A glob is about private places and UDP, too. */
		return b->kind != HOST_GLOB;
	case HOST_NAME:
	case HOST_SOCKET:
	case HOST_GLOB:
		return b->kind == a->kind && strcmp(a->name, b->name) == 0;
	case HOST_SUBDOMAINS:
		if (b->kind == HOST_SUBDOMAINS && strcmp(a->name, b->name) == 0)
			return true;
		return (b->kind == HOST_NAME || b->kind == HOST_SUBDOMAINS) &&
		       host_name_below(b->name, a->name);
	case HOST_PREFIX:
		return b->kind == HOST_PREFIX && prefix_contains(&a->prefix, &b->prefix);
	}
	return false;
}

/* The same, and the guards take nothing away from b that a had lost. */
static bool host_part_contains(const struct host_pattern *a, const struct host_pattern *b)
{
	return encloses(a, b) && (a->wide || host_pattern_guard(a) == host_pattern_guard(b));
}

static bool host_parts_contain(const struct host_pattern *a, const struct host_pattern *b)
{
	struct host_pattern as[HOST_PARTS_MAX], bs[HOST_PARTS_MAX];
	size_t n_as = host_pattern_split(a, as), n_bs = host_pattern_split(b, bs);

	for (size_t i = 0; i < n_bs; i++) {
		bool found = false;

		for (size_t j = 0; j < n_as && !found; j++)
			found = host_part_contains(&as[j], &bs[i]);
		if (!found)
			return false;
	}
	return true;
}

/* Some path pattern of b admits no more than `path` does. */
static bool path_holds_for(const char *path, const struct host_pattern *b)
{
	for (size_t i = 0; i < b->n_url_paths; i++) {
		const char *other = b->url_paths[i];

		if (strcmp(path, other) == 0 ||
			(!host_path_is_unseen(other) && !strpbrk(other, "*?[]{}\\") &&
				glob_match_text(path, other)))
			return true;
	}
	return false;
}

bool host_pattern_contains(const struct host_pattern *a, const struct host_pattern *b)
{
	if (a->transport != b->transport || a->port_lo > b->port_lo || a->port_hi < b->port_hi)
		return false;
	if (a->methods && (!b->methods || b->methods & ~a->methods))
		return false;
	for (size_t i = 0; i < a->n_url_paths; i++)
		if (!path_holds_for(a->url_paths[i], b))
			return false;
	return host_parts_contain(a, b);
}

static int meet_paths(const struct host_pattern *a, const struct host_pattern *b,
	struct arena *arena, struct host_pattern *ret)
{
	size_t n = 0;
	const char **paths;

	ret->url_paths = NULL;
	ret->n_url_paths = 0;
	if (a->n_url_paths + b->n_url_paths == 0)
		return 0;
	paths = arena_calloc(arena, a->n_url_paths + b->n_url_paths, sizeof(*paths));
	if (!paths)
		return -ENOMEM;
	for (size_t i = 0; i < a->n_url_paths + b->n_url_paths; i++) {
		const char *path =
			i < a->n_url_paths ? a->url_paths[i] : b->url_paths[i - a->n_url_paths];
		size_t k = 0;

		while (k < n && strcmp(paths[k], path) != 0)
			k++;
		if (k == n)
			paths[n++] = path;
	}
	ret->url_paths = paths;
	ret->n_url_paths = n;
	return 0;
}

/*
 * A pattern over the text of hosts and another: all that may be in common, which is no less than
 * what is. Only denials have such patterns, and those are never intersected.
 */
static bool host_glob_meets(
	const struct host_pattern *glob, const struct host_pattern *other, struct host_pattern *ret)
{
	if (other->kind == HOST_SOCKET ||
		(other->kind == HOST_NAME &&
			!service_word_matches(glob->name, other->name, strlen(other->name))))
		return false;
	*ret = *other;
	return true;
}

/* The hosts in common, as a copy of a, b or a part of one. */
static bool host_parts_meet(
	const struct host_pattern *a, const struct host_pattern *b, struct host_pattern *ret)
{
	struct host_pattern as[HOST_PARTS_MAX], bs[HOST_PARTS_MAX];
	size_t n_as = host_pattern_split(a, as), n_bs = host_pattern_split(b, bs);

	if (host_parts_contain(a, b)) {
		*ret = *b;
		return true;
	}
	if (host_parts_contain(b, a)) {
		*ret = *a;
		return true;
	}
	if (a->kind == HOST_GLOB || b->kind == HOST_GLOB)
		return a->kind == HOST_GLOB ? host_glob_meets(a, b, ret)
					    : host_glob_meets(b, a, ret);
	/*
	 * Only localhost has more than one part, and nothing but itself covers two of them: they
	 * are a name and one address of each family, and all guarded, so that `*` covers none.
	 */
	for (size_t i = 0; i < n_as * n_bs; i++) {
		const struct host_pattern *pa = &as[i / n_bs], *pb = &bs[i % n_bs];

		if (host_part_contains(pa, pb) || host_part_contains(pb, pa)) {
			*ret = host_part_contains(pa, pb) ? *pb : *pa;
			return true;
		}
	}
	return false;
}

int host_pattern_meet(const struct host_pattern *a, const struct host_pattern *b,
	struct arena *arena, struct host_pattern ret[2])
{
	struct host_pattern both;
	int r;

	if (a->transport != b->transport || !host_parts_meet(a, b, &both))
		return 0;
	both.port_lo = a->port_lo > b->port_lo ? a->port_lo : b->port_lo;
	both.port_hi = a->port_hi < b->port_hi ? a->port_hi : b->port_hi;
	both.methods = a->methods && b->methods ? a->methods & b->methods : a->methods | b->methods;
	if (both.port_lo > both.port_hi || (both.methods == 0 && (a->methods || b->methods)))
		return 0;
	r = meet_paths(a, b, arena, &both);
	if (r < 0)
		return r;
	ret[0] = both;
	return 1;
}
