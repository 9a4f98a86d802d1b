/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that joined. Whoever holds a session connects to join.sock, says who it is, and what
 * happens; the connection is the sandbox's life here. What it says of itself is shown, and nothing
 * is decided by it; whether it is inside a sandbox is asked of the kernel, so that a command cannot
 * announce others or fill the log.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "codec/json-writer.h"
#include "daemon/peers/acks.h"
#include "daemon/peers/orders.h"
#include "daemon/peers/peers.h"
#include "daemon/peers/questions.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/security-watch.h"
#include "holder/record.h"

enum { SANDBOXES_ACCEPT_MAX = 32, SANDBOX_TURN_MAX = 64, SANDBOX_LAST_MAX = 4096 };

static void sandboxes_put_members(const struct sandbox *b, struct json_writer *w)
{
	json_put_text(w, "id", b->who.id);
	json_put_number(w, "pid", b->peer.pid);
	json_put_count(w, "started_ms", b->who.started_ms);
	json_put_count(w, "events", b->events);
	json_put_count(w, "denied", b->denied);
	json_put_text(w, "files", b->is_watched ? "watched" : "not watched");
	json_put_flag(w, "stopping", b->is_stopping);
	json_put_text(w, "name", b->who.name);
	json_put_text(w, "command", b->who.command);
	json_put_text(w, "folder", b->who.folder);
	json_put_text(w, "policy", b->who.policy);
	json_put_text(w, "kind", join_kinds[b->who.kind]);
	json_put_count(w, "questions", questions_count(b));
}

void sandboxes_print_details(const struct sandbox *b, struct buffer *out)
{
	const bool is_known = b->details.limits.len > 0;
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	sandboxes_put_members(b, &w);
	json_put_raw(&w, "permissions", is_known ? b->details.permissions.data : "[]");
	json_put_raw(&w, "ceiling", is_known ? b->details.ceiling.data : "[]");
	json_put_raw(&w, "limits", is_known ? b->details.limits.data : "{}");
	json_open_list(&w, "grants");
	questions_print_grants(b, &w);
	(void)json_end(&w);
}

static void sandboxes_forget_details(struct sandbox *b)
{
	buffer_deinit(&b->details.permissions);
	buffer_deinit(&b->details.ceiling);
	buffer_deinit(&b->details.limits);
}

static int sandboxes_keep_lines(struct buffer *out, const char *const *lines, uint32_t n)
{
	struct json_writer w = { .out = out };

	json_open_list(&w, NULL);
	for (uint32_t i = 0; i < n; i++)
		json_put_text(&w, NULL, lines[i]);
	json_close(&w);
	return json_end(&w);
}

static int sandboxes_on_details(struct sandbox *b, const struct frame *f)
{
	static const char *const limits[LIMIT_COUNT] = { "timeout_ms", "memory", "pids", "output",
		"file_size", "open_files", "fuel", "wasm_memory" };
	static struct join_details d;
	struct json_writer w = { .out = &b->details.limits };

	if (!b->who.id || join_details_decode(&d, f->body, f->len) < 0)
		return -EPROTO;
	sandboxes_forget_details(b);
	if (sandboxes_keep_lines(&b->details.permissions, d.permissions, d.n_permissions) < 0 ||
		sandboxes_keep_lines(&b->details.ceiling, d.ceiling, d.n_ceiling) < 0)
		return -ENOMEM;
	json_open_map(&w, NULL);
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		if (d.limits[i] != LIMIT_NONE)
			json_put_count(&w, limits[i], d.limits[i]);
	json_close(&w);
	return json_end(&w);
}

void sandboxes_print(const struct supervisor *s, struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_open_list(&w, "sandboxes");
	sandboxes_for_each(b, s)
	{
		if (!b->who.id)
			continue;
		json_open_map(&w, NULL);
		sandboxes_put_members(b, &w);
		json_close(&w);
	}
	json_end_line(&w);
}

int sandboxes_stop(struct sandbox *b)
{
	int r = frame_send(b->watcher.fd, FRAME_JOIN_STOP, 0, NULL, 0, NULL, 0);

	if (r == 0)
		b->is_stopping = true;
	return r;
}

static void sandboxes_print_state(
	const struct sandbox *b, const char *state, bool is_brief, struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_text(&w, "state", state);
	json_open_map(&w, "sandbox");
	if (is_brief)
		json_put_text(&w, "id", b->who.id);
	else
		sandboxes_put_members(b, &w);
	json_close(&w);
	json_close(&w);
}

/* {"state":"joined","sandbox":…}; of what is too long for an event, the id. */
static void sandboxes_tell(const struct sandbox *b, const char *state)
{
	auto_buffer json = { 0 };

	sandboxes_print_state(b, state, false, &json);
	if (json.failed || json.len > MESSAGE_EVENT_MAX) {
		buffer_deinit(&json);
		sandboxes_print_state(b, state, true, &json);
	}
	if (!json.failed)
		bus_publish(b->s, "sandbox", json.data);
}

