/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public face of the trail (audit/trail.h): words instead of numbers, structs that may grow.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "host/account.h"
#include "lib/api/audit-handle.h"
#include "lib/api/growing.h"
#include "lib/api/handles.h"

enum { SESSION_BYTES = 8 };

static int api_audit_open_trail(
	struct corral_audit *a, const struct corral_audit_options *o, struct error *e)
{
	char user[ACCOUNT_NAME_BYTES], session[2 * SESSION_BYTES + 1];
	uint8_t bytes[SESSION_BYTES];
	const struct audit_store_options store = { .path = o->path,
		.key_path = o->key_path,
		.head_path = o->head_path,
		.sync = o->full_sync ? AUDIT_SYNC_FULL : AUDIT_SYNC_NORMAL,
		.keep_records = o->keep_records,
		.keep_seconds = o->keep_seconds };
	const struct audit_trail_options trail = { .ring_bytes = o->ring_bytes,
		.store = o->path ? &store : NULL,
		.session = o->session ? o->session : session,
		.user = o->user ? o->user : user,
		.sandbox = o->sandbox };

	if (sodium_init() < 0)
		return error_set(e, -EIO, NULL, "libsodium does not work here");
	if (account_name("/etc/passwd", geteuid(), user) < 0)
		return error_no_memory(e);
	randombytes_buf(bytes, sizeof(bytes));
	(void)sodium_bin2hex(session, sizeof(session), bytes, sizeof(bytes));
	crypto_shorthash_keygen(a->key);
	return audit_trail_new(&a->trail, &trail, e);
}
_Static_assert((int)LIB_AUDIT_KEY_BYTES == crypto_shorthash_KEYBYTES, "the key of the hash");

/* They are there now. */
static int api_audit_find_files(
	struct corral_audit *a, const struct corral_audit_options *o, struct error *e)
{
	const struct {
		const char *name;
		char **real;
	} files[] = {
		{ o->path, &a->log },
		{ o->path ? o->key_path : NULL, &a->signing_key },
		{ o->path ? o->head_path : NULL, &a->head },
	};

	for (size_t i = 0; i < ROWS(files); i++) {
		if (!files[i].name)
			continue;
		*files[i].real = realpath(files[i].name, NULL);
		if (!*files[i].real)
			return error_set(e, -errno, NULL, "%s: %s", files[i].name, strerror(errno));
	}
	return 0;
}

static void free_names(struct corral_audit *a)
{
	free(a->log);
	free(a->signing_key);
	free(a->head);
}

int corral_audit_new(
	struct corral_audit **ret, const struct corral_audit_options *from, struct corral_error **e)
{
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
	struct corral_audit *a = calloc(1, sizeof(*a));
	struct error error = { 0 };
	int r = a ? 0 : -ENOMEM;

	if (r == 0 && from)
		r = growing_read(&o, sizeof(o), from, from->size);
	if (r == -EINVAL)
		(void)error_set(&error, r, NULL,
			"struct corral_audit_options has no size; start it with "
			"CORRAL_AUDIT_OPTIONS");
	if (r == -E2BIG)
		(void)error_set(&error, r, NULL,
			"the options ask for something that this version of libcorral does not "
			"have");
	if (r == 0)
		r = api_audit_open_trail(a, &o, &error);
	if (r == 0)
		r = api_audit_find_files(a, &o, &error);
	if (r < 0) {
		(void)corral_audit_free(a, NULL);
		return handles_error(e, &error, r);
	}
	*ret = a;
	return 0;
}

int corral_audit_free(struct corral_audit *a, struct corral_error **e)
{
	struct error error = { 0 };
	int r;

	if (!a)
		return 0;
	r = audit_trail_close(a->trail, &error);
	free_names(a);
	free(a);
	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_audit_secret(struct corral_audit *a, const char *name, const char *value)
{
	return value ? audit_trail_secret(a->trail, name, value) : -EINVAL;
}

int corral_audit_add(struct corral_audit *a, const struct corral_audit_event *from)
{
	struct corral_audit_event e;
	int action, decision, r = growing_read(&e, sizeof(e), from, from->size);

	if (r < 0)
		return r;
	action = e.action ? audit_action_parse(e.action) : -EINVAL;
	decision = e.decision ? audit_decision_parse(e.decision) : AUDIT_NONE;
	if (action < 0 || decision < 0)
		return -EINVAL;
	(void)audit_trail_add(a->trail, &(struct audit_event){ .time_ns = e.time_ns,
						.session = e.session,
						.user = e.user,
						.sandbox = e.sandbox,
						.pid = e.pid,
						.program = e.program,
						.action = (enum audit_action)action,
						.target = e.target,
						.decision = (enum audit_decision)decision,
						.rule = e.rule,
						.reason = e.reason,
						.exact = e.exact != 0,
						.cost_ns = e.cost_ns,
						.sent = e.sent,
						.received = e.received,
						.status = e.status,
						.count = e.count });
	return 0;
}

struct corral_audit_event lib_audit_show(const struct audit_event *from, uint64_t number)
{
	return (struct corral_audit_event){ .size = sizeof(struct corral_audit_event),
		.time_ns = from->time_ns,
		.number = number,
		.session = from->session,
		.user = from->user,
		.sandbox = from->sandbox,
		.program = from->program,
		.pid = from->pid,
		.action = audit_action_name(from->action),
		.target = from->target,
		.decision = audit_decision_name(from->decision),
		.rule = from->rule,
		.reason = from->reason,
		.exact = from->exact,
		.cost_ns = from->cost_ns,
		.sent = from->sent,
		.received = from->received,
		.status = from->status,
		.count = from->count };
}

int corral_audit_flush(struct corral_audit *a, struct corral_error **e)
{
	struct error error = { 0 };
	int r = audit_trail_flush(a->trail, &error);

	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_audit_tick(struct corral_audit *a, struct corral_error **e)
{
	struct error error = { 0 };
	int r = audit_trail_tick(a->trail, &error);

	return r < 0 ? handles_error(e, &error, r) : 0;
}

int corral_audit_wait_ms(struct corral_audit *a)
{
	return audit_trail_wait_ms(a->trail);
}
