// SPDX-License-Identifier: Apache-2.0
/*
 * One host is granted, so there is a relay, and a network namespace that leads to it. Attempts are
 * after the victim's other servers, and after the relay itself. That the granted one can be reached
 * is a control of the runner's: `attempt --granted`.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/io_uring.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attempt.h"

static struct sockaddr_in inet(const char *address, long port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	if (inet_pton(AF_INET, address, &in.sin_addr) != 1)
		broken("%s is no address", address);
	return in;
}

/* On a connected socket: says its name and looks for the canary. */
static int greet(const struct attempt *a, int fd)
{
	const char *line = format("%s\n", a->name);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	(void)send(fd, line, strlen(line), MSG_NOSIGNAL);
	if (poll(&p, 1, 20000) <= 0) {
		note("connected, but no answer came");
		return HELD;
	}
	return canary_fd(fd);
}

static int reach_by(const struct attempt *a, int fd, const char *address, long port)
{
	struct sockaddr_in in = inet(address, port);

	if (fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0)
		return verdict(-1);
	return greet(a, fd);
}

static int reach(const struct attempt *a, const char *address, long port)
{
	return reach_by(a, socket(AF_INET, SOCK_STREAM, 0), address, port);
}

int relay_granted(void)
{
	static const struct attempt control = { .name = "granted" };

	return reach(&control, "127.0.0.1", scene_number("granted")) == ESCAPED ? 0 : HELD;
}

/* -- what is not granted ---------------------------------------------------------------------- */

static int other_port(const struct attempt *a)
{
	return reach(a, a->arg, scene_number("tcp"));
}

static int other_address(const struct attempt *a)
{
	return reach(a, "127.0.0.2", scene_number("granted"));
}

static int other_mapped(const struct attempt *a)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6 };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	in.sin6_port = htons((uint16_t)scene_number("granted"));
	inet_pton(AF_INET6, "::ffff:127.0.0.2", &in.sin6_addr);
	if (fd < 0 && errno == EAFNOSUPPORT && !scene_has("tcp6"))
		return ABSENT;
	return fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0 ? verdict(-1)
									     : greet(a, fd);
}

static int other_six(const struct attempt *a)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (!scene_has("tcp6")) {
		note("no IPv6 here");
		return ABSENT;
	}
	in.sin6_port = htons((uint16_t)scene_number("tcp6"));
	return fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0 ? verdict(-1)
									     : greet(a, fd);
}

static int own_address(const struct attempt *a)
{
	if (!scene_has("own")) {
		note("the host has no address but loopback's");
		return ABSENT;
	}
	return reach(a, scene("own"), scene_number("own-port"));
}

/* Bound to the host's address, as if we were it. */
static int own_source(const struct attempt *a)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in in;

	if (!scene_has("own")) {
		note("the host has no address but loopback's");
		return ABSENT;
	}
	in = inet(scene("own"), 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0)
		return verdict(-1);
	return reach_by(a, fd, scene("own"), scene_number("own-port"));
}

static int datagram(const struct attempt *a)
{
	struct sockaddr_in in = inet("127.0.0.1", scene_number("udp"));
	const char *line = format("%s\n", a->name);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	return claim(
		fd < 0 ? -1
		       : sendto(fd, line, strlen(line), 0, (struct sockaddr *)&in, sizeof(in)));
}

/* -- other ways to connect ------------------------------------------------------------------- */

static int fast_open(const struct attempt *a)
{
	struct sockaddr_in in = inet("127.0.0.1", scene_number("tcp"));
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (struct sockaddr *)&in,
			      sizeof(in)) < 0)
		return verdict(-1);
	return greet(a, fd);
}

static int fast_open_connect(const struct attempt *a)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	if (setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)) < 0)
		return verdict(-1);
	return reach_by(a, fd, "127.0.0.1", scene_number("tcp"));
}

/* A granted connection is ended, and its socket used again. */
static int again(const struct attempt *a)
{
	struct sockaddr_in in = inet("127.0.0.1", scene_number("granted"));
	const struct sockaddr none = { .sa_family = AF_UNSPEC };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || connect(fd, (struct sockaddr *)&in, sizeof(in)) < 0)
		broken("the granted server is not there: %s", strerror(errno));
	if (connect(fd, &none, sizeof(none)) < 0)
		return verdict(-1);
	return reach_by(a, fd, "127.0.0.1", scene_number("tcp"));
}

static int mptcp(const struct attempt *a)
{
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	if (fd < 0 && (errno == EPROTONOSUPPORT || errno == ENOPROTOOPT)) {
		note("no MPTCP");
		return ABSENT;
	}
	return reach_by(a, fd, "127.0.0.1", scene_number("tcp"));
}

