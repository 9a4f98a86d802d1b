/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that are lent the secrets of one sandbox: corral-inject for HTTP, corral-postgres
 * for databases. Each knows the secrets of its own hosts alone. To the holder they are one: their
 * placeholders and certificates are handed on together, once each is ready.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"
#include "cli/vault/internal.h"
#include "cli/vault/lender.h"
#include "event/wait.h"
#include "host/authorities.h"
#include "process/child.h"
#include "vault/secret.h"
#include "vault/store.h"
#include "wire/frame.h"
#include "wire/report.h"

enum { LENDER_SETTLE_MS = 5000, LENDER_BORROWERS = LEND_RELAYS_MAX };
_Static_assert(LEND_DATABASE == (unsigned)VAULT_POSTGRESQL, "the holder divides hosts by it");

struct lender_program {
	const char *name, *variable, *path;
};

static const struct lender_program lender_programs[LENDER_BORROWERS] = {
	{ "corral-inject", "CORRAL_INJECT", CORRAL_INJECT_PATH },
	{ "corral-postgres", "CORRAL_POSTGRES", CORRAL_POSTGRES_PATH },
};

struct lender_borrower {
	const struct lender_program *program;
	const struct lend_grant *grants;
	size_t n;
	struct child child;
	int relay;           /* for the holder */
	struct buffer ready; /* what it said */
	struct lend_ready said;
	bool is_ready;
	bool is_owed; /* it does not know yet that the vault has changed */
};

struct lender_service {
	struct lender *lender;
	struct lender_borrower items[LENDER_BORROWERS]; /* those that there is something for */
	size_t n;
	bool is_ready; /* the holder knows all */
	int changes;   /* inotify's, of the vault's folder */
	struct frame frame;
};

/* The beginning */

static int lender_order(const void *a, const void *b)
{
	const struct lend_grant *x = a, *y = b;

	return (x->places == VAULT_POSTGRESQL) - (y->places == VAULT_POSTGRESQL);
}

/* One process has a connection: a host with one port is of one protocol. */
static int lender_check_hosts(const struct lender *l, size_t n)
{
	struct error *e = l->session->call->error;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = n; k < l->n; k++) {
			if (strcmp(l->grants[i].host, l->grants[k].host) != 0)
				continue;
			if (l->grants[i].places == LEND_INSPECT) {
				(void)error_set(e, -EINVAL, NULL,
					"%s is granted as a database for %s, and network.inspect "
					"names it as a host of HTTP",
					l->grants[k].host, l->grants[k].name);
				error_hint(e, "remove it from network.inspect");
				return -EINVAL;
			}
			(void)error_set(e, -EINVAL, NULL,
				"%s is granted as a database for %s, and not as one for %s",
				l->grants[k].host, l->grants[k].name, l->grants[i].name);
			error_hint(e, "corral vault revoke %s %s", l->grants[i].name,
				l->grants[i].host);
			return -EINVAL;
		}
	}
	return 0;
}

static int lender_divide(struct lender_service *s)
{
	struct lender *l = s->lender;
	size_t n = 0;

	qsort(l->grants, l->n, sizeof(l->grants[0]), lender_order);
	while (n < l->n && l->grants[n].places != VAULT_POSTGRESQL)
		n++;
	for (size_t i = 0; i < LENDER_BORROWERS; i++) {
		const struct lend_grant *first = i == 0 ? l->grants : l->grants + n;
		const size_t count = i == 0 ? n : l->n - n;

		if (count > 0)
			s->items[s->n++] = (struct lender_borrower){ .program = &lender_programs[i],
				.grants = first,
				.n = count,
				.child = CHILD_NONE,
				.relay = -1 };
	}
	return lender_check_hosts(l, n);
}

/* More authorities, beside the vault, where no command can write. "": there are none. */
static int lender_find_authorities(struct buffer *out, struct error *e)
{
	int r = vault_place(out, e);

	if (r < 0)
		return r;
	buffer_adds(out, "/authorities.pem");
	if (out->failed)
		return error_no_memory(e);
	if (access(out->data, F_OK) < 0)
		buffer_clear(out);
	return 0;
}

