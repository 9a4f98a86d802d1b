/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts. A grant of a host is a grant of whatever that host passes on, so what matters is who
 * decides what stands behind a name: its owner (fine), whoever registers a name below it, whoever
 * leaves something there, or nobody. threat/threat.h has a table of those that are well known.
 */
#include <stdio.h>
#include <string.h>

#include "advice/lint/internal.h"
#include "base/buffer.h"
#include "policy/baseline.h"
#include "policy/network/host.h"
#include "policy/network/listen.h"
#include "policy/network/one-host.h"
#include "threat/threat.h"

enum {
	PORTS_MANY = 1000,  /* no service has so many */
	PREFIX_SHORT_4 = 8, /* shorter prefixes are the Internet, in effect */
	PREFIX_SHORT_6 = 16,
};

/* Everything */

static bool is_any_host(const struct host_pattern *h)
{
	if (h->kind == HOST_PREFIX)
		return h->prefix.length <
		       (h->prefix.address.bits == 32 ? PREFIX_SHORT_4 : PREFIX_SHORT_6);
	return h->kind == HOST_ANY;
}

static bool is_any_port(const struct host_pattern *h)
{
	return h->port_lo == 1 && h->port_hi == HOST_PORT_MAX;
}

bool lint_net_everything(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	if (!is_any_host(h))
		return false;
	w->text = lint_say(l,
		"any public host may be reached%s: whatever can be read here can be sent anywhere",
		is_any_port(h) ? ", on any port" : "");
	w->hint = "name the hosts that are needed, such as api.example.com:443";
	return true;
}

bool lint_net_public_suffix(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	int r = h->kind == HOST_SUBDOMAINS ? threat_is_public_suffix(h->name) : 0;

	if (r < 0) {
		w->text = lint_say(l,
			"libpsl is not installed, so it is not known whether anyone can register "
			"a name below %s",
			h->name);
		w->hint = "install libpsl, or name the host itself";
	} else if (r > 0) {
		w->text = lint_say(l,
			"anyone can register a name below %s, so this grants hosts of strangers",
			h->name);
		w->hint = lint_say(l, "name the host itself, such as my-app.%s:443", h->name);
	}
	return r != 0;
}

/* This machine and its networks */

static const struct baseline_net *guard_of(const struct host_pattern *h)
{
	struct host_pattern parts[HOST_PARTS_MAX];

	(void)host_pattern_split(h, parts);
	return host_pattern_guard(&parts[0]);
}

/* The entry that makes all of h unreachable for good, or NULL. */
static const struct baseline_net *never_of(const struct host_pattern *h)
{
	struct host_request r = { .transport = h->transport };

	if (h->kind == HOST_NAME || h->kind == HOST_SUBDOMAINS) {
		(void)snprintf(r.name, sizeof(r.name), "%s", h->name);
		return baseline_never(&r);
	}
	if (h->kind != HOST_PREFIX || h->prefix.length < h->prefix.address.bits)
		return NULL;
	r.is_address = true;
	r.address = address_plain(&h->prefix.address);
	return baseline_never(&r);
}

bool lint_net_private(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	const struct baseline_net *guard = guard_of(h);

	if (!guard || never_of(h))
		return false;
	w->text = lint_say(l,
		"this reaches into %s (%s), where services often trust whoever can reach them",
		baseline_net_text(guard), baseline_net_why(guard));
	w->hint = "make sure that this is intended; list one address and one port";
	return true;
}

int lint_net_private_name(struct lint *l, const struct lint_entry *e)
{
	if (!e->is_private || e->nothing)
		return 0;
	return lint_report(l, e,
		lint_say(l,
			"its name server decides which private address a connection to %s goes to",
			e->text),
		"make sure that you trust it, or grant the address itself in network.allow");
}

bool lint_net_metadata(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	const struct baseline_net *never = never_of(h);

	if (!never)
		return false;
	w->text = lint_say(l,
		"this grants nothing: the baseline does not allow any command to reach %s (%s)",
		baseline_net_text(never), baseline_net_why(never));
	w->hint = "remove it";
	return true;
}

/* Where anybody can leave or fetch anything */

bool lint_net_drop(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	bool named = h->kind == HOST_NAME || h->kind == HOST_SUBDOMAINS;
	const struct threat *drop = named ? threat_host(h->name, THREAT_DROP) : NULL;

	if (!drop)
		return false;
	w->text = lint_say(l, "%s %s", h->name, threat_what(drop));
	w->hint = "remove it, unless this host is what the work is about";
	return true;
}