void sandboxes_drop(struct sandbox *b)
{
	struct supervisor *s = b->s;
	int fd = b->watcher.fd;

	if (b->who.id)
		sandboxes_tell(b, "left");
	s->peers.n_sandboxes -= b->who.id != NULL;
	loop_remove(s->loop, &b->watcher);
	loop_stop(s->loop, &b->timer);
	link_remove(&b->link);
	orders_drop(s, b);
	questions_free(b);
	acks_close(b);
	sandboxes_forget_details(b);
	fd_close(&fd);
	arena_deinit(&b->arena);
	free(b);
}

/* Texts of its own: those of a frame go with it. */
static int sandboxes_on_hello(struct sandbox *b, const struct frame *f)
{
	struct join who;
	int r = b->who.id ? -EPROTO : join_decode(&who, f->body, f->len);

	/* Two of one id cannot be told apart. */
	if (r < 0 || peers_find(b->s, who.id) || b->s->peers.n_sandboxes >= SANDBOXES_MAX)
		return r < 0 ? r : -EEXIST;
	r = acks_open(b, who.id, f->id);
	if (r < 0)
		return r;
	who.id = arena_strdup(&b->arena, who.id);
	who.name = arena_strdup(&b->arena, who.name);
	who.command = arena_strdup(&b->arena, who.command);
	who.folder = arena_strdup(&b->arena, who.folder);
	who.policy = arena_strdup(&b->arena, who.policy);
	if (!who.id || !who.name || !who.command || !who.folder || !who.policy)
		return -ENOMEM;
	b->who = who;
	b->s->peers.n_sandboxes++;
	b->s->api.metrics.joined++;
	acks_joined(b);
	loop_stop(b->s->loop, &b->timer);
	sandboxes_tell(b, "joined");
	return 0;
}

static const char *sandboxes_type(const struct audit_event *e)
{
	switch (e->action) {
	case AUDIT_COMMAND_START:
	case AUDIT_COMMAND_END:
	case AUDIT_SESSION:
	case AUDIT_CONFINEMENT:
		return "sandbox";
	case AUDIT_POLICY:
		return "policy";
	default:
		return "decision";
	}
}

#define SANDBOXES_LOOKUP_NS (UINT64_C(2000) * 1000000)

/*
 * How many denials it counts for. A look-up is one, though a program asks for several kinds of
 * address; the dashboard has the same rule for what it counts itself (dashboard/counts.js).
 */
static uint64_t sandboxes_denials(struct sandbox *b, const struct audit_event *e)
{
	const uint64_t hash = hash_bytes(HASH_START, e->target, strlen(e->target));
	struct sandbox_name *name = NULL;
	bool is_again;

	if (e->decision != AUDIT_DENIED)
		return 0;
	if (e->action != AUDIT_NET_NAME)
		return e->count ? e->count : 1;
	for (size_t i = 0; i < SANDBOX_NAMES && !name; i++)
		if (b->names[i].hash == hash)
			name = &b->names[i];
	is_again = name && e->time_ns < name->time_ns + SANDBOXES_LOOKUP_NS;
	if (!name)
		name = &b->names[b->n_names++ % SANDBOX_NAMES];
	*name = (struct sandbox_name){ hash, e->time_ns };
	return is_again ? 0 : 1;
}

static int sandboxes_on_event(struct sandbox *b, const struct frame *f)
{
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };
	struct audit_event e;

	/* Its records are its own: no other's session. */
	if (!b->who.id || audit_event_decode(&e, f->body, f->len) < 0 ||
		strcmp(e.session, b->who.id) != 0)
		return -EPROTO;
	/* Who sent it wrote it to our log before. */
	if (f->id == JOIN_EVENT_WRITTEN)
		acks_pass(b);
	else if (acks_has(b, &e))
		return 0;
	else
		acks_note(b, journal_record(b->s, &e));
	b->events++;
	b->denied += sandboxes_denials(b, &e);
	if (e.action == AUDIT_CONFINEMENT)
		b->is_watched = strstr(e.reason, HOLDER_FILES_WATCHED);
	b->s->api.metrics.decisions[e.decision]++;
	json_open_map(&w, NULL);
	json_put_text(&w, "id", b->who.id);
	json_put_count(&w, "time_ms", e.time_ns / 1000000);
	json_put_count(&w, "pid", e.pid);
	json_put_number(&w, "status", e.status);
	json_put_count(&w, "count", e.count);
	json_put_text(&w, "action", audit_action_name(e.action));
	json_put_text(&w, "decision", audit_decision_name(e.decision));
	json_put_text(&w, "target", e.target);
	json_put_text(&w, "program", e.program);
	json_put_text(&w, "rule", e.rule);
	json_put_text(&w, "reason", e.reason);
	json_close(&w);
	if (!json.failed)
		bus_publish(b->s, sandboxes_type(&e), json.data);
	return 0;
}

