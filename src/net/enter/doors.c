/* SPDX-License-Identifier: Apache-2.0 */
#include "net/enter/doors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/path.h"

enum { ACCEPTS_MAX = 16, PAUSE_MS = 100 };

static const char revoked[] = "the grant was revoked";

struct door_keeper {
	struct doors *all;
	struct door door;
	bool closed; /* it is not granted any more */
	struct watcher watcher;
};

/* One who came in. */
struct door_visitor {
	const struct door_keeper *keeper;
	struct door_visitor *next, *previous;
	int inner, outer;
	struct pump pump;
};

struct doors {
	struct loop *loop;
	struct pump_room *room;
	struct recorder *recorder;
	struct door_keeper keepers[DOORS_MAX];
	size_t n;
	struct door_visitor *first;
	size_t n_visitors;
	struct timer pause;
};

int door_open(struct door *ret, const char *path, struct error *e)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_BYTES];
	size_t len = slash ? (size_t)(slash - path) : 0;

	*ret = (struct door){ .path = path, .folder = -1, .listener = -1 };
	if (!slash || len >= sizeof(folder))
		return error_set(e, -EINVAL, NULL, "unix:%s is not a valid socket path", path);
	memcpy(folder, path, len);
	folder[len] = '\0';
	ret->folder = open(len ? folder : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (ret->folder < 0)
		return error_set(e, -errno, NULL, "unix:%s: cannot open the folder: %s", path,
			strerror(errno));
	return 0;
}

static void doors_record(const struct door_keeper *k, enum record_kind kind, const char *reason,
	const struct pump *p)
{
	char target[PATH_BYTES + 8];
	const struct record r = { .kind = kind,
		.target = target,
		.reason = reason,
		.sent = p ? p->streams[PUMP_INNER].moved : 0,
		.received = p ? p->streams[PUMP_OUTER].moved : 0 };

	(void)snprintf(target, sizeof(target), "unix:%s", k->door.path);
	recorder_add(k->all->recorder, &r);
}

/* The very file that was looked at is connected to, by its descriptor. */
static int doors_connect(const struct door *d)
{
	auto_fd file =
		openat(d->folder, strrchr(d->path, '/') + 1, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	auto_fd s = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat st;

	if (file < 0 || s < 0 || fstat(file, &st) < 0)
		return -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d", file);
	/* A queue that is full fails at once; others are connected at once. */
	if (connect(s, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return -errno;
	return fd_take(&s);
}

static void doors_leave(struct door_visitor *v)
{
	struct doors *all = v->keeper->all;

	pump_stop(&v->pump);
	fd_close(&v->inner);
	fd_close(&v->outer);
	if (v->next)
		v->next->previous = v->previous;
	*(v->previous ? &v->previous->next : &all->first) = v->next;
	all->n_visitors--;
	free(v);
}

static void doors_on_done(struct pump *p, int error)
{
	struct door_visitor *v = container_of(p, struct door_visitor, pump);

	(void)error;
	doors_record(v->keeper, RECORD_CLOSED, "", p);
	doors_leave(v);
}

static void doors_receive(struct door_keeper *k, int fd)
{
	struct doors *all = k->all;
	struct door_visitor *v = NULL;
	auto_fd inner = fd, outer = -1;
	int r;

	if (k->closed) {
		doors_record(k, RECORD_DENIED, revoked, NULL);
		return;
	}
	outer = all->n_visitors < DOORS_VISITORS_MAX ? doors_connect(&k->door) : -EUSERS;
	r = outer < 0 ? outer : 0;
	if (r == 0)
		v = calloc(1, sizeof(*v));
	if (v) {
		v->keeper = k;
		v->pump.done = doors_on_done;
		r = pump_start(&v->pump, all->room, inner, outer);
	} else if (r == 0) {
		r = -ENOMEM;
	}
	if (r < 0) {
		free(v);
		doors_record(k, RECORD_FAILED, strerror(-r), NULL);
		return;
	}
	v->inner = fd_take(&inner);
	v->outer = fd_take(&outer);
	v->next = all->first;
	if (all->first)
		all->first->previous = v;
	all->first = v;
	all->n_visitors++;
}

static void doors_listen_for(struct doors *d, uint32_t events)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->keepers[i].watcher.fd >= 0)
			(void)loop_change(d->loop, &d->keepers[i].watcher, events);
}

static void doors_on_pause_over(struct timer *t)
{
	doors_listen_for(container_of(t, struct doors, pause), EPOLLIN);
}

static void doors_on_knock(struct watcher *w, uint32_t events)
{
	struct door_keeper *k = container_of(w, struct door_keeper, watcher);
	struct doors *all = k->all;

	(void)events;
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		int fd = accept4(k->door.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			doors_receive(k, fd);
		} else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			   errno == ENOMEM) {
			/* None can be accepted, nor refused: they wait in the queue. */
			if (loop_start(all->loop, &all->pause, PAUSE_MS) == 0)
				doors_listen_for(all, 0);
			return;
		} else if (errno != ECONNABORTED && errno != EINTR) {
			return;
		}
	}
}

int doors_new(struct doors **ret, struct loop *l, struct pump_room *room, struct recorder *recorder,
	const struct door *doors, size_t n)
{
	struct doors *d = n <= DOORS_MAX ? calloc(1, sizeof(*d)) : NULL;
	int r = 0;

	if (!d)
		return n <= DOORS_MAX ? -ENOMEM : -E2BIG;
	d->loop = l;
	d->room = room;
	d->recorder = recorder;
	d->pause.expired = doors_on_pause_over;
	for (; r == 0 && d->n < n; d->n++) {
		struct door_keeper *k = &d->keepers[d->n];

		*k = (struct door_keeper){ .all = d, .door = doors[d->n] };
		k->watcher = (struct watcher){ .ready = doors_on_knock, .fd = -1 };
		if (k->door.listener >= 0)
			r = loop_add(l, &k->watcher, k->door.listener, EPOLLIN);
	}
	if (r < 0)
		doors_free(d);
	else
		*ret = d;
	return r;
}

void doors_review(struct doors *d, const char *const *paths, size_t n)
{
	struct door_visitor *next;

	for (size_t i = 0; i < d->n; i++) {
		struct door_keeper *k = &d->keepers[i];

		k->closed = true;
		for (size_t j = 0; k->closed && j < n; j++)
			k->closed = strcmp(paths[j], k->door.path) != 0;
	}
	for (struct door_visitor *v = d->first; v; v = next) {
		next = v->next;
		if (!v->keeper->closed)
			continue;
		doors_record(v->keeper, RECORD_CLOSED, "", &v->pump);
		doors_record(v->keeper, RECORD_DENIED, revoked, NULL);
		doors_leave(v);
	}
}

void doors_free(struct doors *d)
{
	if (!d)
		return;
	loop_stop(d->loop, &d->pause);
	for (struct door_visitor *v = d->first, *next; v; v = next) {
		next = v->next;
		doors_leave(v);
	}
	for (size_t i = 0; i < d->n; i++) {
		loop_remove(d->loop, &d->keepers[i].watcher);
		fd_close(&d->keepers[i].door.listener);
		fd_close(&d->keepers[i].door.folder);
	}
	free(d);
}
