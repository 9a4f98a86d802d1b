/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An enclave's life: what it is made of, and in which order. Everything that can be wrong with the
 * options is found before anything stands.
 *
 * Programs are always a list here. Without one, the engine lets run what may be read, which is
 * right for a command that is confined anyway; but an enclave is asked for single things, and a
 * folder that somebody granted for reading must not become one whose files a tool may start. The
 * broker of a sandbox (exec_readable) serves commands that can start them by themselves.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include "audit/export/export.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "codec/json-writer.h"
#include "lib/api/audit-handle.h"
#include "lib/api/handles.h"
#include "lib/api/joined.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/internal.h"
#include "lib/enclave/share.h"
#include "lib/sandbox/warden-link.h"

enum {
	TTL_MS = 5 * 60 * 1000,
	FILE_BYTES = 64 << 20,
	TOKEN_RANDOM = 32,
};

/* Variables */

/* Copies a text, if there is one. */
static int enclave_keep(struct corral_enclave *enclave, const char *text, const char **ret)
{
	*ret = text ? arena_strdup(&enclave->arena, text) : NULL;
	return text && !*ret ? -ENOMEM : 0;
}

/* Where it leads below the enclave's root; where it leads here if that has nothing by that name. */
static bool enclave_follow_home(
	const struct corral_enclave *enclave, const char *home, char out[PATH_BYTES])
{
	if (enclave->root != BENEATH_HOST && path_is_normal(home, strlen(home)) &&
		beneath_follow(enclave->root, home, out) == 0)
		return true;
	return realpath(home, out) != NULL;
}

/* The same as those of the sandbox, so that a pattern means one thing. */
static int enclave_set_variables(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e)
{
	char real[PATH_BYTES];
	struct variables given;
	int r = handles_variables(&given, o->variables, o->n_variables, e);

	if (r == 0 && o->work_dir && !path_is_normal(o->work_dir, strlen(o->work_dir)))
		r = error_set(e, -EINVAL, NULL,
			"the work folder must be an absolute path without . or .., and %s is not",
			o->work_dir);
	if (r < 0)
		return r;
	if (o->work_dir)
		given.values[VARIABLE_WORK_DIR] = o->work_dir;
	if (!given.values[VARIABLE_HOME])
		given.values[VARIABLE_HOME] = handles_home();
	if (!given.values[VARIABLE_TEMP])
		given.values[VARIABLE_TEMP] = HANDLES_TEMP;
	for (int v = 0; r == 0 && v < VARIABLE_COUNT; v++)
		r = enclave_keep(enclave, given.values[v], &enclave->variables.values[v]);
	/* The baseline protects a home by both its names. */
	if (r == 0 && enclave_follow_home(enclave, given.values[VARIABLE_HOME], real))
		r = enclave_keep(enclave, real, &enclave->real_home);
	return r;
}

/* Permissions */

static void enclave_list_programs(struct permissions *p)
{
	p->exec_listed = p->exec_listed || p->n_all_of == 0;
	for (size_t i = 0; i < p->n_all_of; i++)
		enclave_list_programs(p->all_of[i]);
}

struct permissions *enclave_adopt(const struct corral_enclave *enclave, const struct permissions *p)
{
	struct permissions *copy = p ? permissions_copy(p) : permissions_new();

	/* No grants at all are no reason to let anything run. */
	if (copy && (!enclave->exec_readable || !p))
		enclave_list_programs(copy);
	return copy;
}

static int enclave_set_policy(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e)
{
	struct policy *first = NULL;
	int r;

	enclave->ceiling_grants = o->ceiling_grants && o->n_ceiling > 0;
	for (size_t i = 0; i < o->n_ceiling; i++) {
		if (!o->ceiling || !o->ceiling[i])
			return error_set(
				e, -EINVAL, NULL, "layer %zu of the ceiling is missing", i);
		enclave->ceiling[i] = permissions_copy(o->ceiling[i]->p);
		if (!enclave->ceiling[i])
			return -ENOMEM;
		enclave->n_ceiling++;
	}
	enclave->granted = enclave_adopt(enclave, o->granted ? o->granted->p : NULL);
	if (!enclave->granted)
		return -ENOMEM;
	enclave_set_session(enclave, o->granted);
	r = enclave_compile(&first, &enclave->writable, enclave, enclave->granted, NULL, e);
	if (r < 0)
		return r;
	enclave->box = policy_box_new(first);
	if (!enclave->box) {
		policy_free(first);
		return -ENOMEM;
	}
	enclave_live_declare(enclave);
	return 0;
}

