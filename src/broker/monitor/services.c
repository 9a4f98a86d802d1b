/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods of services: the policy is asked for each target that a call names, so that a caller
 * hears of what it may not do before it hears of what is missing; then rate_limit and max_size are
 * applied, and the call goes to its back end (broker/service/link.h), which is started if it does
 * not run. The log has what the policy said, what failed, and what the row wants recorded.
 */
#include "broker/monitor/services.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "broker/monitor/handlers.h"
#include "broker/monitor/internal.h"
#include "broker/monitor/mail.h"
#include "broker/service/grants.h"
#include "broker/service/link.h"
#include "broker/service/rate.h"

enum {
	SERVICES_REASON_MAX = 1024,
	SERVICES_BYTES_MAX = 64 << 20, /* of files that go along with calls of one back end */
};

static const struct rpc_refusal services_busy = { .class = RPC_RATE,
	.message = "too many calls of this service are under way",
	.hint = "wait for answers first" };

/* What is kept of a back end: its process once it was used, and how often it was called. */
struct services {
	struct service_link *link;
	struct service_rates rates;
	uint64_t bytes; /* that go along with the calls that are under way */
};

struct services_call {
	struct monitor_call *call;
	const struct service_backend *backend;
	const char **targets;
	size_t n_targets;
	bool is_any; /* one target that is granted is enough: the back end leaves out the others */
	uint64_t max_size; /* 0: no bound */
	struct rate rates[SERVICE_RATES_MAX];
	size_t n_rates;
	bool has_many_rates;      /* more than there is room for: it is refused */
	struct services *charged; /* for request.bytes; or NULL */
	struct services_request request;
	struct link_call link;
	bool has_fds, is_repeated;
	int code; /* of what a thread did */
	struct corral_error *error;
	struct error missing;
	struct service_start start;
};

static services_preparation *const services_preparations[METHOD_COUNT] = {
	[METHOD_EMAIL_SEND] = mail_prepare,
};

static void services_free(struct monitor_call *c)
{
	struct services_call *x = c->state;

	c->state = NULL;
	if (x->charged)
		x->charged->bytes -= x->request.bytes;
	service_link_cancel(&x->link);
	for (size_t i = 0; i < x->request.n_fds; i++)
		fd_close(&x->request.fds[i]);
	service_start_deinit(&x->start);
	corral_error_free(x->error);
	free(x);
}

/* The log */

struct services_record {
	struct pool_job job;
	struct corral_audit *audit;
	uint32_t pid;
	char *target, *reason;
	bool has_failed;
};

static void services_record_work(struct pool_job *j)
{
	const struct services_record *r = container_of(j, struct services_record, job);
	struct corral_audit_event event = { .size = sizeof(event),
		.program = "broker",
		.pid = r->pid,
		.action = "service",
		.target = r->target,
		.decision = r->has_failed ? "failed" : "allowed",
		.reason = r->reason,
		.exact = 1,
		.count = 1 };

	(void)corral_audit_add(r->audit, &event);
}

static void services_record_done(struct pool_job *j)
{
	struct services_record *r = container_of(j, struct services_record, job);

	free(r->target);
	free(r->reason);
	free(r);
}

/* What became of a call: a disk may be slow, so a thread writes it, before the broker ends. */
static void services_record(struct services_call *x, bool has_failed, const char *reason)
{
	struct monitor *m = x->call->monitor;
	struct services_record *r = calloc(1, sizeof(*r));

	if (!r)
		return;
	*r = (struct services_record){
		.job = { .work = services_record_work,
			.done = services_record_done,
			.is_owed = true },
		.audit = monitor_audit(m),
		.pid = x->call->call.pid,
		.target = strdup(x->n_targets ? x->targets[0] : x->call->call.method->grant),
		.reason = strndup(reason, SERVICES_REASON_MAX),
		.has_failed = has_failed,
	};
	if (r->target && r->reason && !m->is_ending && pool_add(m->pool, &r->job) == 0)
		return;
	if (r->target && r->reason)
		services_record_work(&r->job);
	services_record_done(&r->job);
}

static void services_refuse(struct monitor_call *c, const struct rpc_refusal *why)
{
	struct services_call *x = c->state;

	services_record(x, true, why->message);
	services_free(c);
	monitor_refuse(c, why);
}

/* The end of a call */

static uint64_t services_bytes(const struct schema_field *fields, const struct values *v)
{
	uint64_t bytes = 0;

	for (size_t i = 0; fields[i].name; i++) {
		bytes += v->v[i].len;
		for (size_t k = 0; k < v->v[i].n && v->v[i].items; k++)
			bytes += strlen(v->v[i].items[k].text);
	}
	return bytes;
}

