/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What corral-vault does. Each operation that changes the vault takes the lock, reads the file, and
 * has the change recorded before it writes: what is not in the log was not done. A use is recorded
 * before its value is answered. No record has a value.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "vault/operation.h"
#include "vault/source-text.h"
#include "wire/lend.h"

/* Values */

static void operation_put_value(
	struct vault_entry *x, const struct vault_message *m, uint64_t expires_s)
{
	const uint64_t now = operation_now_s();

	x->value = m->secret;
	x->value_len = m->secret_len;
	x->expires_s = expires_s;
	x->version++;
	x->changed_s = now;
	x->created_s = x->created_s ? x->created_s : now;
}

/* Its login writes the value of this secret, and of no other. */
static int operation_check_link(const char *name, const char *link, struct error *e)
{
	char own[SOURCE_LINK_SECRET_BYTES];
	int r = source_link_secret(link, "", own);

	if (r == 0 && strcmp(own, name) == 0)
		return 0;
	return error_set(e, -EINVAL, NULL, "the token of link:%s is the secret %s", link,
		r == 0 ? own : "of its name");
}

static int operation_check_value(const struct vault_message *m, struct error *e)
{
	const char *rest;

	if (!vault_name_is_valid(m->name)) {
		(void)error_set(e, -EINVAL, NULL, "`%s` is not a name of a secret", m->name);
		error_hint(e, "letters, digits, _ . and -, beginning with a letter or _");
		return -EINVAL;
	}
	if (!vault_stand_in_is_valid(m->fields) || (*m->fields && *m->text))
		return error_set(e, -EINVAL, NULL, "no text can stand for it in each run");
	if (*m->text && m->secret_len > 0)
		return error_set(e, -EINVAL, NULL, "a secret has a value or a source, not both");
	if (*m->text) {
		int r = source_text_check(m->text, &rest, e);

		return r == SOURCE_LINK ? operation_check_link(m->name, rest, e) : r < 0 ? r : 0;
	}
	return m->secret_len > 0 ? 0 : error_set(e, -EINVAL, NULL, "the value is empty");
}

static int operation_set(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault_entry *x;
	auto_fd lock = -1;
	int r = operation_check_value(m, e);

	if (r == 0)
		r = operation_begin(s, &ret->vault, &lock, e);
	if (r == 0 && vault_find(&ret->vault, m->name)) {
		r = error_set(e, -EEXIST, NULL, "there is a secret `%s`", m->name);
		error_hint(e, "for another value: corral vault rotate %s", m->name);
	}
	if (r == 0)
		r = operation_record(s, "set", m->name, "", AUDIT_ALLOWED, m->text, e);
	if (r < 0)
		return r;
	x = vault_add(&ret->vault, m->name);
	if (!x)
		return ret->vault.n >= VAULT_ENTRIES_MAX
			       ? error_set(e, -E2BIG, NULL, "a vault has at most %d secrets",
					 VAULT_ENTRIES_MAX)
			       : error_no_memory(e);
	operation_put_value(x, m, *m->text ? 0 : m->number);
	x->keep_s = *m->text ? m->number : 0;
	x->source = m->text;
	x->stand_in = m->fields;
	return operation_write(s, &ret->vault, e);
}

static bool operation_lasts(uint64_t expires_s)
{
	return expires_s > operation_now_s() + VAULT_FRESH_S;
}

/* What was kept of an earlier value is not given out any more. */
static int operation_drop(
	struct vault_server *s, struct vault *v, struct vault_entry *x, struct error *e)
{
	const struct vault_message none = { 0 };

	/* Who is lent values asks again after each change: nothing is written for the second time.
	 */
	if (x->value_len == 0 || !operation_lasts(x->expires_s))
		return 0;
	operation_put_value(x, &none, 0);
	return operation_write(s, v, e);
}

/* A value of a source, now. 1: it was written back, and the entry has it. One that is about to
 * expire is not kept: it would be asked for again as if there were none. */
static int operation_fetch(struct vault_server *s, struct vault *v, struct vault_entry *x,
	struct vault_message *value, struct error *e)
{
	const uint64_t now = operation_now_s();
	int r = vault_starter_fetch(s, x->name, x->source, value, e);

