/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/place.h"
#include "audit/trail.h"
#include "base/fd.h"
#include "event/wait.h"
#include "vault/source.h"
#include "process/child.h"
#include "wire/report.h"

enum { CLIENT_START_MS = 30 * 1000, CLIENT_CALL_MS = 300 * 1000 };

struct vault_client {
	struct child child;
	int service; /* our end of the vault's second socket */
	uint64_t next_id;
	struct audit_trail *trail; /* NULL: nothing was recorded yet */
	struct secret room;
	struct frame frame, service_frame;
};

int vault_place(struct buffer *out, struct error *e)
{
	auto_buffer log = { 0 };
	int r = audit_place(&log, e);

	if (r < 0)
		return r;
	buffer_printf(out, "%.*s/vault", (int)(strrchr(log.data, '/') - log.data), log.data);
	return out->failed ? error_no_memory(e) : 0;
}

/* What the vault asks for */

static int client_record_open(struct vault_client *c, struct error *e)
{
	auto_buffer path = { 0 };
	int r = c->trail ? 0 : audit_place(&path, e);

	if (c->trail || r < 0)
		return r;
	r = audit_place_make(path.data, e);
	if (r == 0) {
		const struct audit_store_options store = { .path = path.data };
		const struct audit_trail_options o = { .store = &store };

		r = audit_trail_new(&c->trail, &o, e);
	}
	return r;
}

int vault_client_record(struct vault_client *c, const struct audit_event *event, struct error *e)
{
	int r = client_record_open(c, e);

	if (r < 0)
		return r;
	if (audit_trail_add(c->trail, event) == 0)
		return -EBADMSG;
	return audit_trail_flush(c->trail, e);
}

static int client_record(struct vault_client *c, const struct frame *f, struct error *e)
{
	struct audit_event event;
	int r = audit_event_decode(&event, f->body, f->len);

	if (r < 0)
		return r;
	event.time_ns = 0;
	event.pid = (uint32_t)c->child.pid;
	return vault_client_record(c, &event, e);
}

int vault_client_service_fd(const struct vault_client *c)
{
	return c->service;
}

int vault_client_serve(struct vault_client *c)
{
	struct frame *f = &c->service_frame;
	struct source_value value = { 0 };
	struct vault_message answer = { 0 }, m;
	struct error e = { 0 };
	int r = frame_receive(c->service, f);

	if (r != 1)
		return r == 0 ? -EPIPE : r;
	if (f->type == FRAME_EVENT)
		r = client_record(c, f, &e);
	else if (f->type == FRAME_VAULT_SOURCE && vault_message_decode(&m, f->body, f->len) == 0)
		r = source_read(m.text, &value, &e);
	else
		return -EPROTO;
	answer.error = r < 0 ? r : 0;
	answer.text = r >= 0 ? "" : e.text[0] ? e.text : strerror(-r);
	answer.principal = e.hint;
	answer.number = value.expires_s;
	answer.secret = value.value.data;
	answer.secret_len = (uint32_t)value.value.len;
	r = vault_message_send(c->service, FRAME_VAULT_VALUE, f->id, &answer, &c->room);
	secret_free(&value.value);
	return r;
}

/* The process */

static const char *client_program(void)
{
	const char *path = secure_getenv("CORRAL_VAULT");

	return path && *path ? path : CORRAL_VAULT_PATH;
}

