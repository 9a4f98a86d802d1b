/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be dialled is written down once, by dial_list_answers(): every address in that list
 * was judged in its plain form. Nothing else reaches connect(). An IPv4 address mapped into IPv6 is
 * dialled as the IPv4 address that it is; one behind NAT64 or 6to4 is judged as what it leads to
 * and dialled as it came.
 *
 * Each attempt has a socket. At most ATTEMPTS of them wait at a time, so that a name with many dead
 * addresses does not cost many descriptors.
 */
#include "net/dial.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "net/endpoint.h"

enum { ATTEMPTS = 8, STAGGER_MS = 250, TIMEOUT_MS = 30 * 1000, ALIASES_BYTES = 1024 };

/* In place of aliases: no name is that. */
static const char too_many[] = "*";

struct dial_attempt {
	struct dial_state *state;
	struct watcher watcher; /* its fd is -1 if the place is free */
	struct address address;
};

struct dial_state {
	struct dialler dialler;
	struct dial *dial;
	struct destination destination;
	char name[HOST_NAME_BYTES];
	int type;
	struct timer next, deadline;
	struct address addresses[LOOKUP_ADDRESSES_MAX];
	size_t n, at; /* how many there are; which one is next */
	struct dial_attempt attempts[ATTEMPTS];
	char *aliases;
	int error; /* of those that failed, the one that tells most */
};

static bool dial_same_address(const union endpoint *a, const union endpoint *b)
{
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_INET)
		return a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
	return memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr, 16) == 0;
}

/*
 * A connection to a port of this machine that no server listens on succeeds if the kernel happens
 * to choose that very port for our end: it is then connected to itself.
 */
static int dial_check_peer(int fd)
{
	union endpoint here = { 0 }, there = { 0 };
	socklen_t here_len = sizeof(here), there_len = sizeof(there);
	bool same_port;

	if (getsockname(fd, &here.any, &here_len) < 0 ||
		getpeername(fd, &there.any, &there_len) < 0)
		return -errno;
	same_port = here.any.sa_family == AF_INET ? here.v4.sin_port == there.v4.sin_port
						  : here.v6.sin6_port == there.v6.sin6_port;
	return same_port && dial_same_address(&here, &there) ? -ECONNREFUSED : 0;
}

static void dial_state_free(struct dial_state *s)
{
	for (size_t i = 0; i < ATTEMPTS; i++) {
		auto_fd fd = s->attempts[i].watcher.fd;

		loop_remove(s->dialler.loop, &s->attempts[i].watcher);
	}
	loop_stop(s->dialler.loop, &s->next);
	loop_stop(s->dialler.loop, &s->deadline);
	free(s->aliases);
	free(s);
}

/* The caller may free the dial in done(): nothing of it is touched after that. */
static void dial_finish(struct dial_state *s, int r)
{
	struct dial *d = s->dial;

	lookup_cancel(s->dialler.lookup, &d->wait);
	d->state = NULL;
	dial_state_free(s);
	d->done(d, r);
}

static void dial_succeed(struct dial_state *s, int fd, const struct address *a)
{
	s->dial->address = *a;
	s->dial->refused = (struct net_judgement){ 0 };
	s->dial->aliases = s->aliases;
	s->aliases = NULL;
	dial_finish(s, fd);
}

/* Keeps the error that tells most: some say more about our side than about theirs. */
static void dial_note_failure(struct dial_state *s, int error)
{
	int e = s->error;

	if (e == 0 || e == -ENETUNREACH || e == -EHOSTUNREACH || e == -EADDRNOTAVAIL ||
		e == -EAFNOSUPPORT || e == -EINVAL)
		s->error = error;
}

static void dial_on(struct dial_state *s);

static void dial_attempt_ready(struct watcher *w, uint32_t events)
{
	struct dial_attempt *a = container_of(w, struct dial_attempt, watcher);
	struct dial_state *s = a->state;
	struct address address = a->address;
	auto_fd fd = w->fd;
	int error = 0, r;
	socklen_t len = sizeof(error);

	(void)events;
	loop_remove(s->dialler.loop, w);
	r = getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : -error;
	if (r == 0)
		r = dial_check_peer(fd);
	if (r == 0) {
		dial_succeed(s, fd_take(&fd), &address);
		return;
	}
	dial_note_failure(s, r);
	dial_on(s);
}

