/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may ask corral-vault: the process that started it, by descriptor 3, may do everything;
 * whoever has one of the sockets that the starter handed over may get values, for the sandbox that
 * the starter named with it and under the grants of the vault. There is no address to connect to.
 */
#include "vault/server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/landlock.h"
#include "process/confinement.h"
#include "vault/operation.h"
#include "vault/store.h"
#include "process/child.h"
#include "wire/report.h"

enum {
	SERVER_FOLDER = CHILD_FDS,
	SERVER_SERVICE = CHILD_FDS + 1,
};

/* Answers */

static int server_answer(struct vault_server *s, int socket, uint64_t id, int r,
	const struct operation_result *result, const struct error *e)
{
	struct vault_message failed = {
		.error = r, .text = e->text[0] ? e->text : strerror(-r), .principal = e->hint
	};

	return vault_message_send(
		socket, FRAME_VAULT_ANSWER, id, r < 0 ? &failed : &result->answer, &s->room);
}

static void server_result_deinit(struct operation_result *x)
{
	vault_deinit(&x->vault);
	buffer_deinit(&x->text);
}
#define auto_result __attribute__((cleanup(server_result_deinit))) struct operation_result

/* A value is not kept longer than it takes to answer. */
static void server_wipe(struct frame *f)
{
	if (f->len > 0 && f->len <= sizeof(f->buffer))
		secret_wipe(f->buffer, f->len);
}

/* Clients */

static void server_hang_up(struct vault_server *s, struct vault_server_client *c)
{
	int fd = c->watcher.fd;

	loop_remove(s->loop, &c->watcher);
	fd_close(&fd);
	free(c->names);
	*c = (struct vault_server_client){ .watcher.fd = -1 };
}

static struct vault_server server_state;

static void server_on_client(struct watcher *w, uint32_t events)
{
	struct vault_server_client *c = container_of(w, struct vault_server_client, watcher);
	struct vault_server *s = &server_state;
	auto_result result = { 0 };
	struct vault_message m = { 0 };
	struct error e = { 0 };
	int r = frame_receive(w->fd, &s->frame);

	(void)events;
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r == 1)
		r = s->frame.type == FRAME_VAULT_GET && s->frame.n_fds == 0
			    ? vault_message_decode(&m, s->frame.body, s->frame.len)
			    : -EPROTO;
	else
		r = -EPIPE;
	if (r == 0 && m.op == VAULT_GET) {
		const uint64_t id = s->frame.id;

		r = vault_operation_get(s, c, &m, &result, &e);
		/* A client that does not read is hung up on: the vault does not wait for it. */
		r = server_answer(s, w->fd, id, r, &result, &e);
	} else if (r == 0) {
		r = -EPROTO;
	}
	server_wipe(&s->frame);
	server_wipe(&s->service_frame);
	if (r < 0)
		server_hang_up(s, c);
}

/* A connected pair of the same user's, and no listener. */
static bool server_is_pair(int fd)
{
	int domain = 0, type = 0, listens = 1;
	socklen_t a = sizeof(domain), b = sizeof(type), c = sizeof(listens);
	struct ucred peer = { .uid = (uid_t)-1 };
	socklen_t d = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &a) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &b) == 0 && type == SOCK_SEQPACKET &&
	       getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &c) == 0 && !listens &&
	       getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &d) == 0 && peer.uid == geteuid();
}

/* Each name has its newline. */
static bool server_are_names(const char *names)
{
	const size_t len = strlen(names);

	return len == 0 || names[len - 1] == '\n';
}

