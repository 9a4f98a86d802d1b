/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/lending.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "event/wait.h"
#include "host/authorities.h"
#include "process/child.h"
#include "wire/frame.h"
#include "wire/report.h"

enum {
	LENDING_START_MS = 30 * 1000,
	LENDING_END_MS = 5000,
	LENDING_NOTES_MAX = 8, /* of the log, for one program */
};

struct lending {
	struct lending_owner o;
	struct lending_secret *secrets;
	size_t n;
	struct arena arena;
	struct buffer text, setup, ready;
	struct child child;
	struct error failure;
	struct sandbox_lent lent;
	struct watcher watcher;
	struct lend_note notes[LENDING_NOTES_MAX]; /* in the arena */
	size_t n_notes;
	/* What it says, decoded: too much for the stack. */
	struct frame frame;
	struct lend_grant grants[LEND_MAX];
	size_t n_grants;
	struct lend_ready said;
};

static void lending_on_ready(struct watcher *w, uint32_t events);

/* The program may run on when its call has gone. */
static int lending_copy(struct lending *l, const struct lending_secret *secrets, size_t n)
{
	l->secrets = arena_calloc(&l->arena, n, sizeof(*l->secrets));
	for (size_t i = 0; l->secrets && i < n; i++) {
		struct lending_secret *s = &l->secrets[l->n++];

		s->name = arena_strdup(&l->arena, secrets[i].name);
		s->variable = arena_strdup(&l->arena, secrets[i].variable);
		if (!s->name || !s->variable)
			return -ENOMEM;
		buffer_printf(&l->text, "%s%s=(secret %s)", i ? " " : "", s->variable, s->name);
	}
	return l->secrets && !l->text.failed ? 0 : -ENOMEM;
}

struct lending *lending_new(
	const struct lending_owner *o, const struct lending_secret *secrets, size_t n)
{
	struct lending *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->o = *o;
	(*l->o.n)++;
	l->child = CHILD_NONE;
	l->watcher = (struct watcher){ .ready = lending_on_ready, .fd = -1 };
	if (lending_copy(l, secrets, n) == 0)
		return l;
	lending_free(l);
	return NULL;
}

const char *lending_text(const struct lending *l)
{
	return buffer_text(&l->text);
}

const struct error *lending_failure(const struct lending *l)
{
	return l->failure.text[0] ? &l->failure : NULL;
}

/* Starting it */

static bool lending_names(const struct lending *l, const char *name, size_t len)
{
	for (size_t i = 0; i < l->n; i++)
		if (strncmp(l->secrets[i].name, name, len) == 0 && !l->secrets[i].name[len])
			return true;
	return false;
}

/* Of these secrets, no more than the policies name. */
static const char *const *lending_words(struct lending *l)
{
	const struct broker_setup *setup = l->o.setup;
	const char **argv = arena_calloc(&l->arena, 2 * setup->n_secrets + l->n + 8, sizeof(*argv));
	size_t n = 0;

	if (!argv)
		return NULL;
	argv[n++] = "corral";
	argv[n++] = "vault";
	argv[n++] = "lend";
	argv[n++] = "--to";
	argv[n++] = setup->principal;
	for (size_t i = 0; i < setup->n_secrets; i++) {
		const char *entry = setup->secrets[i];

		if (!lending_names(l, entry, strcspn(entry, "=")))
			continue;
		argv[n++] = "--within";
		argv[n++] = entry;
	}
	argv[n++] = "--";
	for (size_t i = 0; i < l->n; i++)
		argv[n++] = l->secrets[i].name;
	return argv;
}

static int lending_spawn(struct lending *l, struct error *e)
{
	const struct broker_setup *setup = l->o.setup;
	const char *const *argv = lending_words(l);
	int r = argv ? child_start(&l->child, setup->lender, argv, setup->lender_environment)
		     : -ENOMEM;

	return r < 0 ? error_set(e, r, NULL, "cannot start %s: %s", setup->lender, strerror(-r))
		     : 0;
}

