/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens in a sandbox, as events of a log. Before a command is started, the values of its
 * variables are secrets of the log: of its command line, too, and of whatever is said about it.
 */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "audit/place.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "host/resolver.h"
#include "holder/record.h"
#include "lib/api/audit-handle.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/followed.h"
#include "lib/process/result.h"

/* One command after another has the same environment. */
int lib_audit_learn(corral_audit_sink *sink, void *context, const char *const *env)
{
	uint8_t bytes[crypto_shorthash_BYTES];
	struct corral_audit *a = context;
	auto_buffer all = { 0 };
	uint64_t hash = 0;
	int r;

	if (sink != corral_audit_sandbox)
		return 0;
	for (size_t i = 0; env[i]; i++)
		buffer_add(&all, env[i], strlen(env[i]) + 1);
	if (!all.failed) {
		(void)crypto_shorthash(bytes, (const uint8_t *)buffer_text(&all), all.len, a->key);
		if (all.data)
			sodium_memzero(all.data, all.cap);
		memcpy(&hash, bytes, sizeof(hash));
	}
	if (hash && hash == atomic_load(&a->learned))
		return 0;
	r = holder_record_secrets(a->trail, env);
	if (r == 0)
		atomic_store(&a->learned, hash);
	return r;
}

static void audit_sandbox_add(
	struct corral_audit *a, const struct corral_event *from, struct audit_event e)
{
	e.time_ns = from->time_ns;
	e.exact = true;
	(void)audit_trail_add(a->trail, &e);
}

static void audit_sandbox_started(struct corral_audit *a, const struct corral_event *from)
{
	auto_buffer reason = { 0 };

	/* All events of a command have its number in common. */
	if (from->command)
		buffer_printf(&reason, "command %" PRIu64, from->command);
	audit_sandbox_add(a, from,
		(struct audit_event){ .action = AUDIT_COMMAND_START,
			.target = from->program,
			.decision = AUDIT_ALLOWED,
			.reason = buffer_text(&reason) });
}

/* What holder/record.h has words for. */
static void audit_sandbox_record(struct corral_audit *a, const struct corral_event *from)
{
	const struct holder_record to = { .trail = a->trail,
		.time_ns = from->time_ns,
		.program = from->actor ? from->actor : from->program,
		.command = from->command };
	const struct corral_result *r = from->result;
	const struct corral_denial *d = from->denial;
	const struct corral_connection *c = from->connection;

	if (from->kind == CORRAL_EVENT_ENDED)
		holder_record_end(
			&to, &(struct holder_end){ .report = &r->report,
				     .printed = r->out.bytes + r->err.bytes,
				     .is_truncated = r->out.truncated || r->err.truncated });
	else if (from->kind == CORRAL_EVENT_DENIED)
		holder_record_denial(&to, &(struct holder_denial){ .op = (enum operation)d->op,
						  .target = d->target,
						  .rule = d->rule,
						  .reason = d->reason,
						  .is_exact = d->exact != 0,
						  .count = d->count,
						  .pid = from->pid });
	else
		holder_record_network(
			&to, &(struct record){ .kind = c->failed ? RECORD_FAILED : RECORD_CLOSED,
				     .dns = !strchr(c->target, ':'),
				     .target = c->target,
				     .address = c->address,
				     .reason = c->failed ? c->reason : "",
				     .sent = c->sent,
				     .received = c->received,
				     .count = c->count,
				     .pid = from->pid });
}

void corral_audit_sandbox(void *audit, const struct corral_event *event)
{
	switch (event->kind) {
	case CORRAL_EVENT_SESSION:
		audit_sandbox_add(audit, event,
			(struct audit_event){ .action = AUDIT_SESSION,
				.target = "begin",
				.reason = event->message });
		break;
	case CORRAL_EVENT_LOST:
		audit_sandbox_add(audit, event,
			(struct audit_event){ .action = AUDIT_SESSION,
				.target = "lost",
				.decision = AUDIT_FAILED,
				.reason = event->message });
		break;
	case CORRAL_EVENT_STARTED:
		audit_sandbox_started(audit, event);
		break;
	case CORRAL_EVENT_FAILED:
		/* It has a number if it was handed over: then it may have run, and its end is all
		 * that is reported. */
		audit_sandbox_add(audit, event,
			(struct audit_event){
				.action = event->command ? AUDIT_COMMAND_END : AUDIT_COMMAND_START,
				.target = event->program,
				.decision = AUDIT_FAILED,
				.reason = event->message });
		break;
	case CORRAL_EVENT_ENDED:
	case CORRAL_EVENT_DENIED:
	case CORRAL_EVENT_CONNECTION:
		audit_sandbox_record(audit, event);
		break;
	}
}