/* Whether it is within max_size; else the call was refused. */
static bool services_fits(struct monitor_call *c, const char *what, uint64_t bytes)
{
	const struct services_call *x = c->state;
	struct rpc_refusal why = { .class = RPC_SCOPE,
		.message = "it is larger than the policy allows",
		.hint = "max_size of the service in the policy sets the limit" };
	const char *text;

	if (x->max_size == 0 || bytes <= x->max_size)
		return true;
	text = arena_printf(&c->arena, "%s has %llu bytes; the policy allows %llu", what,
		(unsigned long long)bytes, (unsigned long long)x->max_size);
	if (text)
		why.message = text;
	services_refuse(c, &why);
	return false;
}

static void services_on_answer(struct link_call *l, const struct values *results)
{
	struct services_call *x = container_of(l, struct services_call, link);
	struct monitor_call *c = x->call;
	const struct method *m = c->call.method;

	if (!services_fits(c, "the answer", services_bytes(m->results, results)))
		return;
	for (size_t i = 0; m->record && m->results[i].name; i++)
		if (strcmp(m->results[i].name, m->record) == 0 && results->v[i].text)
			services_record(x, false, results->v[i].text);
	services_free(c);
	monitor_answer(c, results);
}

static void services_gather(struct monitor_call *c);
static void services_gathered(struct monitor_call *c);

/* One that no process had goes to the next, once. Its descriptors would be closed. */
static bool services_try_again(struct services_call *x)
{
	if (!x->link.is_unserved || x->is_repeated || x->has_fds)
		return false;
	x->is_repeated = true;
	service_start_deinit(&x->start);
	return monitor_work(x->call, services_gather, services_gathered) == 0;
}

static void services_on_refusal(struct link_call *l, const struct rpc_refusal *why)
{
	struct services_call *x = container_of(l, struct services_call, link);

	if (!services_try_again(x))
		services_refuse(x->call, why);
}

/* One that its caller has no room for is left out. */
static void services_on_note(struct link_call *l, const struct values *notes)
{
	(void)monitor_note(container_of(l, struct services_call, link)->call, notes);
}

/* Sending it */

/* NULL: out of memory. */
static struct services *services_of(struct monitor *m, const struct service_backend *b)
{
	struct services *s;

	if (!m->services)
		m->services = calloc(service_backend_count, sizeof(*m->services));
	s = m->services ? &m->services[b - service_backends] : NULL;
	if (s && !s->link) {
		s->link = malloc(sizeof(*s->link));
		if (!s->link)
			return NULL;
		service_link_init(s->link, b, m->o.loop);
	}
	return s;
}

void services_end(struct services *s)
{
	for (size_t i = 0; s && i < service_backend_count; i++) {
		if (s[i].link)
			service_link_deinit(s[i].link);
		free(s[i].link);
	}
	free(s);
}

static void services_send(struct monitor_call *c, struct service_link *l)
{
	struct services_call *x = c->state;
	int r = call_encode(&c->call, &x->link.body);

	x->link.method = c->call.method;
	x->link.timeout_ms = method_timeout_ms(c->call.method, &c->call.params);
	x->link.answered = services_on_answer;
	x->link.refused = services_on_refusal;
	x->link.noted = services_on_note;
	memcpy(x->link.fds, x->request.fds, sizeof(x->link.fds));
	x->link.n_fds = x->request.n_fds;
	x->has_fds = x->request.n_fds > 0;
	x->request.n_fds = 0;
	if (r == 0 && x->link.body.failed)
		r = -ENOMEM;
	if (r == 0)
		r = service_link_call(l, &x->link);
	if (r == 0)
		return;
	buffer_deinit(&x->link.body);
	for (size_t i = 0; i < x->link.n_fds; i++)
		fd_close(&x->link.fds[i]);
	if (r == -EBUSY) {
		services_refuse(c, &services_busy);
		return;
	}
	services_free(c);
	monitor_fail(c, RPC_INTERNAL, r, NULL);
}

/* Starting the back end */

