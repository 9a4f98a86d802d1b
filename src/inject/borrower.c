/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/borrower.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "event/wait.h"
#include "inject/side.h"
#include "wire/report.h"

enum {
	BORROWER_SETUP_MS = 30 * 1000,
	BORROWER_VALUE_MS = 120 * 1000, /* longer than a source may take */
	BORROWER_PORT_MAX = 65535,
	BORROWER_USES_MAX = 4096,
	BORROWER_REPORT_MS = 10 * 1000,
};

/* The beginning */

static int borrower_take_setup(struct borrower *b)
{
	int r = wait_for_one(CHILD_SOCKET, POLLIN, wait_until(BORROWER_SETUP_MS)) == 0
			? -ETIMEDOUT
			: frame_receive(CHILD_SOCKET, &b->frame);

	if (r != 1 || b->frame.type != FRAME_LEND_SETUP)
		return r < 0 ? r : r == 0 ? -EPIPE : -EPROTO;
	buffer_add(&b->setup, b->frame.body, b->frame.len);
	return b->setup.failed
		       ? -ENOMEM
		       : lend_setup_decode(b->grants, &b->n_grants, b->setup.data, b->setup.len);
}

static int borrower_split_host(struct borrower_host *h)
{
	const char *colon = strrchr(h->target, ':');
	size_t from = h->target[0] == '[', len = colon ? (size_t)(colon - h->target) : 0;
	char *end = NULL;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;

	if (from > 0)
		len = len > 2 && h->target[len - 1] == ']' ? len - 2 : 0;
	if (len == 0 || len >= sizeof(h->name) || !end || *end || port == 0 ||
		port > BORROWER_PORT_MAX)
		return -EPROTO;
	memcpy(h->name, h->target + from, len);
	h->port = (uint16_t)port;
	return 0;
}

static int borrower_take_hosts(struct borrower *b)
{
	int r = 0;

	for (size_t k = 0; r == 0 && k < b->n_grants; k++) {
		const struct lend_grant *g = &b->grants[k];
		struct borrower_host *h = borrower_find_host(b, g->host);

		if (!h) {
			h = &b->hosts[b->n_hosts++];
			*h = (struct borrower_host){ .borrower = b, .target = g->host };
			r = borrower_split_host(h);
		}
		h->places |= g->places;
		h->by_program = h->by_program || (g->programs && *g->programs);
	}
	return r;
}

/* Names of hosts, each once: they differ in their ports. */
static int borrower_make_authority(struct borrower *b, struct error *e)
{
	const char *names[LEND_MAX];
	size_t n = 0;

	for (size_t k = 0; k < b->n_hosts; k++) {
		bool is_known = false;

		for (size_t l = 0; l < n; l++)
			is_known = is_known || strcmp(names[l], b->hosts[k].name) == 0;
		if (!is_known)
			names[n++] = b->hosts[k].name;
	}
	return authority_new(&b->authority, names, n, e);
}

static int borrower_lock(struct borrower *b, struct error *e)
{
	int r = secret_begin();

	if (r == 0)
		r = secret_lock(b, sizeof(*b));
	if (r == 0)
		r = secret_new(&b->room, FRAME_BODY_MAX);
	return r < 0 ? secret_refuse(r, e) : 0;
}

int borrower_begin(
	struct borrower *b, enum process_role role, const char *const *authorities, struct error *e)
{
	int r = borrower_lock(b, e);

	b->program = confinements[role].program;
	renewal_init(&b->renewal);
	if (r == 0)
		r = side_client_new(&b->client, authorities, e);
	if (r < 0)
		return r;
	r = confinement_enter(role, NULL);
	if (r < 0)
		return error_set(e, r, NULL, "cannot confine %s: %s", b->program, strerror(-r));
	r = loop_new(&b->loop);
	if (r == 0)
		r = placeholders_new(&b->placeholders);
	if (r == 0)
		r = borrower_take_setup(b);
	if (r == 0)
		r = borrower_take_hosts(b);
	return r < 0 ? error_set(e, r, NULL, "%s: %s", b->program, strerror(-r)) : 0;
}

/* Values */

/* An answer to another question, which is under way, may come before. */
static int borrower_wait(struct borrower *b, uint64_t id)
{
	const uint64_t until = wait_until(BORROWER_VALUE_MS);

	for (;;) {
		if (wait_for_one(BORROWER_VAULT, POLLIN, until) == 0)
			return -ETIMEDOUT;
		if (frame_receive(BORROWER_VAULT, &b->frame) != 1)
			return -EPIPE;
		if (b->frame.type == FRAME_VAULT_ANSWER && b->frame.id == id)
			return 0;
		if (renewal_hear(b) == 0)
			return -EPROTO;
	}
}

