/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of a process (its memory, its current folder, its descriptors) belongs to that call
 * only if the call still waits afterwards: a process that was killed meanwhile may have left its
 * number to another. So all is read first, then the kernel is asked whether the call is still
 * there, and only then something is reported.
 *
 * Before its first program the process is still a copy of Corral's own, which nobody may look into.
 * Nothing of it is reported, and nothing is missed: what it runs is known.
 */
#include "warden/session/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE 1U
#endif

enum {
	AT_ONCE = 64,
	PAGE = 4096, /* pages may be larger, but not smaller */
};

struct witness {
	int listener, root;
	const struct notify_call *calls[SECCOMP_NUMBERS];
	struct seccomp_notif *call; /* as large as the kernel's, which may be newer than we */
	struct seccomp_notif_resp *answer;
	size_t call_size;
	char paths[NOTIFY_PATHS][PATH_BYTES];
	struct sockaddr_storage address;
};

int witness_new(struct witness **ret, int listener)
{
	struct seccomp_notif_sizes sizes;
	auto_fd owned = listener;
	struct witness *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->listener = fd_take(&owned);
	w->root = -1;
	r = notify_sizes(&sizes);
	if (r < 0) {
		witness_free(w);
		return r;
	}
	w->call_size =
		sizes.seccomp_notif > sizeof(*w->call) ? sizes.seccomp_notif : sizeof(*w->call);
	w->call = calloc(1, w->call_size);
	w->answer = calloc(1, sizes.seccomp_notif_resp + sizeof(*w->answer));
	if (!w->call || !w->answer) {
		witness_free(w);
		return -ENOMEM;
	}
	notify_calls(w->calls, seccomp_native);
	*ret = w;
	return 0;
}

void witness_free(struct witness *w)
{
	if (!w)
		return;
	fd_close(&w->listener);
	fd_close(&w->root);
	free(w->call);
	free(w->answer);
	free(w);
}

int witness_fd(const struct witness *w)
{
	return w->listener;
}

/* Looking into the process */

/* What can be read of `size` bytes; a page that is not there ends it. */
static size_t witness_read_memory(pid_t pid, uint64_t address, void *to, size_t size)
{
	size_t first = PAGE - address % PAGE;
	struct iovec local = { to, size };
	struct iovec remote[2] = { { (void *)(uintptr_t)address, first < size ? first : size } };
	ssize_t n;

	remote[1].iov_base = (void *)(uintptr_t)(address + remote[0].iov_len);
	remote[1].iov_len = size - remote[0].iov_len;
	n = process_vm_readv(pid, &local, 1, remote, remote[1].iov_len ? 2 : 1, 0);
	return n > 0 ? (size_t)n : 0;
}

static bool make_absolute(pid_t pid, int folder, char path[PATH_BYTES])
{
	char where[PATH_BYTES], link[64];
	size_t len, n = strlen(path);
	ssize_t got;

	if (path[0] == '/')
		return true;
	/* Where a relative path begins. */
	if (folder == AT_FDCWD)
		(void)snprintf(link, sizeof(link), "/proc/%d/cwd", (int)pid);
	else
		(void)snprintf(link, sizeof(link), "/proc/%d/fd/%d", (int)pid, folder);
	got = n == 0 ? -1 : readlink(link, where, sizeof(where) - 1);
	if (got <= 0 || where[0] != '/')
		return false;
	where[got] = '\0';
	len = strlen(where);
	if (len + 1 + n >= PATH_BYTES)
		return false;
	memmove(path + len + 1, path, n + 1);
	memcpy(path, where, len);
	path[len] = '/';
	return true;
}

/* A name in the file system, if it has one; else path is left empty. */
static bool read_address(struct witness *w, uint64_t at, uint64_t size, char path[PATH_BYTES])
{
	struct sockaddr_un *un = (struct sockaddr_un *)&w->address;
	size_t head = offsetof(struct sockaddr_un, sun_path), n;

	path[0] = '\0';
	memset(&w->address, 0, sizeof(w->address));
	if (size < sizeof(sa_family_t) || size > sizeof(w->address) ||
		witness_read_memory((pid_t)w->call->pid, at, &w->address, size) != size)
		return false;
	if (w->address.ss_family != AF_UNIX)
		return true;
	if (size <= head || size > sizeof(*un) || un->sun_path[0] == '\0')
		return false;
	n = strnlen(un->sun_path, size - head);
	memcpy(path, un->sun_path, n);
	path[n] = '\0';
	return make_absolute((pid_t)w->call->pid, AT_FDCWD, path);
}