static int dial_open_socket(const struct dial_state *s, const struct address *a)
{
	auto_fd fd = endpoint_connect(a, s->destination.port, 0, s->type);

	if (fd < 0)
		return fd;
	if (s->type == SOCK_STREAM &&
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){ 1 }, sizeof(int)) < 0)
		return -errno;
	return fd_take(&fd);
}

/* Starts the next attempt that can be started, and says when the one after it follows. */
static void dial_on(struct dial_state *s)
{
	struct dial_attempt *unused = NULL;
	size_t n = 0;
	int r = -EAGAIN;

	for (size_t i = 0; i < ATTEMPTS; i++) {
		if (s->attempts[i].watcher.fd >= 0)
			n++;
		else
			unused = &s->attempts[i];
	}
	while (r < 0 && unused && s->at < s->n) {
		auto_fd fd = dial_open_socket(s, &s->addresses[s->at]);

		unused->address = s->addresses[s->at++];
		r = fd < 0 ? fd : loop_add(s->dialler.loop, &unused->watcher, fd, EPOLLOUT);
		if (r < 0) {
			dial_note_failure(s, r);
		} else {
			(void)fd_take(&fd);
			n++;
		}
	}
	if (n == 0)
		dial_finish(s, s->error);
	else if (n < ATTEMPTS && s->at < s->n &&
		 loop_start(s->dialler.loop, &s->next, STAGGER_MS) < 0)
		dial_finish(s, -ENOMEM);
}

static void dial_next_due(struct timer *t)
{
	struct dial_state *s = container_of(t, struct dial_state, next);

	if (s->n > 0 && s->type != SOCK_DGRAM) {
		dial_on(s);
		return;
	}
	/* Nothing is waited for: the first that connect() takes. */
	for (; s->at < s->n; s->at++) {
		auto_fd fd = dial_open_socket(s, &s->addresses[s->at]);
		int r = fd < 0 ? fd : dial_check_peer(fd);

		if (r == 0) {
			dial_succeed(s, fd_take(&fd), &s->addresses[s->at]);
			return;
		}
		dial_note_failure(s, r);
	}
	/* If there is none, the one address that was given may not be dialled. */
	dial_finish(s, s->n == 0 ? -EACCES : s->error);
}

static void dial_deadline_passed(struct timer *t)
{
	dial_finish(container_of(t, struct dial_state, deadline), -ETIMEDOUT);
}

/* What is dialled for an address: itself, but IPv4 if it is IPv4 mapped into IPv6. */
static struct address dial_form(const struct address *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	if (a->bits == 128 && memcmp(a->bytes, mapped, sizeof(mapped)) == 0)
		return address_plain(a);
	return *a;
}

/* Who would dial it, would dial from there: nothing is sent to find out. */
static bool dial_is_own(const struct address *a)
{
	union endpoint here = { 0 }, there;
	socklen_t len = sizeof(here), there_len = endpoint_fill(&there, a, 9);
	auto_fd fd = socket(there.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, &there.any, there_len) == 0 &&
	       getsockname(fd, &here.any, &len) == 0 && dial_same_address(&here, &there);
}

static bool dial_may(const struct net_judge *j, const struct destination *d,
	const struct address *form, struct net_judgement *ret)
{
	struct address plain = address_plain(form);

	return judge_answer(j, d, &plain, ret) &&
	       (!dial_is_own(form) || judge_own(j, d, &plain, ret));
}

/* The families in turn, IPv6 first; within a family as they came. */
static void dial_interleave(struct dial_state *s)
{
	static const uint8_t bits[] = { 128, 32 };
	struct address came[LOOKUP_ADDRESSES_MAX];
	size_t at[2] = { 0 }, n = 0;

	memcpy(came, s->addresses, sizeof(came));
	for (size_t i = 0; i < 2 * s->n; i++) {
		size_t *next = &at[i % 2];

		while (*next < s->n && came[*next].bits != bits[i % 2])
			++*next;
		if (*next < s->n)
			s->addresses[n++] = came[(*next)++];
	}
	s->n = n;
}

