// SPDX-License-Identifier: Apache-2.0
/*
 * Sockets of the host: by path outside, by path in the workspace (a granted folder grants no
 * servers), by abstract name, on loopback. The server answers with a canary and logs who came.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "attempt.h"

static socklen_t unix_address(struct sockaddr_un *un, const char *path)
{
	size_t n = strlen(path);

	*un = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (n >= sizeof(un->sun_path))
		broken("the path is too long: %s", path);
	memcpy(un->sun_path, path, n);
	if (path[0] == '@')
		un->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n + (path[0] != '@'));
}

static int talk(const struct attempt *a, int fd, const struct sockaddr *address, socklen_t n)
{
	const char *line = format("%s\n", a->name);
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd < 0 || connect(fd, address, n) < 0)
		return verdict(-1);
	(void)send(fd, line, strlen(line), MSG_NOSIGNAL); /* it may have answered and gone */
	if (poll(&p, 1, 20000) <= 0) {
		note("connected, but no answer came");
		return HELD;
	}
	return canary_fd(fd);
}

static int connect_path(const struct attempt *a, int type, const char *path)
{
	struct sockaddr_un un;
	socklen_t n = unix_address(&un, path);

	return talk(a, socket(AF_UNIX, type, 0), (struct sockaddr *)&un, n);
}

static int send_path(const struct attempt *a, const char *path)
{
	struct sockaddr_un un;
	socklen_t n = unix_address(&un, path);
	const char *line = format("%s\n", a->name);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	return claim(fd < 0 ? -1 : sendto(fd, line, strlen(line), 0, (struct sockaddr *)&un, n));
}

static const char *in_out(const char *name)
{
	return format("%s/%s", scene("out"), name);
}

static int out_stream(const struct attempt *a)
{
	return connect_path(a, SOCK_STREAM, in_out("stream.sock"));
}

static int out_seq(const struct attempt *a)
{
	return connect_path(a, SOCK_SEQPACKET, in_out("seq.sock"));
}

static int out_dgram(const struct attempt *a)
{
	return send_path(a, in_out("dgram.sock"));
}

static int out_symlink(const struct attempt *a)
{
	if (symlink(in_out("stream.sock"), "s.sock") < 0)
		broken("symlink: %s", strerror(errno));
	return connect_path(a, SOCK_STREAM, "s.sock");
}

static int ws_stream(const struct attempt *a)
{
	return connect_path(a, SOCK_STREAM, format("%s/host-stream.sock", scene("ws")));
}

static int ws_relative(const struct attempt *a)
{
	return connect_path(a, SOCK_STREAM, "./host-stream.sock");
}

static int ws_dgram(const struct attempt *a)
{
	return send_path(a, "host-dgram.sock");
}

static int ws_dgram_connect(const struct attempt *a)
{
	struct sockaddr_un un;
	socklen_t n = unix_address(&un, "host-dgram.sock");
	const char *line = format("%s\n", a->name);
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	if (connect(fd, (struct sockaddr *)&un, n) < 0)
		return verdict(-1);
	return claim(send(fd, line, strlen(line), 0));
}

static struct msghdr message(struct sockaddr_un *un, socklen_t n, struct iovec *iov)
{
	return (struct msghdr){ .msg_name = un, .msg_namelen = n, .msg_iov = iov, .msg_iovlen = 1 };
}

static int ws_sendmsg(const struct attempt *a)
{
	struct sockaddr_un un;
	char *line = format("%s\n", a->name);
	struct iovec iov = { line, strlen(line) };
	struct msghdr m = message(&un, unix_address(&un, "host-dgram.sock"), &iov);

	return claim(sendmsg(socket(AF_UNIX, SOCK_DGRAM, 0), &m, 0));
}

static int ws_sendmmsg(const struct attempt *a)
{
	struct sockaddr_un un;
	char *line = format("%s\n", a->name);
	struct iovec iov = { line, strlen(line) };
	struct mmsghdr m = { .msg_hdr = message(&un, unix_address(&un, "host-dgram.sock"), &iov) };

	return claim(sendmmsg(socket(AF_UNIX, SOCK_DGRAM, 0), &m, 1, 0));
}

/* A descriptor of ours in the host's hands: it could be made to write where we can't. */
static int ws_pass_fd(const struct attempt *a)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} u = { .head = { CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS } };
	struct sockaddr_un un;
	char *line = format("%s\n", a->name);
	struct iovec iov = { line, strlen(line) };
	struct msghdr m = message(&un, unix_address(&un, "host-dgram.sock"), &iov);

	m.msg_control = &u;
	m.msg_controllen = sizeof(u);
	return claim(sendmsg(socket(AF_UNIX, SOCK_DGRAM, 0), &m, 0));
}