static int client_open_folder(int *ret, struct error *e)
{
	auto_buffer path = { 0 }, inside = { 0 };
	int r = vault_place(&path, e);

	if (r < 0)
		return r;
	buffer_printf(&inside, "%s/x", path.data);
	r = inside.failed ? error_no_memory(e) : audit_place_make(inside.data, e);
	if (r < 0)
		return r;
	*ret = open(path.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return *ret < 0 ? error_set(e, -errno, NULL, "%s: %s", path.data, strerror(errno)) : 0;
}

static int client_wait_ready(struct vault_client *c, struct error *e)
{
	struct refusal why;
	int r = wait_for_one(c->child.socket, POLLIN, wait_until(CLIENT_START_MS)) == 0
			? -ETIMEDOUT
			: frame_receive(c->child.socket, &c->frame);

	if (r == 1 && c->frame.type == FRAME_READY)
		return 0;
	if (r == 1 && c->frame.type == FRAME_FAILED &&
		refusal_decode(&why, c->frame.body, c->frame.len) == 0) {
		(void)error_set(e, -why.error, NULL, "%s", why.text);
		error_hint(e, "%s", why.hint);
		return -why.error;
	}
	if (r == -EPROTONOSUPPORT)
		return frame_explain(&c->frame, "corral-vault", e);
	return error_set(e, r < 0 ? r : -EPROTO, NULL, "corral-vault did not start: %s",
		r < 0 ? strerror(-r) : "it ended");
}

static int client_spawn(struct vault_client *c, struct error *e)
{
	const char *const argv[] = { "corral-vault", NULL };
	int pair[2], fds[2];
	auto_fd folder = -1, inner = -1;
	int r = client_open_folder(&folder, e);

	if (r < 0)
		return r;
	r = frame_pair(pair);
	if (r == 0) {
		c->service = pair[0];
		inner = pair[1];
		fds[0] = folder;
		fds[1] = inner;
		r = child_start_with(&c->child, client_program(), argv, NULL, fds, 2);
	}
	if (r < 0) {
		(void)error_set(e, r, NULL, "cannot start %s: %s", client_program(), strerror(-r));
		error_hint(e, "install Corral completely: the program is a part of it");
		return r;
	}
	return client_wait_ready(c, e);
}

int vault_client_start(struct vault_client **ret, struct error *e)
{
	struct vault_client *c = calloc(1, sizeof(*c));
	int r = c ? secret_begin() : -ENOMEM;

	if (!c)
		return error_no_memory(e);
	c->child = CHILD_NONE;
	c->service = -1;
	if (r == 0)
		r = secret_new(&c->room, FRAME_BODY_MAX);
	if (r == 0)
		r = secret_lock(c, sizeof(*c));
	r = r < 0 ? secret_refuse(r, e) : client_spawn(c, e);
	if (r < 0)
		vault_client_end(c);
	else
		*ret = c;
	return r;
}

void vault_client_end(struct vault_client *c)
{
	if (!c)
		return;
	child_end(&c->child);
	fd_close(&c->service);
	(void)audit_trail_close(c->trail, NULL);
	frame_deinit(&c->frame);
	frame_deinit(&c->service_frame);
	secret_free(&c->room);
	secret_wipe(c, sizeof(*c));
	free(c);
}

/* The answer, while the vault is served. */
static int client_wait(struct vault_client *c, uint64_t id)
{
	const uint64_t until = wait_until(CLIENT_CALL_MS);

	for (;;) {
		struct pollfd p[] = { { .fd = c->child.socket, .events = POLLIN },
			{ .fd = c->service, .events = POLLIN } };
		int r = wait_for(p, 2, until);

		if (r <= 0)
			return r < 0 ? r : -ETIMEDOUT;
		if (p[1].revents) {
			r = vault_client_serve(c);
			if (r < 0)
				return r;
		}
		if (!p[0].revents)
			continue;
		r = frame_receive(c->child.socket, &c->frame);
		if (r != 1)
			return r == 0 ? -EPIPE : r;
		return c->frame.type == FRAME_VAULT_ANSWER && c->frame.id == id ? 0 : -EPROTO;
	}
}

int vault_client_call(struct vault_client *c, const struct vault_message *m,
	struct vault_message *ret, struct error *e)
{
	const uint64_t id = ++c->next_id;
	struct vault_message answer = { 0 };
	int r = vault_message_send(c->child.socket, FRAME_VAULT_CALL, id, m, &c->room);

	if (r == 0)
		r = client_wait(c, id);
	if (r == 0)
		r = vault_message_decode(&answer, c->frame.body, c->frame.len);
	if (r < 0)
		return error_set(
			e, r, NULL, "corral-vault: %s", r == -EPIPE ? "it ended" : strerror(-r));
	if (answer.error < 0) {
		(void)error_set(e, answer.error, NULL, "%s", answer.text);
		error_hint(e, "%s", answer.principal);
		return answer.error;
	}
	*ret = answer;
	return 0;
}

int vault_client_add(struct vault_client *c, const char *principal, const char *names, int socket)
{
	const struct vault_message m = { .name = principal, .text = names };
	const size_t len = vault_message_size(&m);
	char *body;
	int r;

	if (!*principal || strlen(principal) > VAULT_TEXT_MAX)
		return -EINVAL;
	body = malloc(len);
	if (!body)
		return -ENOMEM;
	vault_message_encode(&m, body);
	r = frame_send(c->child.socket, FRAME_VAULT_CLIENT, 0, body, len, &socket, 1);
	free(body);
	return r;
}
