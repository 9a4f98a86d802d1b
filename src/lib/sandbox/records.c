/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the relay tells of the network. The relay sees connections, not commands: what it tells
 * belongs to the command that runs, and where several run, a denial to each of them.
 *
 * Records are counted under the lock as they come. The audit sink is code of the host, so it is
 * told of them later, out of a queue, when no lock is held. The queue has a bound: nobody reads the
 * control socket on while it is full.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/process/denial.h"
#include "lib/process/process.h"
#include "lib/sandbox/sandbox.h"
#include "wire/record.h"

/* What the sink has not been told of: a denial, or a connection. */
struct sandbox_news {
	struct sandbox_news *next;
	uint64_t command; /* 0: it is not known */
	struct corral_denial *denial;
	struct corral_connection connection; /* if there is no denial */
	uint32_t pid;
	const char *program, *actor; /* as all texts here, in one block behind this */
};

static void news_free(struct sandbox_news *n)
{
	denial_free(n->denial);
	free(n);
}

/* Whether it may be p's. One whose end is not handled yet counts: its records may come late. */
static bool sandbox_records_is_suspect(
	const struct corral_process *p, const struct warden_link *link)
{
	return p->link == link && p->state <= PROCESS_EXITED;
}

/* The only command that it may be of; NULL: there is none, or nobody knows whose it was. */
static const struct corral_process *culprit(
	const struct corral_sandbox *s, const struct warden_link *link)
{
	const struct corral_process *only = NULL;

	for (const struct corral_process *p = s->first; p; p = p->next) {
		if (sandbox_records_is_suspect(p, link) && only)
			return NULL;
		if (sandbox_records_is_suspect(p, link))
			only = p;
	}
	return only;
}

static const char *sandbox_records_put(char **at, const char *text)
{
	const size_t size = strlen(text) + 1;
	const char *start = memcpy(*at, text, size);

	*at += size;
	return start;
}

static struct sandbox_news *news_new(const struct record *r, const char *program)
{
	const size_t size = strlen(program) + strlen(r->program) + strlen(r->target) +
			    strlen(r->address) + strlen(r->reason) + 5;
	struct sandbox_news *n = calloc(1, sizeof(*n) + size);
	char *at;

	if (!n)
		return NULL;
	at = (char *)(n + 1);
	n->pid = r->pid;
	n->program = sandbox_records_put(&at, program);
	n->actor = sandbox_records_put(&at, r->program);
	n->connection = (struct corral_connection){ .size = sizeof(n->connection),
		.target = sandbox_records_put(&at, r->target),
		.address = sandbox_records_put(&at, r->address),
		.failed = r->kind == RECORD_FAILED,
		.reason = sandbox_records_put(&at, r->reason),
		.sent = r->sent,
		.received = r->received,
		.count = r->count ? r->count : 1 };
	return n;
}

/* d NULL: it is a connection. Without memory the sink is not told. */
static void sandbox_records_queue(struct corral_sandbox *s, const struct warden_link *link,
	const struct record *r, const struct corral_denial *d)
{
	const struct corral_process *p = s->base.sink ? culprit(s, link) : NULL;
	struct sandbox_news *n = s->base.sink ? news_new(r, p ? p->program : "") : NULL;

	if (!n)
		return;
	n->command = p ? p->id : 0;
	n->denial = d ? denial_copy(d) : NULL;
	if (d && !n->denial) {
		news_free(n);
		return;
	}
	if (s->last_news)
		s->last_news->next = n;
	else
		s->first_news = n;
	s->last_news = n;
	s->n_news++;
}

static void sandbox_records_deny(
	struct corral_sandbox *s, const struct warden_link *link, const struct record *r)
{
	const struct corral_denial d = { .op = CORRAL_NET_CONNECT,
		.target = r->target,
		.rule = r->rule,
		.reason = r->reason,
		.remedy = r->remedy,
		.exact = 1,
		.count = r->count ? r->count : 1 };

	for (struct corral_process *p = s->first; p; p = p->next) {
		if (sandbox_records_is_suspect(p, link))
			result_note_denial(p->result, &d);
	}
	s->stats.denials += d.count;
	sandbox_records_queue(s, link, r, &d);
}

int sandbox_record(struct corral_sandbox *s, const struct warden_link *link, const struct frame *f)
{
	struct record r;

	if (f->id != 0 || f->n_fds != 0 || record_decode(&r, f->body, f->len) < 0)
		return -EPROTO;
	destinations_add(&s->destinations, &r);
	if (r.kind == RECORD_DENIED)
		sandbox_records_deny(s, link, &r);
	else
		sandbox_records_queue(s, link, &r, NULL);
	if (r.kind == RECORD_CLOSED) {
		s->stats.connections += r.count ? r.count : 1;
		s->stats.sent_bytes += r.sent;
		s->stats.received_bytes += r.received;
	}
	return 0;
}

void sandbox_tell_news(struct corral_sandbox *s)
{
	struct sandbox_news *n, *next;

	(void)pthread_mutex_lock(&s->lock);
	n = s->first_news;
	s->first_news = s->last_news = NULL;
	s->n_news = 0;
	(void)pthread_mutex_unlock(&s->lock);
	for (; n; n = next) {
		next = n->next;
		sandbox_tell(s, (struct corral_event){ .kind = n->denial ? CORRAL_EVENT_DENIED
									 : CORRAL_EVENT_CONNECTION,
					.command = n->command,
					.program = n->program,
					.denial = n->denial,
					.connection = n->denial ? NULL : &n->connection,
					.pid = n->pid,
					.actor = *n->actor ? n->actor : NULL });
		news_free(n);
	}
}

size_t corral_sandbox_destinations(
	struct corral_sandbox *s, struct corral_destination *ret, size_t n, size_t size)
{
	size_t known = sizeof(*ret), all;

	sandbox_refresh(s);
	(void)pthread_mutex_lock(&s->lock);
	all = s->destinations.n;
	for (size_t i = 0; i < n && i < all; i++) {
		char *to = (char *)ret + i * size;

		memset(to, 0, size);
		memcpy(to, &s->destinations.items[i], size < known ? size : known);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return all;
}
