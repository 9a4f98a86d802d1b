/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/service/try.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker/call.h"
#include "broker/service/link.h"
#include "broker/service/setup.h"
#include "launch/broker.h"

enum { TRY_MS = 40 * 1000, LOOK_MS = 5 * 1000 };

int try_session(struct arena *a, struct service_session *ret)
{
	const char *home = getenv("HOME");

	*ret = (struct service_session){ .sandbox = "corral service",
		.home = home && home[0] == '/' ? home : NULL };
	return launch_broker_environment(
		a, (const char *const *)environ, &ret->environment, &ret->n_environment);
}

/* The error as one line and a hint. */
static int try_keep(struct arena *a, const struct error *e, struct try_result *ret)
{
	ret->text = e->file[0] ? arena_printf(a, "%s:%u: %s", e->file, e->line, e->text)
			       : arena_strdup(a, e->text);
	ret->hint = arena_strdup(a, e->hint);
	return ret->text && ret->hint ? 0 : -ENOMEM;
}

/* *start is empty where something is missing. */
static int try_prepare(struct arena *a, const struct service_session *s,
	const struct service_backend *b, struct try_result *ret, struct service_start *start)
{
	struct error e = { 0 };
	int r = service_start_prepare(start, b, s, &e);

	*ret = (struct try_result){
		.backend = b, .program = service_program(a, s, b), .text = "", .hint = ""
	};
	if (!ret->program)
		return -ENOMEM;
	ret->is_installed = access(ret->program, X_OK) == 0;
	ret->is_ready = r == 0;
	if (r == 0 && start->uses && *start->uses) {
		ret->text = arena_printf(a, "%s: %s", b->help, start->uses);
		return ret->text ? 0 : -ENOMEM;
	}
	return r < 0 ? try_keep(a, &e, ret) : 0;
}

/* One probe */

struct try_probe {
	struct link_call call;
	struct arena *arena;
	struct try_result *result;
	bool is_over;
	int code;
};

static void try_set(struct try_probe *p, bool works, const char *text, const char *hint)
{
	p->is_over = true;
	p->result->was_tried = true;
	p->result->works = works;
	p->result->text = arena_strdup(p->arena, text);
	p->result->hint = arena_strdup(p->arena, hint ? hint : "");
	p->code = p->result->text && p->result->hint ? 0 : -ENOMEM;
}

static void try_on_answer(struct link_call *c, const struct values *results)
{
	try_set(container_of(c, struct try_probe, call), true,
		c->method ? "" : results->v[SERVICE_PROBE_FOUND].text, NULL);
}

static void try_on_refusal(struct link_call *c, const struct rpc_refusal *why)
{
	try_set(container_of(c, struct try_probe, call), false, why->message, why->hint);
}

static int try_probe(struct service_start *start, struct try_probe *p)
{
	struct service_link *l = malloc(sizeof(*l));
	struct loop *loop = NULL;
	int r = l ? loop_new(&loop) : -ENOMEM;

	if (r == 0) {
		service_link_init(l, start->backend, loop);
		r = service_link_start(l, start);
		if (r == 0)
			r = service_link_call(l, &p->call);
		while (r == 0 && !p->is_over)
			r = loop_turn(loop, -1);
		service_link_deinit(l);
		loop_free(loop);
	}
	free(l);
	return r < 0 ? r : p->code;
}

/* call: NULL, a probe. */
static int try_start(struct arena *a, const struct service_session *s,
	const struct service_backend *b, const struct broker_call *call, uint32_t ms,
	struct try_result *ret)
{
	struct try_probe p = {
		.call = { .timeout_ms = ms, .answered = try_on_answer, .refused = try_on_refusal },
		.arena = a,
		.result = ret
	};
	struct service_start start = { 0 };
	int r = try_prepare(a, s, b, ret, &start);

	p.call.method = call ? call->method : NULL;
	if (r == 0 && call)
		r = call_encode(call, &p.call.body);
	if (r == 0 && ret->is_ready)
		r = try_probe(&start, &p);
	else
		buffer_deinit(&p.call.body);
	service_start_deinit(&start);
	ret->was_tried = true;
	return r;
}

int try_run(struct arena *a, const struct service_session *s, const struct service_backend *b,
	struct try_result *ret)
{
	return try_start(a, s, b, NULL, TRY_MS, ret);
}

int try_call(struct arena *a, const struct service_session *s, const struct service_backend *b,
	const struct broker_call *call, uint32_t ms, struct try_result *ret)
{
	return try_start(a, s, b, call, ms, ret);
}

/* What is of a desktop is there or not, and no setting says it. */
static int try_desktop(struct arena *a, const struct service_session *s,
	const struct service_backend *b, struct try_result *ret)
{
	int r = try_start(a, s, b, NULL, LOOK_MS, ret);

	ret->is_ready = r == 0 && ret->works;
	ret->was_tried = false;
	if (r == 0 && ret->works)
		ret->text = arena_printf(a, "%s: %s", b->help, ret->text);
	return r < 0 ? r : ret->text ? 0 : -ENOMEM;
}

int try_look(struct arena *a, const struct service_session *s, const struct service_backend *b,
	struct try_result *ret)
{
	struct service_session session = *s;
	struct service_start start = { 0 };
	int r;

	session.looks_only = true;
	r = try_prepare(a, &session, b, ret, &start);
	service_start_deinit(&start);
	return r == 0 && ret->is_ready && ret->is_installed && b->is_of_desktop
		       ? try_desktop(a, s, b, ret)
		       : r;
}