/* Audit, questions, token */

static int enclave_set_audit(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e)
{
	struct corral_error *why = NULL;
	int r = 0;

	enclave->audit = o->audit;
	if (!enclave->audit) {
		r = corral_audit_new(&enclave->audit, NULL, &why);
		enclave->owns_audit = r == 0;
	}
	if (r < 0) {
		(void)error_set(e, r, NULL, "%s", corral_error_message(why));
		corral_error_free(why);
		return r;
	}
	enclave->trail = enclave->audit->trail;
	if (!o->no_daemon)
		enclave->joined = joined_new(&(struct joined_options){ .kind = JOIN_ENCLAVE,
			.folder = o->work_dir,
			.warden = enclave->warden ? enclave->warden : warden_link_program(),
			.audit = enclave->audit });
	return 0;
}

static int enclave_make_token(struct corral_enclave *enclave, struct error *e)
{
	unsigned char bytes[TOKEN_RANDOM];

	_Static_assert(CORRAL_TOKEN_BYTES == 2 * TOKEN_RANDOM + 1, "hex, and a NUL");
	/* So few bytes come whole, or not at all. */
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return error_set(e, -EIO, NULL, "the system provides no random numbers");
	encoding_hex(bytes, sizeof(bytes), enclave->token);
	sodium_memzero(bytes, sizeof(bytes));
	return 0;
}

int enclave_check_token(struct corral_enclave *enclave, const char *token, const char *what,
	struct corral_error **e)
{
	char padded[CORRAL_TOKEN_BYTES] = "";
	struct error error = { 0 };
	int differs;

	/* What is shorter is compared as if it had NULs after it, which no token has. */
	if (token)
		memcpy(padded, token, strnlen(token, sizeof(padded)));
	differs = sodium_memcmp(padded, enclave->token, sizeof(padded));
	sodium_memzero(padded, sizeof(padded));
	if (!differs)
		return 0;
	enclave_note(enclave, AUDIT_POLICY, AUDIT_DENIED, what, "the token is wrong");
	(void)error_set(&error, -EPERM, NULL, "%s: the token is wrong", what);
	error_hint(&error, "use the token that corral_enclave_new() returned");
	return handles_error(e, &error, -EPERM);
}

/* Life */

static int enclave_set_guarded(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e)
{
	int r = 0;

	if (o->n_guarded > ENCLAVE_GUARDED_MAX)
		return error_set(e, -E2BIG, NULL, "an enclave has at most %d guarded paths",
			ENCLAVE_GUARDED_MAX);
	for (size_t i = 0; r == 0 && i < o->n_guarded; i++) {
		const char *path = o->guarded ? o->guarded[i] : NULL;

		if (!path || path[0] != '/')
			return error_set(e, -EINVAL, NULL,
				"a guarded path must be absolute, and %.256s is not",
				path ? path : "NULL");
		r = enclave_keep(enclave, path, &enclave->guarded[enclave->n_guarded++]);
	}
	return r;
}

static int enclave_set_up(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e)
{
	int r = enclave_private_set(enclave, o, e);

	enclave->exec_readable = o->exec_readable != 0;
	if (r == 0)
		r = enclave_set_variables(enclave, o, e);
	if (r == 0)
		r = enclave_keep(enclave, o->warden, &enclave->warden);
	if (r == 0)
		r = enclave_set_guarded(enclave, o, e);
	if (r == 0)
		r = enclave_set_audit(enclave, o, e);
	if (r == 0)
		r = enclave_set_policy(enclave, o, e);
	if (r == 0)
		r = enclave_make_token(enclave, e);
	if (r == 0) {
		enclave->consent = consent_new();
		enclave->answers = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		r = !enclave->consent ? -ENOMEM : enclave->answers < 0 ? -errno : 0;
	}
	enclave->ask = enclave->own_ask = o->ask;
	enclave->context = enclave->own_context = o->context;
	enclave->ask_ttl_ms = o->ask_ttl_ms ? o->ask_ttl_ms : TTL_MS;
	enclave->ask_count = o->ask_count ? o->ask_count : 1;
	enclave->max_file_bytes = o->max_file_bytes ? o->max_file_bytes : FILE_BYTES;
	return r;
}

void enclave_share(struct corral_enclave *enclave, const int *ledger)
{
	enclave->ledger = ledger;
}

