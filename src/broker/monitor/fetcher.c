/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/fetcher.h"

#include <errno.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/path.h"
#include "broker/fetch/request.h"
#include "broker/fetch/rights.h"
#include "broker/fetch/socket.h"
#include "lib/api/handles.h"
#include "lib/sandbox/sandbox.h"
#include "net/judge.h"
#include "net/quota.h"
#include "policy/format/image.h"
#include "policy/format/manifest.h"
#include "policy/policy.h"

enum {
	FETCHER_LAYERS_MAX = 64,
	FETCHER_SANDBOXES_MAX = 4, /* with a host more */
	FETCHER_MEMORY = 512 << 20,
	FETCHER_PIDS = 96, /* of all requests and sockets at once; names are resolved by a thread */
	FETCHER_SLACK_MS = 3000, /* corral-fetch ends by itself at its timeout */
};

struct fetcher_sandbox {
	char *origin; /* that it has beside the policy's hosts; NULL: none */
	struct corral_sandbox *sandbox;
	unsigned starting; /* threads that start something in it */
	uint64_t used;     /* the fetcher's count at its last use */
};

struct fetcher {
	struct fetcher_options o;
	char program[PATH_BYTES], authorities[PATH_BYTES]; /* for dirname() */
	struct permissions *layers[FETCHER_LAYERS_MAX];
	struct permissions *rights[FETCHER_LAYERS_MAX];
	struct policy *policy; /* of the rights: what a relay will say */
	struct quota *quota;
	uint64_t max_request, max_file;
	pthread_mutex_t lock; /* guards what follows, and the quota */
	struct fetcher_sandbox sandboxes[1 + FETCHER_SANDBOXES_MAX]; /* the first has no origin */
	uint64_t count;
};

/* Making */

int fetcher_find(struct fetcher_options *o, struct error *e)
{
	const char *program = secure_getenv("CORRAL_FETCH"),
		   *authorities = secure_getenv("SSL_CERT_FILE");

	o->program = program && *program ? program : CORRAL_FETCH_PATH;
	o->authorities = authorities && *authorities ? authorities : NULL;
	if (access(o->program, X_OK) < 0)
		return error_set(e, -errno, NULL, "%s: %s", o->program, strerror(errno));
	return 0;
}

static int fetcher_rights(const struct fetcher *f, size_t i, const char *origin,
	struct permissions **ret, struct error *e)
{
	const char *program = strrchr(f->o.program, '/'),
		   *authorities = f->o.authorities ? strrchr(f->o.authorities, '/') : NULL;
	const struct rights_own own = { .program = program + 1,
		.authorities = authorities ? authorities + 1 : NULL,
		.origin = origin };

	return rights_new(ret, f->layers[i], &own, e);
}

static void fetcher_note_limits(struct fetcher *f, const struct permissions *p)
{
	if (p->network.max_request_size < f->max_request)
		f->max_request = p->network.max_request_size;
	if (p->limits.values[LIMIT_FILE_SIZE] < f->max_file)
		f->max_file = p->limits.values[LIMIT_FILE_SIZE];
	for (size_t i = 0; i < p->n_all_of; i++)
		fetcher_note_limits(f, p->all_of[i]);
}

/* An image (policy/format/image.h), or text in any format. */
static int fetcher_read_permissions(const char *text, struct permissions **ret, struct error *e)
{
	auto_manifest m = { 0 };
	int r;

	if (image_is_text(text)) {
		*ret = permissions_new();
		return *ret ? image_read_text(*ret, text) : -ENOMEM;
	}
	r = manifest_read(&m, MANIFEST_UNKNOWN, "policy.json", text, strlen(text), e);
	if (r < 0)
		return r;
	*ret = m.permissions;
	m.permissions = NULL;
	return 0;
}

static int fetcher_read_layer(struct fetcher *f, size_t i, struct error *e)
{
	int r = fetcher_read_permissions(f->o.layers[i], &f->layers[i], e);

	if (r < 0)
		return e->text[0] ? r : error_set(e, r, NULL, "the permissions cannot be read");
	fetcher_note_limits(f, f->layers[i]);
	return fetcher_rights(f, i, NULL, &f->rights[i], e);
}

/* The folders that the rights name. */
static void fetcher_folders(struct fetcher *f, struct variables *ret)
{
	*ret = (struct variables){ 0 };
	(void)snprintf(f->program, sizeof(f->program), "%s", f->o.program);
	ret->values[VARIABLE_SKILL_DIR] = dirname(f->program);
	if (!f->o.authorities)
		return;
	(void)snprintf(f->authorities, sizeof(f->authorities), "%s", f->o.authorities);
	ret->values[VARIABLE_SHARED_DIR] = dirname(f->authorities);
}

