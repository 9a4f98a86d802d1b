/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack WORD ARGUMENT…: what takes system calls of one's own choice to try. Whether anything
 * arrived is for the servers to tell; what is printed is for people, but for
 *
 *   done      it came to its end
 *   absent    the kernel has no such thing
 *   escaped   something was had that no process inside may have
 *
 *   attack SEND HOST PORT ADDRESS PORT          sends to the address, beside a granted HOST
 *   attack race HOST PORT ADDRESS PORT ROUNDS   the same, while a thread exchanges the two
 *   attack swap HOST PORT ROUNDS FILE FILE      the one text becomes the other after it was sent
 *   attack kind KIND ADDRESS PORT               another kind of socket
 *   attack queries SUFFIX N                     N questions for names below it
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROTOCOL_MPTCP = 262, PROTOCOL_UDPLITE = 136, WINDOW = 64 };

struct target {
	struct sockaddr_in granted, forbidden;
};

static void say(const char *what, long result)
{
	printf("%s: %s\n", what, result < 0 ? strerror(errno) : "ok");
	(void)fflush(stdout);
}

/* Waits for an answer, or for the refusal. */
static void hear(int fd, int ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[256];

	if (poll(&p, 1, ms) == 1)
		say("answer", recv(fd, text, sizeof(text), MSG_DONTWAIT));
}

static int stream(int protocol)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, protocol);
}

static int to(int fd, const struct sockaddr_in *a)
{
	return connect(fd, (const struct sockaddr *)a, sizeof(*a));
}

static void greet(int fd, const struct sockaddr_in *a)
{
	long r = to(fd, a);

	say("connect", r);
	if (r < 0)
		return;
	say("send", send(fd, "x", 1, MSG_NOSIGNAL));
	hear(fd, 10000);
}

/* -- one way each to send something to t->forbidden -- */

static void fastopen_sendto(struct target *t)
{
	int fd = stream(0);

	say("sendto", sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL,
			      (struct sockaddr *)&t->forbidden, sizeof(t->forbidden)));
	hear(fd, 1000);
}

static struct msghdr message(struct sockaddr_in *a, struct iovec *text)
{
	static char letter[] = "x";

	*text = (struct iovec){ .iov_base = letter, .iov_len = 1 };
	return (struct msghdr){
		.msg_name = a, .msg_namelen = sizeof(*a), .msg_iov = text, .msg_iovlen = 1
	};
}

static void fastopen_sendmsg(struct target *t)
{
	struct iovec text;
	struct msghdr m = message(&t->forbidden, &text);
	int fd = stream(0);

	say("sendmsg", sendmsg(fd, &m, MSG_FASTOPEN | MSG_NOSIGNAL));
	hear(fd, 1000);
}

static void fastopen_sendmmsg(struct target *t)
{
	struct iovec text;
	struct mmsghdr m = { .msg_hdr = message(&t->forbidden, &text) };
	int fd = stream(0);

	say("sendmmsg", sendmmsg(fd, &m, 1, MSG_FASTOPEN | MSG_NOSIGNAL));
	hear(fd, 1000);
}

static void fastopen_connect(struct target *t)
{
	int fd = stream(0), on = 1;

	say("option", setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, &on, sizeof(on)));
	greet(fd, &t->forbidden);
}

static void reconnect(struct target *t)
{
	struct sockaddr nowhere = { .sa_family = AF_UNSPEC };
	int fd = stream(0);

	greet(fd, &t->granted);
	say("unspec", connect(fd, &nowhere, sizeof(nowhere)));
	greet(fd, &t->forbidden);
}

static int datagrams(const struct target *t)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	greet(fd, &t->granted);
	return fd;
}

static void twice(struct target *t)
{
	greet(datagrams(t), &t->forbidden);
}

static void sendto_other(struct target *t)
{
	int fd = datagrams(t);

	say("sendto",
		sendto(fd, "x", 1, 0, (struct sockaddr *)&t->forbidden, sizeof(t->forbidden)));
	hear(fd, 300);
}