static void *map_ring(int ring, size_t size, off_t what)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, what);

	if (at == MAP_FAILED)
		broken("mmap of the ring: %s", strerror(errno));
	return at;
}

/* The kernel connects on our behalf, without a system call of that name. */
static int ring_connect(const struct attempt *a)
{
	struct io_uring_params p = { 0 };
	int ring = (int)syscall(SYS_io_uring_setup, 4, &p), fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in in = inet("127.0.0.1", scene_number("tcp"));
	struct io_uring_sqe *sqe;
	char *sq, *cq;

	if (ring < 0)
		return verdict(-1);
	sq = map_ring(ring, p.sq_off.array + p.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
	cq = map_ring(ring, p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe),
		IORING_OFF_CQ_RING);
	sqe = map_ring(ring, p.sq_entries * sizeof(*sqe), IORING_OFF_SQES);
	*sqe = (struct io_uring_sqe){
		.opcode = IORING_OP_CONNECT, .fd = fd, .addr = (uintptr_t)&in, .off = sizeof(in)
	};
	*(unsigned *)(void *)(sq + p.sq_off.array) = 0;
	__atomic_store_n((unsigned *)(void *)(sq + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return verdict(-1);
	errno = -((struct io_uring_cqe *)(void *)(cq + p.cq_off.cqes))->res;
	return errno ? verdict(-1) : greet(a, fd);
}

static int with_option(const struct attempt *a, int level, int name, int value)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0 || setsockopt(fd, level, name, &value, sizeof(value)) < 0)
		return verdict(-1);
	return reach_by(a, fd, "127.0.0.1", scene_number("tcp"));
}

/* Packets with the relay's own mark are not led to it. */
static int marked(const struct attempt *a)
{
	return with_option(a, SOL_SOCKET, SO_MARK, 1);
}

static int transparent(const struct attempt *a)
{
	return with_option(a, IPPROTO_IP, IP_TRANSPARENT, 1);
}

struct kind {
	int family, type, protocol;
};

static int open_socket(const struct attempt *a)
{
	const struct kind *k = a->arg;
	int v = verdict(socket(k->family, k->type, k->protocol));

	return v == HELD && (errno == EAFNOSUPPORT || errno == EPROTONOSUPPORT) ? ABSENT : v;
}

/* -- the namespace's own rules ---------------------------------------------------------------- */

/* errno of the answer; 0: done. The request is such that the permission is asked first. */
static int ask(int protocol, void *request, size_t n)
{
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };
	int fd = socket(AF_NETLINK, SOCK_RAW, protocol);
	union {
		struct nlmsghdr head;
		char room[8192];
	} answer = { 0 };

	if (fd < 0 || sendto(fd, request, n, 0, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		recv(fd, &answer, sizeof(answer), 0) < 0)
		return errno;
	if (answer.head.nlmsg_type != NLMSG_ERROR)
		return 0;
	return -((struct nlmsgerr *)NLMSG_DATA(&answer.head))->error;
}

static int judge(int error, int wanted)
{
	errno = error;
	return permitted(error ? -1 : 0, wanted);
}

/* A route that does not exist is taken away. */
static int route(const struct attempt *a)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr attribute;
		uint32_t table;
	} request = {
		.head = { sizeof(request), RTM_DELROUTE, NLM_F_REQUEST | NLM_F_ACK, 1, 0 },
		.route = { .rtm_family = AF_INET, .rtm_scope = RT_SCOPE_NOWHERE },
		.attribute = { RTA_LENGTH(sizeof(uint32_t)), RTA_TABLE },
		.table = 77777,
	};

	(void)a;
	return judge(ask(NETLINK_ROUTE, &request, sizeof(request)), ESRCH);
}

/* An address for an interface that does not exist. */
static int address(const struct attempt *a)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg info;
		struct rtattr attribute;
		uint32_t local;
	} request = {
		.head = { sizeof(request), RTM_NEWADDR, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE, 1,
			0 },
		.info = { .ifa_family = AF_INET, .ifa_prefixlen = 32, .ifa_index = 99999 },
		.attribute = { RTA_LENGTH(sizeof(uint32_t)), IFA_LOCAL },
		.local = htonl(0xc0000263),
	};

	(void)a;
	return judge(ask(NETLINK_ROUTE, &request, sizeof(request)), ENODEV);
}

/* An empty batch for nf_tables: only who may change rules may begin one. */
static int rules(const struct attempt *a)
{
	struct {
		struct nlmsghdr head;
		struct nfgenmsg body;
	} request = {
		.head = { sizeof(request), NFNL_MSG_BATCH_BEGIN, NLM_F_REQUEST | NLM_F_ACK, 1, 0 },
		.body = { .version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES) },
	};

	(void)a;
	return judge(ask(NETLINK_NETFILTER, &request, sizeof(request)), EOPNOTSUPP);
}