bool lint_net_dns(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	(void)l;
	w->text = "a name server forwards queries to servers of strangers, and a query can carry "
		  "any data";
	w->hint = "remove it: granted names are resolved without it";
	return h->port_lo == h->port_hi && (h->port_lo == 53 || h->port_lo == 853);
}

/* Ports */

bool lint_net_ports(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	unsigned n = h->transport == TRANSPORT_UNIX ? 0 : h->port_hi - h->port_lo + 1u;

	if (n <= PORTS_MANY || is_any_host(h))
		return false;
	w->text = is_any_port(h) ? "every port of this host may be reached"
				 : lint_say(l, "%u ports may be reached", n);
	w->hint = "name the port, such as :443";
	return true;
}

bool lint_net_plain_http(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	(void)l;
	w->text = "port 80 is HTTP without encryption: everybody on the way can read and change it";
	w->hint = "use port 443, or https://, if the host has it";
	return h->transport == TRANSPORT_TCP && h->port_lo == 80 && h->port_hi == 80 &&
	       !guard_of(h);
}

/* A connection of TLS, as far as the pattern says, of which only requests are meant. */
static bool lint_is_inside_tls(const struct lint_entry *e, const struct host_pattern *h)
{
	bool is_narrowed = e->rule && e->rule->methods.n > 0;

	if (h->kind == HOST_SOCKET || h->kind == HOST_GLOB || h->transport != TRANSPORT_TCP ||
		h->port_hi == 80)
		return false;
	for (size_t i = 0; i < h->n_url_paths; i++) {
		if (host_path_is_unseen(h->url_paths[i]))
			return false;
		is_narrowed = true;
	}
	return is_narrowed;
}

/* The connections that requests to a pattern are on. */
static struct host_pattern lint_connections(const struct host_pattern *h)
{
	struct host_pattern bare = *h;

	bare.n_url_paths = 0;
	bare.methods = 0;
	return bare;
}

static bool lint_is_inspected(const struct lint *l, const struct host_pattern *bare)
{
	for (size_t i = 0; i < l->p->inspect.n; i++) {
		struct host_pattern inspected = { 0 };

		if (host_pattern_parse(&inspected, l->scratch, l->p->inspect.items[i].all[0], NULL,
			    NULL) == 0 &&
			host_pattern_contains(&inspected, bare))
			return true;
	}
	return false;
}

static const char *lint_inspect_hint(struct lint *l, const struct host_pattern *bare)
{
	auto_buffer text = { 0 }, place = { 0 };

	host_pattern_print(bare, &text);
	if (text.failed || one_host_spell(buffer_text(&text), "", &place, NULL, NULL) < 0)
		return "name the hosts, with their ports, in network.inspect";
	return lint_say(l, "add network: {inspect: [\"%s\"]}", buffer_text(&place));
}

int lint_net_inspect(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; e->op == OPERATION_NET_CONNECT && i < e->n_hosts; i++) {
		const struct host_pattern bare = lint_connections(&e->hosts[i]);

		if (!lint_is_inside_tls(e, &e->hosts[i]) || lint_is_inspected(l, &bare))
			continue;
		return lint_report(l, e,
			e->verdict == VERDICT_ALLOW
				? "TLS of commands shows no path and no method, so for them this "
				  "grants no connection"
				: "TLS of commands shows no path and no method, so this does not "
				  "hold inside it",
			lint_inspect_hint(l, &bare));
	}
	return 0;
}

int lint_listen_public(struct lint *l)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->p->listen.n; i++) {
		const struct grant *g = &l->p->listen.items[i];
		struct listen_entry entry;

		if (listen_parse(g->all[0], &entry, NULL, NULL) == 0 && listen_is_public(&entry))
			r = lint_report_at(l, &g->where, g->all[0],
				"other machines can connect to this port of the sandbox",
				"leave the host out: then only this machine can");
	}
	return r;
}

/* Sockets of this machine */

static bool lint_socket(unsigned use, const struct host_pattern *h, struct lint_words *w)
{
	w->hint = "remove it: no other line of the policy holds behind this socket";
	for (size_t i = 0; h->kind == HOST_SOCKET && i < threat_sockets_n; i++) {
		w->text = threat_what(&threat_sockets[i]);
		if (threat_sockets[i].uses & use &&
			glob_match_text(threat_name(&threat_sockets[i]), h->name))
			return true;
	}
	return false;
}

bool lint_unix_root(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	(void)l;
	return lint_socket(THREAT_ROOT, h, w);
}

bool lint_unix_session(struct lint *l, const struct host_pattern *h, struct lint_words *w)
{
	(void)l;
	return lint_socket(THREAT_SESSION, h, w);
}