static void services_gather(struct monitor_call *c)
{
	const struct broker_setup *setup = monitor_setup(c->monitor);
	struct services_call *x = c->state;
	const struct service_session session = { .sandbox = setup->sandbox,
		.services = setup->services,
		.home = setup->variables.values[VARIABLE_HOME],
		.environment = setup->user_environment,
		.n_environment = setup->n_user_environment,
		.layers = setup->layers,
		.n_layers = setup->n_layers,
		.variables = &setup->variables,
		.warden = setup->warden,
		.sink = corral_audit_sandbox,
		.sink_context = monitor_audit(c->monitor) };

	x->code = service_start_prepare(&x->start, x->backend, &session, &x->missing);
}

static void services_refuse_missing(struct monitor_call *c)
{
	const struct services_call *x = c->state;
	struct rpc_refusal why = { .class = RPC_SERVICE, .message = "the service is not there" };
	auto_buffer text = { 0 };

	if (x->missing.file[0])
		buffer_printf(&text, "%s:%u: ", x->missing.file, x->missing.line);
	buffer_adds(&text, x->missing.text);
	if (!text.failed && text.len > 0)
		why.message = arena_strdup(&c->arena, buffer_text(&text));
	if (x->missing.hint[0])
		why.hint = arena_strdup(&c->arena, x->missing.hint);
	services_refuse(c, &why);
}

static void services_gathered(struct monitor_call *c)
{
	struct services_call *x = c->state;
	const struct services *s = services_of(c->monitor, x->backend);
	struct service_link *l = s ? s->link : NULL;
	int r = !l ? -ENOMEM : x->code < 0 ? x->code : service_link_start(l, &x->start);

	if (r == 0) {
		services_send(c, l);
		return;
	}
	if (r == -ENOMEM) {
		services_free(c);
		monitor_fail(c, RPC_INTERNAL, r, NULL);
		return;
	}
	if (x->code == 0 && r == -EAGAIN) {
		(void)error_set(&x->missing, r, NULL, "%s: %s; it was started too often",
			x->backend->name, l->reason);
		error_hint(&x->missing, "%s", l->hint[0] ? l->hint : "wait for ten seconds");
	} else if (x->code == 0) {
		(void)error_set(&x->missing, r, NULL, "cannot start %s: %s", x->start.program,
			strerror(-r));
	}
	services_refuse_missing(c);
}

/* May it be done? */

/* One more call, by the policy's rates or the row's. What is refused does not count. */
static bool services_admit(const struct monitor_call *c, struct services *s)
{
	const struct services_call *x = c->state;
	const struct rate usual = { c->call.method->per_minute, 60 };
	const uint64_t now = loop_now(c->monitor->o.loop);

	if (x->has_many_rates)
		return false;
	if (x->n_rates > 0)
		return service_rates_admit(&s->rates, x->rates, x->n_rates, now);
	return usual.count == 0 || service_rates_admit(&s->rates, &usual, 1, now);
}

/* Contents of files are in memory until the call is over: there is room for some. */
static bool services_charge(struct services_call *x, struct services *s)
{
	if (x->request.bytes > SERVICES_BYTES_MAX - s->bytes)
		return false;
	s->bytes += x->request.bytes;
	x->charged = s;
	return true;
}

static void services_checked(struct monitor_call *c)
{
	static const struct rpc_refusal often = { .class = RPC_RATE,
		.message = "the service was called too often",
		.hint = "rate_limit of the service in the policy sets the limit; wait" };
	struct services_call *x = c->state;
	struct services *s = services_of(c->monitor, x->backend);
	struct corral_error *e = x->error;
	int r = x->code < 0 ? x->code : s ? 0 : -ENOMEM;

	x->error = NULL;
	if (r < 0) {
		const enum rpc_class class = x->request.class;

		services_free(c);
		monitor_fail(c, class, r, e);
		return;
	}
	if (!services_fits(c, "the call",
		    services_bytes(c->call.method->params, &c->call.params) + x->request.bytes))
		return;
	if (!services_charge(x, s)) {
		services_refuse(c, &services_busy);
		return;
	}
	if (!services_admit(c, s)) {
		services_refuse(c, &often);
		return;
	}
	if (service_link_runs(s->link)) {
		services_send(c, s->link);
		return;
	}
	if (c->call.method->is_last) {
		struct values v = { 0 };

		v.v[0] = value_number(SCHEMA_FLAG, 0);
		services_free(c);
		monitor_answer(c, &v);
		return;
	}
	r = monitor_work(c, services_gather, services_gathered);
	if (r < 0) {
		services_free(c);
		monitor_fail(c, RPC_INTERNAL, r, NULL);
	}
}

