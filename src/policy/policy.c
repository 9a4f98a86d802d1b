/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "policy/baseline.h"
#include "policy/match/command.h"
#include "policy/match/env-name.h"
#include "policy/match/secret.h"
#include "policy/match/service.h"
#include "policy/network/host.h"
#include "policy/network/one-host.h"
#include "policy/service-table.h"

struct policy {
	struct arena arena;
	struct permissions **copies; /* what the layers point into */
	size_t n_copies;
	struct layer *layers;
	size_t n_layers, cap_layers;
	struct baseline_home homes[2]; /* of the user, with and without links */
	const char **opened;           /* policy_options.opened */
	struct host_request *opened_hosts;
	size_t n_opened;
};

/* Compiling */

/* Room for what is compiled: enough to start with, and so much for each byte that was written. */
enum { BYTES_MIN = 16 << 20, BYTES_PER_BYTE = 64 };

static int policy_add_layer(struct policy *p, const struct permissions *from,
	const struct policy_options *o, struct error *e)
{
	struct layer l;
	int r = 0;

	if (from->extends) {
		(void)error_set(e, -EINVAL, &from->extends_where,
			"`extends: %s` cannot be resolved here", from->extends);
		error_hint(e, "use what `corral policy show %s` prints",
			from->origin ? from->origin : "FILE");
		return -EINVAL;
	}
	for (size_t i = 0; r == 0 && i < from->n_all_of; i++)
		r = policy_add_layer(p, from->all_of[i], o, e);
	if (from->n_all_of)
		return r;
	r = layer_compile(&l, &p->arena, from, o ? o->variables : NULL, o ? o->resolver : NULL, e);
	if (r < 0)
		return r;
	if (ARENA_PUSH(&p->arena, p->layers, p->n_layers, p->cap_layers, l) < 0) {
		layer_deinit(&l);
		return -ENOMEM;
	}
	return 0;
}

static int add_homes(struct policy *p, const struct policy_options *o)
{
	const char *const homes[] = {
		o && o->variables ? o->variables->values[VARIABLE_HOME] : NULL,
		o ? o->real_home : NULL,
	};

	for (size_t i = 0; i < ROWS(homes); i++) {
		const char *copy = homes[i] ? arena_strdup(&p->arena, homes[i]) : NULL;

		if (homes[i] && !copy)
			return -ENOMEM;
		p->homes[i] = baseline_paths_home(copy);
	}
	return 0;
}

static int policy_add_opened(struct policy *p, const struct policy_options *o)
{
	const size_t n = o ? o->n_opened : 0;

	if (n == 0)
		return 0;
	p->opened = arena_calloc(&p->arena, n, sizeof(*p->opened));
	p->opened_hosts = arena_calloc(&p->arena, n, sizeof(*p->opened_hosts));
	for (size_t i = 0; p->opened && p->opened_hosts && i < n; i++) {
		const char *text = o->opened[i];

		if (one_host_parse(text, strlen(text), &p->opened_hosts[i]) < 0)
			return -EINVAL;
		p->opened[i] = arena_strdup(&p->arena, text);
		if (!p->opened[i])
			return -ENOMEM;
		p->n_opened++;
	}
	return p->n_opened == n ? 0 : -ENOMEM;
}

const char *const *policy_opened(const struct policy *p, size_t *ret_n)
{
	*ret_n = p->n_opened;
	return p->opened;
}

static int policy_add_inspected(
	const struct permissions *p, struct arena *a, const char ***items, size_t *n, size_t *cap)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = policy_add_inspected(p->all_of[i], a, items, n, cap);
	for (size_t i = 0; r == 0 && i < p->inspect.n; i++) {
		const char *host = p->inspect.items[i].all[0];
		size_t k = 0;

		while (k < *n && strcmp((*items)[k], host) != 0)
			k++;
		if (k == *n)
			r = ARENA_PUSH(a, *items, *n, *cap, host);
	}
	return r;
}