static void sendmmsg_other(struct target *t)
{
	struct iovec text[2];
	struct mmsghdr m[] = {
		{ .msg_hdr = message(&t->granted, &text[0]) },
		{ .msg_hdr = message(&t->forbidden, &text[1]) },
	};
	int fd = datagrams(t);

	say("sendmmsg", sendmmsg(fd, m, 2, 0));
	hear(fd, 300);
}

static void nonblocking(struct target *t)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	say("connect", to(fd, &t->forbidden));
	if (poll(&p, 1, 10000) == 1)
		say("send", send(fd, "x", 1, MSG_NOSIGNAL));
	hear(fd, 10000);
}

static void mptcp(struct target *t)
{
	int fd = stream(PROTOCOL_MPTCP);

	if (fd < 0)
		puts("absent");
	else
		greet(fd, &t->forbidden);
}

static void child(struct target *t)
{
	pid_t pid = fork();

	if (pid == 0) {
		greet(stream(0), &t->forbidden);
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static const struct {
	const char *name;
	void (*send)(struct target *t);
} sends[] = {
	{ "fastopen-sendto", fastopen_sendto },
	{ "fastopen-sendmsg", fastopen_sendmsg },
	{ "fastopen-sendmmsg", fastopen_sendmmsg },
	{ "fastopen-connect", fastopen_connect },
	{ "reconnect", reconnect },
	{ "twice", twice },
	{ "sendto-other", sendto_other },
	{ "sendmmsg-other", sendmmsg_other },
	{ "nonblocking", nonblocking },
	{ "mptcp", mptcp },
	{ "child", child },
};

/* -- the race -- */

/* For a while, now short, now long. It is read by others, which no compiler knows. */
static void put(void *there, const void *what, size_t len)
{
	static unsigned turn;

	memcpy(there, what, len);
	turn = (turn + 97) % 1000;
	for (volatile unsigned i = 0; i < turn; i++)
		atomic_thread_fence(memory_order_seq_cst);
}

static struct sockaddr_in shared;
static struct target exchanged;
static atomic_bool over;

static void *exchange(void *unused)
{
	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		put(&shared, &exchanged.forbidden, sizeof(shared));
		put(&shared, &exchanged.granted, sizeof(shared));
	}
	return unused;
}

static void race(const struct target *t, int rounds)
{
	pthread_t thread;
	int connected = 0;

	exchanged = *t;
	shared = t->granted;
	if (pthread_create(&thread, NULL, exchange, NULL) != 0)
		return;
	for (int i = 0; i < rounds; i++) {
		int fd = stream(0);

		connected += to(fd, &shared) == 0 && send(fd, "x", 1, MSG_NOSIGNAL) == 1;
		close(fd);
	}
	atomic_store(&over, true);
	(void)pthread_join(thread, NULL);
	printf("connected: %d of %d\n", connected, rounds);
}

/* -- bytes that change after they were sent -- */

enum { PAGE = 4096 };

/* The same length: one takes the place of the other. */
struct texts {
	char asked[PAGE], meant[PAGE];
	size_t len;
	void *page;
};

static size_t read_text(const char *path, char out[PAGE])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, out, PAGE);

	close(fd);
	return n < 0 ? 0 : (size_t)n;
}

static void *rewrite(void *context)
{
	const struct texts *t = context;

	while (!atomic_load_explicit(&over, memory_order_relaxed)) {
		put(t->page, t->asked, t->len);
		put(t->page, t->meant, t->len);
	}
	return NULL;
}

/* Puts the page itself into the socket, not what is in it. */
static int give_page(int fd, const struct texts *t)
{
	struct iovec text = { .iov_base = t->page, .iov_len = t->len };
	int ends[2], r = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	if (vmsplice(ends[1], &text, 1, 0) < 0 || splice(ends[0], NULL, fd, NULL, t->len, 0) < 0)
		r = -1;
	close(ends[0]);
	close(ends[1]);
	return r;
}