/* To the vault, which gives it no value of another secret, whoever that is granted to. */
static int lender_introduce(const struct lender *l, const struct lender_borrower *b, int socket)
{
	auto_buffer names = { 0 };
	int r;

	for (size_t i = 0; i < b->n; i++)
		if (b->grants[i].places != LEND_INSPECT)
			buffer_printf(&names, "%s\n", b->grants[i].name);
	r = names.failed ? -ENOMEM
			 : vault_client_add(
				   l->session->vault, l->principal, buffer_text(&names), socket);
	return r < 0 ? error_set(l->session->call->error, r, NULL, "corral-vault: %s", strerror(-r))
		     : 0;
}

static int lender_start(struct lender *l, struct lender_borrower *b)
{
	struct error *e = l->session->call->error;
	const char *path = secure_getenv(b->program->variable);
	char real[PATH_BYTES];
	auto_buffer own = { 0 };
	const char *argv[] = { b->program->name, authorities_system(real), NULL, NULL };
	int vault[2] = { -1, -1 }, relay[2] = { -1, -1 };
	int r = lender_find_authorities(&own, e) < 0 ? -EIO : frame_pair(vault);
	auto_fd ours = vault[0], theirs = vault[1], c, d;

	path = path && *path ? path : b->program->path;
	if (r == 0)
		r = frame_pair(relay);
	c = relay[0];
	d = relay[1];
	if (own.len > 0)
		argv[2] = own.data;
	if (r == 0)
		r = child_start_with(&b->child, path, argv, NULL, (const int[]){ theirs, d }, 2);
	if (r < 0) {
		(void)error_set(e, r, NULL, "cannot start %s: %s", path, strerror(-r));
		error_hint(e, "install OpenSSL, and Corral completely: the program is a part of "
			      "it");
		return r;
	}
	b->relay = fd_take(&c);
	/* Without secrets it asks for no value. */
	return l->session->vault ? lender_introduce(l, b, ours) : 0;
}

static int lender_send_setup(int socket, const struct lend_grant *grants, size_t n)
{
	auto_buffer body = { 0 };
	int r = lend_setup_encode(grants, n, &body);

	return r < 0 ? r : frame_send(socket, FRAME_LEND_SETUP, 0, body.data, body.len, NULL, 0);
}

static int lender_begin(struct lender_service *s)
{
	struct lender *l = s->lender;
	int r = lender_divide(s);

	for (size_t i = 0; r == 0 && i < s->n; i++)
		r = lender_start(l, &s->items[i]);
	/* The holder wants to know the hosts. */
	if (r == 0)
		r = lender_send_setup(CHILD_SOCKET, l->grants, l->n);
	for (size_t i = 0; r == 0 && i < s->n; i++)
		r = lender_send_setup(s->items[i].child.socket, s->items[i].grants, s->items[i].n);
	return r;
}

/* What they say */

static bool lender_ready_has(const struct lend_ready *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->items[i].name, name) == 0)
			return true;
	return false;
}

/* All placeholders, of a secret that several have the first one's; all certificates; and sockets
 * for the relay, in the order of lender_programs. */
static int lender_say_ready(struct lender_service *s)
{
	static struct lend_ready all;
	auto_buffer certificates = { 0 }, body = { 0 };
	int relays[LENDER_BORROWERS];
	int r;

	for (size_t i = 0; i < s->n; i++) {
		struct lender_borrower *b = &s->items[i];

		buffer_adds(&certificates, b->said.certificate);
		relays[i] = b->relay;
		for (size_t k = 0; k < b->said.n; k++)
			if (!lender_ready_has(&all, b->said.items[k].name) && all.n < LEND_MAX)
				all.items[all.n++] = b->said.items[k];
	}
	all.certificate = buffer_text(&certificates);
	r = certificates.failed ? -ENOMEM : lend_ready_encode(&all, &body);
	if (r == 0)
		r = lender_send_files(s->lender, body.data, body.len);
	if (r == 0)
		r = frame_send(
			CHILD_SOCKET, FRAME_LEND_READY, 0, body.data, body.len, relays, s->n);
	for (size_t i = 0; i < s->n; i++)
		fd_close(&s->items[i].relay);
	s->is_ready = r == 0;
	return r;
}