/* For dial_review(). Whoever has a chain of many long names does not pass a second time. */
static int dial_keep_chain(struct dial_state *s, const struct lookup_result *r)
{
	auto_buffer names = { 0 };

	if (r->n_chain == 0)
		return 0;
	for (size_t i = 0; i < r->n_chain && names.len < ALIASES_BYTES; i++)
		buffer_add(&names, r->chain[i], strlen(r->chain[i]) + 1);
	if (names.len >= ALIASES_BYTES) {
		buffer_clear(&names);
		buffer_add(&names, too_many, sizeof(too_many));
	}
	buffer_addc(&names, '\0');
	s->aliases = buffer_take(&names);
	return s->aliases ? 0 : -ENOMEM;
}

static void dial_resolved(struct lookup_wait *w, const struct lookup_result *r)
{
	struct dial_state *s = container_of(w, struct dial, wait)->state;
	struct net_judgement verdict;
	bool refused = false;
	int error = r->error;

	for (size_t i = 0; error == 0 && i < r->n_chain; i++)
		if (!judge_alias(s->dialler.judge, &s->destination, r->chain[i], &s->dial->refused))
			error = -EACCES;
	if (error == 0)
		s->dial->refused = (struct net_judgement){ 0 };
	/* Those that may be dialled, as they came. Keeps the first refusal. */
	for (size_t i = 0; error == 0 && i < r->n && s->n < LOOKUP_ADDRESSES_MAX; i++) {
		struct address form = dial_form(&r->addresses[i]);

		if (dial_may(s->dialler.judge, &s->destination, &form, &verdict)) {
			s->addresses[s->n++] = form;
		} else if (!refused) {
			refused = true;
			s->dial->refused = verdict;
		}
	}
	if (error == 0 && s->n == 0)
		error = r->n > 0 ? -EACCES : -ENODATA;
	else if (error == 0)
		error = dial_keep_chain(s, r);
	if (error < 0) {
		dial_finish(s, error);
		return;
	}
	dial_interleave(s);
	dial_next_due(&s->next);
}

int dial_start(const struct dialler *l, struct dial *d, const char *name,
	const struct address *address, uint16_t port, int type)
{
	struct dial_state *s;
	int r;

	if (name ? strlen(name) >= HOST_NAME_BYTES : !address)
		return -EINVAL;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->dialler = *l;
	s->dial = d;
	s->type = type;
	s->destination.transport = type == SOCK_DGRAM ? TRANSPORT_UDP : TRANSPORT_TCP;
	s->destination.port = port;
	s->destination.agreed = d->agreed;
	s->next.expired = dial_next_due;
	s->deadline.expired = dial_deadline_passed;
	for (size_t i = 0; i < ATTEMPTS; i++) {
		s->attempts[i].state = s;
		s->attempts[i].watcher = (struct watcher){ .ready = dial_attempt_ready, .fd = -1 };
	}
	d->refused = (struct net_judgement){ 0 };
	d->wait = (struct lookup_wait){ .done = dial_resolved };
	d->aliases = NULL;
	r = loop_start(l->loop, &s->deadline, l->timeout_ms ? l->timeout_ms : TIMEOUT_MS);
	if (r == 0 && name) {
		memcpy(s->name, name, strlen(name) + 1);
		s->destination.name = s->name;
		r = lookup_ask(l->lookup, name, &d->wait);
	} else if (r == 0) {
		s->destination.address = *address;
		s->addresses[0] = dial_form(address);
		s->n = !dial_is_own(address) ||
		       judge_own(l->judge, &s->destination, address, &d->refused);
		r = loop_start(l->loop, &s->next, 0);
	}
	if (r < 0)
		dial_state_free(s);
	else
		d->state = s;
	return r;
}

void dial_cancel(const struct dialler *l, struct dial *d)
{
	if (!d->state)
		return;
	lookup_cancel(l->lookup, &d->wait);
	dial_state_free(d->state);
	d->state = NULL;
}

bool dial_review(const struct dialler *l, const struct destination *d, const struct address *a,
	const char *aliases, struct net_judgement *ret)
{
	for (; aliases && *aliases; aliases += strlen(aliases) + 1) {
		if (strcmp(aliases, too_many) == 0)
			return judge_refuse(d, ret,
				"the names that were looked up for this address are no "
				"longer known");
		if (!judge_alias(l->judge, d, aliases, ret))
			return false;
	}
	return dial_may(l->judge, d, a, ret);
}