static int swap_pages(const struct sockaddr_in *server, int rounds, struct texts *t)
{
	pthread_t thread;

	t->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (t->page == MAP_FAILED || pthread_create(&thread, NULL, rewrite, t) != 0)
		return 1;
	for (int i = 0; i < rounds; i++) {
		char byte;
		int fd = stream(0);

		if (fd >= 0 && to(fd, server) == 0 && give_page(fd, t) == 0)
			while (recv(fd, &byte, 1, 0) > 0)
				;
		close(fd);
	}
	atomic_store(&over, true);
	(void)pthread_join(thread, NULL);
	return 0;
}

/* -- other kinds of sockets -- */

struct kind {
	const char *name;
	int family, type, protocol;
	int level, option; /* option 0: to have the socket is to have escaped */
};

/* SO_MARK and the like: set, and then an ordinary connection is tried. */
static const struct kind kinds[] = {
	{ "raw", AF_INET, SOCK_RAW, IPPROTO_UDP, 0, 0 },
	{ "raw6", AF_INET6, SOCK_RAW, IPPROTO_UDP, 0, 0 },
	{ "ping", AF_INET, SOCK_DGRAM, IPPROTO_ICMP, 0, 0 },
	{ "ping6", AF_INET6, SOCK_DGRAM, IPPROTO_ICMPV6, 0, 0 },
	{ "packet", AF_PACKET, SOCK_RAW, 0, 0, 0 },
	{ "vsock", AF_VSOCK, SOCK_STREAM, 0, 0, 0 },
	{ "sctp", AF_INET, SOCK_STREAM, IPPROTO_SCTP, 0, 0 },
	{ "dccp", AF_INET, SOCK_DCCP, IPPROTO_DCCP, 0, 0 },
	{ "alg", AF_ALG, SOCK_SEQPACKET, 0, 0, 0 },
	{ "bluetooth", AF_BLUETOOTH, SOCK_RAW, 1, 0, 0 },
	{ "can", AF_CAN, SOCK_RAW, 1, 0, 0 },
	{ "netlink-nft", AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER, 0, 0 },
	{ "udplite", AF_INET, SOCK_DGRAM, PROTOCOL_UDPLITE, SOL_SOCKET, SO_KEEPALIVE },
	{ "mark", AF_INET, SOCK_STREAM, 0, SOL_SOCKET, SO_MARK },
	{ "transparent", AF_INET, SOCK_STREAM, 0, IPPROTO_IP, IP_TRANSPARENT },
	{ "freebind", AF_INET, SOCK_STREAM, 0, IPPROTO_IP, IP_FREEBIND },
	{ "device", AF_INET, SOCK_STREAM, 0, SOL_SOCKET, SO_BINDTOIFINDEX },
};

static void try_kind(const struct kind *k, const struct sockaddr_in *forbidden)
{
	for (int value = 1; value < 4; value++) {
		int fd = socket(k->family, k->type | SOCK_CLOEXEC, k->protocol);

		say("socket", fd);
		if (fd < 0)
			return;
		if (k->option == 0) {
			puts("escaped");
			return;
		}
		say("option", setsockopt(fd, k->level, k->option, &value, sizeof(value)));
		if (to(fd, forbidden) == 0) {
			say("send", send(fd, "x", 1, MSG_NOSIGNAL));
			hear(fd, 200);
		}
		close(fd);
	}
}

/* Whether the kernel takes a new route: to 192.0.2.0/24, where no host is. */
static void try_route(void)
{
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr attribute;
		struct in_addr to;
	} request = {
		.head = { .nlmsg_len = sizeof(request),
			.nlmsg_type = RTM_NEWROUTE,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE },
		.route = { .rtm_family = AF_INET,
			.rtm_dst_len = 24,
			.rtm_table = RT_TABLE_MAIN,
			.rtm_protocol = RTPROT_STATIC,
			.rtm_type = RTN_BLACKHOLE },
		.attribute = { .rta_len = RTA_LENGTH(sizeof(struct in_addr)), .rta_type = RTA_DST },
		.to = { htonl(0xc0000200) },
	};
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[512];
	} answer = { 0 };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	say("socket", fd);
	if (fd < 0 || send(fd, &request, sizeof(request), 0) < 0)
		return;
	if (recv(fd, &answer, sizeof(answer), 0) < (ssize_t)sizeof(answer.head))
		return;
	printf("route: %s\n", strerror(-answer.error.error));
	if (answer.error.error == 0)
		puts("escaped");
}

