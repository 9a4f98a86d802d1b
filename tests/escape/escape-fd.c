// SPDX-License-Identifier: Apache-2.0
/*
 * Descriptors that the caller had open when it started the command: files, folders, sockets and a
 * namespace beyond stdio must not get in; stdio itself must not be more than it is. Pipes lead one
 * way, and a file that is open for appending keeps what is in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "attempt.h"

#define MOST 1024

static int inherited_any(const struct attempt *a)
{
	(void)a;
	for (int fd = 3; fd < MOST; fd++)
		if (fcntl(fd, F_GETFD) >= 0) {
			note("descriptor %d is open", fd);
			return ESCAPED;
		}
	note("nothing beyond stdio");
	return HELD;
}

static int inherited_file(const struct attempt *a)
{
	char data[256];

	(void)a;
	for (int fd = 3; fd < MOST; fd++) {
		ssize_t n = pread(fd, data, sizeof(data), 0);

		if (n > 0 && has_canary(data, (size_t)n))
			return verdict(0);
	}
	errno = EBADF;
	return verdict(-1);
}

static int inherited_folder(const struct attempt *a)
{
	for (int fd = 3; fd < MOST; fd++) {
		int file = openat(fd, a->name, O_RDONLY);

		if (file >= 0)
			return canary_fd(file);
	}
	errno = EBADF;
	return verdict(-1);
}

static int inherited_fchdir(const struct attempt *a)
{
	for (int fd = 3; fd < MOST; fd++)
		if (fchdir(fd) == 0)
			return canary_file(a->name);
	errno = EBADF;
	return verdict(-1);
}

/* The runner connected it to the victim before the start. */
static int inherited_socket(const struct attempt *a)
{
	const char *line = format("%s\n", a->name);

	for (int fd = 3; fd < MOST; fd++)
		if (send(fd, line, strlen(line), MSG_NOSIGNAL) > 0)
			return claim(0);
	errno = EBADF;
	return verdict(-1);
}

static int inherited_namespace(const struct attempt *a)
{
	(void)a;
	errno = EBADF;
	for (int fd = 3; fd < MOST; fd++)
		if (setns(fd, CLONE_NEWNS) == 0)
			return verdict(0);
	return verdict(-1);
}

/* Standard input is OUT/NAME, opened for reading: more than that was not given. */
static int stdin_reopen(const struct attempt *a)
{
	int fd = open("/proc/self/fd/0", O_WRONLY);

	(void)a;
	return claim(fd < 0 ? -1 : write(fd, "x", 1));
}

static int stdin_dev(const struct attempt *a)
{
	int fd = open("/dev/stdin", O_RDWR | O_TRUNC);

	(void)a;
	return claim(fd);
}

static int stdin_link(const struct attempt *a)
{
	if (linkat(AT_FDCWD, "/proc/self/fd/0", AT_FDCWD, work_file(a), AT_SYMLINK_FOLLOW) < 0)
		return verdict(-1);
	return claim(open(work_file(a), O_WRONLY | O_TRUNC));
}

static int stdin_truncate(const struct attempt *a)
{
	(void)a;
	return claim(truncate("/proc/self/fd/0", 0));
}

static int stdin_chmod(const struct attempt *a)
{
	(void)a;
	return claim(fchmod(0, 0777));
}

static int stdin_utimes(const struct attempt *a)
{
	const struct timespec t[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	(void)a;
	return claim(futimens(0, t));
}

static int stdin_parent(const struct attempt *a)
{
	/* A file is no folder, but its link has a name to go up from. */
	char path[4096] = "";

	(void)a;
	if (readlink("/proc/self/fd/0", path, sizeof(path) - 1) < 0)
		return verdict(-1);
	return verdict(open(path, O_RDWR));
}

/*
 * A server of the host that appears in the workspace sends descriptors to whoever connects: of OUT,
 * open for reading, and of OUT/NAME, as a mere place. No rule takes back what is open already
 * back; but what lies behind a folder, or is opened anew, is outside of every grant.
 */
static void receive(const struct attempt *a, int fds[2])
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	union {
		char bytes[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	char byte;
	struct iovec io = { &byte, 1 };
	struct msghdr m = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	int s = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)snprintf(un.sun_path, sizeof(un.sun_path), "%s.sock", a->name);
	make_file(work_file(a), "here\n");
	for (int i = 0; i < 20000 && access(un.sun_path, F_OK) < 0; i++)
		poll(NULL, 0, 1);
	fds[0] = fds[1] = -1;
	if (connect(s, (struct sockaddr *)&un, sizeof(un)) < 0)
		return;
	if (recvmsg(s, &m, 0) != 1 || !CMSG_FIRSTHDR(&m) ||
		CMSG_FIRSTHDR(&m)->cmsg_len != CMSG_LEN(2 * sizeof(int)))
		broken("the host sent no descriptors");
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), 2 * sizeof(int));
}

static int received_open(const struct attempt *a)
{
	int fds[2];

	receive(a, fds);
	return canary_fd(fds[0] < 0 ? -1 : openat(fds[0], a->name, O_RDONLY));
}

