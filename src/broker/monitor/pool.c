/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "event/wait.h"

enum { POOL_MAX = 16, STACK_BYTES = 512 << 10 };

struct pool {
	struct loop *loop;
	struct watcher finished; /* an eventfd */
	unsigned n_max;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t wake;
	pthread_t threads[POOL_MAX];
	unsigned n, idle;
	uint32_t callers[POOL_MAX]; /* of the jobs that run; n_running of them */
	unsigned n_running;
	size_t n_owed;                 /* that wait or run */
	struct pool_job *first, *last; /* wait */
	struct pool_job *done;         /* in any order */
	bool held, ends;
};

static void pool_append(struct pool *p, struct pool_job *j)
{
	j->next = NULL;
	*(p->last ? &p->last->next : &p->first) = j;
	p->last = j;
}

static void pool_unlink(struct pool *p, struct pool_job *before, struct pool_job *j)
{
	*(before ? &before->next : &p->first) = j->next;
	if (p->last == j)
		p->last = before;
	j->next = NULL;
}

static bool pool_may_begin(const struct pool *p, uint32_t caller)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_running; i++)
		n += p->callers[i] == caller;
	return caller == 0 || n < (p->n_max + 1) / 2;
}

/* The first job whose caller has not its share already. */
static struct pool_job *pool_take(struct pool *p)
{
	struct pool_job *before = NULL;

	if (p->held)
		return NULL;
	for (struct pool_job *j = p->first; j; before = j, j = j->next) {
		if (!pool_may_begin(p, j->caller))
			continue;
		pool_unlink(p, before, j);
		p->callers[p->n_running++] = j->caller;
		return j;
	}
	return NULL;
}

static void pool_forget_caller(struct pool *p, uint32_t caller)
{
	for (unsigned i = 0; i < p->n_running; i++) {
		if (p->callers[i] == caller) {
			p->callers[i] = p->callers[--p->n_running];
			return;
		}
	}
}

static void *pool_run(void *context)
{
	struct pool *p = context;

	(void)pthread_mutex_lock(&p->lock);
	while (!p->ends || p->first) {
		struct pool_job *j = pool_take(p);

		if (!j && p->ends)
			break;
		if (!j) {
			p->idle++;
			(void)pthread_cond_wait(&p->wake, &p->lock);
			p->idle--;
			continue;
		}
		/* What has begun is told of before the process ends. */
		p->n_owed += !j->is_owed;
		j->is_owed = true;
		(void)pthread_mutex_unlock(&p->lock);
		j->work(j);
		(void)pthread_mutex_lock(&p->lock);
		pool_forget_caller(p, j->caller);
		p->n_owed -= j->is_owed;
		j->next = p->done;
		p->done = j;
		(void)eventfd_write(p->finished.fd, 1);
		/* One of the same caller may have waited for this. */
		(void)pthread_cond_signal(&p->wake);
	}
	(void)pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* With the lock held. Signals are the loop's. */
static int pool_start(struct pool *p)
{
	sigset_t all, before;
	pthread_attr_t a;
	int r;

	(void)sigfillset(&all);
	(void)pthread_attr_init(&a);
	(void)pthread_attr_setstacksize(&a, STACK_BYTES);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&p->threads[p->n], &a, pool_run, p);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&a);
	p->n += r == 0;
	return -r;
}

int pool_add(struct pool *p, struct pool_job *j)
{
	int r = 0;

	(void)pthread_mutex_lock(&p->lock);
	if (p->idle == 0 && p->n < p->n_max)
		r = pool_start(p);
	/* One thread is enough to go on with. */
	if (p->n > 0) {
		pool_append(p, j);
		p->n_owed += j->is_owed;
		(void)pthread_cond_signal(&p->wake);
		r = 0;
	}
	(void)pthread_mutex_unlock(&p->lock);
	return r;
}

bool pool_remove(struct pool *p, struct pool_job *j)
{
	struct pool_job *before = NULL;
	bool found = false;

	(void)pthread_mutex_lock(&p->lock);
	for (struct pool_job *i = p->first; i && !found; before = i, i = i->next) {
		found = i == j;
		if (found) {
			pool_unlink(p, before, j);
			p->n_owed -= j->is_owed;
			break;
		}
	}
	(void)pthread_mutex_unlock(&p->lock);
	return found;
}

/* One that is owed and waits; NULL: none does. */
static struct pool_job *pool_take_owed(struct pool *p)
{
	struct pool_job *before = NULL, *j;

	(void)pthread_mutex_lock(&p->lock);
	for (j = p->first; j && !j->is_owed; j = j->next)
		before = j;
	if (j) {
		pool_unlink(p, before, j);
		p->n_owed--;
	}
	(void)pthread_mutex_unlock(&p->lock);
	return j;
}

static bool pool_owes(struct pool *p)
{
	bool owes;

	(void)pthread_mutex_lock(&p->lock);
	owes = p->n_owed > 0;
	(void)pthread_mutex_unlock(&p->lock);
	return owes;
}

void pool_settle(struct pool *p, uint64_t ms)
{
	const uint64_t until = clock_ms(CLOCK_MONOTONIC) + ms;
	struct pool_job *j;
	eventfd_t n;

	while ((j = pool_take_owed(p))) {
		j->work(j);
		j->done(j);
	}
	while (pool_owes(p) && wait_for_one(p->finished.fd, POLLIN, until) > 0)
		(void)eventfd_read(p->finished.fd, &n);
	/* The loop has not heard of them. */
	(void)eventfd_write(p->finished.fd, 1);
}

void pool_hold(struct pool *p, bool held)
{
	(void)pthread_mutex_lock(&p->lock);
	if (p->held && !held)
		(void)pthread_cond_broadcast(&p->wake);
	p->held = held;
	(void)pthread_mutex_unlock(&p->lock);
}

static void pool_on_finished(struct watcher *w, uint32_t events)
{
	struct pool *p = container_of(w, struct pool, finished);
	struct pool_job *done;
	eventfd_t n;

	(void)events;
	(void)eventfd_read(w->fd, &n);
	(void)pthread_mutex_lock(&p->lock);
	done = p->done;
	p->done = NULL;
	(void)pthread_mutex_unlock(&p->lock);
	while (done) {
		struct pool_job *j = done;

		done = j->next;
		j->next = NULL;
		j->done(j);
	}
}

int pool_new(struct pool **ret, struct loop *l, unsigned threads)
{
	struct pool *p = calloc(1, sizeof(*p));
	auto_fd fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int r = !p ? -ENOMEM : fd < 0 ? -errno : 0;

	if (r == 0) {
		p->loop = l;
		p->n_max = threads < POOL_MAX ? threads : POOL_MAX;
		p->finished = (struct watcher){ .ready = pool_on_finished, .fd = -1 };
		r = loop_add(l, &p->finished, fd, EPOLLIN);
	}
	if (r < 0) {
		free(p);
		return r;
	}
	(void)fd_take(&fd);
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_cond_init(&p->wake, NULL);
	*ret = p;
	return 0;
}

void pool_free(struct pool *p)
{
	int fd;

	if (!p)
		return;
	(void)pthread_mutex_lock(&p->lock);
	p->ends = true;
	p->held = false;
	(void)pthread_cond_broadcast(&p->wake);
	(void)pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->n; i++)
		(void)pthread_join(p->threads[i], NULL);
	pool_on_finished(&p->finished, 0);
	fd = p->finished.fd;
	loop_remove(p->loop, &p->finished);
	fd_close(&fd);
	(void)pthread_cond_destroy(&p->wake);
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}