	if (r < 0)
		return r;
	if (value->secret_len == 0)
		return error_set(e, -ENODATA, NULL, "the source of %s has an empty value", x->name);
	if (value->number == 0 && x->keep_s > 0)
		value->number = now + x->keep_s;
	if (!operation_lasts(value->number))
		return operation_drop(s, v, x, e);
	operation_put_value(x, value, value->number);
	r = operation_write(s, v, e);
	return r < 0 ? r : 1;
}

/* A token of `corral link`: who refreshes it asks another corral-vault to keep it. */
static bool operation_is_link(const struct vault_entry *x)
{
	const char *rest;

	return x && *x->source && source_text_check(x->source, &rest, NULL) == SOURCE_LINK;
}

static int operation_keep(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault_entry *x = NULL;
	auto_fd lock = -1;
	int r = operation_begin(s, &ret->vault, &lock, e);

	if (r == 0)
		r = operation_find(&ret->vault, m->name, &x, e);
	if (r == 0 && !operation_is_link(x))
		r = error_set(e, -EINVAL, NULL, "`%s` is not the token of a login", m->name);
	if (r == 0)
		r = operation_record(s, "keep", m->name, "", AUDIT_ALLOWED, "", e);
	if (r < 0 || !x)
		return r;
	operation_put_value(x, m, m->number);
	return operation_write(s, &ret->vault, e);
}

/* The value comes from elsewhere from now on; that is asked when the value is needed. */
static int operation_rotate_source(struct vault_server *s, struct vault *v, struct vault_entry *x,
	const struct vault_message *m, struct error *e)
{
	int r = operation_check_value(m, e);

	if (r == 0)
		r = operation_record(s, "rotate", m->name, "", AUDIT_ALLOWED, m->text, e);
	if (r < 0)
		return r;
	operation_put_value(x, m, 0);
	x->keep_s = m->number;
	x->source = m->text;
	x->stand_in = "";
	return operation_write(s, v, e);
}

static int operation_rotate(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault_message value;
	struct vault_entry *x = NULL;
	auto_fd lock = -1;
	int r = operation_begin(s, &ret->vault, &lock, e);

	if (r == 0)
		r = operation_find(&ret->vault, m->name, &x, e);
	if (r == 0 && *m->text)
		return operation_rotate_source(s, &ret->vault, x, m, e);
	if (r == 0 && *x->source && m->secret_len > 0)
		r = error_set(
			e, -EINVAL, NULL, "the value of `%s` comes from %s", m->name, x->source);
	if (r == 0 && !*x->source && m->secret_len == 0)
		r = error_set(e, -EINVAL, NULL, "the value is empty");
	if (r == 0 && (!vault_stand_in_is_valid(m->fields) || (*m->fields && *x->source)))
		r = error_set(e, -EINVAL, NULL, "no text can stand for it in each run");
	if (r == 0 && operation_is_link(x)) {
		(void)error_set(e, -EINVAL, NULL, "`%s` is the token of a login", m->name);
		error_hint(e, "corral link refresh %s", x->source + strlen("link:"));
		return -EINVAL;
	}
	if (r == 0)
		r = operation_record(s, "rotate", m->name, "", AUDIT_ALLOWED, "", e);
	if (r < 0 || !x)
		return r;
	if (*x->source) {
		r = operation_fetch(s, &ret->vault, x, &value, e);
		if (r != 0)
			return r < 0 ? r : 0;
		/* It is not kept: who is lent it asks for it anew. */
		x->version++;
		return operation_write(s, &ret->vault, e);
	}
	operation_put_value(x, m, m->number);
	x->stand_in = *m->fields ? m->fields : x->stand_in;
	return operation_write(s, &ret->vault, e);
}

static int operation_remove(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault_entry *x = NULL;
	auto_fd lock = -1;
	int r = operation_begin(s, &ret->vault, &lock, e);

	if (r == 0)
		r = operation_find(&ret->vault, m->name, &x, e);
	if (r == 0)
		r = operation_record(s, "remove", m->name, "", AUDIT_ALLOWED, "", e);
	if (r < 0 || !x)
		return r;
	vault_remove(&ret->vault, x);
	return operation_write(s, &ret->vault, e);
}

