/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Servers on the user's own machine. Inside, 127.0.0.1 and ::1 are the sandbox's own, and whoever
 * connects to a port on which nobody listens there is refused by the kernel; the relay never hears
 * of it. That it was meant for the host is a guess: somebody listens there, and nobody inside.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "cli/explain/internal.h"

enum { LIST_BYTES_MAX = 1 << 20 };

/* As /proc has it: each group of four bytes as a number of the machine's. */
static void print_address(const void *bytes, size_t len, char *out)
{
	const unsigned char *p = bytes;

	for (size_t i = 0; i < len; i += 4, out += 8) {
		uint32_t group;

		memcpy(&group, p + i, sizeof(group));
		(void)snprintf(out, 9, "%08X", group);
	}
}

/* Is there a line "N: ADDRESS:PORT … 0A", of somebody who listens? */
static bool has_listener(const char *list, const char *address, unsigned port)
{
	char wanted[64];
	int n = snprintf(wanted, sizeof(wanted), ": %s:%04X ", address, port);

	for (const char *at = list; (at = strstr(at, wanted)); at += n) {
		const char *state = strchr(at + n, ' ');

		if (state && strncmp(state, " 0A ", 4) == 0)
			return true;
	}
	return false;
}

/* proc: "/proc", or that of a process inside, whose network is the sandbox's. */
static bool explain_loopback_listens(const char *proc, const struct sockaddr_storage *to)
{
	static const struct in6_addr any;
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)to;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)to;
	bool is_v4 = to->ss_family == AF_INET;
	char path[64], exact[33], all[33], both[33];
	auto_buffer list = { 0 }, list6 = { 0 };
	unsigned port = ntohs(is_v4 ? v4->sin_port : v6->sin6_port);

	print_address(is_v4 ? (const void *)&v4->sin_addr : &v6->sin6_addr, is_v4 ? 4 : 16, exact);
	print_address(&any, is_v4 ? 4 : 16, all);
	print_address(&any, 16, both);
	(void)snprintf(path, sizeof(path), "%s/net/tcp%s", proc, is_v4 ? "" : "6");
	(void)file_read(path, LIST_BYTES_MAX, &list);
	/* Who listens on [::] mostly means IPv4 as well. */
	(void)snprintf(path, sizeof(path), "%s/net/tcp6", proc);
	if (is_v4)
		(void)file_read(path, LIST_BYTES_MAX, &list6);
	return has_listener(buffer_text(&list), exact, port) ||
	       has_listener(buffer_text(&list), all, port) ||
	       has_listener(buffer_text(&list6), both, port);
}

int run_explain_loopback(
	const struct run *r, const struct sight *s, struct denial *ret, char path[PATH_BYTES])
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)s->address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)s->address;
	const bool is_v4 = s->address->ss_family == AF_INET;
	struct request request = { .op = OPERATION_NET_CONNECT, .target = path };
	char proc[64], text[INET6_ADDRSTRLEN] = "";

	/* With the host's network it is the host that is asked. */
	if (r->plan->network == PLAN_NETWORK_HOST ||
		(is_v4 ? ntohl(v4->sin_addr.s_addr) >> 24 != 127
		       : s->address->ss_family != AF_INET6 ||
					!IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr)))
		return EXPLAIN_NOTHING;
	(void)inet_ntop(s->address->ss_family, is_v4 ? (const void *)&v4->sin_addr : &v6->sin6_addr,
		text, sizeof(text));
	(void)snprintf(path, PATH_BYTES, is_v4 ? "%s:%u" : "[%s]:%u", text,
		ntohs(is_v4 ? v4->sin_port : v6->sin6_port));
	(void)snprintf(proc, sizeof(proc), "/proc/%d", (int)s->pid);
	if (policy_allows(r->policy, &request) ||
		!explain_loopback_listens("/proc/self", s->address) ||
		explain_loopback_listens(proc, s->address))
		return EXPLAIN_NOTHING;
	*ret = (struct denial){ .kind = DENIAL_CONNECT, .path = path };
	return EXPLAIN_DENIED;
}