static int find_kind(const char *name, const struct sockaddr_in *forbidden)
{
	if (strcmp(name, "netlink-route") == 0) {
		try_route();
		return 0;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(name, kinds[i].name) == 0) {
			try_kind(&kinds[i], forbidden);
			return 0;
		}
	}
	return 2;
}

/* -- questions -- */

static size_t write_question(unsigned char *out, unsigned number, const char *suffix)
{
	static const unsigned char head[12] = { [2] = 1, [5] = 1 };
	char name[256];
	size_t at = sizeof(head);

	(void)snprintf(name, sizeof(name), "q%u.%s", number, suffix);
	memcpy(out, head, sizeof(head));
	out[0] = (unsigned char)(number >> 8);
	out[1] = (unsigned char)number;
	for (char *rest = name, *label; (label = strsep(&rest, ".")) != NULL;) {
		size_t len = strlen(label);

		out[at++] = (unsigned char)len;
		memcpy(out + at, label, len);
		at += len;
	}
	memcpy(out + at, "\0\0\1\0\1", 5);
	return at + 5;
}

static int queries(const char *suffix, unsigned n)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(53) };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	unsigned char text[1500];
	unsigned sent = 0, heard = 0;

	(void)inet_pton(AF_INET, "9.9.9.9", &server.sin_addr);
	if (fd < 0 || to(fd, &server) < 0)
		return 1;
	while (heard < n) {
		struct pollfd p = { .fd = fd, .events = POLLIN };

		while (sent < n && sent - heard < WINDOW)
			if (send(fd, text, write_question(text, sent++, suffix), 0) < 0)
				say("send", -1);
		if (poll(&p, 1, 60000) != 1) {
			printf("lost: %u of %u\n", sent - heard, sent);
			return 1;
		}
		while (recv(fd, text, sizeof(text), MSG_DONTWAIT) > 0)
			heard++;
	}
	return 0;
}

/* -- arguments -- */

static struct sockaddr_in place(const char *host, const char *port)
{
	struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *found;
	struct sockaddr_in a = { 0 };

	if (getaddrinfo(host, port, &hints, &found) != 0) {
		printf("%s: no address\n", host);
		exit(1);
	}
	memcpy(&a, found->ai_addr, sizeof(a));
	freeaddrinfo(found);
	return a;
}

static int swap(char **argv)
{
	static struct texts texts;
	const struct sockaddr_in server = place(argv[2], argv[3]);

	texts.len = read_text(argv[5], texts.asked);
	if (texts.len == 0 || read_text(argv[6], texts.meant) != texts.len)
		return 2;
	return swap_pages(&server, (int)strtol(argv[4], NULL, 10), &texts);
}

static int run(int argc, char **argv)
{
	struct target t;

	if (argc == 4 && strcmp(argv[1], "queries") == 0)
		return queries(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
	if (argc == 7 && strcmp(argv[1], "swap") == 0)
		return swap(argv);
	if (argc == 5 && strcmp(argv[1], "kind") == 0) {
		t.forbidden = place(argv[3], argv[4]);
		return find_kind(argv[2], &t.forbidden);
	}
	if (argc < 6)
		return 2;
	t = (struct target){ .granted = place(argv[2], argv[3]),
		.forbidden = place(argv[4], argv[5]) };
	if (argc == 7 && strcmp(argv[1], "race") == 0) {
		race(&t, (int)strtol(argv[6], NULL, 10));
		return 0;
	}
	for (size_t i = 0; i < sizeof(sends) / sizeof(sends[0]); i++) {
		if (strcmp(argv[1], sends[i].name) == 0) {
			sends[i].send(&t);
			return 0;
		}
	}
	return 2;
}

int main(int argc, char **argv)
{
	int r = run(argc, argv);

	if (r == 0)
		puts("done");
	return r;
}