static int lender_take_ready(struct lender_service *s, struct lender_borrower *b)
{
	int r;

	if (b->is_ready)
		return -EPROTO;
	buffer_add(&b->ready, s->frame.body, s->frame.len);
	r = b->ready.failed ? -ENOMEM : lend_ready_decode(&b->said, b->ready.data, b->ready.len);
	b->is_ready = r == 0;
	for (size_t i = 0; r == 0 && i < s->n; i++)
		if (!s->items[i].is_ready)
			return 0;
	return r < 0 ? r : lender_say_ready(s);
}

static int lender_pass(struct lender_service *s, struct lender_borrower *b)
{
	struct error *e = s->lender->session->call->error;
	struct frame *f = &s->frame;
	struct refusal why;
	int r = frame_receive(b->child.socket, f);

	if (r == -EAGAIN || r == -EINTR)
		return 0;
	if (r == 1 && f->type == FRAME_FAILED && refusal_decode(&why, f->body, f->len) == 0) {
		(void)error_set(e, -why.error, NULL, "%s", why.text);
		error_hint(e, "%s", why.hint);
		return -why.error;
	}
	if (r == 1 && f->type == FRAME_LEND_READY)
		return lender_take_ready(s, b);
	if (r == 1 && s->is_ready && f->type == FRAME_LEND_NOTE)
		return frame_send(CHILD_SOCKET, f->type, 0, f->body, f->len, NULL, 0);
	if (r == 1 && f->type == FRAME_LEND_USE)
		return lender_record_use(s->lender, f->body, f->len);
	if (r == 1 && s->is_ready && f->type == FRAME_LEND_TURN)
		return lender_take_turn(s->lender, b->child.socket, f->id, f->body, f->len);
	if (r == 1 && s->is_ready && f->type == FRAME_LEND_OVER)
		return lender_end_turn(s->lender, f->body, f->len);
	if (r == 1 && s->is_ready && f->type == FRAME_LEND_TOKENS) {
		r = lender_take_tokens(s->lender, b->child.socket, f->id, f->body, f->len);
		secret_wipe(f->buffer, sizeof(f->buffer));
		return r;
	}
	return error_set(e, -EPIPE, NULL, "%s ended", b->program->name);
}

/* What it has counted, and not said yet. */
static void lender_settle(struct lender_service *s, struct lender_borrower *b)
{
	const uint64_t until = wait_until(LENDER_SETTLE_MS);
	struct frame *f = &s->frame;

	(void)shutdown(b->child.socket, SHUT_WR);
	while (wait_for_one(b->child.socket, POLLIN, until) > 0 &&
		frame_receive(b->child.socket, f) == 1)
		if (f->type == FRAME_LEND_USE)
			(void)lender_record_use(s->lender, f->body, f->len);
		else if (f->type == FRAME_LEND_NOTE)
			(void)frame_send(CHILD_SOCKET, f->type, 0, f->body, f->len, NULL, 0);
}

/* The holder answers what it was asked, or hangs up (1). */
static int lender_on_holder(struct lender_service *s)
{
	struct frame *f = &s->frame;
	int r = frame_receive(CHILD_SOCKET, f);

	if (r == -EAGAIN || r == -EINTR)
		return 0;
	return r == 1 && f->type == FRAME_LEND_AGREED
		       ? lender_take_agreement(s->lender, f->body, f->len)
		       : 1;
}

/* Changes of the vault */

/* Several sandboxes with secrets share what the kernel gives to a user; without it values are asked
 * for when they expire. */
static int lender_watch(struct lender_service *s)
{
	auto_buffer folder = { 0 };
	auto_fd fd = -1;
	struct error *e = s->lender->session->call->error;

	if (!s->lender->session->vault)
		return 0;
	if (vault_place(&folder, e) < 0)
		return -EIO;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0 || inotify_add_watch(fd, folder.data, IN_MOVED_TO | IN_ONLYDIR) < 0) {
		fprintf(stderr,
			"corral: changes of the vault (a lock, a grant that is revoked, another "
			"value) do not reach this run: inotify: %s\n",
			strerror(errno));
		return 0;
	}
	s->changes = fd_take(&fd);
	return 0;
}