int borrower_ask(struct borrower *b, const struct lend_grant *g, uint32_t place, const char *field,
	struct vault_message *ret, struct error *e)
{
	uint64_t id;
	int r = borrower_send_ask(b, g, place, field, NULL, &id);

	if (r == 0)
		r = borrower_wait(b, id);
	if (r == 0)
		r = vault_message_decode(ret, b->frame.body, b->frame.len);
	if (b->renewal.is_serving)
		renewal_next(b);
	if (r == 0 && ret->error == 0)
		r = renewal_want(b, g, place, field, ret);
	if (r < 0)
		return error_set(
			e, r, NULL, "%s: the vault does not answer: %s", g->name, strerror(-r));
	if (ret->error < 0) {
		(void)error_set(e, ret->error, NULL, "%s", ret->text);
		error_hint(e, "%s", ret->principal);
		return ret->error;
	}
	return 0;
}

/* Uses */

static bool borrower_report_use(struct borrower_use *u)
{
	const struct lend_use use = { .name = u->placeholder->name,
		.host = u->host->target,
		.place = u->place,
		.is_sent = u->is_sent,
		.count = u->count,
		.program = u->program };
	auto_buffer body = { 0 };

	if (lend_use_encode(&use, &body) < 0 ||
		frame_send_now(CHILD_SOCKET, FRAME_LEND_USE, 0, body.data, body.len, NULL, 0) < 0)
		return false;
	u->count = 0;
	return true;
}

static void borrower_report(struct borrower *b)
{
	for (size_t k = 0; k < b->n_uses; k++)
		if (b->uses[k].count > 0)
			(void)borrower_report_use(&b->uses[k]);
}

static void borrower_on_report(struct timer *t)
{
	borrower_report(container_of(t, struct borrower, report));
}

static bool borrower_same_program(const char *a, const char *b)
{
	return !a || !b ? a == b : strcmp(a, b) == 0;
}

static struct borrower_use *borrower_add_use(struct borrower *b, const struct borrower_use *wanted)
{
	struct borrower_use u = *wanted;

	if (b->n_uses == BORROWER_USES_MAX)
		return NULL;
	if (u.program) {
		u.program = strdup(u.program);
		if (!u.program)
			return NULL;
	}
	if (ARRAY_PUSH(b->uses, b->n_uses, b->cap_uses, u) == 0)
		return &b->uses[b->n_uses - 1];
	free((void *)(uintptr_t)u.program);
	return NULL;
}

static struct borrower_use *borrower_find_use(struct borrower *b, const struct borrower_use *wanted)
{
	for (size_t k = 0; k < b->n_uses; k++) {
		struct borrower_use *u = &b->uses[k];

		if (u->placeholder == wanted->placeholder && u->host == wanted->host &&
			u->place == wanted->place && u->is_sent == wanted->is_sent &&
			borrower_same_program(u->program, wanted->program))
			return u;
	}
	return borrower_add_use(b, wanted);
}

bool borrower_note_use(struct borrower *b, const struct borrower_use *use)
{
	struct borrower_use *u = borrower_find_use(b, use);
	bool is_first;

	if (!u)
		return false;
	is_first = !u->is_known && u->count == 0;
	u->count++;
	if (!u->is_known && borrower_report_use(u))
		u->is_known = true;
	else if (b->report.place == 0)
		(void)loop_start(b->loop, &b->report, BORROWER_REPORT_MS);
	return is_first;
}

enum borrower_verdict borrower_judge(const struct borrower *b, const struct lend_grant *g,
	uint32_t place, const char *program, const char **ret_programs)
{
	const enum renewal_state state = renewal_look(b, g, place);

	if (state != RENEWAL_GOOD)
		return state == RENEWAL_LOCKED ? BORROWER_LOCKED : BORROWER_REFUSED;
	if (g->programs && *g->programs && !vault_programs_have(g->programs, program)) {
		*ret_programs = g->programs;
		return BORROWER_OTHER;
	}
	*ret_programs = renewal_find_other(b, g, place, program);
	return *ret_programs ? BORROWER_OTHER : BORROWER_GRANTED;
}

void borrower_note_program(struct borrower *b, const struct borrower_use *use, const char *granted,
	const char *program, const char *why)
{
	char text[LEND_TEXT_MAX + 1], unknown[LEND_TEXT_MAX / 2];
	struct borrower_use one = *use;

	(void)snprintf(unknown, sizeof(unknown), "(%s)",
		*why ? why : "no process has the connection any more, or it was not looked for");
	one.is_sent = false;
	one.program = *program ? program : unknown;
	if (!borrower_note_use(b, &one))
		return;
	(void)snprintf(text, sizeof(text), "%.128s is granted to %.256s alone, %s%.480s",
		use->placeholder->name, granted,
		*program ? "and the connection is of " : "and the program is not known: ",
		*program ? program : one.program);
	borrower_note(use->host, text);
}

