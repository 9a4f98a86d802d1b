/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/inspection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "wire/frame.h"
#include "wire/lend.h"

enum { INSPECTION_AGAIN_MS = 2 };

/* Each of those that wait now, once: whoever finds no room again is behind them. */
static void inspection_on_again(struct timer *t)
{
	struct inspection *i = container_of(t, struct inspection, again);
	size_t n = 0;

	for (struct inspection_ask *a = i->first; a; a = a->next)
		n += a->state == INSPECTION_UNSENT;
	while (n-- > 0) {
		struct inspection_ask *a = i->first;

		while (a && a->state != INSPECTION_UNSENT)
			a = a->next;
		if (!a)
			return;
		a->state = INSPECTION_NONE;
		a->answered(a);
	}
}

void inspection_init(struct inspection *i, struct loop *loop, int socket)
{
	*i = (struct inspection){
		.loop = loop, .socket = socket, .again = { .expired = inspection_on_again }
	};
}

static void inspection_take_out(struct inspection_ask *a)
{
	struct inspection_ask **at = a->all ? &a->all->first : NULL;

	while (at && *at && *at != a)
		at = &(*at)->next;
	if (at && *at)
		*at = a->next;
	a->next = NULL;
}

static int inspection_deny(struct inspection_ask *a, const char *why)
{
	free(a->why);
	a->why = strdup(why);
	a->state = INSPECTION_DENIED;
	return -EACCES;
}

/* At the end: those that were refused room first come first. */
static void inspection_put_in(struct inspection_ask *a)
{
	struct inspection_ask **at = &a->all->first;

	while (*at)
		at = &(*at)->next;
	a->next = NULL;
	*at = a;
}

static int inspection_send(struct inspection_ask *a, const struct http_request *r)
{
	char query[LEND_QUERY_MAX + 1] = "";
	struct lend_request q = { .number = ++a->all->last,
		.port = r->port,
		.has_query = r->query != NULL,
		.upgrades = r->upgrade,
		.method = r->method,
		.host = r->host,
		.path = r->path,
		.query = query,
		.upgrade_to = r->upgrade_to ? r->upgrade_to : "" };
	auto_buffer body = { 0 };
	int error;

	if (r->query)
		(void)snprintf(query, sizeof(query), "%s", r->query);
	error = lend_request_encode(&q, &body);
	if (error == -EINVAL)
		return inspection_deny(a,
			"the method or the path of the request is too long, or has bytes that no "
			"URL has, so it cannot be compared with the rules");
	if (error == 0)
		error = frame_send_now(a->all->socket, FRAME_LEND_ASK, a->connection, body.data,
			body.len, NULL, 0);
	if (error < 0 && error != -EAGAIN)
		return inspection_deny(a, "the policy cannot be asked");
	a->state = error == 0 ? INSPECTION_ASKED : INSPECTION_UNSENT;
	a->number = q.number;
	inspection_put_in(a);
	if (error == -EAGAIN && a->all->again.place == 0 &&
		loop_start(a->all->loop, &a->all->again, INSPECTION_AGAIN_MS) < 0) {
		inspection_take_out(a);
		return inspection_deny(a, "the policy cannot be asked");
	}
	return HTTP_HOLD;
}

int inspection_judge(struct inspection_ask *a, const struct http_request *r)
{
	switch (a->state) {
	case INSPECTION_NONE:
		inspection_take_out(a);
		return inspection_send(a, r);
	case INSPECTION_UNSENT:
	case INSPECTION_ASKED:
		return HTTP_HOLD;
	case INSPECTION_ALLOWED:
		/* It is used up. */
		a->state = INSPECTION_NONE;
		return 0;
	case INSPECTION_DENIED:
		break;
	}
	return -EACCES;
}

const char *inspection_why(const struct inspection_ask *a)
{
	return a->why ? a->why : "the policy does not allow it";
}

void inspection_leave(struct inspection_ask *a)
{
	inspection_take_out(a);
	free(a->why);
	a->why = NULL;
	a->state = INSPECTION_NONE;
}

int inspection_take_answer(struct inspection *i, uint64_t id, const void *body, size_t len)
{
	struct inspection_ask *a = i->first;
	struct lend_answer answer;
	int r = lend_answer_decode(&answer, body, len);

	if (r < 0)
		return r;
	while (a && !(a->state == INSPECTION_ASKED && a->connection == id &&
			    a->number == answer.number))
		a = a->next;
	/* It has ended meanwhile. */
	if (!a)
		return 0;
	inspection_take_out(a);
	if (answer.is_allowed)
		a->state = INSPECTION_ALLOWED;
	else
		(void)inspection_deny(a, answer.text);
	a->answered(a);
	return 0;
}