int policy_inspected(const struct permissions *const *layers, size_t n, struct arena *a,
	const char *const **ret, size_t *ret_n)
{
	const char **items = NULL;
	size_t count = 0, cap = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++)
		r = policy_add_inspected(layers[i], a, &items, &count, &cap);
	if (r < 0)
		return r;
	*ret = items;
	*ret_n = count;
	return 0;
}

int policy_new(struct policy **ret, const struct permissions *const *layers, size_t n,
	const struct policy_options *o, struct error *e)
{
	auto_policy *p = calloc(1, sizeof(*p));
	int r = p ? 0 : -ENOMEM;

	if (r == 0) {
		arena_init(&p->arena, BYTES_MIN + n * sizeof(struct permissions *));
		p->copies = arena_calloc(&p->arena, n + 1, sizeof(struct permissions *));
		r = p->copies ? add_homes(p, o) : -ENOMEM;
	}
	if (r == 0)
		r = policy_add_opened(p, o);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct permissions *layer = layers[i];

		if (!o || !o->borrows) {
			struct permissions *copy = permissions_copy(layer);

			if (!copy) {
				r = -ENOMEM;
				break;
			}
			layer = p->copies[p->n_copies++] = copy;
		}
		p->arena.budget += layer->arena->used * BYTES_PER_BYTE;
		r = policy_add_layer(p, layer, o, e);
	}
	/* A few {a,b} groups in each of many patterns make a small file stand for a great many. */
	if (r == -ENOMEM && p && p->arena.used >= p->arena.budget / 4) {
		r = error_set(e, -E2BIG, NULL, "the patterns expand to too many");
		error_hint(e, "use fewer {…} groups in one pattern");
	} else if (r == -ENOMEM) {
		r = error_no_memory(e);
	}
	if (r < 0)
		return r;
	*ret = p;
	p = NULL;
	return 0;
}

void policy_free(struct policy *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_layers; i++)
		layer_deinit(&p->layers[i]);
	for (size_t i = 0; i < p->n_copies; i++)
		permissions_free(p->copies[i]);
	arena_deinit(&p->arena);
	free(p);
}

/* A request made ready: parsed once, whatever the number of layers. */
struct policy_question {
	const struct policy *policy;
	enum operation op;
	const char *path; /* fs.*, exec by path: normal */
	size_t path_len;
	char path_bytes[PATH_BYTES];
	const struct request *request;
	struct host_request host;
	bool is_host;                     /* it is about `host` */
	const struct baseline_net *guard; /* what guards that place, or NULL */
	struct command_key command;
	struct service_request service;
	struct secret_request secret;
	char name[PATH_BYTES]; /* env: "/NAME" */
	size_t name_len;
	char value[PATH_BYTES]; /* env: "/NAME=value", or "" */
	size_t value_len;
};

static int ask_path(struct policy_question *q)
{
	const char *target = q->request->target;
	size_t len = strnlen(target, PATH_BYTES);

	if (len >= PATH_BYTES)
		return -ENAMETOOLONG;
	if (path_is_normal(target, len)) {
		q->path = target;
		q->path_len = len;
		return 0;
	}
	q->path = q->path_bytes;
	return path_normalize(target, len, q->path_bytes, &q->path_len);
}

/* Whether whoever asks sees the requests of a connection there. */
static bool ask_is_opened(const struct policy *p, const struct host_request *r)
{
	for (size_t i = 0; i < p->n_opened; i++)
		if (one_host_is(&p->opened_hosts[i], r))
			return true;
	return false;
}

static int ask_host(struct policy_question *q)
{
	int r = host_request_parse(&q->host, q->request->target, NULL);

	if (r < 0)
		return r;
	if (q->request->method)
		q->host.method = host_method(q->request->method);
	q->host.is_opened = q->policy->n_opened > 0 && !q->host.has_url_path &&
			    q->host.transport == TRANSPORT_TCP && !q->request->method &&
			    ask_is_opened(q->policy, &q->host);
	q->is_host = true;
	q->guard = q->host.transport == TRANSPORT_UNIX ? NULL : baseline_guard(&q->host);
	return 0;
}

