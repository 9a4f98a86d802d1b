/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before its first program the process is still a copy of Corral's own, which nobody may look into.
 * Nothing of it is reported, and nothing is missed: what it runs is known.
 */
#include "holder/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"

enum { PAGE = 4096 }; /* pages may be larger, but not smaller */

struct witness {
	int root;
	witness_seen *seen;
	void *context;
	char paths[NOTIFY_PATHS][PATH_BYTES];
	struct sockaddr_storage address;
};

static bool witness_see(void *context, struct call_listener *l, const struct listener_call *c);

int witness_new(struct witness **ret, struct call_listener *l, witness_seen *seen, void *context)
{
	struct witness *w = calloc(1, sizeof(*w));
	int r = w ? listener_add(l, witness_see, w) : -ENOMEM;

	if (r < 0) {
		free(w);
		return r;
	}
	w->root = -1;
	w->seen = seen;
	w->context = context;
	*ret = w;
	return 0;
}

void witness_free(struct witness *w)
{
	if (!w)
		return;
	fd_close(&w->root);
	free(w);
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
static bool read_address(
	struct witness *w, pid_t pid, uint64_t at, uint64_t size, char path[PATH_BYTES])
{
	struct sockaddr_un *un = (struct sockaddr_un *)&w->address;
	size_t head = offsetof(struct sockaddr_un, sun_path), n;

	path[0] = '\0';
	memset(&w->address, 0, sizeof(w->address));
	if (size < sizeof(sa_family_t) || size > sizeof(w->address) ||
		witness_read_memory(pid, at, &w->address, size) != size)
		return false;
	if (w->address.ss_family != AF_UNIX)
		return true;
	if (size <= head || size > sizeof(*un) || un->sun_path[0] == '\0')
		return false;
	n = strnlen(un->sun_path, size - head);
	memcpy(path, un->sun_path, n);
	path[n] = '\0';
	return make_absolute(pid, AT_FDCWD, path);
}

/* One call */

static bool witness_read_path(struct witness *w, const struct listener_call *call, size_t i)
{
	const struct notify_call *c = call->row;
	const struct notify_path *p = &c->paths[i];
	const uint64_t *args = call->args;
	pid_t pid = call->pid;
	int folder = p->folder == NOTIFY_ABSENT ? AT_FDCWD : (int)args[p->folder];
	size_t n;

	if (p->kind == NOTIFY_NONE)
		return false;
	if (p->kind == NOTIFY_NAMESPACE) {
		w->paths[i][0] = '\0';
		return true;
	}
	if (p->kind == NOTIFY_CONNECT)
		return read_address(w, pid, args[p->path], args[c->extra], w->paths[i]);
	n = witness_read_memory(pid, args[p->path], w->paths[i], PATH_BYTES);
	/* Else there is no string, or one that is longer than any path. */
	return memchr(w->paths[i], '\0', n) && make_absolute(pid, folder, w->paths[i]);
}

static void witness_tell(struct witness *w, const struct listener_call *call, size_t i)
{
	const struct notify_call *c = call->row;
	uint64_t extra = c->extra == NOTIFY_ABSENT ? 0 : call->args[c->extra];
	bool is_connect = c->paths[i].kind == NOTIFY_CONNECT;
	enum notify_kind first = c->paths[0].kind;
	/* Flags of "at" are reported as what they mean. */
	bool itself =
		c->itself ||
		((first == NOTIFY_LOOK || first == NOTIFY_CHANGE) && extra & AT_SYMLINK_NOFOLLOW) ||
		(first == NOTIFY_OPEN && extra & O_NOFOLLOW);
	const struct sight sight = { .pid = call->pid,
		.kind = c->paths[i].kind,
		.extra = extra,
		.itself = itself,
		.path = w->paths[i][0] ? w->paths[i] : NULL,
		.address = is_connect ? &w->address : NULL,
		.root = w->root };

	if (sight.path || is_connect || sight.kind == NOTIFY_NAMESPACE)
		w->seen(w->context, &sight);
}

/* It answers nothing: what is named may be another thing by the time the kernel looks. */
static bool witness_see(void *context, struct call_listener *l, const struct listener_call *c)
{
	struct witness *w = context;
	bool has[NOTIFY_PATHS] = { false };
	bool is_first = w->root < 0;
	char link[64];

	for (size_t i = 0; i < NOTIFY_PATHS; i++)
		has[i] = witness_read_path(w, c, i);
	if (is_first) {
		(void)snprintf(link, sizeof(link), "/proc/%d/root", (int)c->pid);
		w->root = open(link, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (!listener_still_waits(l)) {
		if (is_first)
			fd_close(&w->root);
		return false;
	}
	for (size_t i = 0; i < NOTIFY_PATHS; i++)
		if (has[i])
			witness_tell(w, c, i);
	return false;
}
