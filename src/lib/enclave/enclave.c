/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An enclave's life: what it is made of, and in which order. Everything that can be wrong with the
 * options is found before anything stands.
 *
 * Programs are always a list here. Without one, the engine lets run what may be read, which is
 * right for a command that is confined anyway; but an enclave is asked for single things, and a
 * folder that somebody granted for reading must not become one whose files a tool may start.
 */
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "audit/export/export.h"
#include "base/buffer.h"
#include "base/path.h"
#include "lib/api/audit-handle.h"
#include "lib/api/growing.h"
#include "lib/api/handles.h"
#include "lib/api/place.h"
#include "lib/enclave/internal.h"
#include "lib/enclave/sandbox.h"

enum {
	TTL_MS = 5 * 60 * 1000,
	FILE_BYTES = 64 << 20,
	TOKEN_RANDOM = 32,
};

/* Options */

static int enclave_read_options(struct corral_enclave_options *ret,
	const struct corral_enclave_options *from, struct error *e)
{
	const struct corral_enclave_options none = CORRAL_ENCLAVE_OPTIONS;
	int r;

	*ret = none;
	r = from ? growing_read(ret, sizeof(*ret), from, from->size) : 0;
	if (r == -EINVAL)
		return error_set(e, r, NULL,
			"struct corral_enclave_options has no size; start it with "
			"CORRAL_ENCLAVE_OPTIONS");
	if (r == -E2BIG)
		return error_set(e, r, NULL,
			"the options ask for something that this version of libcorral does not "
			"have");
	if (ret->n_ceiling > ENCLAVE_CEILING_MAX)
		return error_set(
			e, -E2BIG, NULL, "a ceiling has at most %d layers", ENCLAVE_CEILING_MAX);
	return 0;
}

/* Variables */

static int enclave_keep(struct corral_enclave *enclave, enum variable v, const char *value)
{
	enclave->variables.values[v] = arena_strdup(&enclave->arena, value);
	return enclave->variables.values[v] ? 0 : -ENOMEM;
}

/* The baseline protects a home by both its names. */
static int enclave_find_home(struct corral_enclave *enclave)
{
	char real[PATH_BYTES];

	if (!realpath(enclave->variables.values[VARIABLE_HOME], real))
		return 0;
	enclave->real_home = arena_strdup(&enclave->arena, real);
	return enclave->real_home ? 0 : -ENOMEM;
}

/* The same as those of the sandbox, so that a pattern means one thing. */
static int enclave_set_variables(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e)
{
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
		given.values[VARIABLE_HOME] = place_home();
	if (!given.values[VARIABLE_TEMP])
		given.values[VARIABLE_TEMP] = PLACE_TEMP;
	for (int v = 0; r == 0 && v < VARIABLE_COUNT; v++) {
		if (given.values[v])
			r = enclave_keep(enclave, (enum variable)v, given.values[v]);
	}
	return r < 0 ? r : enclave_find_home(enclave);
}

/* Permissions */

static void enclave_list_programs(struct permissions *p)
{
	p->exec_listed = p->exec_listed || p->n_all_of == 0;
	for (size_t i = 0; i < p->n_all_of; i++)
		enclave_list_programs(p->all_of[i]);
}

struct permissions *enclave_adopt(const struct permissions *p)
{
	struct permissions *copy = p ? permissions_copy(p) : permissions_new();

	if (copy)
		enclave_list_programs(copy);
	return copy;
}

static int set_permissions(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e)
{
	for (size_t i = 0; i < o->n_ceiling; i++) {
		if (!o->ceiling || !o->ceiling[i])
			return error_set(
				e, -EINVAL, NULL, "layer %zu of the ceiling is missing", i);
		enclave->ceiling[i] = permissions_copy(o->ceiling[i]->p);
		if (!enclave->ceiling[i])
			return -ENOMEM;
		enclave->n_ceiling++;
	}
	enclave->granted = enclave_adopt(o->granted ? o->granted->p : NULL);
	return enclave->granted ? 0 : -ENOMEM;
}

static int set_policy(struct corral_enclave *enclave, struct error *e)
{
	struct policy *first = NULL;
	int r = enclave_compile(&first, &enclave->writable, enclave, enclave->granted, e);

	if (r < 0)
		return r;
	enclave->box = policy_box_new(first);
	if (!enclave->box)
		policy_free(first);
	return enclave->box ? 0 : -ENOMEM;
}

/* Audit, questions, token */

static int set_audit(
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
	return 0;
}

static int set_questions(struct corral_enclave *enclave, const struct corral_enclave_options *o)
{
	enclave->ask = o->ask;
	enclave->context = o->context;
	enclave->ask_ttl_ms = o->ask_ttl_ms ? o->ask_ttl_ms : TTL_MS;
	enclave->ask_count = o->ask_count ? o->ask_count : 1;
	enclave->consent = consent_new();
	return enclave->consent ? 0 : -ENOMEM;
}

static int make_token(struct corral_enclave *enclave, struct error *e)
{
	unsigned char bytes[TOKEN_RANDOM];

	_Static_assert(CORRAL_TOKEN_BYTES == 2 * TOKEN_RANDOM + 1, "hex, and a NUL");
	/* So few bytes come whole, or not at all. */
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return error_set(e, -EIO, NULL, "the system has no random numbers");
	(void)sodium_bin2hex(enclave->token, sizeof(enclave->token), bytes, sizeof(bytes));
	sodium_memzero(bytes, sizeof(bytes));
	return 0;
}

