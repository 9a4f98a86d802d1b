/* SPDX-License-Identifier: Apache-2.0 */
/* What a pattern matches, said as plainly as possible: hostset.c is tested against this. */
#include "policy/network/host.h"

#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/baseline.h"
#include "policy/match/glob.h"
#include "policy/network/host-syntax.h"

static const char *const methods[] = { "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS",
	"TRACE", "PATCH" };

unsigned host_method(const char *word)
{
	for (unsigned i = 0; i < ROWS(methods); i++)
		if (strcmp(word, methods[i]) == 0)
			return 1u << i;
	return 0;
}

static bool part_has(const struct host_pattern *part, const struct host_request *r)
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
	}
	return false;
}

/* What is guarded is granted only by a pattern that lies wholly within that guard. */
static bool part_reaches(const struct host_pattern *part, const struct host_request *r)
{
	const struct baseline_net *guard = baseline_guard(r);

	return part_has(part, r) && (!guard || part->wide || guard == host_pattern_guard(part));
}

static bool has_method_and_path(const struct host_pattern *p, const struct host_request *r)
{
	if (p->methods && !(p->methods & r->method))
		return false;
	if (p->n_url_paths && !r->has_url_path)
		return false;
	for (size_t i = 0; i < p->n_url_paths; i++)
		if (!glob_match_text(p->url_paths[i], r->url_path))
			return false;
	return true;
}

bool host_pattern_matches(const struct host_pattern *p, const struct host_request *r)
{
	struct host_pattern parts[HOST_PARTS_MAX];
	size_t n = host_pattern_split(p, parts);

	if (p->transport != r->transport || !host_pattern_has_port(p, r->port) ||
		!has_method_and_path(p, r))
		return false;
	for (size_t i = 0; i < n; i++)
		if (part_reaches(&parts[i], r))
			return true;
	return false;
}

static void print_host(const struct host_pattern *p, struct buffer *out)
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
		if (p->prefix.address.bits == 128)
			buffer_addc(out, '[');
		address_print(&p->prefix.address, out);
		if (p->prefix.address.bits == 128)
			buffer_addc(out, ']');
		if (p->prefix.length < p->prefix.address.bits)
			buffer_printf(out, "/%u", p->prefix.length);
		break;
	}
}

/*
 * The scheme is not kept, only its port: a URL is printed with one that has the same. Behind an
 * address the port is always written, so that no path is taken for the length of a prefix.
 */
static void print_url(const struct host_pattern *p, const char *path, struct buffer *out)
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
	print_host(p, out);
	if (!scheme || p->kind == HOST_PREFIX)
		host_ports_print(p->port_lo, p->port_hi, out);
	buffer_adds(out, path);
}

void host_pattern_print(const struct host_pattern *p, struct buffer *out)
{
	for (size_t i = 0; i < p->n_url_paths; i++) {
		if (i > 0)
			buffer_adds(out, " & ");
		print_url(p, p->url_paths[i], out);
	}
	if (p->n_url_paths > 0)
		return;
	if (p->transport != TRANSPORT_TCP)
		buffer_adds(out, p->transport == TRANSPORT_UDP ? "udp://" : "unix:");
	print_host(p, out);
	if (p->transport != TRANSPORT_UNIX)
		host_ports_print(p->port_lo, p->port_hi, out);
}
