/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/listener.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/fd.h"

#ifndef SECCOMP_USER_NOTIF_FLAG_CONTINUE
#define SECCOMP_USER_NOTIF_FLAG_CONTINUE 1U
#endif

enum { LISTENER_AT_ONCE = 64 };

struct listener_user {
	listener_see *see;
	void *context;
};

struct call_listener {
	int fd;
	const struct notify_call *calls[SECCOMP_NUMBERS];
	struct seccomp_notif *call; /* as large as the kernel's, which may be newer than we */
	struct seccomp_notif_resp *answer;
	size_t call_size;
	uint64_t args[6];
	struct listener_user users[LISTENER_USERS_MAX];
	size_t n_users;
};

int listener_new(struct call_listener **ret, int fd)
{
	struct seccomp_notif_sizes sizes;
	auto_fd owned = fd;
	struct call_listener *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	l->fd = fd_take(&owned);
	r = notify_sizes(&sizes);
	if (r < 0) {
		listener_free(l);
		return r;
	}
	l->call_size =
		sizes.seccomp_notif > sizeof(*l->call) ? sizes.seccomp_notif : sizeof(*l->call);
	l->call = calloc(1, l->call_size);
	l->answer = calloc(1, sizes.seccomp_notif_resp + sizeof(*l->answer));
	if (!l->call || !l->answer) {
		listener_free(l);
		return -ENOMEM;
	}
	notify_calls(l->calls, seccomp_native);
	*ret = l;
	return 0;
}

void listener_free(struct call_listener *l)
{
	if (!l)
		return;
	fd_close(&l->fd);
	free(l->call);
	free(l->answer);
	free(l);
}

int listener_add(struct call_listener *l, listener_see *see, void *context)
{
	if (l->n_users == LISTENER_USERS_MAX)
		return -ENOSPC;
	l->users[l->n_users++] = (struct listener_user){ see, context };
	return 0;
}

int listener_fd(const struct call_listener *l)
{
	return l->fd;
}

bool listener_still_waits(const struct call_listener *l)
{
	return ioctl(l->fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &l->call->id) == 0;
}

static void listener_send(struct call_listener *l, int error, int64_t value, uint32_t flags)
{
	*l->answer = (struct seccomp_notif_resp){
		.id = l->call->id, .error = error, .val = value, .flags = flags
	};
	/* That it is gone by now is of no interest. */
	(void)ioctl(l->fd, SECCOMP_IOCTL_NOTIF_SEND, l->answer);
}

void listener_answer(struct call_listener *l, int error, int64_t value)
{
	listener_send(l, error, error ? 0 : value, 0);
}

static void listener_show(struct call_listener *l)
{
	const int number = l->call->data.nr;
	const struct listener_call call = { .pid = (pid_t)l->call->pid,
		.row = number >= 0 && number < SECCOMP_NUMBERS ? l->calls[number] : NULL,
		.args = l->args };

	for (size_t i = 0; i < sizeof(l->args) / sizeof(l->args[0]); i++)
		l->args[i] = l->call->data.args[i];
	/* None of those that are watched is no user's matter. */
	for (size_t i = 0; call.row && i < l->n_users; i++)
		if (l->users[i].see(l->users[i].context, l, &call))
			return;
	if (call.row && call.row->paths[0].kind != NOTIFY_NAMESPACE)
		listener_send(l, 0, 0, SECCOMP_USER_NOTIF_FLAG_CONTINUE);
	else
		listener_send(l, -EPERM, 0, 0);
}

int listener_dispatch(struct call_listener *l)
{
	for (int i = 0; i < LISTENER_AT_ONCE; i++) {
		struct pollfd p = { .fd = l->fd, .events = POLLIN };

		if (poll(&p, 1, 0) <= 0)
			return 0;
		if (!(p.revents & POLLIN))
			return -EPIPE;
		memset(l->call, 0, l->call_size);
		/* ENOENT: it was killed between the two. */
		if (ioctl(l->fd, SECCOMP_IOCTL_NOTIF_RECV, l->call) == 0)
			listener_show(l);
	}
	return 0;
}
