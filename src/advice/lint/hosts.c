/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts. A grant of a host is a grant of whatever that host passes on, so what matters is who
 * decides what stands behind a name: its owner (fine), whoever registers a name below it, whoever
 * leaves something there, or nobody. threat/threat.h has a table of those that are well known.
 */
#include <stdio.h>
#include <string.h>

#include "advice/lint/internal.h"
#include "base/array.h"
#include "policy/baseline.h"
#include "policy/network/host.h"
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

int lint_net_everything(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		const struct host_pattern *h = &e->hosts[i];

		if (is_any_host(h))
			return lint_report(l, e,
				lint_say(l,
					"any public host may be reached%s: whatever can be read "
					"here can be sent anywhere",
					is_any_port(h) ? ", on any port" : ""),
				lint_say(l, "name the hosts that are needed, such as "
					    "api.example.com:443"));
	}
	return 0;
}

/* Names below which anybody gets one */

int lint_net_public_suffix(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		const char *name = e->hosts[i].name;
		int r = e->hosts[i].kind == HOST_SUBDOMAINS ? threat_is_public_suffix(name) : 0;

		if (r == 0)
			continue;
		return lint_report(l, e,
			r < 0 ? lint_say(l,
					"libpsl is not there to say whether anybody can get a name "
					"below %s",
					name)
			      : lint_say(l,
					"anybody can get a name below %s, so this lets in hosts of "
					"anybody",
					name),
			r < 0 ? lint_say(l, "install libpsl, or name the host itself")
			      : lint_say(l, "name the host itself, such as my-app.%s:443", name));
	}
	return 0;
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

int lint_net_private(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		const struct baseline_net *guard = guard_of(&e->hosts[i]);

		if (guard && !never_of(&e->hosts[i]))
			return lint_report(l, e,
				lint_say(l,
					"this reaches into %s (%s), where services often trust "
					"whoever can reach them",
					guard->text, guard->why),
				lint_say(l,
					"be sure that it is meant; name one address and one port"));
	}
	return 0;
}

int lint_net_metadata(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		const struct baseline_net *never = never_of(&e->hosts[i]);

		if (never)
			return lint_report(l, e,
				lint_say(l,
					"this grants nothing: the baseline lets nobody reach %s "
					"(%s)",
					never->text, never->why),
				lint_say(l, "remove it"));
	}
	return 0;
}

/* Where anybody can leave or fetch anything */

int lint_net_drop(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		const struct host_pattern *h = &e->hosts[i];
		bool named = h->kind == HOST_NAME || h->kind == HOST_SUBDOMAINS;
		const struct threat *drop = named ? threat_host(h->name, THREAT_DROP) : NULL;

		if (drop)
			return lint_report(l, e, lint_say(l, "%s %s", h->name, drop->what),
				lint_say(l,
					"remove it, unless this host is what the work is about"));
	}
	return 0;
}

int lint_net_dns(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		const struct host_pattern *h = &e->hosts[i];

		if (h->port_lo == h->port_hi && (h->port_lo == 53 || h->port_lo == 853))
			return lint_report(l, e,
				lint_say(l,
					"a name server passes questions on to servers of anybody, "
					"and a question can hold any data"),
				lint_say(l, "remove it: granted names are resolved without it"));
	}
	return 0;
}

/* Ports */

static unsigned n_ports(const struct host_pattern *h)
{
	return h->transport == TRANSPORT_UNIX ? 0 : h->port_hi - h->port_lo + 1u;
}

int lint_net_ports(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		const struct host_pattern *h = &e->hosts[i];

		if (n_ports(h) <= PORTS_MANY || is_any_host(h))
			continue;
		return lint_report(l, e,
			is_any_port(h) ? lint_say(l, "every port of this host may be reached")
				       : lint_say(l, "%u ports may be reached", n_ports(h)),
			lint_say(l, "name the port, such as :443"));
	}
	return 0;
}

int lint_net_plain_http(struct lint *l, const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		const struct host_pattern *h = &e->hosts[i];

		if (h->transport == TRANSPORT_TCP && h->port_lo == 80 && h->port_hi == 80 &&
			!guard_of(h))
			return lint_report(l, e,
				lint_say(l,
					"port 80 is HTTP without encryption: everybody on the way "
					"can read and change it"),
				lint_say(l, "use port 443, or https://, if the host has it"));
	}
	return 0;
}

/* Sockets of this machine */

struct socket {
	const char *pattern; /* a glob */
	const char *what;
};

static const struct socket root_sockets[] = {
	{ "/**/docker*.sock", "Docker starts containers with any folder of the machine in them" },
	{ "/**/podman*.sock", "Podman starts containers with any folder of the user in them" },
	{ "/run/containerd/**", "containerd starts containers as root" },
	{ "/run/{crio,buildkit}/**", "it starts containers as root" },
	{ "/**/{lxd,incus}/**", "it starts containers as root" },
	{ "/run/libvirt/**", "libvirt starts machines with any disk" },
	{ "/{run,var/run}/dbus/system_bus_socket", "D-Bus reaches the services of the system" },
	{ "/run/systemd/**", "systemd starts anything, as root or as the user" },
	{ "/{run,var/run}/snapd*.socket", "snapd installs programs as root" },
	{ "/**/kubelet*.sock", "the kubelet runs commands in every container" },
};

static const struct socket session_sockets[] = {
	{ "/run/user/*/{bus,dbus-*,at-spi/**}",
		"the session's D-Bus starts programs outside of the sandbox" },
	{ "/tmp/dbus-*", "the session's D-Bus starts programs outside of the sandbox" },
	{ "/run/user/*/systemd/**", "systemd starts programs outside of the sandbox" },
	{ "/**/{ssh-*/agent.*,ssh-agent*,*ssh-agent*.sock,keyring/ssh,S.gpg-agent.ssh}",
		"the agent signs in to any host with the user's keys" },
	{ "/**/S.gpg-agent*", "the agent signs and decrypts with the user's keys" },
	{ "/**/{keyring/control,keyring/pkcs11,S.keyboxd,S.scdaemon,1password/**}",
		"it hands out the user's secrets" },
	{ "/tmp/.X11-unix/**", "X11 sees every key that is typed, and types into every window" },
	{ "/run/user/*/{wayland-*,gnome-shell/**,sway-ipc*}",
		"it draws on the screen and sees what is copied" },
	{ "/run/user/*/{pulse,pipewire}*{,/**}", "it hears the microphone" },
	{ "/**/{tmux-*,screens,screen}/**", "it types into the user's terminals" },
	{ "/**/{vscode-*.sock,vscode-ipc-*}", "the editor runs commands outside of the sandbox" },
};

static const struct socket *find_socket(const struct socket *table, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++) {
		if (glob_match_text(table[i].pattern, path))
			return &table[i];
	}
	return NULL;
}

static int report_socket(
	struct lint *l, const struct lint_entry *e, const struct socket *table, size_t n)
{
	for (size_t i = 0; i < e->n_hosts; i++) {
		const struct host_pattern *h = &e->hosts[i];
		const struct socket *s =
			h->kind == HOST_SOCKET ? find_socket(table, n, h->name) : NULL;

		if (s)
			return lint_report(l, e, lint_say(l, "%s", s->what),
				lint_say(l, "remove it: no other line of the policy holds behind "
					    "this socket"));
	}
	return 0;
}

int lint_unix_root(struct lint *l, const struct lint_entry *e)
{
	return report_socket(l, e, root_sockets, ROWS(root_sockets));
}

int lint_unix_session(struct lint *l, const struct lint_entry *e)
{
	return report_socket(l, e, session_sockets, ROWS(session_sockets));
}