/* A switch of the namespace is set to what it is. */
static int setting(const struct attempt *a)
{
	char text[64];
	int fd = open(a->arg, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text));

	if (n <= 0) {
		note("no such switch");
		return ABSENT;
	}
	close(fd);
	fd = open(a->arg, O_WRONLY | O_CLOEXEC);
	return verdict(fd < 0 ? -1 : write(fd, text, (size_t)n));
}

/* -- the relay itself, which is in the host's network ----------------------------------------- */

/* ESCAPED if f says so of any process that can be seen. */
static int for_all(int (*f)(const struct attempt *a, const char *pid), const struct attempt *a)
{
	DIR *dir = opendir("/proc");
	int v = HELD;

	for (struct dirent *d; dir && v != ESCAPED && (d = readdir(dir));)
		if (d->d_name[0] >= '1' && d->d_name[0] <= '9')
			v = f(a, d->d_name);
	if (v != ESCAPED)
		note("no process that can be seen");
	return v == ESCAPED ? ESCAPED : HELD;
}

/* The host's servers, as the kernel lists them for a process of its network. */
static int has_table(const struct attempt *a, const char *pid)
{
	static char text[1 << 20];
	FILE *f = fopen(format("/proc/%s/net/tcp", pid), "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

	(void)a;
	if (f)
		fclose(f);
	text[n] = '\0';
	if (!strstr(text, format("0100007F:%04lX 00000000:0000 0A", scene_number("tcp"))))
		return HELD;
	note("process %s is in the host's network", pid);
	return ESCAPED;
}

static int tables(const struct attempt *a)
{
	return for_all(has_table, a);
}

static int join_one(const struct attempt *a, const char *pid)
{
	int ns = open(format("/proc/%s/ns/net", pid), O_RDONLY | O_CLOEXEC), v;

	if (ns < 0 || setns(ns, CLONE_NEWNET) < 0)
		return HELD;
	close(ns);
	v = reach(a, "127.0.0.1", scene_number("tcp"));
	return v;
}

static int join(const struct attempt *a)
{
	return for_all(join_one, a);
}

/* A listening socket in the hands of another: the victim's, or what leads to the relay. */
static int take_one(const struct attempt *a, const char *pid)
{
	long number = strtol(pid, NULL, 10);
	int process = (int)syscall(SYS_pidfd_open, number, 0);

	(void)a;
	if (process < 0 || number == getpid() || number == getppid())
		return HELD;
	for (int i = 0; i < 64; i++) {
		int fd = (int)syscall(SYS_pidfd_getfd, process, i, 0), family = 0, listens = 0;
		socklen_t n = sizeof(int);

		if (fd >= 0 && getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &n) == 0 &&
			family == AF_INET &&
			getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 && listens) {
			note("from process %s", pid);
			return ESCAPED;
		}
		if (fd >= 0)
			close(fd);
	}
	return HELD;
}

static int take(const struct attempt *a)
{
	return for_all(take_one, a);
}

struct end {
	const char *address;
	int port, type;
};

/* To the relay's own port: where would that lead, if not to itself? */
static int at_relay(const struct attempt *a)
{
	const struct end *e = a->arg;

	return reach(a, e->address, e->port);
}

/* Whoever binds it gets what others connect to. */
static int bind_relay(const struct attempt *a)
{
	const struct end *e = a->arg;
	struct sockaddr_in in = inet(e->address, e->port);
	int fd = socket(AF_INET, e->type, 0), on = 1;

	if (fd < 0)
		broken("socket: %s", strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0)
		return verdict(-1);
	return verdict(e->type == SOCK_STREAM ? listen(fd, 1) : 0);
}