void enclave_look_outside(struct corral_enclave *enclave)
{
	enclave->looks_outside = enclave->root != BENEATH_HOST;
}

int corral_enclave_new(struct corral_enclave **ret, const struct corral_enclave_options *o,
	char token[CORRAL_TOKEN_BYTES], struct corral_error **e)
{
	struct corral_enclave *enclave = calloc(1, sizeof(*enclave));
	struct corral_enclave_options known = CORRAL_ENCLAVE_OPTIONS;
	struct error error = { 0 };
	int r = enclave ? handles_read_options(&known, sizeof(known), o, "corral_enclave_options",
				  "CORRAL_ENCLAVE_OPTIONS", &error)
			: -ENOMEM;

	if (enclave) {
		(void)pthread_mutex_init(&enclave->lock, NULL);
		(void)pthread_mutex_init(&enclave->session_lock, NULL);
	}
	if (enclave)
		enclave->answers = enclave->root = -1;
	if (enclave)
		enclave->live_ends_ms = UINT64_MAX;
	if (r == 0 && known.n_ceiling > ENCLAVE_CEILING_MAX)
		r = error_set(&error, -E2BIG, NULL, "a ceiling has at most %d layers",
			ENCLAVE_CEILING_MAX);
	if (r == 0)
		r = enclave_set_up(enclave, &known, &error);
	if (r < 0) {
		corral_enclave_free(enclave);
		return handles_error(e, &error, r);
	}
	memcpy(token, enclave->token, sizeof(enclave->token));
	*ret = enclave;
	return 0;
}

void corral_enclave_free(struct corral_enclave *enclave)
{
	if (!enclave)
		return;
	enclave_sandbox_drop(enclave);
	policy_box_free(enclave->box);
	consent_free(enclave->consent);
	fd_close(&enclave->answers);
	enclave_private_drop(enclave);
	joined_free(enclave->joined);
	if (enclave->owns_audit)
		(void)corral_audit_free(enclave->audit, NULL);
	for (size_t i = 0; i < enclave->n_ceiling; i++)
		permissions_free(enclave->ceiling[i]);
	permissions_free(enclave->granted);
	permissions_free(enclave->writable);
	permissions_free(enclave->contested);
	joined_change_deinit(&enclave->live);
	(void)pthread_mutex_destroy(&enclave->lock);
	(void)pthread_mutex_destroy(&enclave->session_lock);
	sodium_memzero(enclave->token, sizeof(enclave->token));
	arena_deinit(&enclave->arena);
	free(enclave);
}

/* What the enclave's audit has in memory, as text. Who may read it is the host's to say. */

int corral_enclave_get_audit_log(
	struct corral_enclave *enclave, size_t limit, char **ret, struct corral_error **e)
{
	struct audit_ring *ring = audit_trail_ring(enclave->trail);
	uint64_t last = audit_ring_count(ring);
	struct audit_reader reader = { .next = limit && limit < last ? last - limit + 1 : 0 };
	auto_buffer out = { 0 }, line = { 0 };
	struct json_writer w = { .out = &out };
	auto_arena scratch = { 0 };
	void *room = arena_alloc(&scratch, AUDIT_EVENT_MAX);
	struct error error = { 0 };
	struct audit_row row = { 0 };

	out.failed = !room;
	json_open_list(&w, NULL);
	/* Not what comes while it reads: writers could keep it here for good. */
	while (!out.failed && reader.next <= last) {
		if (audit_ring_read(ring, &reader, &row.event, room) != 1)
			break;
		row.number = reader.next - 1;
		/* A line of JSON without its newline is an item of the array. */
		buffer_clear(&line);
		audit_export_row(AUDIT_JSONL, &row, &line);
		if (line.len)
			line.data[--line.len] = '\0';
		json_line(&w);
		json_put_raw(&w, NULL, buffer_text(&line));
		out.failed = out.failed || line.failed;
	}
	json_line(&w);
	json_end_line(&w);
	return handles_text(&out, ret) < 0 ? handles_error(e, &error, -ENOMEM) : 0;
}

int corral_enclave_export_audit_log(struct corral_enclave *enclave, const char *format,
	const char *path, struct corral_error **e)
{
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, NULL, AUDIT_STORE, path);
	if (!format || !path)
		return enclave_refuse(&c, -EINVAL, e, "an export needs a format and a path");
	r = corral_audit_export(enclave->audit, format, path, e);
	enclave_tell(&c, r < 0 ? AUDIT_FAILED : AUDIT_NONE, NULL, "exported");
	return r;
}