static int ask_exec(struct policy_question *q)
{
	const char *program = q->request->target;
	int r = 0;

	if (*program == '\0')
		return -EINVAL;
	if (strchr(program, '/')) {
		r = ask_path(q);
		program = q->path;
	}
	if (r < 0)
		return r;
	/* A path inside a normal form ends where the form ends: both are NUL-terminated. */
	command_key_start(&q->command, program);
	for (size_t i = 0; q->request->args && i < q->request->n_args; i++)
		command_key_add(&q->command, q->request->args[i]);
	if (!q->request->args)
		command_key_add_unknown(&q->command);
	return 0;
}

static int ask_name(struct policy_question *q)
{
	const char *target = q->request->target;
	size_t len = strnlen(target, PATH_BYTES), name = strcspn(target, "=");

	if (name == 0 || len > ENV_NAME_ITEM_MAX || memchr(target, '/', name))
		return -EINVAL;
	q->name[0] = '/';
	memcpy(q->name + 1, target, name);
	q->name_len = name + 1;
	if (target[name] == '=') {
		q->value[0] = '/';
		memcpy(q->value + 1, target, len);
		q->value_len = len + 1;
	}
	return 0;
}

static int ask_service(struct policy_question *q)
{
	const char *target = q->request->target;
	int r = strnlen(target, PATH_BYTES) < PATH_BYTES
			? service_request_parse(&q->service, target)
			: -ENAMETOOLONG;

	/* Only a pattern may leave out the access. */
	if (r == 0 && !q->service.access)
		r = -EINVAL;
	if (r == 0)
		r = service_value_normal(&q->service, q->value, &q->host);
	q->is_host = r == 0 && q->service.host;
	q->guard = q->is_host ? baseline_guard(&q->host) : NULL;
	return r;
}

static int ask_secret(struct policy_question *q)
{
	return secret_request_parse(&q->secret, q->request->target);
}

/* One layer */

static void decide_by_source(
	const struct layer *l, const struct sources *sources, uint32_t rank, struct decision *d)
{
	d->layer = l;
	if (rank == RANK_NONE) {
		d->why = DECISION_NO_GRANT;
		d->verdict = l->fallback;
		/* Audit blocks only what a rule denies. */
		if (l->mode == MODE_AUDIT && d->verdict != VERDICT_ALLOW) {
			d->monitored = true;
			d->would = d->verdict;
			d->verdict = VERDICT_ALLOW;
		}
		return;
	}
	d->why = DECISION_RULE;
	d->source = &sources->items[rank];
	d->verdict = (enum verdict)sources->verdicts[rank];
}

static void decide_path(const struct layer *l, const struct policy_question *q, struct decision *d)
{
	const struct pathset *set = l->paths[q->op == OPERATION_FS_WRITE];

	decide_by_source(l, &l->sources[q->op], pathset_match(set, q->path, q->path_len), d);
}

static void decide_host(const struct layer *l, const struct policy_question *q, struct decision *d)
{
	uint32_t rank =
		rank_best(hostset_match(l->hosts, &q->host), hostset_match(l->forbidden, &q->host));

	for (size_t i = 0; i < l->host_globs.n && l->host_globs.items[i].rank < rank; i++) {
		if (host_glob_matches(l->host_globs.items[i].glob, &q->host))
			rank = l->host_globs.items[i].rank;
	}
	decide_by_source(l, &l->sources[q->op], rank, d);
}

