/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several processes write to a log, one at a time: each takes the lock for one commit, with the
 * head that goes into the second file, and for opening and closing. It is flock() on a file of its
 * own
 * (".lock"), which the kernel lets go of however a process ends. Not on the database, because
 * closing any descriptor of it would drop the locks that SQLite holds there; not on the file of the
 * head, which is replaced. Should two writers meet all the same (a lock file that was removed), the
 * numbers of records are a primary key: the second fails, the chain does not fork.
 *
 * There is no flock() that waits for a bounded time, so it is tried again and again: a commit takes
 * less than a millisecond, unless the disk has to be waited for. A process that was stopped while
 * it had the lock must not stop the others for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "audit/store/internal.h"
#include "base/file.h"

enum { PAUSE_LEAST_US = 50, PAUSE_MOST_US = 2000, BUSY_MOST_MS = 2000 };

int store_lock_open(struct audit_store *s, struct error *e)
{
	auto_buffer name = { 0 };

	buffer_printf(&name, "%s.lock", s->path);
	if (name.failed)
		return error_no_memory(e);
	s->lock = open(name.data, O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC, 0600);
	if (s->lock < 0)
		return error_set(e, -errno, NULL, "%s: %s", name.data, strerror(errno));
	return 0;
}

static int refuse_busy(struct audit_store *s, struct error *e)
{
	(void)error_set(
		e, -EBUSY, NULL, "%s: another process has this log and does not let go", s->path);
	error_hint(e, "one that was stopped, perhaps: `fuser %s.lock` says which", s->path);
	return -EBUSY;
}

/* How long it has waited is counted by its pauses: a clock may be set. */
int store_lock(struct audit_store *s, struct error *e)
{
	uint64_t waited_us = 0, pause_us = PAUSE_LEAST_US;

	while (flock(s->lock, LOCK_EX | LOCK_NB) < 0) {
		const struct timespec pause = { .tv_nsec = (long)pause_us * 1000 };

		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_set(e, -errno, NULL, "%s.lock: %s", s->path, strerror(errno));
		if (waited_us >= (uint64_t)s->patience_ms * 1000)
			return refuse_busy(s, e);
		(void)nanosleep(&pause, NULL);
		waited_us += pause_us;
		pause_us = pause_us * 2 < PAUSE_MOST_US ? pause_us * 2 : PAUSE_MOST_US;
	}
	return 0;
}

void store_unlock(struct audit_store *s)
{
	(void)flock(s->lock, LOCK_UN);
}

/* Whoever has the database without our lock (a shell of SQLite) is not waited for longer. */
void audit_store_patience(struct audit_store *s, unsigned ms)
{
	s->patience_ms = ms;
	(void)sqlite3_busy_timeout(s->sql.db, ms < BUSY_MOST_MS ? (int)ms : BUSY_MOST_MS);
}