static bool fetcher_is_name(const char *path)
{
	const size_t len = strlen(path);

	/* As a pattern it would be another. */
	return len < PATH_BYTES && path_is_normal(path, len) && !strpbrk(path, "*?[]{}\\$");
}

static int fetcher_fill(struct fetcher *f, struct error *e)
{
	struct policy_options options = { 0 };
	struct variables variables;
	int r = 0;

	if (f->o.n_layers > FETCHER_LAYERS_MAX)
		return error_set(e, -E2BIG, NULL, "the policy has too many layers");
	if (!fetcher_is_name(f->o.program) ||
		(f->o.authorities && !fetcher_is_name(f->o.authorities)))
		return error_set(e, -EINVAL, NULL,
			"the paths of corral-fetch and of certificates must be absolute, and have "
			"none of *?[]{}\\$");
	for (size_t i = 0; r == 0 && i < f->o.n_layers; i++)
		r = fetcher_read_layer(f, i, e);
	if (r < 0)
		return r;
	fetcher_folders(f, &variables);
	options.variables = &variables;
	r = policy_new(&f->policy, (const struct permissions *const *)f->rights, f->o.n_layers,
		&options, e);
	return r < 0 ? r : quota_new(&f->quota, f->policy, f->o.counts);
}

int fetcher_new(struct fetcher **ret, const struct fetcher_options *o, struct error *e)
{
	struct fetcher *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return -ENOMEM;
	f->o = *o;
	f->max_request = LIMIT_NONE;
	f->max_file = INT64_MAX;
	(void)pthread_mutex_init(&f->lock, NULL);
	r = fetcher_fill(f, e);
	if (r < 0)
		fetcher_free(f);
	else
		*ret = f;
	return r;
}

static void fetcher_sandbox_empty(struct fetcher_sandbox *s)
{
	corral_sandbox_free(s->sandbox);
	free(s->origin);
	*s = (struct fetcher_sandbox){ 0 };
}

void fetcher_free(struct fetcher *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < 1 + FETCHER_SANDBOXES_MAX; i++)
		fetcher_sandbox_empty(&f->sandboxes[i]);
	quota_free(f->quota);
	policy_free(f->policy);
	for (size_t i = 0; i < FETCHER_LAYERS_MAX; i++) {
		permissions_free(f->layers[i]);
		permissions_free(f->rights[i]);
	}
	(void)pthread_mutex_destroy(&f->lock);
	free(f);
}

/* Sandboxes */

static int fetcher_add_layer(struct corral_builder **b, const struct fetcher *f, size_t i,
	const char *origin, struct corral_error **e)
{
	struct corral_permissions handle = { 0 };
	struct error error = { 0 };
	int r = fetcher_rights(f, i, origin, &handle.p, &error);

	if (r < 0)
		return handles_error(e, &error, r);
	/* Both copy it. */
	r = *b ? corral_builder_restrict(*b, &handle) : corral_builder_from_permissions(b, &handle);
	permissions_free(handle.p);
	return r;
}

static int fetcher_build(
	struct fetcher *f, const char *origin, struct corral_sandbox **ret, struct corral_error **e)
{
	struct corral_builder *b = NULL;
	struct variables folders;
	int r = 0;

	for (size_t i = 0; r == 0 && i < f->o.n_layers; i++)
		r = fetcher_add_layer(&b, f, i, origin, e);
	if (r == 0 && !b)
		r = corral_builder_new(&b);
	fetcher_folders(f, &folders);
	if (r == 0)
		r = corral_builder_variable(
			b, RIGHTS_PROGRAM_FOLDER, folders.values[VARIABLE_SKILL_DIR]);
	if (r == 0 && f->o.authorities)
		r = corral_builder_variable(
			b, RIGHTS_AUTHORITIES_FOLDER, folders.values[VARIABLE_SHARED_DIR]);
	if (r == 0 && f->o.warden[0])
		r = corral_builder_warden(b, f->o.warden);
	if (r == 0) {
		/* What fails here, building fails with its words. */
		(void)corral_builder_memory_limit(b, FETCHER_MEMORY);
		(void)corral_builder_pids_limit(b, FETCHER_PIDS);
		sandbox_builder_share(b, f->o.ledger);
		/* It is a part of a session that has joined. */
		(void)corral_builder_without_daemon(b);
		r = sandbox_builder_build(b, NULL, ret, e);
	}
	corral_builder_free(b);
	return r;
}

/* The one for this origin, or the place for one: the first that is free, or was not used longest.
 */
static struct fetcher_sandbox *fetcher_place(struct fetcher *f, const char *origin)
{
	struct fetcher_sandbox *best = NULL;

	if (!origin)
		return &f->sandboxes[0];
	for (size_t i = 1; i < 1 + FETCHER_SANDBOXES_MAX; i++) {
		struct fetcher_sandbox *s = &f->sandboxes[i];
		struct corral_stats stats = { 0 };

		if (s->origin && strcmp(s->origin, origin) == 0)
			return s;
		if (s->sandbox)
			corral_sandbox_stats(s->sandbox, &stats, sizeof(stats));
		if (s->starting == 0 && stats.running == 0 && (!best || s->used < best->used))
			best = s;
	}
	return best;
}