/* Serving */

static int borrower_take_frame(struct borrower *b)
{
	struct lend_open open = { 0 };
	const bool is_open = b->frame.type == FRAME_LEND_OPEN &&
			     lend_open_decode(&open, b->frame.body, b->frame.len) == 0;
	struct borrower_host *h = is_open ? borrower_find_host(b, open.host) : NULL;
	auto_fd inner = frame_take_fd(&b->frame, 0), outer = frame_take_fd(&b->frame, 1);

	if (b->frame.type == FRAME_LEND_ANSWER && b->answered && b->frame.n_fds == 0)
		return b->answered(b, b->frame.id, b->frame.body, b->frame.len);
	if (!h || inner < 0 || outer < 0)
		return -EPROTO;
	if (fcntl(inner, F_SETFL, O_NONBLOCK) == 0 && fcntl(outer, F_SETFL, O_NONBLOCK) == 0)
		b->open(h, &(struct borrower_opened){ .id = b->frame.id,
				   .inner = fd_take(&inner),
				   .outer = fd_take(&outer),
				   .program = open.program,
				   .why = open.why });
	return 0;
}

/* The relay may end before we do. What breaks a rule ends the relay's way, not us. */
static void borrower_on_relay(struct watcher *w, uint32_t events)
{
	struct borrower *b = container_of(w, struct borrower, relay);
	int r = frame_receive_now(w->fd, &b->frame);

	(void)events;
	/* Without room for its descriptors a connection is lost, and the way stays. */
	if (r == -EAGAIN || r == -EINTR || r == -EMFILE || r == -ENFILE || r == -ENOMEM)
		return;
	/* The relay sees that it is closed: connections fail then, and do not wait. */
	if (r != 1 || borrower_take_frame(b) < 0) {
		loop_remove(b->loop, w);
		(void)close(BORROWER_RELAY);
	}
}

static void borrower_on_control(struct watcher *w, uint32_t events)
{
	struct borrower *b = container_of(w, struct borrower, control);
	int r = frame_receive_now(w->fd, &b->frame);

	(void)events;
	if (r == 1 && b->frame.type == FRAME_LEND_CHANGED && b->frame.len == 0) {
		renewal_ask_all(b);
		return;
	}
	if (r == 1 && b->told && b->told(b, &b->frame) == 0)
		return;
	if (r != -EAGAIN && r != -EINTR)
		b->ended = r == 1 ? -EPROTO : -EPIPE;
}

static int borrower_say_ready(struct borrower *b, struct error *e)
{
	static struct lend_ready ready;
	auto_buffer certificate = { 0 }, body = { 0 };
	int r = borrower_make_authority(b, e);

	if (r == 0)
		r = authority_print(b->authority, &certificate, e);
	ready.n = placeholders_count(b->placeholders);
	for (size_t k = 0; k < ready.n; k++) {
		const struct placeholder *p = placeholders_at(b->placeholders, k);

		ready.items[k] = (struct lend_item){ p->name, p->text };
	}
	ready.certificate = buffer_text(&certificate);
	if (r == 0)
		r = lend_ready_encode(&ready, &body);
	return r < 0 ? r
		     : frame_send(CHILD_SOCKET, FRAME_LEND_READY, 0, body.data, body.len, NULL, 0);
}

int borrower_serve(struct borrower *b, borrower_open *open, struct error *e)
{
	int r;

	b->open = open;
	b->control = (struct watcher){ .ready = borrower_on_control, .fd = -1 };
	b->relay = (struct watcher){ .ready = borrower_on_relay, .fd = -1 };
	b->report.expired = borrower_on_report;
	r = loop_add(b->loop, &b->control, CHILD_SOCKET, EPOLLIN);
	if (r == 0)
		r = loop_add(b->loop, &b->relay, BORROWER_RELAY, EPOLLIN);
	if (r == 0)
		r = renewal_begin(b);
	if (r == 0)
		r = borrower_say_ready(b, e);
	while (r == 0 && b->ended == 0)
		r = loop_turn(b->loop, -1);
	/* The lender asks for nothing more, and waits for what was counted. */
	borrower_report(b);
	return r;
}

int borrower_end(const struct borrower *b, int r, struct error *e)
{
	if (r < 0 && !e->text[0])
		(void)error_set(e, r, NULL, "%s: %s", b->program, strerror(-r));
	if (r < 0)
		(void)refusal_send(CHILD_SOCKET, FRAME_FAILED, r, e);
	return r;
}