static int received_fchdir(const struct attempt *a)
{
	int fds[2];

	receive(a, fds);
	if (fds[0] < 0 || fchdir(fds[0]) < 0)
		return verdict(-1);
	return canary_file(a->name);
}

static int received_link(const struct attempt *a)
{
	int fds[2];

	receive(a, fds);
	return fds[0] < 0 ? verdict(-1)
			  : canary_file(format("/proc/self/fd/%d/%s", fds[0], a->name));
}

static int received_list(const struct attempt *a)
{
	int fds[2];

	receive(a, fds);
	return fds[0] < 0 ? verdict(-1) : verdict(openat(fds[0], ".", O_RDONLY | O_DIRECTORY));
}

static int received_reopen(const struct attempt *a)
{
	int fds[2];

	receive(a, fds);
	return fds[1] < 0 ? verdict(-1) : canary_file(format("/proc/self/fd/%d", fds[1]));
}

static int received_truncate(const struct attempt *a)
{
	int fds[2];

	receive(a, fds);
	return fds[1] < 0 ? verdict(-1) : claim(truncate(format("/proc/self/fd/%d", fds[1]), 0));
}

static int received_open_truncate(const struct attempt *a)
{
	int fds[2];

	receive(a, fds);
	return fds[0] < 0 ? verdict(-1) : claim(openat(fds[0], a->name, O_RDONLY | O_TRUNC));
}

static int received_write(const struct attempt *a)
{
	int fds[2];

	receive(a, fds);
	return fds[0] < 0 ? verdict(-1)
			  : claim(openat(
				    fds[0], format("%s.made", a->name), O_WRONLY | O_CREAT, 0600));
}

/* Landlock knows the workspace, wherever it is seen from; the mask is on its mount inside. */
static int received_mask(const struct attempt *a)
{
	int fds[2];

	receive(a, fds);
	return canary_fd(
		fds[0] < 0 ? -1 : openat(fds[0], format("../ws/denied/%s", a->name), O_RDONLY));
}

/* The host moves the folder, which is open, out of the workspace, and puts something into it. */
static int moved_folder(const struct attempt *a)
{
	const char *path = format("%s.folder", a->name);
	int folder, fd = -1;

	if (mkdir(path, 0755) < 0 || (folder = open(path, O_RDONLY | O_DIRECTORY)) < 0)
		broken("%s: %s", path, strerror(errno));
	make_file(work_file(a), "here\n");
	for (int i = 0; i < 20000 && fd < 0; i++) {
		poll(NULL, 0, 1);
		fd = openat(folder, "secret", O_RDONLY);
		if (fd < 0 && errno != ENOENT)
			break;
	}
	return canary_fd(fd);
}

static int moved_parent(const struct attempt *a)
{
	const char *path = format("%s.folder", a->name);
	int folder;

	if (mkdir(path, 0755) < 0 || (folder = open(path, O_RDONLY | O_DIRECTORY)) < 0)
		broken("%s: %s", path, strerror(errno));
	make_file(work_file(a), "here\n");
	if (fchdir(folder) < 0)
		return verdict(-1);
	for (int i = 0; i < 20000 && access("secret", F_OK) < 0; i++)
		poll(NULL, 0, 1);
	return canary_file(format("../%s", a->name));
}

/* Standard output is a pipe into which an earlier program of the caller wrote a canary. */
static int pipe_read_back(const struct attempt *a)
{
	(void)a;
	return canary_fd(open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK));
}

static int pipe_read_dev(const struct attempt *a)
{
	(void)a;
	return canary_fd(open("/dev/stdout", O_RDWR | O_NONBLOCK));
}

/* Nothing but a pipe: a duplicate of what waits in it. */
static int pipe_tee_back(const struct attempt *a)
{
	int own[2], fd = open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK);

	(void)a;
	if (pipe(own) < 0)
		broken("pipe: %s", strerror(errno));
	if (fd < 0 || tee(fd, own[1], 4096, SPLICE_F_NONBLOCK) <= 0)
		return verdict(-1);
	return canary_fd(own[0]);
}

/* Standard input is a pipe or a connection; the runner looks for what comes out at the other end.
 */
static int input_write(const struct attempt *a)
{
	int fd = open("/proc/self/fd/0", O_WRONLY | O_NONBLOCK);
	const char *line = format("%s\n", a->name);

	return claim(fd < 0 ? -1 : write(fd, line, strlen(line)));
}

static int input_send(const struct attempt *a)
{
	const char *line = format("%s\n", a->name);

	return claim(send(0, line, strlen(line), MSG_NOSIGNAL));
}

static int input_shutdown(const struct attempt *a)
{
	(void)a;
	return claim(shutdown(0, SHUT_RDWR));
}

static int input_flags(const struct attempt *a)
{
	(void)a;
	return claim(fcntl(0, F_SETFL, O_NONBLOCK));
}

/* Standard output is OUT/NAME, opened for appending: what is in it must stay. */
static int append_ftruncate(const struct attempt *a)
{
	(void)a;
	return claim(ftruncate(1, 0));
}

static int append_truncate(const struct attempt *a)
{
	(void)a;
	return claim(truncate("/proc/self/fd/1", 0));
}