static int ws_symlink(const struct attempt *a)
{
	if (symlink("host-stream.sock", "w.sock") < 0)
		broken("symlink: %s", strerror(errno));
	return connect_path(a, SOCK_STREAM, "w.sock");
}

static int ws_hard_link(const struct attempt *a)
{
	if (link("host-stream.sock", "h.sock") < 0)
		return verdict(-1);
	return connect_path(a, SOCK_STREAM, "h.sock");
}

static int ws_rename(const struct attempt *a)
{
	int v;

	if (rename("host-stream.sock", "r.sock") < 0)
		return verdict(-1);
	v = connect_path(a, SOCK_STREAM, "r.sock");
	if (rename("r.sock", "host-stream.sock") < 0)
		broken("cannot rename it back: %s", strerror(errno));
	return v;
}

static int ws_rename_folder(const struct attempt *a)
{
	if (mkdir("sockets", 0755) < 0 || link("host-stream.sock", "sockets/s.sock") < 0)
		return verdict(-1);
	if (rename("sockets", "sockets2") < 0)
		return verdict(-1);
	return connect_path(a, SOCK_STREAM, "sockets2/s.sock");
}

static int ws_fd(const struct attempt *a)
{
	int fd = open("host-stream.sock", O_PATH);

	if (fd < 0)
		return verdict(-1);
	return connect_path(a, SOCK_STREAM, format("/proc/self/fd/%d", fd));
}

static int ws_parent_fd(const struct attempt *a)
{
	int fd = open(".", O_PATH | O_DIRECTORY);

	return connect_path(a, SOCK_STREAM, format("/proc/self/fd/%d/host-stream.sock", fd));
}

/* The runner puts a server there when it sees that we run. */
static int ws_late(const struct attempt *a)
{
	struct stat st;

	make_file(work_file(a), "here\n");
	for (int i = 0; i < 20000 && stat(format("%s.sock", a->name), &st) < 0; i++)
		poll(NULL, 0, 1);
	return connect_path(a, SOCK_STREAM, format("%s.sock", a->name));
}

static int searchable(const struct attempt *a)
{
	return connect_path(a, SOCK_STREAM, scene("searchable"));
}

static int abstract(const struct attempt *a)
{
	return connect_path(a, SOCK_STREAM, format("@%s", scene("abstract")));
}

static int abstract_dgram(const struct attempt *a)
{
	return send_path(a, format("@%s-dgram", scene("abstract")));
}

/* A bound socket of ours is in the same space as the host's: squatting a name works. */
static int abstract_squat(const struct attempt *a)
{
	struct sockaddr_un un;
	socklen_t n = unix_address(&un, format("@%s", scene("abstract")));
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)a;
	if (bind(fd, (struct sockaddr *)&un, n) < 0 && errno == EADDRINUSE) {
		note("the host's name is taken here as well: one space");
		return ESCAPED;
	}
	note("a space of our own");
	return HELD;
}

static int well_known(const struct attempt *a)
{
	if (!scene_has(a->arg)) {
		note("needs root to put a server there");
		return ABSENT;
	}
	return connect_path(a, SOCK_STREAM, scene(a->arg));
}

/* By the variable that names it (host: DOCKER_HOST and the like), if it got in. */
static int by_variable(const struct attempt *a)
{
	const char *value = getenv(a->arg), *path = value ? strchr(value, '/') : NULL;

	if (!path) {
		note("no such variable");
		return HELD;
	}
	return connect_path(a, SOCK_STREAM, path);
}

static int inet_connect(const struct attempt *a)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	in.sin_port = htons((uint16_t)scene_number("tcp"));
	inet_pton(AF_INET, a->arg, &in.sin_addr);
	return talk(a, socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&in, sizeof(in));
}

static int inet6_connect(const struct attempt *a)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };

	if (!scene_has("tcp6")) {
		note("no IPv6 here");
		return ABSENT;
	}
	in.sin6_port = htons((uint16_t)scene_number("tcp6"));
	return talk(a, socket(AF_INET6, SOCK_STREAM, 0), (struct sockaddr *)&in, sizeof(in));
}

static int inet_mapped(const struct attempt *a)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6 };

	in.sin6_port = htons((uint16_t)scene_number("tcp"));
	inet_pton(AF_INET6, "::ffff:127.0.0.1", &in.sin6_addr);
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	if (fd < 0 && errno == EAFNOSUPPORT && !scene_has("tcp6"))
		return ABSENT;
	return talk(a, fd, (struct sockaddr *)&in, sizeof(in));
}

static int inet_fastopen(const struct attempt *a)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *line = format("%s\n", a->name);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	in.sin_port = htons((uint16_t)scene_number("tcp"));
	if (fd < 0 || sendto(fd, line, strlen(line), MSG_FASTOPEN | MSG_NOSIGNAL,
			      (struct sockaddr *)&in, sizeof(in)) < 0)
		return verdict(-1);
	return canary_fd(fd);
}