static void services_narrow(struct services_call *x, const char *target)
{
	struct service_bounds b;

	grants_bounds(x->call->monitor->policy, target, &b);
	if (b.max_size && (!x->max_size || b.max_size < x->max_size))
		x->max_size = b.max_size;
	if (b.rate.count && !service_rate_add(x->rates, &x->n_rates, &b.rate))
		x->has_many_rates = true;
}

/* In a thread. */
static void services_check(struct monitor_call *c)
{
	struct services_call *x = c->state;
	services_preparation *prepare = services_preparations[c->call.method->id];
	size_t n_allowed = 0;

	for (size_t i = 0; i < x->n_targets && (x->is_any || x->code == 0); i++) {
		corral_error_free(x->error);
		x->error = NULL;
		x->code = corral_enclave_check(monitor_enclave(c->monitor), &c->by, CORRAL_SERVICE,
			x->targets[i], &x->error);
		if (x->code < 0)
			continue;
		services_narrow(x, x->targets[i]);
		n_allowed++;
	}
	if (x->is_any && n_allowed > 0) {
		corral_error_free(x->error);
		x->error = NULL;
		x->code = 0;
	}
	if (x->code == 0 && prepare)
		x->code = prepare(c, &x->request, &x->error);
}

/* Targets */

static int services_add(struct services_call *x, const char *value)
{
	struct monitor_call *c = x->call;
	const char *grant = c->call.method->grant;
	const char *target = value ? arena_printf(&c->arena, "%s:%s", grant, value) : grant;

	if (!target)
		return -ENOMEM;
	x->targets[x->n_targets++] = target;
	return 0;
}

static int services_add_parameter(struct services_call *x, const char *name)
{
	const struct broker_call *call = &x->call->call;
	const int at = name ? method_param(call->method, name, false) : -1;
	const struct value *v = at < 0 ? NULL : &call->params.v[at];
	struct arena *a = &x->call->arena;
	int r = 0;

	if (!v || v->type == SCHEMA_NONE)
		return 0;
	if (v->type != SCHEMA_WORDS)
		return services_add(x, v->text);
	for (size_t i = 0; r == 0 && i < v->n; i++) {
		const char *text = v->items[i].text;

		text = call->method->mailboxes ? mail_address(a, text) : text;
		r = text ? services_add(x, text) : -ENOMEM;
	}
	return r;
}

/* All that is granted: the patterns of the first layer that has a scope. Each matches itself. */
static int services_add_granted(struct services_call *x)
{
	const struct monitor *m = x->call->monitor;
	const struct value_item *items;
	size_t n = 0;
	int r = 0;

	items = refusal_scopes_of(m, x->call->call.method->grant, &x->call->arena, &n);
	if (!items)
		return -ENOMEM;
	x->is_any = true;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = services_add(x, items[i].text);
	return r == 0 && n == 0 ? services_add(x, NULL) : r;
}

static int services_list_targets(struct services_call *x)
{
	const struct broker_call *call = &x->call->call;
	const struct method *m = call->method;
	size_t max = REFUSAL_ALLOWED_MAX + METHOD_TARGETS_MAX;
	int r;

	for (size_t i = 0; m->params[i].name; i++)
		max += call->params.v[i].n;
	x->targets = arena_calloc(&x->call->arena, max, sizeof(*x->targets));
	if (!x->targets)
		return -ENOMEM;
	r = services_add_parameter(x, m->target);
	for (size_t i = 0; r == 0 && i < METHOD_TARGETS_MAX; i++)
		r = services_add_parameter(x, m->more_targets[i]);
	if (r < 0 || x->n_targets > 0)
		return r;
	return m->filters ? services_add_granted(x) : services_add(x, NULL);
}

void services_forward(struct monitor_call *c)
{
	struct rpc_refusal wrong = { .class = RPC_PARAMS };
	struct services_call *x = NULL;
	int r = c->call.method->mailboxes ? mail_read_recipients(c, &wrong.message) : 0;

	if (wrong.message) {
		monitor_refuse(c, &wrong);
		return;
	}
	x = r < 0 ? NULL : calloc(1, sizeof(*x));
	r = x ? 0 : -ENOMEM;
	if (r == 0) {
		x->call = c;
		x->request.class = RPC_PARAMS;
		x->backend = service_backend_find(c->call.method->service);
		c->state = x;
		c->cancel = services_free;
		r = x->backend ? services_list_targets(x) : -EINVAL;
		if (r == 0)
			r = monitor_work(c, services_check, services_checked);
		if (r < 0)
			services_free(c);
	}
	if (r < 0)
		monitor_fail(c, RPC_INTERNAL, r, NULL);
}