int enclave_check_token(struct corral_enclave *enclave, const char *token, const char *what,
	struct corral_error **e)
{
	char padded[CORRAL_TOKEN_BYTES] = "";
	struct error error = { 0 };
	struct enclave_call c;
	int differs;

	/* What is shorter is compared as if it had NULs behind it, which no token has. */
	if (token)
		memcpy(padded, token, strnlen(token, sizeof(padded)));
	differs = sodium_memcmp(padded, enclave->token, sizeof(padded));
	sodium_memzero(padded, sizeof(padded));
	if (!differs)
		return 0;
	enclave_begin(&c, enclave, NULL, AUDIT_POLICY, what);
	enclave_tell(&c, AUDIT_DENIED, NULL, "the token is wrong");
	(void)error_set(&error, -EPERM, NULL, "%s: the token is wrong", what);
	error_hint(&error, "use the one that corral_enclave_new() gave");
	return handles_error(e, &error, -EPERM);
}

/* Life */

static int enclave_set_up(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e)
{
	int r = enclave_set_variables(enclave, o, e);

	if (r == 0 && o->warden) {
		enclave->warden = arena_strdup(&enclave->arena, o->warden);
		r = enclave->warden ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = set_audit(enclave, o, e);
	if (r == 0)
		r = set_permissions(enclave, o, e);
	if (r == 0)
		r = set_policy(enclave, e);
	if (r == 0)
		r = set_questions(enclave, o);
	if (r == 0)
		r = make_token(enclave, e);
	enclave->max_file_bytes = o->max_file_bytes ? o->max_file_bytes : FILE_BYTES;
	return r;
}

int corral_enclave_new(struct corral_enclave **ret, const struct corral_enclave_options *o,
	char token[CORRAL_TOKEN_BYTES], struct corral_error **e)
{
	struct corral_enclave *enclave = calloc(1, sizeof(*enclave));
	struct corral_enclave_options known;
	struct error error = { 0 };
	int r = enclave ? enclave_read_options(&known, o, &error) : -ENOMEM;

	if (enclave)
		(void)pthread_mutex_init(&enclave->lock, NULL);
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
	if (enclave->owns_audit)
		(void)corral_audit_free(enclave->audit, NULL);
	for (size_t i = 0; i < enclave->n_ceiling; i++)
		permissions_free(enclave->ceiling[i]);
	permissions_free(enclave->granted);
	permissions_free(enclave->writable);
	permissions_free(enclave->contested);
	(void)pthread_mutex_destroy(&enclave->lock);
	sodium_memzero(enclave->token, sizeof(enclave->token));
	arena_deinit(&enclave->arena);
	free(enclave);
}

/* What the enclave's audit has in memory, as text. Who may read it is the host's to say. */

/* A line of JSON and its newline become an item of the array. */
static void enclave_log_add_item(struct buffer *out, const struct audit_row *row, bool first)
{
	if (!first)
		buffer_addc(out, ',');
	buffer_addc(out, '\n');
	audit_export_row(AUDIT_JSONL, row, out);
	if (out->len && out->data[out->len - 1] == '\n')
		out->data[--out->len] = '\0';
}

static uint64_t enclave_log_first_of(const struct audit_ring *ring, size_t limit)
{
	uint64_t count = audit_ring_count(ring);

	return limit && limit < count ? count - limit + 1 : 0;
}

int corral_enclave_get_audit_log(
	struct corral_enclave *enclave, size_t limit, char **ret, struct corral_error **e)
{
	struct audit_ring *ring = audit_trail_ring(enclave->trail);
	struct audit_reader reader = { .next = enclave_log_first_of(ring, limit) };
	uint64_t last = audit_ring_count(ring);
	auto_buffer out = { 0 };
	auto_arena scratch = { 0 };
	void *room = arena_alloc(&scratch, AUDIT_EVENT_MAX);
	struct error error = { 0 };
	struct audit_row row = { 0 };
	char *text;

	out.failed = !room;
	buffer_addc(&out, '[');
	/* Not what comes while it reads: writers could keep it here for good. */
	for (bool first = true; !out.failed && reader.next <= last; first = false) {
		if (audit_ring_read(ring, &reader, &row.event, room) != 1)
			break;
		row.number = reader.next - 1;
		enclave_log_add_item(&out, &row, first);
	}
	buffer_adds(&out, "\n]\n");
	text = buffer_take(&out);
	if (!text)
		return handles_error(e, &error, -ENOMEM);
	*ret = text;
	return 0;
}

int corral_enclave_export_audit_log(struct corral_enclave *enclave, const char *format,
	const char *path, struct corral_error **e)
{
	struct enclave_call c;
	int r;

	enclave_begin(&c, enclave, NULL, AUDIT_STORE, path);
	if (!format || !path)
		return enclave_refuse(&c, -EINVAL, e, "an export has a format and a path");
	r = corral_audit_export(enclave->audit, format, path, e);
	enclave_tell(&c, r < 0 ? AUDIT_FAILED : AUDIT_NONE, NULL, "exported");
	return r;
}