static uint32_t match_command(const struct layer *l, const struct policy_question *q)
{
	uint32_t best = pathset_match(l->commands, q->command.text, q->command.len);

	if (q->path)
		best = rank_best(best, pathset_match(l->programs, q->path, q->path_len));
	for (size_t i = 0; q->request->args && i < l->command_globs.n; i++) {
		const struct text_glob *g = &l->command_globs.items[i];

		if (g->rank < best &&
			command_line_matches(g->glob, q->path ? q->path : q->request->target,
				q->request->args, q->request->n_args))
			best = g->rank;
	}
	for (size_t i = 0; q->request->args && i < l->n_fine; i++) {
		const struct fine_command *f = &l->fine[i];
		size_t n = 0;

		if (f->rank >= best || !command_pattern_matches_args(
					       f->pattern, q->request->args, q->request->n_args))
			continue;
		while (n < f->n_programs && q->path &&
			glob_match(&f->programs[n], q->path, q->path_len))
			n++;
		if (n == f->n_programs)
			best = f->rank;
	}
	return best;
}

static void decide_exec(const struct layer *l, const struct policy_question *q, struct decision *d)
{
	/* A name is some file: what is said of every file is said of it. */
	uint32_t read = q->path ? pathset_match(l->paths[0], q->path, q->path_len) : l->any_file;

	/* A file that is denied is not there, so it does not run either. */
	if (read < l->n_denied_paths) {
		decide_by_source(l, &l->sources[OPERATION_FS_READ], read, d);
	} else if (layer_exec_is_open(l)) {
		/* No list: what may be read may run. */
		decide_by_source(l, &l->sources[OPERATION_FS_READ], read, d);
		d->why = d->verdict == VERDICT_ALLOW ? DECISION_READABLE : DECISION_UNREADABLE;
	} else {
		decide_by_source(l, &l->sources[OPERATION_EXEC], match_command(l, q), d);
	}
}

static void decide_name(const struct layer *l, const struct policy_question *q, struct decision *d)
{
	uint32_t rank = pathset_match(l->names[q->op], q->name, q->name_len);

	if (q->value_len)
		rank = rank_best(rank, pathset_match(l->values[q->op], q->value, q->value_len));
	decide_by_source(l, &l->sources[q->op], rank, d);
}

static void decide_access(
	const struct layer *l, const struct service_request *r, struct decision *d)
{
	const struct sources *rules = &l->sources[OPERATION_SERVICE];

	for (size_t i = 0; i < rules->n; i++) {
		const struct grant *g = rules->items[i].grant;
		size_t n = 0;

		while (n < g->n && service_pattern_covers(g->all[n], r))
			n++;
		if (n == g->n) {
			decide_by_source(l, rules, (uint32_t)i, d);
			return;
		}
	}
	for (size_t i = 0; i < l->n_services; i++) {
		if (service_covers(&l->services[i], r)) {
			d->layer = l;
			d->why = DECISION_SERVICE;
			d->verdict = VERDICT_ALLOW;
			return;
		}
	}
	decide_by_source(l, rules, RANK_NONE, d);
}

/* "readwrite" is reading and writing: each is judged by itself, or a rule against one would miss
 * both. */
static void decide_service(
	const struct layer *l, const struct policy_question *q, struct decision *d)
{
	struct service_request one = q->service;
	bool first = true;

	for (unsigned left = q->service.access; left; left &= left - 1, first = false) {
		struct decision next = { 0 };

		one.access = left & -left;
		decide_access(l, &one, &next);
		if (first || next.verdict < d->verdict)
			*d = next;
	}
}

/* By what is written alone: not by a default, and not because a layer only watches. */
static void decide_secret(
	const struct layer *l, const struct policy_question *q, struct decision *d)
{
	const struct sources *all = &l->sources[q->op];

	for (size_t i = 0; i < all->n; i++) {
		const struct grant *g = all->items[i].grant;
		size_t n = 0;

		while (n < g->n && secret_covers(g->all[n], &q->secret))
			n++;
		if (n == g->n) {
			decide_by_source(l, all, (uint32_t)i, d);
			return;
		}
	}
	d->layer = l;
	d->why = DECISION_NO_GRANT;
	d->verdict = VERDICT_DENY;
}