/* With the lock held. */
static int fetcher_get(struct fetcher *f, const char *origin, struct fetcher_sandbox **ret,
	struct corral_error **e)
{
	struct fetcher_sandbox *s = fetcher_place(f, origin);
	int r = 0;

	if (!s)
		return -EBUSY;
	if (s->origin && origin && strcmp(s->origin, origin) != 0)
		fetcher_sandbox_empty(s);
	if (!s->sandbox) {
		r = fetcher_build(f, origin, &s->sandbox, e);
		s->origin = r == 0 && origin ? strdup(origin) : NULL;
		if (r == 0 && origin && !s->origin) {
			fetcher_sandbox_empty(s);
			r = -ENOMEM;
		}
	}
	if (r < 0)
		return r;
	s->used = ++f->count;
	s->starting++;
	*ret = s;
	return 0;
}

/* Requests */

uint64_t fetcher_max_file(const struct fetcher *f)
{
	return f->max_file;
}

int fetcher_admit(
	struct fetcher *f, const char *origin, uint64_t body, uint64_t now_ms, char reason[256])
{
	struct quota_account *account;
	int r;

	if (body > f->max_request) {
		(void)snprintf(reason, 256,
			"the body has %llu bytes, and the policy's network.max_request_size is "
			"%llu",
			(unsigned long long)body, (unsigned long long)f->max_request);
		return -EMSGSIZE;
	}
	(void)pthread_mutex_lock(&f->lock);
	r = f->o.counts ? quota_ask(f->quota, origin, now_ms, reason)
			: quota_open(f->quota, origin, now_ms, &account, reason);
	(void)pthread_mutex_unlock(&f->lock);
	return r;
}

uint64_t fetcher_max_request(const struct fetcher *f)
{
	return f->max_request;
}

bool fetcher_has(const struct fetcher *f, const char *origin)
{
	const struct request connect = { .op = OPERATION_NET_CONNECT, .target = origin };

	return policy_allows(f->policy, &connect);
}

bool fetcher_is_narrow(const struct fetcher *f)
{
	struct net_judge judge;

	judge_init(&judge, f->policy);
	return judge.narrow;
}

/* In the sandbox that has the policy's hosts, or in one that has this origin beside them. */
static int fetcher_run(struct fetcher *f, const char *origin, const char *const *argv,
	const struct corral_call *call, struct corral_process **ret, struct corral_error **e)
{
	struct fetcher_sandbox *s = NULL;
	int r;

	(void)pthread_mutex_lock(&f->lock);
	r = fetcher_get(f, fetcher_has(f, origin) ? NULL : origin, &s, e);
	(void)pthread_mutex_unlock(&f->lock);
	if (r < 0)
		return r;
	r = corral_process_start(ret, s->sandbox, argv, call, e);
	(void)pthread_mutex_lock(&f->lock);
	s->starting--;
	(void)pthread_mutex_unlock(&f->lock);
	return r;
}

int fetcher_start(struct fetcher *f, const char *origin, const struct values *request,
	corral_output_callback *output, void *context, struct corral_process **ret,
	struct corral_error **e)
{
	const char *const argv[] = { f->o.program, NULL };
	struct corral_call call = CORRAL_CALL;
	struct values v = *request;
	auto_buffer input = { 0 };
	int r;

	if (f->o.authorities)
		v.v[FETCH_AUTHORITIES] = (struct value){ .type = SCHEMA_PATH,
			.text = f->o.authorities,
			.len = strlen(f->o.authorities) };
	r = values_encode(fetch_request_fields, &v, &input);
	if (r < 0)
		return r;
	call.input = input.data;
	call.input_len = input.len;
	call.timeout_ms = request->v[FETCH_TIMEOUT_MS].number + FETCHER_SLACK_MS;
	call.output = output;
	call.context = context;
	return fetcher_run(f, origin, argv, &call, ret, e);
}

int fetcher_connect(struct fetcher *f, const struct fetcher_socket *s, struct corral_process **ret,
	struct corral_error **e)
{
	char port[8], ms[24];
	const char *const argv[] = { f->o.program, FETCH_SOCKET, s->host, port, ms, NULL };
	struct corral_call call = CORRAL_CALL;

	(void)snprintf(port, sizeof(port), "%u", s->port);
	(void)snprintf(ms, sizeof(ms), "%llu", (unsigned long long)s->connect_ms);
	call.flags = CORRAL_CALL_INPUT | CORRAL_CALL_RAW;
	call.timeout_ms = s->life_ms;
	return fetcher_run(f, s->origin, argv, &call, ret, e);
}