/* Grants */

static bool operation_is_grant(const struct vault_grant *g, const char *host, const char *principal)
{
	return strcmp(g->host, host) == 0 && strcmp(g->principal, principal) == 0;
}

static int operation_record_grant(
	struct vault_server *s, const struct vault_message *m, struct error *e)
{
	auto_buffer reason = { 0 };

	buffer_adds(&reason, m->text);
	if (*m->programs)
		buffer_printf(&reason, " by %s", m->programs);
	return reason.failed ? error_no_memory(e)
			     : operation_record(s, "grant", m->name, m->principal, AUDIT_ALLOWED,
				       buffer_text(&reason), e);
}

static int operation_grant(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault_grant *g = NULL;
	struct vault_entry *x = NULL;
	auto_fd lock = -1;
	int r;

	if (!vault_programs_are_valid(m->programs))
		return error_set(e, -EINVAL, NULL,
			"`%s` are not absolute paths of programs, without patterns", m->programs);
	if (!vault_host_is_valid(m->text) || strlen(m->principal) > VAULT_TEXT_MAX ||
		!vault_places_are_valid(m->places) || !vault_fields_are_valid(m->fields) ||
		!*m->fields != !(m->places & VAULT_FIELD))
		return error_set(e, -EINVAL, NULL, "`%s` is not one host with one port", m->text);
	r = operation_begin(s, &ret->vault, &lock, e);
	if (r == 0)
		r = operation_find(&ret->vault, m->name, &x, e);
	if (r == 0)
		r = operation_record_grant(s, m, e);
	if (r < 0 || !x)
		return r;
	for (uint32_t i = 0; !g && i < x->n_grants; i++)
		g = operation_is_grant(&x->grants[i], m->text, m->principal) ? &x->grants[i] : NULL;
	if (!g && x->n_grants == VAULT_GRANTS_MAX)
		return error_set(
			e, -E2BIG, NULL, "a secret has at most %d grants", VAULT_GRANTS_MAX);
	if (!g)
		g = &x->grants[x->n_grants++];
	*g = (struct vault_grant){ m->text, m->places, m->principal, m->fields, m->programs };
	return operation_write(s, &ret->vault, e);
}

static int operation_revoke(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault_entry *x = NULL;
	auto_fd lock = -1;
	uint32_t kept = 0;
	int r = operation_begin(s, &ret->vault, &lock, e);

	if (r == 0)
		r = operation_find(&ret->vault, m->name, &x, e);
	if (r == 0)
		r = operation_record(s, "revoke", m->name, m->principal, AUDIT_ALLOWED, m->text, e);
	if (r < 0 || !x)
		return r;
	for (uint32_t i = 0; i < x->n_grants; i++)
		if (*m->text && !operation_is_grant(&x->grants[i], m->text, m->principal))
			x->grants[kept++] = x->grants[i];
	if (kept == x->n_grants)
		return error_set(e, -ENOENT, NULL, "`%s` has no such grant", m->name);
	x->n_grants = kept;
	return operation_write(s, &ret->vault, e);
}

/* Use */

static bool operation_is_fresh(const struct vault_entry *x)
{
	return !*x->source || (x->value_len > 0 && operation_lasts(x->expires_s));
}

/*
 * A token that is over: the starter has it refreshed by a process with a corral-vault of its own,
 * which takes the lock that this one would hold. One that lasts is in the vault then; one that does
 * not is the answer.
 */
static int operation_renew(
	struct vault_server *s, const char *name, struct operation_result *ret, struct error *e)
{
	struct vault_entry *x = vault_find(&ret->vault, name);
	struct vault_message value = { 0 };
	int r = vault_starter_fetch(s, x->name, x->source, &value, e);

	if (r < 0)
		return r;
	if (value.secret_len > 0) {
		ret->answer.secret = value.secret;
		ret->answer.secret_len = value.secret_len;
		ret->answer.number = value.number;
		return 0;
	}
	vault_deinit(&ret->vault);
	r = operation_open(s, &ret->vault, e);
	if (r == 0)
		r = operation_find(&ret->vault, name, &x, e);
	if (r == 0 && !operation_is_fresh(x))
		r = error_set(e, -ENODATA, NULL, "the login of %s has no token", name);
	if (r < 0)
		return r;
	ret->answer.secret = x->value;
	ret->answer.secret_len = x->value_len;
	ret->answer.number = x->expires_s;
	return 0;
}

