/* SPDX-License-Identifier: Apache-2.0 */
/* Questions, answers and grants: the API's side. The sandbox decides (holder/live.h). */
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "daemon/api/api.h"
#include "daemon/peers/orders.h"
#include "daemon/peers/peers.h"
#include "daemon/peers/questions.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/supervisor.h"
#include "policy/operation-names.h"
#include "wire/question.h"

enum { API_SECOND_MS = 1000 };

static uint64_t api_ttl_ms(const struct route_call *c)
{
	const char *seconds = route_value(c, "seconds");

	return seconds ? strtoull(seconds, NULL, 10) * API_SECOND_MS : 0;
}

void api_questions(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_buffer json = { 0 };

	(void)c;
	questions_print(s, &json);
	api_send(s, id, &json);
}

void api_grants(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	auto_buffer json = { 0 };

	(void)c;
	questions_print_all_grants(s, &json);
	api_send(s, id, &json);
}

void api_answer(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	const char *word = route_value(c, "answer"), *scope = route_value(c, "scope");
	struct answer a = { .ttl_ms = api_ttl_ms(c),
		.kind = (uint32_t)words_find(route_answers, word, strlen(word)),
		.pattern = scope ? scope : "" };
	auto_buffer body = { 0 };
	const struct order_request order = {
		.type = FRAME_ANSWER, .call = id, .body = &body, .done = "answered"
	};
	struct sandbox *b = NULL;

	switch (questions_find(s, route_value(c, "id"), &b, &a.question)) {
	case QUESTIONS_OPEN:
		break;
	case QUESTIONS_ANSWERED:
		api_fail(s, id, 409, "the question was answered already");
		return;
	case QUESTIONS_EXPIRED:
		api_fail(s, id, 404, "the sandbox does not wait for this answer any more");
		return;
	case QUESTIONS_UNKNOWN:
		api_fail(s, id, 404,
			"there is no such question; `corral questions list` and GET /api/questions "
			"list them");
		return;
	}
	if (a.kind == ANSWER_DENY && a.ttl_ms > QUESTION_DENIED_MAX_S * API_SECOND_MS) {
		api_fail(s, id, 400, "a denial is remembered for 300 seconds at most");
		return;
	}
	if (scope && a.kind != ANSWER_ALLOW) {
		api_fail(s, id, 400, "a scope is for the answer `allow`");
		return;
	}
	if (answer_encode(&a, &body) < 0) {
		api_fail(s, id, 400, "this answer cannot be sent");
		return;
	}
	orders_send(b, &order);
}

/* Whether it could mean more than what it names: the target of a denial was chosen by a command. */
static bool api_is_pattern(uint32_t op, const char *target)
{
	if (op == OPERATION_NET_CONNECT)
		return strpbrk(target, "*?{}\\$") || strncmp(target, "unix:", 5) == 0;
	return strpbrk(target, op == OPERATION_EXEC ? "*?[]{}\\$ :\"'" : "*?[]{}\\$");
}

void api_sandbox_grant(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	struct sandbox *b = peers_find(s, route_value(c, "id"));
	const char *action = route_value(c, "action"), *exact = route_value(c, "exact");
	const struct live_grant g = { .until_ms = api_ttl_ms(c),
		.op = (uint32_t)words_find(operation_names, action, strlen(action)),
		.by = GRANT_BY_API,
		.pattern = route_value(c, "target") };
	auto_buffer body = { 0 };

	if (!b) {
		api_fail(s, id, 404,
			"there is no such sandbox; `corral ps` and GET /api/sandboxes list them");
		return;
	}
	if (exact && strcmp(exact, "true") == 0 && api_is_pattern(g.op, g.pattern)) {
		api_fail(s, id, 400,
			"the target is a pattern, or has characters of one: it would grant more "
			"than what "
			"was denied. Type what is meant into the form");
		return;
	}
	if (live_grant_encode(&g, &body) < 0) {
		api_fail(s, id, 400, "this grant cannot be sent");
		return;
	}
	orders_send(b, &(struct order_request){ .type = FRAME_GRANT, .call = id, .body = &body });
}

void api_revoke(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	uint64_t number = 0;
	struct sandbox *b = questions_find_grant(s, route_value(c, "id"), &number);
	auto_buffer body = { 0 };

	if (!b) {
		api_fail(s, id, 404,
			"there is no such grant; `corral grants list` and GET /api/grants list "
			"them");
		return;
	}
	buffer_add(&body, &number, sizeof(number));
	orders_send(
		b, &(struct order_request){
			   .type = FRAME_REVOKE, .call = id, .body = &body, .done = "removed" });
}
