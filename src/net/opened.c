/* SPDX-License-Identifier: Apache-2.0 */
#include "net/opened.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "net/gate/http-requests.h"
#include "wire/lend.h"

/* One that waits for the user. */
struct opened_request {
	struct opened *all;
	struct opened_request *next;
	struct asker_wait wait;
	struct buffer body; /* lend_request_encode() */
};

static struct destination opened_destination(const struct opened *o)
{
	struct destination d = *o->destination;

	d.is_opened = true;
	return d;
}

static struct http_request opened_http(const struct lend_request *r)
{
	return (struct http_request){ .method = r->method,
		.host = r->host,
		.port = (uint16_t)r->port,
		.path = r->path,
		.upgrade = r->upgrades,
		.upgrade_to = r->upgrade_to,
		.query = r->has_query ? r->query : NULL };
}

static void opened_allow(struct opened *o, const struct lend_request *r)
{
	lent_answer(o->queue, o->id,
		&(struct lend_answer){ .number = r->number, .is_allowed = true, .text = "" });
}

/* The record names the request, without its query; the answer says what would allow it, too. */
static void opened_deny(
	struct opened *o, const struct lend_request *r, const struct net_judgement *why)
{
	struct net_judgement j = *why;
	char text[sizeof(j.target) + sizeof(j.reason) + sizeof(j.rule) + sizeof(j.remedy) + 128];
	const char *rule = j.rule[0] && !strstr(j.reason, j.rule) ? j.rule : "";

	(void)snprintf(j.target, sizeof(j.target), "%s https://%.255s%s", r->method, why->target,
		r->path[0] == '/' ? r->path : "");
	(void)snprintf(text, sizeof(text), "%s: %s%s%s%s%s%s", j.target,
		j.reason[0] ? j.reason : "the policy does not allow it", rule[0] ? " (" : "", rule,
		rule[0] ? ")" : "", j.remedy[0] ? "\nto allow it: " : "", j.remedy);
	o->denied(o, &j);
	lent_answer(o->queue, o->id,
		&(struct lend_answer){ .number = r->number, .is_allowed = false, .text = text });
}

/* Waiting */

static void opened_free(struct opened_request *w)
{
	struct opened_request **at = &w->all->first;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	*w->all->asks = w->all->first != NULL;
	buffer_deinit(&w->body);
	free(w);
}

static bool opened_judge(const struct opened *o, const struct lend_request *r, bool is_agreed,
	struct net_judgement *ret)
{
	const struct destination d = opened_destination(o);
	const struct http_request http = opened_http(r);

	return (is_agreed ? judge_http_agreed : judge_http)(o->judge, &d, &http, ret);
}

static void opened_on_answer(
	struct asker_wait *wait, enum asker_end how, const struct net_judgement *asked)
{
	struct opened_request *w = container_of(wait, struct opened_request, wait);
	struct opened *o = w->all;
	struct net_judgement j = { 0 };
	struct lend_request r = { 0 };
	const int error = lend_request_decode(&r, w->body.data, w->body.len);

	if (error == 0 && how == ASKER_REFUSED)
		opened_deny(o, &r, asked);
	else if (error == 0 && opened_judge(o, &r, how == ASKER_AGREED, &j))
		opened_allow(o, &r);
	else if (error == 0)
		opened_deny(o, &r, &j);
	opened_free(w);
}

/* Whether it waits for the user; if not, j's reason may say why. */
static bool opened_wait(struct opened *o, const struct lend_request *r, struct net_judgement *j)
{
	const struct destination d = opened_destination(o);
	const struct http_request http = opened_http(r);
	char shown[NET_REQUEST_BYTES];
	struct opened_request *w;

	if (!j->asks || !o->asker || !judge_show_request(&d, &http, shown))
		return false;
	w = calloc(1, sizeof(*w));
	if (!w)
		return false;
	*w = (struct opened_request){ .all = o,
		.next = o->first,
		.wait = { .done = opened_on_answer, .program = o->program } };
	o->first = w;
	*o->asks = true;
	if (lend_request_encode(r, &w->body) == 0 && asker_join(o->asker, &w->wait, j, shown))
		return true;
	opened_free(w);
	return false;
}

void opened_ask(struct opened *o, const struct lend_request *r)
{
	struct net_judgement j = { 0 };

	if (opened_judge(o, r, false, &j))
		opened_allow(o, r);
	else if (!opened_wait(o, r, &j))
		opened_deny(o, r, &j);
}

void opened_review(struct opened *o)
{
	for (struct opened_request *w = o->first, *next; w; w = next) {
		struct net_judgement j = { 0 };
		struct lend_request r;
		bool is_allowed;

		next = w->next;
		if (lend_request_decode(&r, w->body.data, w->body.len) < 0)
			continue;
		is_allowed = opened_judge(o, &r, false, &j);
		if (!is_allowed && j.asks)
			continue;
		asker_leave(&w->wait, QUESTION_ANSWERED);
		if (is_allowed)
			opened_allow(o, &r);
		else
			opened_deny(o, &r, &j);
		opened_free(w);
	}
}

void opened_deinit(struct opened *o)
{
	for (struct opened_request *w = o->first, *next; w; w = next) {
		next = w->next;
		asker_leave(&w->wait, QUESTION_GIVEN_UP);
		opened_free(w);
	}
}
