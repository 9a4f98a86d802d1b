/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the host's sockets. /proc/net/unix has a line of text for each socket, most of which
 * are nameless ends of connections: a desktop has a thousand, and each sandbox adds some. So after
 * some lines the kernel is asked over netlink, which takes less time. For all of them: the state of
 * a socket says little, as one that receives datagrams of many counts as connected from the first
 * that connects to it. A kernel without unix_diag lists the rest as text; on one with few sockets
 * it is not asked at all, as it might look for a module each time.
 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "jail/plan/internal.h"

enum {
	/* A page is what the kernel hands over at once; the C library would ask for a quarter. */
	LIST_BUFFER = 4096,
	LIST_LINES = 128,    /* before the kernel is asked */
	DUMP_BUFFER = 16384, /* it hands over no more than that at once, or 8 KiB */
	DUMP_READS = 1 << 16,
};

/* Beside what the caller's function returns, which is negative or 0. */
enum { LIST_GOES_ON = 1, LIST_CANNOT = 2 };

struct socket_names {
	plan_socket_name *each;
	void *data;
};

/* Netlink */

static int socket_list_take(const struct socket_names *n, const struct nlmsghdr *h)
{
	const size_t fixed = NLMSG_LENGTH(sizeof(struct unix_diag_msg));
	const struct rtattr *a =
		(const void *)((const char *)h + NLMSG_ALIGN(fixed)); /* they follow it */
	int left = (int)h->nlmsg_len - (int)NLMSG_ALIGN(fixed);       /* may become less than 0 */
	char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1] = "";

	for (; RTA_OK(a, left); a = RTA_NEXT(a, left)) {
		if (a->rta_type != UNIX_DIAG_NAME)
			continue;
		/* Not the kernel's format: no name may be lost. */
		if (RTA_PAYLOAD(a) >= sizeof(name))
			return LIST_CANNOT;
		memcpy(name, RTA_DATA(a), RTA_PAYLOAD(a));
		name[RTA_PAYLOAD(a)] = '\0';
	}
	/* An abstract name begins with a NUL. */
	return name[0] ? n->each(n->data, name) : 0;
}

static int socket_list_hear(const struct socket_names *n, const char *bytes, int left)
{
	for (const struct nlmsghdr *h = (const void *)bytes; NLMSG_OK(h, left);
		h = NLMSG_NEXT(h, left)) {
		int r;

		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY)
			return LIST_CANNOT;
		r = socket_list_take(n, h);
		if (r != 0)
			return r;
	}
	return LIST_GOES_ON;
}

/* LIST_CANNOT: not this kernel; some names may have been passed on. */
static int socket_list_ask(const struct socket_names *n)
{
	const struct {
		struct nlmsghdr header;
		struct unix_diag_req body;
	} request = {
		.header = { .nlmsg_len = sizeof(request),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.body = { .sdiag_family = AF_UNIX,
			.udiag_states = ~0U,
			.udiag_show = UDIAG_SHOW_NAME },
	};
	_Alignas(8) char bytes[DUMP_BUFFER];
	auto_fd s = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int r = LIST_GOES_ON;

	if (s < 0 || send(s, &request, sizeof(request), 0) < 0)
		return LIST_CANNOT;
	for (int i = 0; r == LIST_GOES_ON && i < DUMP_READS; i++) {
		struct sockaddr_nl from = { 0 };
		ssize_t len = recvfrom(s, bytes, sizeof(bytes), MSG_DONTWAIT | MSG_TRUNC,
			(struct sockaddr *)&from, &(socklen_t){ sizeof(from) });

		if (len < 0 || (size_t)len > sizeof(bytes))
			return LIST_CANNOT;
		if (from.nl_pid == 0) /* else it is not of the kernel */
			r = socket_list_hear(n, bytes, (int)len);
	}
	return r == LIST_GOES_ON ? LIST_CANNOT : r;
}

/* Text */

/* The last of eight fields; "" if there is none, or an abstract name, which has an "@". */
static const char *socket_list_name(char *line)
{
	const char *name = line;

	line[strcspn(line, "\n")] = '\0';
	for (int field = 1; field < 8; field++) {
		name += strcspn(name, " ");
		name += strspn(name, " ");
	}
	return *name == '@' ? "" : name;
}

static int socket_list_read(const struct socket_names *n, FILE *list)
{
	char line[PATH_BYTES + 256];
	int r = 0;

	for (size_t i = 0; r == 0 && fgets(line, sizeof(line), list); i++) {
		const char *name = socket_list_name(line);

		/* The first line has the names of the fields. */
		if (i > 0 && *name)
			r = n->each(n->data, name);
		if (r != 0 || i != LIST_LINES)
			continue;
		r = socket_list_ask(n);
		if (r != LIST_CANNOT)
			return r;
		r = 0;
	}
	return r == 0 && ferror(list) ? -EIO : r;
}

int plan_socket_list_each(plan_socket_name *each, void *data, struct error *e)
{
	const struct socket_names names = { each, data };
	char buffer[LIST_BUFFER]; /* until the list is closed */
	FILE *list = fopen("/proc/self/net/unix", "re");
	int r;

	if (!list)
		return error_set(e, -errno, NULL,
			"cannot list the sockets: /proc/self/net/unix: %s", strerror(errno));
	(void)setvbuf(list, buffer, _IOFBF, sizeof(buffer));
	r = socket_list_read(&names, list);
	(void)fclose(list);
	return r;
}
