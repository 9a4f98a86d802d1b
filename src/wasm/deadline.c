/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/deadline.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>

#include "base/clock.h"

/* Shared with the handler, which runs in the only thread there is. In ms; 0: none. */
static _Atomic uint64_t deadline_at; /* when the call has to stop */
static _Atomic uint64_t deadline_timer_at;
static const wasm_engine_t *deadline_engine;

static void deadline_arm(uint64_t now, uint64_t at)
{
	const uint64_t left = at > now ? at - now : 1;
	const struct itimerval t = { .it_value = { .tv_sec = (time_t)(left / 1000),
					     .tv_usec = (suseconds_t)(left % 1000 * 1000) } };

	atomic_store(&deadline_timer_at, at);
	(void)setitimer(ITIMER_REAL, &t, NULL);
}

static void deadline_on_alarm(int signal)
{
	const int kept = errno;
	const uint64_t at = atomic_load(&deadline_at), now = clock_ms(CLOCK_MONOTONIC);

	(void)signal;
	atomic_store(&deadline_timer_at, 0);
	if (at != 0 && now >= at)
		wasmtime_engine_increment_epoch((wasm_engine_t *)deadline_engine);
	else if (at != 0)
		deadline_arm(now, at);
	errno = kept;
}

int deadline_open(const wasm_engine_t *engine)
{
	const struct sigaction action = { .sa_handler = deadline_on_alarm,
		.sa_flags = SA_RESTART | SA_ONSTACK };
	sigset_t set;

	deadline_engine = engine;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGALRM);
	return sigaction(SIGALRM, &action, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0
		       ? -errno
		       : 0;
}

void deadline_begin(uint32_t time_ms)
{
	uint64_t now, timer;

	if (time_ms == 0)
		return;
	now = clock_ms(CLOCK_MONOTONIC);
	/* Before the timer is looked at: a signal in between finds it, and arms the timer. */
	atomic_store(&deadline_at, now + time_ms);
	timer = atomic_load(&deadline_timer_at);
	if (timer == 0 || timer > now + time_ms)
		deadline_arm(now, now + time_ms);
}

void deadline_end(void)
{
	atomic_store(&deadline_at, 0);
}