/* It heard the same, and leaves its events in a file. */
static void sandboxes_say_other(struct sandbox *b, const struct frame *f)
{
	struct error e = { 0 };
	char name[32];

	(void)snprintf(name, sizeof(name), "pid %d", (int)b->peer.pid);
	(void)frame_explain(f, name, &e);
	journal_say(
		b->s, CONFIG_WARN, "%s: it is not joined; restart the older of the two", e.text);
}

/* Reads so many frames; -EAGAIN: there are no more now; another error: that was its last. */
static int sandboxes_read(struct sandbox *b, int most)
{
	static struct frame f;
	int r = 0;

	for (int i = 0; r == 0 && i < most; i++) {
		r = frame_receive(b->watcher.fd, &f);
		if (r == 1 && b->acks.has_left)
			r = -EPROTO;
		else if (r == 1)
			r = f.type == FRAME_JOIN           ? sandboxes_on_hello(b, &f)
			    : f.type == FRAME_JOIN_EVENT   ? sandboxes_on_event(b, &f)
			    : f.type == FRAME_JOIN_DETAILS ? sandboxes_on_details(b, &f)
			    : f.type == FRAME_JOIN_REPLY   ? orders_on_reply(b, &f)
			    : f.type == FRAME_JOIN_LEFT    ? acks_on_left(b, &f)
							   : questions_on_frame(b, &f);
		else if (r == 0)
			r = -EPIPE;
		else if (r == -EPROTONOSUPPORT)
			sandboxes_say_other(b, &f);
	}
	frame_deinit(&f);
	return r;
}

static void sandboxes_on_ready(struct watcher *w, uint32_t events)
{
	struct sandbox *b = container_of(w, struct sandbox, watcher);
	int r = sandboxes_read(b, SANDBOX_TURN_MAX);

	(void)events;
	if (r == -EAGAIN || r == 0)
		return;
	/* -EBUSY: it is for us that it has to come again. */
	if (r != -EPIPE && r != -EBUSY && r != -EPROTONOSUPPORT)
		journal_say(b->s, CONFIG_WARN, "pid %d broke the rules of joining: %s",
			(int)b->peer.pid, strerror(-r));
	sandboxes_drop(b);
}

/* It did not say who it is. */
static void sandboxes_on_timer(struct timer *t)
{
	sandboxes_drop(container_of(t, struct sandbox, timer));
}

static int sandboxes_take_in(struct supervisor *s, int fd, const struct origin_peer *peer)
{
	struct sandbox *b = calloc(1, sizeof(*b));
	int r;

	if (!b)
		return -ENOMEM;
	*b = (struct sandbox){ .s = s,
		.peer = *peer,
		.watcher = { .ready = sandboxes_on_ready, .fd = -1 },
		.timer = { .expired = sandboxes_on_timer } };
	r = loop_start(s->loop, &b->timer, SANDBOX_HELLO_MS);
	if (r == 0)
		r = loop_add(s->loop, &b->watcher, fd, EPOLLIN);
	if (r < 0) {
		loop_stop(s->loop, &b->timer);
		free(b);
		return r;
	}
	link_append(&s->peers.sandboxes, &b->link);
	return 0;
}

static void sandboxes_on_join(struct watcher *w, uint32_t events)
{
	struct supervisor *s = container_of(w, struct supervisor, peers.join);

	(void)events;
	for (int i = 0; i < SANDBOXES_ACCEPT_MAX; i++) {
		auto_fd fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct origin_peer peer;
		const char *why;
		int r;

		if (fd < 0)
			return;
		r = origin_check(&s->own, fd, &peer, &why);
		/* A run does not wait for long to be let in: it has left its events as a file. */
		if (r == -ESRCH)
			continue;
		if (r < 0)
			security_watch_tell_refused(s, "join.sock", &peer, why);
		else if (sandboxes_take_in(s, fd, &peer) == 0)
			(void)fd_take(&fd);
	}
}

int sandboxes_open(struct supervisor *s, int listener)
{
	link_init(&s->peers.sandboxes);
	s->peers.join = (struct watcher){ .ready = sandboxes_on_join, .fd = -1 };
	return loop_add(s->loop, &s->peers.join, listener, EPOLLIN);
}

void sandboxes_close(struct supervisor *s)
{
	int listener = s->peers.join.fd;
	struct error e;

	if (listener < 0)
		return;
	/* What they sent is read. What they send from now on fails, so they keep it for another. */
	sandboxes_on_join(&s->peers.join, EPOLLIN);
	sandboxes_for_each(b, s)
	{
		(void)shutdown(b->watcher.fd, SHUT_RD);
		(void)sandboxes_read(b, SANDBOX_LAST_MAX);
	}
	(void)audit_trail_flush(s->journal.trail, &e);
	acks_turn(s);
	sandboxes_for_each(b, s) sandboxes_drop(b);
	acks_turn(s);
	loop_remove(s->loop, &s->peers.join);
	fd_close(&listener);
	runtime_folder_remove(&s->folder, "join.sock");
}