static int server_take_client(struct vault_server *s, struct frame *f)
{
	auto_fd fd = frame_take_fd(f, 0);
	struct vault_server_client *c = NULL;
	struct vault_message m;
	int r = vault_message_decode(&m, f->body, f->len);

	if (r < 0 || !server_are_names(m.text) || fd < 0 || !*m.name ||
		strlen(m.name) > VAULT_TEXT_MAX || !server_is_pair(fd))
		return -EPROTO;
	for (size_t i = 0; !c && i < SERVER_CLIENTS_MAX; i++)
		if (s->clients[i].watcher.fd < 0)
			c = &s->clients[i];
	/* Closed, which the client sees. */
	if (!c || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return 0;
	(void)snprintf(c->principal, sizeof(c->principal), "%s", m.name);
	c->names = strdup(m.text);
	c->watcher = (struct watcher){ .ready = server_on_client, .fd = -1 };
	r = c->names ? loop_add(s->loop, &c->watcher, fd, EPOLLIN) : -ENOMEM;
	if (r == 0)
		(void)fd_take(&fd);
	else
		server_hang_up(s, c);
	return r;
}

/* The starter */

static int server_take_call(struct vault_server *s, struct frame *f)
{
	const uint64_t id = f->id;
	auto_result result = { 0 };
	struct vault_message m;
	struct error e = { 0 };
	int r = vault_message_decode(&m, f->body, f->len);

	if (r < 0)
		return r;
	r = vault_operation_run(s, &m, &result, &e);
	return server_answer(s, s->control, id, r, &result, &e);
}

static void server_on_control(struct watcher *w, uint32_t events)
{
	struct vault_server *s = &server_state;
	int r = frame_receive(w->fd, &s->frame);

	(void)events;
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r == 1)
		r = s->frame.type == FRAME_VAULT_CALL     ? server_take_call(s, &s->frame)
		    : s->frame.type == FRAME_VAULT_CLIENT ? server_take_client(s, &s->frame)
							  : -EPROTO;
	else
		r = r == 0 ? -EPIPE : r;
	server_wipe(&s->frame);
	server_wipe(&s->service_frame);
	if (r < 0 && s->ended == 0)
		s->ended = r;
}

/* The beginning */

static int server_prepare(struct vault_server *s, struct error *e)
{
	const struct confinement_grant folder = {
		.fd = SERVER_FOLDER, .access = LANDLOCK_READ | LANDLOCK_WRITE, .is_needed = true
	};
	const struct confinement_more more = { .grants = &folder, .n = 1 };
	int r = secret_begin();

	if (r == 0)
		r = secret_lock(s, sizeof(*s));
	if (r == 0)
		r = secret_new(&s->scratch, VAULT_SCRATCH_BYTES);
	if (r == 0)
		r = secret_new(&s->room, FRAME_BODY_MAX);
	if (r < 0)
		return secret_refuse(r, e);
	r = store_enter(SERVER_FOLDER, e);
	if (r == 0 && fstat(SERVER_FOLDER, &s->folder) < 0)
		r = error_set(e, -errno, NULL, "the folder of the vault: %s", strerror(errno));
	if (r < 0)
		return r;
	r = confinement_enter(PROCESS_VAULT, &more);
	if (r < 0)
		return error_set(e, r, NULL, "cannot confine corral-vault: %s", strerror(-r));
	r = loop_new(&s->loop);
	return r < 0 ? error_set(e, r, NULL, "corral-vault: %s", strerror(-r)) : 0;
}

int vault_server_main(void)
{
	struct vault_server *s = &server_state;
	struct error e = { 0 };
	int r = server_prepare(s, &e);

	s->control = CHILD_SOCKET;
	s->service = SERVER_SERVICE;
	for (size_t i = 0; i < SERVER_CLIENTS_MAX; i++)
		s->clients[i].watcher.fd = -1;
	if (r < 0) {
		(void)refusal_send(s->control, FRAME_FAILED, r, &e);
		return r;
	}
	operation_look_for_key(s);
	s->watcher = (struct watcher){ .ready = server_on_control, .fd = -1 };
	r = loop_add(s->loop, &s->watcher, s->control, EPOLLIN);
	if (r == 0)
		r = frame_send(s->control, FRAME_READY, 0, NULL, 0, NULL, 0);
	while (r == 0 && s->ended == 0)
		r = loop_turn(s->loop, -1);
	secret_wipe(s, sizeof(*s));
	return r;
}
