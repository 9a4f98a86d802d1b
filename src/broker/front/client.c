/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections. Of a client only as much is read as can be worked on: a line that is being worked
 * on keeps the next in the socket, and only the program that sends them waits.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/front/internal.h"
#include "serve/answer.h"

static void client_queue(struct client *c, struct link *list)
{
	link_remove(&c->queue);
	link_append(list, &c->queue);
}

void client_later(struct client *c)
{
	client_queue(c, &c->front->ready);
}

void client_block(struct client *c)
{
	client_queue(c, &c->front->blocked);
}

bool client_is_idle(const struct client *c)
{
	return c->calls == 0 && !c->feeding && !c->has_more;
}

void client_free(struct client *c)
{
	struct front *f = c->front;

	link_remove(&c->queue);
	exchange_abandon_all(c);
	if (c->has_opened)
		exchange_tell_gone(f, c->number);
	serve_client_close(&c->base);
	free(c);
}

/* Reading */

static void client_count_work(const struct client *c, size_t bytes, unsigned *work)
{
	const size_t n = bytes / FRONT_TURN_BYTES;

	*work -= n < *work ? (unsigned)n : *work;
	/* One without a call is work, too. */
	if (!c->feeding && *work > 0)
		--*work;
}

/* 1: a line was taken up, or an empty one left out. 0: there is none yet. */
static int client_take_line(struct client *c, unsigned *work)
{
	size_t len, n;
	const char *begin = serve_client_input(&c->base, &len), *end;
	int r = 0;

	if (len == c->base.scanned)
		return 0;
	end = memchr(begin + c->base.scanned, '\n', len - c->base.scanned);
	c->base.scanned = len;
	if (!end)
		return len > RPC_LINE_MAX ? -EMSGSIZE : 0;
	n = (size_t)(end - begin);
	if (n > RPC_LINE_MAX)
		return -EMSGSIZE;
	if (n > 0)
		r = exchange_new(c, begin, n);
	client_count_work(c, n, work);
	serve_client_take(&c->base, n + 1);
	return r < 0 ? r : 1;
}

/* The same for a request, which has to wait for the answer to the one before. */
static int client_take_request(struct client *c, unsigned *work)
{
	size_t len;
	const char *data = serve_client_input(&c->base, &len);
	struct http_message m;
	int r = 0;

	if (len == c->base.scanned || c->calls > 0 || c->base.is_last)
		return 0;
	if (http_message_read(&c->front->guard, data, len, &c->base.scanned, &m) == 0)
		return 0;
	if (m.what == HTTP_REFUSED || m.is_last)
		serve_client_finish(&c->base);
	else
		serve_client_take(&c->base, m.head + m.body);
	if (m.what == HTTP_CALL)
		r = exchange_new(c, data + m.head, m.body);
	else
		http_message_answer(&c->base.out, &m);
	client_count_work(c, m.body, work);
	return r < 0 ? r : 1;
}

/* Working */

bool client_is_clogged(const struct client *c)
{
	return c->base.out.len - c->base.sent > FRONT_OUT_MAX;
}

/* Lines that are there, up to what one turn allows the client, and the process that it is of. */
static int client_take_up(struct client *c)
{
	unsigned *of_peer = peer_work(&c->front->room, c->base.peer);
	unsigned work = *of_peer < FRONT_TURN_CALLS_MAX ? *of_peer : FRONT_TURN_CALLS_MAX;
	const unsigned before = work;
	int r = 1;

	while (r > 0 && work > 0 && !client_is_clogged(c) && !c->base.out.failed) {
		r = c->feeding   ? 1
		    : c->is_http ? client_take_request(c, &work)
				 : client_take_line(c, &work);
		if (r <= 0 || !c->feeding)
			continue;
		r = exchange_feed(c->feeding, &work);
		if (r == 1)
			c->feeding = NULL;
	}
	*of_peer -= before - work;
	c->has_more = r > 0;
	if (r >= 0 && work == 0)
		client_later(c);
	return r < 0 ? r : c->base.out.failed ? -ENOMEM : 0;
}

static int client_wait(struct client *c)
{
	const bool is_waiting = c->is_http && c->calls > 0;
	const bool reads = !c->feeding && !c->has_more && !client_is_clogged(c) && !is_waiting;

	return serve_client_wait(
		&c->base, &(struct serve_wait){ .reads = reads,
				  .is_part = reads && c->base.in.len > c->base.start,
				  .is_unfinished = !client_is_idle(c),
				  .watches_end = is_waiting });
}

/* The last words to a client whose line cannot be answered by its id. */
static void client_complain(struct client *c, const char *message, const char *hint)
{
	const struct rpc_refusal why = { .class = RPC_REQUEST, .message = message, .hint = hint };

	rpc_print_refusal(&c->base.out, NULL, false, &why);
	buffer_addc(&c->base.out, '\n');
	(void)serve_client_write(&c->base);
}

void client_work(struct client *c)
{
	int r = client_take_up(c);
	const bool was_clogged = client_is_clogged(c);

	if (r == -EMSGSIZE)
		client_complain(c, "the line is too long", "a line has at most 8 MiB");
	if (r == 0)
		r = serve_client_write(&c->base);
	if (was_clogged && !client_is_clogged(c)) {
		client_later(c);
		exchange_send_words(c->front);
	}
	/* A last line without its newline is none. */
	if (r == 0)
		r = client_wait(c);
	if (r < 0)
		client_free(c);
}

/* As the server of serve/ sees it */

static struct client *client_of(const struct serve_client *base)
{
	return container_of(base, struct client, base);
}

static void client_on_work(struct serve_client *base)
{
	client_work(client_of(base));
}

static void client_on_free(struct serve_client *base)
{
	client_free(client_of(base));
}

static bool client_on_idle(const struct serve_client *base)
{
	return client_is_idle(client_of(base));
}

static void client_on_rights(struct serve_client *base)
{
	client_complain(client_of(base), "descriptors cannot be sent", "send one line of text");
}

int client_new(struct front *f, struct peer *peer, int fd, bool is_http)
{
	static const struct serve_class class = { .work = client_on_work,
		.free = client_on_free,
		.is_idle = client_on_idle,
		.on_rights = client_on_rights,
		.is_heard_out = true };
	struct client *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->front = f;
	c->is_http = is_http;
	link_init(&c->queue);
	r = serve_client_open(&c->base, &f->room, peer, fd, &class);
	if (r < 0) {
		free(c);
		return r;
	}
	c->base.is_tcp = is_http;
	c->number = ++f->n_connected;
	return 0;
}