/*
 * Reach: the log of a sandbox or an enclave lies where those whom it records can't get at it, or
 * they get nothing. Links in what is granted are followed first, all of them: what a name grants,
 * it may grant where it leads.
 */

enum { LAYERS_MAX = 64 };

static int audit_sandbox_refuse(const char *path, enum audit_reach reach, struct error *e)
{
	if (reach == AUDIT_REACH_NONE)
		return 0;
	(void)error_set(e, -EPERM, NULL, "%.300s: the permissions allow this log to be %s", path,
		reach == AUDIT_REACH_WRITE ? "changed by the commands it records"
					   : "locked, or signed, by the commands it records");
	error_hint(
		e, "keep the log and its key in a folder that is not granted, or deny that folder");
	return -EPERM;
}

/* Who changes a link on the way decides what the next program writes to. */
static int audit_sandbox_refuse_links(
	const struct corral_audit *a, const struct policy *p, struct error *e)
{
	for (size_t at = 0; at < a->links.len; at += strlen(a->links.data + at) + 1) {
		const char *link = a->links.data + at;

		if (!followed_is_replaceable(p, link))
			continue;
		(void)error_set(e, -EPERM, NULL,
			"%.300s: the permissions allow this log to be replaced: the commands it "
			"records may change the symbolic link %.300s",
			a->log, link);
		error_hint(e, "use the path of the log without symbolic links");
		return -EPERM;
	}
	return 0;
}

int lib_audit_check(const struct corral_audit *a, const struct policy *p, struct error *e)
{
	int r = a->log ? audit_sandbox_refuse(a->log, audit_reach(p, a->log), e) : 0;

	if (r == 0 && a->signing_key)
		r = audit_sandbox_refuse(
			a->signing_key, audit_reach_one(p, a->signing_key, true), e);
	if (r == 0 && a->head)
		r = audit_sandbox_refuse(a->head, audit_reach_one(p, a->head, false), e);
	return r == 0 && a->log ? audit_sandbox_refuse_links(a, p, e) : r;
}

int lib_audit_check_sink(corral_audit_sink *sink, const void *context, const struct permissions *p,
	const struct variables *variables, struct error *e)
{
	const struct corral_audit *a = context;
	const struct policy_options o = { .variables = variables, .resolver = &resolver_system };
	const struct permissions *layers[LAYERS_MAX];
	auto_permissions *copy = NULL;
	auto_policy *policy = NULL;
	int r, n;

	if (sink != corral_audit_sandbox || !a->log)
		return 0;
	copy = permissions_copy(p);
	if (!copy)
		return error_no_memory(e);
	/* By any link that there is. */
	r = followed_grants(copy, variables, NULL, BENEATH_HOST, e);
	if (r < 0)
		return r;
	n = permissions_layers(copy, layers, LAYERS_MAX);
	if (n < 0)
		return error_set(e, n, NULL, "the permissions have too many layers");
	r = policy_new(&policy, layers, (size_t)n, &o, e);
	return r < 0 ? r : lib_audit_check(a, policy, e);
}

bool lib_audit_has(const struct corral_audit *a, const char *path, bool for_writing)
{
	const char *const files[] = { a->log, a->signing_key, a->head };
	bool has = false;

	/* What stands behind the name: the files beside it, and drafts of them. */
	for (size_t i = 0; i < ROWS(files); i++)
		has = has || (files[i] && (strncmp(path, files[i], strlen(files[i])) == 0 ||
						  (for_writing && path_is_below(files[i], path))));
	for (size_t at = 0; for_writing && at < a->links.len; at += strlen(a->links.data + at) + 1)
		has = has || path_is_below(a->links.data + at, path);
	return has;
}