/* Its address may be bound, but no question comes there. */
static int name_server(const struct attempt *a)
{
	struct sockaddr_in in = inet("198.19.255.53", 53);
	int server = socket(AF_INET, SOCK_DGRAM, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
	struct pollfd p = { .fd = server, .events = POLLIN };

	(void)a;
	if (server < 0 || client < 0 || bind(server, (struct sockaddr *)&in, sizeof(in)) < 0)
		return verdict(-1);
	if (sendto(client, "question", 8, 0, (struct sockaddr *)&in, sizeof(in)) < 0)
		return verdict(-1);
	if (poll(&p, 1, 300) > 0)
		return verdict(0);
	note("bound, but the question went elsewhere");
	return HELD;
}

#define KIND(...) (&(const struct kind){ __VA_ARGS__ })
#define END(...) (&(const struct end){ __VA_ARGS__ })
#define ONLY_INSIDE "kernel: there is a relay only inside"

static const struct attempt table[] = {
	{ "relay-port", "relay", "", "another port of the host's loopback", other_port,
		"127.0.0.1" },
	{ "relay-any", "relay", "", "0.0.0.0 is another name of it", other_port, "0.0.0.0" },
	{ "relay-address", "relay", "", "the granted port at another address", other_address,
		NULL },
	{ "relay-mapped", "relay", "", "the same by a mapped address", other_mapped, NULL },
	{ "relay-six", "relay", "", "a server of the host on ::1", other_six, NULL },
	{ "relay-own-address", "relay", "", "an address of the host that is not loopback's",
		own_address, NULL },
	{ "relay-own-source", "relay", "", "the same, from that address", own_source, NULL },
	{ "relay-datagram", "relay", "", "a datagram to the host's loopback", datagram, NULL },
	{ "relay-fastopen", "relay", "", "MSG_FASTOPEN connects without connect()", fast_open,
		NULL },
	{ "relay-fastopen-connect", "relay", "", "TCP_FASTOPEN_CONNECT connects later",
		fast_open_connect, NULL },
	{ "relay-again", "relay", "", "a socket that was granted a connection makes another", again,
		NULL },
	{ "relay-mptcp", "relay", "", "MPTCP is led elsewhere than TCP", mptcp, NULL },
	{ "relay-uring", "relay", "SYS_ADMIN", "io_uring connects without connect()", ring_connect,
		NULL },
	{ "relay-mark", "relay", "NET_ADMIN", "the relay's mark leads around the rules", marked,
		NULL },
	{ "relay-transparent", "relay", "NET_ADMIN", "addresses of others can be bound",
		transparent, NULL },
	{ "relay-packet", "relay", "NET_RAW", "packet sockets are below the rules", open_socket,
		KIND(AF_PACKET, SOCK_RAW, 0) },
	{ "relay-raw", "relay", "NET_RAW", "raw sockets forge what the relay reads", open_socket,
		KIND(AF_INET, SOCK_RAW, IPPROTO_RAW) },
	{ "relay-raw6", "relay", "NET_RAW", "the same of IPv6", open_socket,
		KIND(AF_INET6, SOCK_RAW, IPPROTO_RAW) },
	{ "relay-vsock", "relay", "", "vsock knows no network namespace", open_socket,
		KIND(AF_VSOCK, SOCK_STREAM, 0) },
	{ "relay-route", "relay", "NET_ADMIN", "routes can be changed", route, NULL },
	{ "relay-interface", "relay", "NET_ADMIN", "addresses can be changed", address, NULL },
	{ "relay-rules", "relay", "NET_ADMIN", "the rules that lead to the relay can be changed",
		rules, NULL },
	{ "relay-setting", "relay", "NET_ADMIN", "switches of the network can be set", setting,
		"/proc/sys/net/ipv4/ip_default_ttl" },
	{ "relay-setting-ports", "relay", "NET_ADMIN", "which ports are for everybody can be set",
		setting, "/proc/sys/net/ipv4/ip_unprivileged_port_start" },
	{ "relay-tables", "relay", "", "some process that can be seen is in the host's network",
		tables, NULL },
	{ "relay-join", "relay", "SYS_ADMIN", "setns goes to the network of some process", join,
		NULL },
	{ "relay-take", "relay", "", "pidfd_getfd takes a listening socket of some process", take,
		NULL },
	{ "relay-connect", "relay", ONLY_INSIDE, "the relay leads to where it listens itself",
		at_relay, END("127.0.0.1", 1, SOCK_STREAM) },
	{ "relay-connect-names", "relay", ONLY_INSIDE, "the same of the name server", at_relay,
		END("127.0.0.1", 2, SOCK_STREAM) },
	{ "relay-bind", "relay", ONLY_INSIDE, "the relay's port can be taken", bind_relay,
		END("127.0.0.1", 1, SOCK_STREAM) },
	{ "relay-bind-any", "relay", ONLY_INSIDE, "the same at all addresses", bind_relay,
		END("0.0.0.0", 1, SOCK_STREAM) },
	{ "relay-bind-datagrams", "relay", ONLY_INSIDE, "the same for datagrams", bind_relay,
		END("127.0.0.1", 1, SOCK_DGRAM) },
	{ "relay-bind-names", "relay", ONLY_INSIDE, "the name server's port can be taken",
		bind_relay, END("127.0.0.1", 2, SOCK_STREAM) },
	{ "relay-bind-names-datagrams", "relay", ONLY_INSIDE, "the same for datagrams", bind_relay,
		END("127.0.0.1", 2, SOCK_DGRAM) },
	{ "relay-name-server", "relay", ONLY_INSIDE, "questions for names come to us", name_server,
		NULL },
};
THEME(relay, "A relay to one host", table);
