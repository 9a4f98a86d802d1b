/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/lease.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "wire/frame.h"
#include "wire/report.h"

enum { GRACE_MS = 1000 /* between "end" and the end of the init itself */ };

int lease_init(struct lease *l)
{
	*l = (struct lease){ .socket = -1, .pidfd = -1 };
	l->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	return l->timer < 0 ? -errno : 0;
}

void lease_set_timer(const struct lease *l, uint64_t ms)
{
	const struct itimerspec in = { .it_value = {
					       (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 } };

	(void)timerfd_settime(l->timer, 0, &in, NULL);
}

void lease_drop(struct lease *l)
{
	fd_close(&l->socket);
	fd_close(&l->pidfd);
	l->id = 0;
	lease_set_timer(l, 0);
}

void lease_expire(struct lease *l)
{
	const uint32_t flags = REPORT_TIMED_OUT;
	uint64_t ticks;

	/* The command may have ended meanwhile, and with it the timer was stopped. */
	if (read(l->timer, &ticks, sizeof(ticks)) < 0 || l->id == 0)
		return;
	if (!l->doomed &&
		frame_send(l->socket, FRAME_KILL, l->id, &flags, sizeof(flags), NULL, 0) == 0)
		lease_set_timer(l, GRACE_MS);
	else if (l->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, l->pidfd, SIGKILL, NULL, 0);
	l->doomed = true;
}