/* Files with placeholders are for the sandbox of `corral run`: here they are left out. */
static int lending_receive(
	struct lending *l, enum frame_type type, struct buffer *keep, struct error *e)
{
	const uint64_t until = wait_until(LENDING_START_MS);
	struct frame *f = &l->frame;
	struct refusal why;
	int r;

	do
		r = wait_for_one(l->child.socket, POLLIN, until) > 0
			    ? frame_receive(l->child.socket, f)
			    : -ETIMEDOUT;
	while (r == -EAGAIN || r == -EINTR || (r == 1 && f->type == FRAME_LEND_FILE));
	if (r == 1 && f->type == FRAME_FAILED && refusal_decode(&why, f->body, f->len) == 0) {
		(void)error_set(e, -why.error, NULL, "%s", why.text);
		error_hint(e, "%s", why.hint);
		return -why.error;
	}
	if (r == 1 && f->type == type) {
		buffer_add(keep, f->body, f->len);
		return keep->failed ? error_no_memory(e) : 0;
	}
	r = r < 0 ? r : -EPIPE;
	return error_set(e, r, NULL, "the vault is not served: %s",
		r == -EPIPE ? "its process ended" : strerror(-r));
}

static const char *lending_placeholder(const struct lending *l, const char *name)
{
	for (size_t i = 0; i < l->said.n; i++)
		if (strcmp(l->said.items[i].name, name) == 0)
			return l->said.items[i].text;
	return NULL;
}

static bool lending_has_database(const struct lending *l)
{
	for (size_t i = 0; i < l->n_grants; i++)
		if (l->grants[i].places == LEND_DATABASE)
			return true;
	return false;
}

/* The placeholders, and where the list of authorities is that has the lender's. */
static int lending_fill_environment(struct lending *l)
{
	const char **env =
		arena_calloc(&l->arena, l->n + authorities_n_variables + 2, sizeof(*env));
	const char *place, *text;
	char real[PATH_BYTES];
	size_t n = 0;

	if (!env)
		return -ENOMEM;
	for (size_t i = 0; i < l->n; i++) {
		text = lending_placeholder(l, l->secrets[i].name);
		if (!text && lending_has_database(l))
			continue; /* a login needs none */
		if (!text)
			return -EPROTO;
		env[n++] = arena_printf(&l->arena, "%s=%s", l->secrets[i].variable, text);
	}
	place = authorities_system(real);
	for (size_t i = 0; i < authorities_n_variables; i++)
		env[n++] = arena_printf(&l->arena, "%s=%s", authorities_variables[i], place);
	if (lending_has_database(l))
		env[n++] = arena_printf(&l->arena, "PGSSLROOTCERT=%s", place);
	for (size_t i = 0; i < n; i++)
		if (!env[i])
			return -ENOMEM;
	l->lent.env = env;
	return 0;
}

static int lending_take_sockets(struct lending *l)
{
	if (l->frame.n_fds == 0 || l->frame.n_fds > LEND_RELAYS_MAX)
		return -EPROTO;
	l->lent.n_relays = l->frame.n_fds;
	for (size_t i = 0; i < l->lent.n_relays; i++)
		l->lent.relays[i] = frame_take_fd(&l->frame, i);
	return 0;
}

static int lending_begin(struct lending *l, struct error *e)
{
	int r = lending_spawn(l, e);

	if (r == 0)
		r = lending_receive(l, FRAME_LEND_SETUP, &l->setup, e);
	if (r == 0)
		r = lending_receive(l, FRAME_LEND_READY, &l->ready, e);
	if (r < 0)
		return r;
	r = lending_take_sockets(l);
	if (r == 0)
		r = lend_setup_decode(l->grants, &l->n_grants, l->setup.data, l->setup.len);
	if (r == 0)
		r = lend_ready_decode(&l->said, l->ready.data, l->ready.len);
	if (r == 0)
		r = lending_fill_environment(l);
	return r;
}