static int append_reopen(const struct attempt *a)
{
	int fd = open("/proc/self/fd/1", O_WRONLY | O_TRUNC);

	(void)a;
	return claim(fd < 0 ? -1 : write(fd, "x", 0));
}

static int append_flags(const struct attempt *a)
{
	(void)a;
	if (fcntl(1, F_SETFL, 0) < 0)
		return verdict(-1);
	return claim(pwrite(1, "x", 1, 0));
}

static int append_punch(const struct attempt *a)
{
	(void)a;
	return claim(fallocate(1, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096));
}

static int append_chmod(const struct attempt *a)
{
	(void)a;
	return claim(fchmod(1, 0777));
}

static int append_read(const struct attempt *a)
{
	(void)a;
	return canary_fd(open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK));
}

static const struct attempt table[] = {
	{ "fd-any", "fds", "", "some descriptor beyond stdio got in", inherited_any, NULL },
	{ "fd-file", "fds", "", "a secret file that the caller had open", inherited_file, NULL },
	{ "fd-folder", "fds", "", "a folder that the caller had open leads out", inherited_folder,
		NULL },
	{ "fd-fchdir", "fds", "", "fchdir to a folder that the caller had open", inherited_fchdir,
		NULL },
	{ "fd-socket", "fds", "", "a connection that the caller had open", inherited_socket, NULL },
	{ "fd-namespace", "fds", "SYS_ADMIN", "a namespace that the caller had open can be joined",
		inherited_namespace, NULL },
	{ "stdin-reopen", "stdin", "", "standard input is reopened for writing", stdin_reopen,
		NULL },
	{ "stdin-dev", "stdin", "", "the same by /dev/stdin", stdin_dev, NULL },
	{ "stdin-truncate", "stdin", "", "the file behind standard input is emptied by its link",
		stdin_truncate, NULL },
	{ "stdin-link", "stdin", "", "a hard link brings it into the workspace", stdin_link, NULL },
	{ "stdin-path", "stdin", "", "the path that /proc shows can be opened", stdin_parent,
		NULL },
	{ "stdin-chmod", "stdin", "", "fchmod needs no more than a descriptor for reading",
		stdin_chmod, NULL },
	{ "stdin-utimes", "stdin", "", "futimens needs no more than a descriptor for reading",
		stdin_utimes, NULL },
	{ "received-open", "received", "", "a file in a folder whose descriptor was received",
		received_open, NULL },
	{ "received-fchdir", "received", "", "the same from inside the folder", received_fchdir,
		NULL },
	{ "received-link", "received", "", "the same by the folder's link in /proc", received_link,
		NULL },
	{ "received-list", "received", "", "the folder is opened anew, to be listed", received_list,
		NULL },
	{ "received-reopen", "received", "", "a mere place that was received is opened",
		received_reopen, NULL },
	{ "received-truncate", "received", "", "the same file is emptied by its link",
		received_truncate, NULL },
	{ "received-open-truncate", "received", "",
		"a file in the folder is emptied as it is opened for reading",
		received_open_truncate, NULL },
	{ "received-write", "received", "", "a file is made in the folder", received_write, NULL },
	{ "received-mask", "received-mask", "",
		"from the folder the way leads to a denied file past its mask", received_mask,
		NULL },
	{ "moved-folder", "moved", "",
		"an open folder shows what the host puts into it after it moved it out",
		moved_folder, NULL },
	{ "moved-parent", "moved", "", "from such a folder the way up leads out", moved_parent,
		NULL },
	{ "pipe-read", "pipe-out", "", "what others wrote into standard output is read back",
		pipe_read_back, NULL },
	{ "pipe-read-dev", "pipe-out", "", "the same by /dev/stdout", pipe_read_dev, NULL },
	{ "pipe-tee", "pipe-out", "", "the same, and it stays in the pipe", pipe_tee_back, NULL },
	{ "pipe-write", "pipe-in", "", "standard input is written to, for its next reader",
		input_write, NULL },
	{ "pipe-flags", "pipe-in", "", "standard input does not block its next reader any more",
		input_flags, NULL },
	{ "null-flags", "null-in", "",
		"flags of the caller's /dev/null are there for its next command", input_flags,
		NULL },
	{ "socket-send", "socket-in", "", "standard input carries an answer", input_send, NULL },
	{ "socket-shutdown", "socket-in", "", "the caller's connection is shut down",
		input_shutdown, NULL },
	{ "append-ftruncate", "append", "", "a file for appending is emptied by its descriptor",
		append_ftruncate, NULL },
	{ "append-truncate", "append", "", "the same by its link", append_truncate, NULL },
	{ "append-reopen", "append", "", "it is opened anew, and emptied", append_reopen, NULL },
	{ "append-flags", "append", "", "it is written from its start once it does not append",
		append_flags, NULL },
	{ "append-punch", "append", "", "a hole is made in it", append_punch, NULL },
	{ "append-chmod", "append", "", "its mode is changed", append_chmod, NULL },
	{ "append-read", "append", "", "it is read, though it is open for writing", append_read,
		NULL },
};
THEME(fd, "Descriptors of the caller, and those that were received", table);