static int inet_udp(const struct attempt *a)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const char *line = format("%s\n", a->name);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	in.sin_port = htons((uint16_t)scene_number("udp"));
	return claim(
		fd < 0 ? -1
		       : sendto(fd, line, strlen(line), 0, (struct sockaddr *)&in, sizeof(in)));
}

static const struct attempt table[] = {
	{ "unix-stream", "default", "", "a server's socket outside can be connected", out_stream,
		NULL },
	{ "unix-seqpacket", "default", "", "the same with packets", out_seq, NULL },
	{ "unix-dgram", "default", "", "a datagram needs no connection", out_dgram, NULL },
	{ "unix-symlink", "default", "", "a link in the workspace leads to the socket", out_symlink,
		NULL },
	{ "unix-granted", "default", "", "a host's socket in the workspace is granted with it",
		ws_stream, NULL },
	{ "unix-granted-relative", "default", "", "the same by a relative path", ws_relative,
		NULL },
	{ "unix-granted-dgram", "default", "", "a datagram to a host's socket in the workspace",
		ws_dgram, NULL },
	{ "unix-granted-dgram-connect", "default", "", "the same, connected first",
		ws_dgram_connect, NULL },
	{ "unix-granted-sendmsg", "default", "", "the same by sendmsg", ws_sendmsg, NULL },
	{ "unix-granted-sendmmsg", "default", "", "the same by sendmmsg", ws_sendmmsg, NULL },
	{ "unix-granted-pass-fd", "default", "", "a descriptor can be handed to the host",
		ws_pass_fd, NULL },
	{ "unix-granted-symlink", "default", "", "a link to a host's socket in the workspace",
		ws_symlink, NULL },
	{ "unix-granted-link", "default", "", "a hard link to it has a new name", ws_hard_link,
		NULL },
	{ "unix-granted-rename", "default", "", "renamed, it has a new name", ws_rename, NULL },
	{ "unix-granted-folder", "default", "", "its folder renamed, it has a new name",
		ws_rename_folder, NULL },
	{ "unix-granted-fd", "default", "", "/proc/self/fd of an O_PATH descriptor is a new name",
		ws_fd, NULL },
	{ "unix-granted-parent-fd", "default", "", "/proc/self/fd of its folder is a new name",
		ws_parent_fd, NULL },
	{ "unix-granted-late", "late", "", "a host's socket that appears later is not known",
		ws_late, NULL },
	{ "unix-searchable", "agent", "",
		"a socket in folders of another user that can be searched, not read", searchable,
		NULL },
	{ "unix-abstract", "default", "", "abstract names have no permissions", abstract, NULL },
	{ "unix-abstract-dgram", "default", "", "the same with a datagram", abstract_dgram, NULL },
	{ "unix-abstract-squat", "default", "", "a name of the host can be taken or seen",
		abstract_squat, NULL },
	{ "relay-abstract", "relay", "", "a relay comes with the host's abstract names", abstract,
		NULL },
	{ "relay-abstract-dgram", "relay", "", "the same with a datagram", abstract_dgram, NULL },
	{ "relay-abstract-squat", "relay", "", "the same by taking a name", abstract_squat, NULL },
	{ "relay-unix", "relay", "", "a server's socket outside can be connected", out_stream,
		NULL },
	{ "relay-unix-granted", "relay", "", "a host's socket in the workspace is granted with it",
		ws_stream, NULL },
	{ "unix-docker", "default", "", "docker.sock is root on the host", well_known, "docker" },
	{ "unix-dbus", "default", "", "the system's bus starts services", well_known, "dbus" },
	{ "unix-x11", "default", "", "the display reads all keys", well_known, "x11" },
	{ "unix-ssh-agent", "default", "", "the agent signs with the person's keys", by_variable,
		"SSH_AUTH_SOCK" },
	{ "unix-session-bus", "default", "", "the session's bus starts programs outside",
		by_variable, "DBUS_SESSION_BUS_ADDRESS" },
	{ "inet-loopback", "default", "", "a server of the host on 127.0.0.1", inet_connect,
		"127.0.0.1" },
	{ "inet-any", "default", "", "0.0.0.0 is another name of it", inet_connect, "0.0.0.0" },
	{ "inet-loopback6", "default", "", "a server of the host on ::1", inet6_connect, NULL },
	{ "inet-mapped", "default", "", "a mapped address is not recognised", inet_mapped, NULL },
	{ "inet-fastopen", "default", "", "MSG_FASTOPEN connects without connect()", inet_fastopen,
		NULL },
	{ "inet-udp", "default", "", "a datagram to the host", inet_udp, NULL },
};
THEME(socket, "Sockets of the host", table);