/* What may be done with which secret, for the log. */
static void lending_record(const struct lending *l)
{
	for (size_t i = 0; i < l->n; i++) {
		auto_buffer target = { 0 }, reason = { 0 };
		struct corral_audit_event event = { .size = sizeof(event),
			.program = "broker",
			.pid = l->o.pid,
			.action = "service",
			.decision = "allowed",
			.exact = 1,
			.count = 1 };

		buffer_printf(&target, "vault.read:%s", l->secrets[i].name);
		buffer_printf(&reason, "injected as %s for", l->secrets[i].variable);
		for (size_t k = 0; k < l->n_grants; k++)
			if (strcmp(l->grants[k].name, l->secrets[i].name) == 0)
				buffer_printf(&reason, " %s", l->grants[k].host);
		event.target = buffer_text(&target);
		event.reason = buffer_text(&reason);
		(void)corral_audit_add(l->o.audit, &event);
	}
}

int lending_start(void *context, const struct sandbox_lent **ret, struct error *e)
{
	struct lending *l = context;
	int r = lending_begin(l, e);

	if (r < 0) {
		if (!e->text[0])
			(void)error_set(e, r, NULL, "corral vault lend: %s", strerror(-r));
		l->failure = *e;
		return r;
	}
	l->lent.setup = l->setup.data;
	l->lent.setup_len = l->setup.len;
	l->lent.ready = l->ready.data;
	l->lent.ready_len = l->ready.len;
	lending_record(l);
	*ret = &l->lent;
	return 0;
}

/* While it serves */

/* 1: there may be more. */
static int lending_hear(struct lending *l)
{
	struct lend_note note, *kept = &l->notes[l->n_notes];
	int r = frame_receive(l->child.socket, &l->frame);

	if (r != 1)
		return r == 0 ? -EPIPE : r;
	if (l->frame.type != FRAME_LEND_NOTE ||
		lend_note_decode(&note, l->frame.body, l->frame.len) < 0)
		return -EPROTO;
	if (l->n_notes == LENDING_NOTES_MAX)
		return 1;
	*kept = (struct lend_note){ arena_strdup(&l->arena, note.host),
		arena_strdup(&l->arena, note.text) };
	l->n_notes += kept->host && kept->text;
	return 1;
}

static void lending_on_ready(struct watcher *w, uint32_t events)
{
	struct lending *l = container_of(w, struct lending, watcher);
	int r = lending_hear(l);

	(void)events;
	if (r < 0 && r != -EAGAIN && r != -EINTR)
		lending_unwatch(l);
}

int lending_watch(struct lending *l)
{
	return loop_add(l->o.loop, &l->watcher, l->child.socket, EPOLLIN);
}

void lending_unwatch(struct lending *l)
{
	if (l->watcher.fd >= 0)
		loop_remove(l->o.loop, &l->watcher);
	l->watcher.fd = -1;
}

/* The end */

static void lending_settle(struct lending *l)
{
	const uint64_t until = wait_until(LENDING_END_MS);
	int r = 1;

	(void)shutdown(l->child.socket, SHUT_WR);
	while ((r == 1 || r == -EAGAIN || r == -EINTR) &&
		wait_for_one(l->child.socket, POLLIN, until) > 0)
		r = lending_hear(l);
	for (size_t i = 0; i < l->n_notes; i++) {
		struct corral_audit_event event = { .size = sizeof(event),
			.program = "broker",
			.pid = l->o.pid,
			.action = "net.connect",
			.target = l->notes[i].host,
			.decision = "failed",
			.reason = l->notes[i].text,
			.exact = 1,
			.count = 1 };

		(void)corral_audit_add(l->o.audit, &event);
	}
}

void lending_free(struct lending *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->lent.n_relays; i++)
		fd_close(&l->lent.relays[i]);
	if (l->child.pid > 0)
		lending_settle(l);
	child_end(&l->child);
	frame_deinit(&l->frame);
	buffer_deinit(&l->text);
	buffer_deinit(&l->setup);
	buffer_deinit(&l->ready);
	arena_deinit(&l->arena);
	(*l->o.n)--;
	free(l);
}