/* The value of an entry: stored, kept, or fetched under the lock, so once for all who wait. */
static int operation_value(
	struct vault_server *s, const char *name, struct operation_result *ret, struct error *e)
{
	struct vault_entry *x = vault_find(&ret->vault, name);
	struct vault_message value = { 0 };
	auto_fd lock = -1;
	int r;

	if (!operation_is_fresh(x) && operation_is_link(x))
		return operation_renew(s, name, ret, e);
	if (!operation_is_fresh(x)) {
		vault_deinit(&ret->vault);
		r = operation_begin(s, &ret->vault, &lock, e);
		if (r == 0)
			r = operation_find(&ret->vault, name, &x, e);
		if (r == 0 && !operation_is_fresh(x)) {
			r = operation_fetch(s, &ret->vault, x, &value, e);
			if (r == 0) {
				ret->answer.secret = value.secret;
				ret->answer.secret_len = value.secret_len;
				ret->answer.number = value.number;
				return 0;
			}
		}
		if (r < 0)
			return r;
	}
	if (!*x->source && x->expires_s > 0 && x->expires_s <= operation_now_s()) {
		(void)error_set(e, -EKEYEXPIRED, NULL, "the value of `%s` has expired", name);
		error_hint(e, "corral vault rotate %s", name);
		return -EKEYEXPIRED;
	}
	ret->answer.secret = x->value;
	ret->answer.secret_len = x->value_len;
	ret->answer.fields = x->stand_in;
	ret->answer.number = x->expires_s;
	return 0;
}

static int operation_export(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault_entry *x = NULL;
	int r = operation_open(s, &ret->vault, e);

	if (r == 0)
		r = operation_find(&ret->vault, m->name, &x, e);
	if (r == 0)
		r = operation_record(s, "export", m->name, "", AUDIT_ALLOWED, "to the user", e);
	return r < 0 ? r : operation_value(s, m->name, ret, e);
}

/* Of all grants that say so: their programs, to out; "" is any. */
static bool operation_is_granted(const struct vault_entry *x, const char *principal,
	const struct vault_message *m, struct buffer *out)
{
	bool is_granted = false, is_any = false;

	/* One place: what is asked for is what is recorded. */
	if (m->places == 0 || (m->places & (m->places - 1)) != 0 ||
		!*m->fields != (m->places != VAULT_FIELD))
		return false;
	for (uint32_t i = 0; x && i < x->n_grants; i++) {
		const struct vault_grant *g = &x->grants[i];

		if ((*g->principal && strcmp(g->principal, principal) != 0) ||
			strcmp(g->host, m->text) != 0 || !(g->places & m->places) ||
			(*m->fields && !vault_fields_have(g->fields, m->fields, strlen(m->fields))))
			continue;
		is_granted = true;
		is_any = is_any || !*g->programs;
		buffer_printf(out, "%s%s", out->len > 0 ? "," : "", g->programs);
	}
	if (is_any)
		buffer_clear(out);
	return is_granted && !out->failed;
}

/* By its state it is known whether a secret is as it was: to those who had its value. */
static void operation_state(
	const struct vault_server *s, const struct vault_entry *x, char ret[VAULT_STATE_MAX + 1])
{
	const uint64_t numbers[] = { x->version, x->created_s, x->changed_s, x->keep_s,
		x->expires_s, x->value_len };
	uint8_t hash[VAULT_STATE_MAX / 2];
	crypto_generichash_state all;

	(void)crypto_generichash_init(&all, s->key.key, sizeof(s->key.key), sizeof(hash));
	(void)crypto_generichash_update(&all, (const uint8_t *)numbers, sizeof(numbers));
	(void)crypto_generichash_update(&all, (const uint8_t *)x->source, strlen(x->source) + 1);
	(void)crypto_generichash_update(
		&all, (const uint8_t *)x->stand_in, strlen(x->stand_in) + 1);
	(void)crypto_generichash_update(&all, x->value, x->value_len);
	(void)crypto_generichash_final(&all, hash, sizeof(hash));
	(void)sodium_bin2hex(ret, VAULT_STATE_MAX + 1, hash, sizeof(hash));
	sodium_memzero(&all, sizeof(all));
}

