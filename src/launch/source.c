/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/source.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/environment.h"

/* DIGITS_MAX: below 2^31, whatever they are. */
enum { DIGITS_MAX = 9, FIRST = 3 };

static const char prefix[] = "fd:";

bool launch_source_is_fd(const char *name)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static int source_number(const char *from, const char *text, int *ret, struct error *e)
{
	size_t n = strspn(text, "0123456789");
	int number = n > 0 && n <= DIGITS_MAX && !text[n] && (text[0] != '0' || n == 1)
			     ? (int)strtol(text, NULL, 10)
			     : -1;

	if (number >= FIRST) {
		*ret = number;
		return 0;
	}
	(void)error_set(
		e, -EINVAL, NULL, "%s: `%.40s` is not a valid descriptor for a policy", from, text);
	if (number >= 0)
		error_hint(e, "use a number from 3; 0 to 2 are standard input, output and error");
	else
		error_hint(e, "use the number of an open descriptor, 3 or higher");
	return -EINVAL;
}

/* What it is: 1: a file, which is read from its start; 0: a stream. */
static int source_kind(const char *from, int fd, struct error *e)
{
	int flags = fcntl(fd, F_GETFD), type = 0;
	socklen_t len = sizeof(type);
	struct stat st;

	if (flags < 0 || flags & FD_CLOEXEC || fstat(fd, &st) < 0) {
		(void)error_set(e, -EBADF, NULL, "%s: the descriptor %d %s", from, fd,
			flags < 0 ? "is not open" : "was not passed to this program");
		error_hint(e, "pass it as a shell does: %d<policy.yaml", fd);
		return -EBADF;
	}
	if (S_ISREG(st.st_mode))
		return 1;
	if (S_ISFIFO(st.st_mode) ||
		(S_ISSOCK(st.st_mode) && getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
			type == SOCK_STREAM))
		return 0;
	return error_set(e, -EINVAL, NULL,
		"%s: the descriptor %d is neither a file nor a pipe nor a stream socket", from, fd);
}

bool launch_source_name(int fd, char out[PATH_BYTES])
{
	struct stat st, named;
	char link[40];
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, out, PATH_BYTES);
	if (n <= 0 || n == PATH_BYTES || out[0] != '/')
		return false;
	out[n] = '\0';
	return lstat(out, &named) == 0 && named.st_dev == st.st_dev && named.st_ino == st.st_ino;
}

/* One piece. Another program may have made the pipe non-blocking, which is its right. */
static ssize_t source_piece(int fd, bool is_file, void *data, size_t len, size_t at)
{
	for (;;) {
		ssize_t n = is_file ? pread(fd, data, len, (off_t)at) : read(fd, data, len);
		struct pollfd p = { .fd = fd, .events = POLLIN };

		if (n >= 0 || (errno != EINTR && errno != EAGAIN))
			return n < 0 ? -errno : n;
		if (errno == EAGAIN)
			(void)poll(&p, 1, -1);
	}
}

int launch_source_read(const char *from, const char *number, size_t max, struct buffer *out,
	char name[PATH_BYTES], struct error *e)
{
	char piece[16384];
	size_t total = 0;
	auto_fd owned = -1;
	int fd = -1, r = source_number(from, number, &fd, e), is_file;

	name[0] = '\0';
	if (r < 0)
		return r;
	is_file = source_kind(from, fd, e);
	/* What was not handed over belongs to other code, and stays open. */
	if (is_file == -EBADF)
		return is_file;
	owned = fd;
	if (is_file < 0)
		return is_file;
	if (!launch_source_name(fd, name))
		name[0] = '\0';
	for (;;) {
		ssize_t n = source_piece(fd, is_file, piece, sizeof(piece), total);

		if (n < 0)
			return error_set(e, (int)n, NULL,
				"%s: the descriptor %d cannot be read: %s", from, fd,
				strerror((int)-n));
		if (n == 0)
			return out->failed ? error_no_memory(e) : 0;
		total += (size_t)n;
		if (total > max)
			return error_set(e, -EFBIG, NULL, "%s: the policy is larger than %zu MiB",
				from, max >> 20);
		buffer_add(out, piece, (size_t)n);
	}
}

const char *launch_source_forget(void)
{
	const char *first = NULL;

	for (const char *const *name = environment_policies; *name; name++) {
		char *value = getenv(*name), *item = value ? value - strlen(*name) - 1 : NULL;

		if (!item)
			continue;
		first = first ? first : *name;
		(void)unsetenv(*name);
		explicit_bzero(item, strlen(item));
	}
	return first;
}