/* A request with a method may only have one of those in network.methods, where there is such a
 * list. */
static void hold_methods(const struct layer *l, const struct policy_question *q, struct decision *d)
{
	const struct grant_list *methods = &l->network.methods;
	const char *method = q->request->method;

	if (!method || methods->n == 0 || d->verdict == VERDICT_DENY)
		return;
	for (size_t i = 0; i < methods->n; i++) {
		if (strcmp(methods->items[i].all[0], method) == 0)
			return;
	}
	*d = (struct decision){ .why = DECISION_METHOD, .layer = l };
}

/* Something in the layer allows just this value. */
static bool service_is_named(const struct layer *l, const struct service_request *r)
{
	const struct sources *rules = &l->sources[OPERATION_SERVICE];
	bool found = false;

	for (size_t i = 0; i < l->n_services && !found; i++)
		found = service_names(&l->services[i], r);
	for (size_t i = 0; i < rules->n && !found; i++) {
		const struct grant *g = rules->items[i].grant;

		for (size_t k = 0; rules->verdicts[i] == VERDICT_ALLOW && k < g->n && !found; k++)
			found = service_pattern_names(g->all[k], r);
	}
	return found;
}

/*
 * Private places and sockets of the host are allowed by a grant that names them, never because
 * nothing forbids them: not by a default, and not because a layer only watches.
 */
static void hold_guard(const struct layer *l, const struct policy_question *q, struct decision *d)
{
	bool guarded = q->guard || q->host.transport == TRANSPORT_UNIX;

	if (!guarded || d->verdict != VERDICT_ALLOW ||
		(q->service.host ? service_is_named(l, &q->service)
				 : hostset_match(l->hosts, &q->host) != RANK_NONE))
		return;
	*d = (struct decision){
		.why = DECISION_GUARDED,
		.layer = l,
		.baseline = q->guard ? baseline_net_text(q->guard) : "unix:",
		.baseline_why = q->guard ? baseline_net_why(q->guard) : "sockets of the host",
	};
}

/* A name leads to private addresses only where every layer lists it for that: an answer to a
 * question about the name says nothing about them. */
static void hold_private(const struct layer *l, const struct policy_question *q, struct decision *d)
{
	if (q->request->to_private && d->verdict != VERDICT_DENY &&
		(q->host.is_address || hostset_match(l->private_names, &q->host) == RANK_NONE))
		*d = (struct decision){ .why = DECISION_PRIVATE, .layer = l };
}

/* What deciding alone needs, by what the targets are; the rest is in operation_rows. */
static const struct {
	int (*ask)(struct policy_question *q);
	void (*decide)(const struct layer *l, const struct policy_question *q, struct decision *d);
} policy_targets[] = {
	[TARGET_PATH] = { ask_path, decide_path },
	[TARGET_HOST] = { ask_host, decide_host },
	[TARGET_COMMAND] = { ask_exec, decide_exec },
	[TARGET_NAME] = { ask_name, decide_name },
	[TARGET_SERVICE] = { ask_service, decide_service },
	[TARGET_SECRET] = { ask_secret, decide_secret },
};

static int policy_ask(const struct policy *p, struct policy_question *q, const struct request *r,
	struct decision *ret)
{
	*ret = (struct decision){ .why = DECISION_BAD_TARGET };
	/* The large members are written before they are read; zeroing them all would cost more than
	 * deciding. */
	q->policy = p;
	q->op = r->op;
	q->request = r;
	q->path = NULL;
	q->is_host = false;
	q->guard = NULL;
	q->service.host = NULL;
	q->name_len = q->value_len = 0;
	if ((unsigned)r->op >= OPERATION_COUNT || !r->target)
		return -EINVAL;
	return policy_targets[operation_rows[r->op].target].ask(q);
}