/* Whoever asks has the value: a source is not asked for it once more. */
static bool operation_is_same(
	const struct vault_entry *x, const char *state, const struct vault_message *m)
{
	return strcmp(m->principal, state) == 0 &&
	       (x->expires_s == 0 || operation_lasts(x->expires_s));
}

/* What else is granted to its sandbox, or to all, is not for this process. */
static bool operation_is_lent(const struct vault_server_client *c, const char *name)
{
	const size_t len = strlen(name);

	for (const char *at = c->names; *at; at += strcspn(at, "\n") + 1)
		if (strncmp(at, name, len) == 0 && at[len] == '\n')
			return true;
	return false;
}

int vault_operation_get(struct vault_server *s, const struct vault_server_client *c,
	const struct vault_message *m, struct operation_result *ret, struct error *e)
{
	const bool is_name = vault_name_is_valid(m->name) && vault_host_is_valid(m->text);
	auto_buffer reason = { 0 };
	struct vault_entry *x;
	bool is_granted;
	int r = is_name ? operation_open(s, &ret->vault, e)
			: error_set(e, -EINVAL, NULL, "no such secret or host");

	if (r < 0)
		return r;
	x = vault_find(&ret->vault, m->name);
	is_granted = operation_is_lent(c, m->name) &&
		     operation_is_granted(x, c->principal, m, &ret->text);
	if (is_granted && ret->text.len > LEND_PROGRAMS_MAX)
		return error_set(e, -E2BIG, NULL, "`%s` is granted to too many programs for %s",
			m->name, m->text);
	if (is_granted) {
		operation_state(s, x, s->state);
		ret->answer.principal = s->state;
		ret->answer.programs = buffer_text(&ret->text);
	}
	if (is_granted && operation_is_same(x, s->state, m)) {
		ret->answer.flags = VAULT_FLAG_SAME;
		ret->answer.number = x->expires_s;
		return 0;
	}
	buffer_printf(&reason, "%s in ", m->text);
	vault_places_print(m->places, m->fields, &reason);
	r = operation_record(s, "use", m->name, c->principal,
		is_granted ? AUDIT_ALLOWED : AUDIT_DENIED, buffer_text(&reason), e);
	if (r < 0)
		return r;
	/* The same words whether there is such a secret or not. */
	if (!is_granted) {
		(void)error_set(e, -EACCES, NULL, "`%s` is not granted for %s", m->name,
			buffer_text(&reason));
		error_hint(e, "corral vault grant %s %s", m->name, m->text);
		return -EACCES;
	}
	r = operation_value(s, m->name, ret, e);
	/* What was fetched may be kept, which is another state. */
	x = r == 0 ? vault_find(&ret->vault, m->name) : NULL;
	if (x)
		operation_state(s, x, s->state);
	return r;
}

static operation_handler *const operation_handlers[VAULT_OPS] = {
	[VAULT_INIT] = operation_init,
	[VAULT_UNLOCK] = operation_unlock,
	[VAULT_LOCK] = operation_lock,
	[VAULT_STATUS] = operation_status,
	[VAULT_LIST] = operation_list,
	[VAULT_SET] = operation_set,
	[VAULT_ROTATE] = operation_rotate,
	[VAULT_REKEY] = operation_rekey,
	[VAULT_SLOT_BEGIN] = operation_slot_begin,
	[VAULT_SLOT_ADD] = operation_slot_add,
	[VAULT_REMOVE] = operation_remove,
	[VAULT_GRANT] = operation_grant,
	[VAULT_REVOKE] = operation_revoke,
	[VAULT_EXPORT] = operation_export,
	[VAULT_KEEP] = operation_keep,
};

int vault_operation_run(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	if (!operation_handlers[m->op])
		return error_set(e, -EOPNOTSUPP, NULL, "no such operation of the vault");
	return operation_handlers[m->op](s, m, ret, e);
}