/* The vault's own notes lie beside it. */
static void lender_take_changes(struct lender_service *s)
{
	_Alignas(struct inotify_event) char events[4096];
	const struct inotify_event *e;
	bool has_changed = false;
	ssize_t n;

	while ((n = read(s->changes, events, sizeof(events))) > 0)
		for (ssize_t at = 0; at < n; at += (ssize_t)(sizeof(*e) + e->len)) {
			e = (const void *)(events + at);
			has_changed = has_changed || e->mask & IN_Q_OVERFLOW ||
				      (e->len > 0 && (strcmp(e->name, STORE_FILE) == 0 ||
							     strcmp(e->name, STORE_TURN) == 0));
		}
	for (size_t i = 0; has_changed && i < s->n; i++)
		s->items[i].is_owed = true;
}

static int lender_tell_change(struct lender_borrower *b)
{
	int r = frame_send_now(b->child.socket, FRAME_LEND_CHANGED, 0, NULL, 0, NULL, 0);

	if (r == 0)
		b->is_owed = false;
	return r == -EAGAIN || r == -EINTR ? 0 : r;
}

/* The vault asks for a record, or for what a source has. */
static int lender_on_vault(struct lender_service *s)
{
	int r = vault_client_serve(s->lender->session->vault);

	return r < 0 ? error_set(s->lender->session->call->error, r, NULL, "corral-vault: %s",
			       r == -EPIPE ? "it ended" : strerror(-r))
		     : 0;
}

/* 1: the holder has hung up. */
static int lender_turn(struct lender_service *s)
{
	struct vault_client *vault = s->lender->session->vault;
	const int service = vault ? vault_client_service_fd(vault) : -1;
	struct pollfd p[3 + LENDER_BORROWERS] = { { .fd = CHILD_SOCKET, .events = POLLIN },
		{ .fd = service, .events = POLLIN }, { .fd = s->changes, .events = POLLIN } };
	int r;

	for (size_t i = 0; i < s->n; i++)
		p[3 + i] = (struct pollfd){ .fd = s->items[i].child.socket,
			.events = (short)(POLLIN |
					  (s->is_ready && s->items[i].is_owed ? POLLOUT : 0)) };
	r = wait_for(p, 3 + s->n, wait_until(lender_turns_wait(s->lender)));
	if (r >= 0)
		r = lender_look_turns(s->lender);
	if (r < 0)
		return r;
	r = p[0].revents ? lender_on_holder(s) : 0;
	if (r != 0)
		return r;
	r = p[1].revents ? lender_on_vault(s) : 0;
	if (p[2].revents)
		lender_take_changes(s);
	for (size_t i = 0; r == 0 && i < s->n; i++) {
		if (p[3 + i].revents == POLLOUT)
			r = lender_tell_change(&s->items[i]);
		else if (p[3 + i].revents)
			r = lender_pass(s, &s->items[i]);
	}
	return r;
}

int lender_serve(struct lender *l)
{
	static struct lender_service service;
	struct lender_service *s = &service;
	int r;

	s->lender = l;
	s->changes = -1;
	/* Tokens pass through its frame. */
	r = l->n_oauth > 0 ? secret_lock(s, sizeof(*s)) : 0;
	r = r < 0 ? secret_refuse(r, l->session->call->error) : lender_watch(s);
	/* Values are asked for from here on: no change is missed. */
	if (r == 0)
		r = lender_begin(s);
	while (r == 0)
		r = lender_turn(s);
	fd_close(&s->changes);
	for (size_t i = 0; i < s->n; i++) {
		if (r == 1)
			lender_settle(s, &s->items[i]);
		child_end(&s->items[i].child);
		fd_close(&s->items[i].relay);
		buffer_deinit(&s->items[i].ready);
	}
	frame_deinit(&s->frame);
	secret_free(&l->waiting.body);
	return r < 0 ? r : 0;
}