static void decide_layer(const struct layer *l, const struct policy_question *q, struct decision *d)
{
	policy_targets[operation_rows[q->op].target].decide(l, q, d);
	if (q->op == OPERATION_NET_CONNECT)
		hold_methods(l, q, d);
	/* Denied after all, by a method. */
	d->monitored = d->monitored && d->verdict == VERDICT_ALLOW;
	d->would = d->monitored ? d->would : d->verdict;
	if (l->mode == MODE_MONITOR && d->verdict != VERDICT_ALLOW && q->op != OPERATION_SECRET) {
		d->monitored = true;
		d->verdict = VERDICT_ALLOW;
	}
	if (q->is_host)
		hold_guard(l, q, d);
	if (q->op == OPERATION_NET_CONNECT)
		hold_private(l, q, d);
}

/* The baseline */

static bool baseline_forbids(
	const struct policy *p, const struct policy_question *q, struct decision *d)
{
	const struct baseline_net *net = q->is_host ? baseline_never(&q->host) : NULL;
	const struct baseline_path *path = NULL;
	bool lifted = p->n_layers > 0;

	for (size_t i = 0; q->path && !path && i < ROWS(p->homes); i++) {
		if (i == 0 || p->homes[i].path)
			path = baseline_paths_match(
				&p->homes[i], q->op == OPERATION_FS_WRITE, q->path, q->path_len);
	}
	/* dangerously_allow counts if every layer says so: the strictest decides here too. */
	for (size_t i = 0; path && lifted && i < p->n_layers; i++)
		lifted = pathset_match(p->layers[i].dangerous, q->path, q->path_len) != RANK_NONE;
	if (!net && (!path || lifted))
		return false;
	d->verdict = d->would = VERDICT_DENY;
	d->why = DECISION_BASELINE;
	d->baseline = path ? baseline_path_pattern(path) : baseline_net_text(net);
	d->baseline_why = path ? baseline_path_why(path) : baseline_net_why(net);
	d->baseline_never = net != NULL;
	return true;
}

int policy_decide(const struct policy *p, const struct request *r, struct decision *ret)
{
	struct policy_question q;
	int err = policy_ask(p, &q, r, ret);

	if (err < 0)
		return err;
	ret->why = DECISION_NO_LAYER;
	if (baseline_forbids(p, &q, ret))
		return 0;
	for (size_t i = 0; i < p->n_layers; i++) {
		struct decision d = { 0 };

		decide_layer(&p->layers[i], &q, &d);
		d.n_deny = ret->n_deny + (d.verdict != VERDICT_ALLOW);
		if (i == 0 || d.verdict < ret->verdict ||
			(d.monitored && !ret->monitored && d.verdict == ret->verdict))
			*ret = d;
		ret->n_deny = d.n_deny;
	}
	return 0;
}

size_t policy_layers(const struct policy *p)
{
	return p->n_layers;
}

const struct layer *policy_layer(const struct policy *p, size_t i)
{
	return &p->layers[i];
}

int policy_decide_layer(
	const struct policy *p, size_t i, const struct request *r, struct decision *ret)
{
	struct policy_question q;
	int err = policy_ask(p, &q, r, ret);

	if (err == 0)
		decide_layer(&p->layers[i], &q, ret);
	return err;
}

const struct folders *policy_folders(const struct policy *p, const struct grant_list *list)
{
	for (size_t i = 0; i < p->n_layers; i++) {
		const struct folders *all = p->layers[i].folders;

		for (size_t k = 0; k < ROWS(p->layers[i].folders); k++) {
			if (all[k].list == list && all[k].n_entries == list->n)
				return &all[k];
		}
	}
	return NULL;
}

void policy_limits(const struct policy *p, struct limits *ret)
{
	for (int l = 0; l < LIMIT_COUNT; l++) {
		ret->values[l] = LIMIT_NONE;
		for (size_t i = 0; i < p->n_layers; i++) {
			uint64_t value = p->layers[i].limits.values[l];

			if (value < ret->values[l])
				ret->values[l] = value;
		}
	}
}