/* One call */

static bool witness_read_path(struct witness *w, const struct notify_call *c, size_t i)
{
	const struct notify_path *p = &c->paths[i];
	const __u64 *args = w->call->data.args;
	pid_t pid = (pid_t)w->call->pid;
	int folder = p->folder == NOTIFY_ABSENT ? AT_FDCWD : (int)args[p->folder];
	size_t n;

	if (p->kind == NOTIFY_NONE)
		return false;
	if (p->kind == NOTIFY_NAMESPACE) {
		w->paths[i][0] = '\0';
		return true;
	}
	if (p->kind == NOTIFY_CONNECT)
		return read_address(w, args[p->path], args[c->extra], w->paths[i]);
	n = witness_read_memory(pid, args[p->path], w->paths[i], PATH_BYTES);
	/* Else there is no string, or one that is longer than any path. */
	return memchr(w->paths[i], '\0', n) && make_absolute(pid, folder, w->paths[i]);
}

static void witness_tell(
	struct witness *w, const struct notify_call *c, size_t i, witness_seen *seen, void *context)
{
	uint64_t extra = c->extra == NOTIFY_ABSENT ? 0 : w->call->data.args[c->extra];
	bool is_connect = c->paths[i].kind == NOTIFY_CONNECT;
	enum notify_kind first = c->paths[0].kind;
	/* Flags of "at" are reported as what they mean. */
	bool itself =
		c->itself ||
		((first == NOTIFY_LOOK || first == NOTIFY_CHANGE) && extra & AT_SYMLINK_NOFOLLOW) ||
		(first == NOTIFY_OPEN && extra & O_NOFOLLOW);
	const struct sight sight = { .pid = (pid_t)w->call->pid,
		.kind = c->paths[i].kind,
		.extra = extra,
		.itself = itself,
		.path = w->paths[i][0] ? w->paths[i] : NULL,
		.address = is_connect ? &w->address : NULL,
		.root = w->root };

	if (sight.path || is_connect || sight.kind == NOTIFY_NAMESPACE)
		seen(context, &sight);
}

/* The row of the call that waits; NULL: it is none of those that are watched. */
static const struct notify_call *witness_call(const struct witness *w)
{
	int number = w->call->data.nr;

	return number >= 0 && number < SECCOMP_NUMBERS ? w->calls[number] : NULL;
}

/* By what the kernel says of the call, and by nothing in the command's memory. */
static void witness_answer(struct witness *w)
{
	const struct notify_call *c = witness_call(w);
	bool goes_on = c && c->paths[0].kind != NOTIFY_NAMESPACE;

	*w->answer = (struct seccomp_notif_resp){ .id = w->call->id,
		.error = goes_on ? 0 : -EPERM,
		.flags = goes_on ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0 };
	/* That it is gone by now is of no interest. */
	(void)ioctl(w->listener, SECCOMP_IOCTL_NOTIF_SEND, w->answer);
}

static void witness_look(struct witness *w, witness_seen *seen, void *context)
{
	const struct notify_call *c = witness_call(w);
	bool has[NOTIFY_PATHS] = { false };
	bool is_first = w->root < 0;
	char link[64];

	if (!c)
		return;
	for (size_t i = 0; i < NOTIFY_PATHS; i++)
		has[i] = witness_read_path(w, c, i);
	if (is_first) {
		(void)snprintf(link, sizeof(link), "/proc/%d/root", (int)w->call->pid);
		w->root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	/* Does it still wait? */
	if (ioctl(w->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &w->call->id) != 0) {
		if (is_first)
			fd_close(&w->root);
		return;
	}
	for (size_t i = 0; i < NOTIFY_PATHS; i++)
		if (has[i])
			witness_tell(w, c, i, seen, context);
}

int witness_dispatch(struct witness *w, witness_seen *seen, void *context)
{
	for (int i = 0; i < AT_ONCE; i++) {
		struct pollfd p = { .fd = w->listener, .events = POLLIN };

		if (poll(&p, 1, 0) <= 0)
			return 0;
		if (!(p.revents & POLLIN))
			return -EPIPE;
		memset(w->call, 0, w->call_size);
		/* ENOENT: it was killed between the two. */
		if (ioctl(w->listener, SECCOMP_IOCTL_NOTIF_RECV, w->call) < 0)
			continue;
		witness_look(w, seen, context);
		witness_answer(w);
	}
	return 0;
}
