/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What corral-vault does. Each operation that changes the vault takes the lock, reads the file, and
 * has the change recorded before it writes: what is not in the log was not done. A use is recorded
 * before its value is answered. No record has a value.
 */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "codec/json-writer.h"
#include "vault/internal.h"
#include "vault/source-text.h"
#include "vault/store.h"

enum {
	OPERATION_LOCK_MS = 120 * 1000, /* longer than a source may take */
	OPERATION_FRESH_S = 30,         /* a value that expires so soon is fetched again */
	OPERATION_REMEMBER_MAX_S = 7 * 24 * 3600,
};

static uint64_t operation_now_s(void)
{
	return clock_ms(CLOCK_REALTIME) / 1000;
}

/* Records */

static int operation_record(struct vault_server *s, const char *what, const char *name,
	const char *principal, enum audit_decision decision, const char *reason, struct error *e)
{
	char target[sizeof("vault.") + 16 + VAULT_NAME_MAX + 2];
	const struct audit_event event = { .action = AUDIT_SERVICE,
		.decision = decision,
		.target = target,
		.program = "corral-vault",
		.sandbox = principal,
		.reason = reason,
		.exact = true,
		.count = 1 };

	(void)snprintf(target, sizeof(target), "vault.%s%s%s", what, *name ? ":" : "", name);
	return vault_starter_record(s, &event, e);
}

/* The vault */

static int operation_no_vault(struct error *e)
{
	(void)error_set(e, -ENOENT, NULL, "there is no vault");
	error_hint(e, "make one: corral vault init");
	return -ENOENT;
}

static int operation_locked(struct error *e)
{
	(void)error_set(e, -ENOKEY, NULL, "the vault is locked");
	error_hint(e, "open it: corral vault unlock");
	return -ENOKEY;
}

static int operation_damaged(struct error *e)
{
	(void)error_set(e, -EBADMSG, NULL, "the vault file is damaged, or was changed");
	error_hint(e, "the file before it is `%s` in the same folder", STORE_BACKUP);
	return -EBADMSG;
}

static int operation_stale(struct error *e, uint64_t has, uint64_t newest)
{
	(void)error_set(e, -ESTALE, NULL,
		"the vault file is older than the last that was written: %" PRIu64
		" changes, not %" PRIu64,
		has, newest);
	error_hint(e, "if you put a copy back on purpose: corral vault unlock --restored");
	return -ESTALE;
}

/* Reads the file with the key. -ENOKEY: another process changed it. */
static int operation_read(
	struct vault_server *s, bool is_restored, struct vault *v, struct error *e)
{
	auto_buffer file = { 0 };
	uint64_t newest;
	int r = store_read(&file, e);

	if (r < 0)
		return r == -ENOENT ? operation_no_vault(e) : r;
	r = vault_decode(v, file.data, file.len, STORE_FILE, s->key.key, e);
	if (r == -EBADMSG)
		return operation_damaged(e);
	if (r < 0 && r != -EKEYREJECTED && !e->text[0])
		return error_set(e, r, NULL, "the vault file: %s", strerror(-r));
	if (r < 0)
		return r;
	newest = store_marked(&v->header, s->key.key);
	if (memcmp(s->key.id, v->header.id, sizeof(s->key.id)) == 0 && s->key.generation > newest)
		newest = s->key.generation;
	if (v->header.generation < newest && !is_restored)
		return operation_stale(e, v->header.generation, newest);
	if (v->header.generation < newest)
		v->header.generation = newest;
	memcpy(s->key.id, v->header.id, sizeof(s->key.id));
	s->key.generation = v->header.generation;
	return 0;
}

static int operation_open(struct vault_server *s, struct vault *v, struct error *e)
{
	int r = s->has_key                     ? operation_read(s, false, v, e)
		: access(STORE_FILE, F_OK) < 0 ? operation_no_vault(e)
					       : operation_locked(e);

	if (r != -EKEYREJECTED)
		return r;
	/* It has another key by now, or is damaged: unlocking tells. */
	secret_wipe(&s->key, sizeof(s->key));
	s->has_key = s->is_remembered = false;
	return operation_locked(e);
}

static int operation_write(struct vault_server *s, struct vault *v, struct error *e)
{
	auto_buffer file = { 0 };
	int r;

	v->header.generation++;
	r = vault_encode(v, s->key.key, &s->scratch, &file);
	if (r == -E2BIG)
		return error_set(e, r, NULL, "the vault would be too large: %d MiB is the most",
			VAULT_FILE_MAX >> 20);
	if (r < 0)
		return error_set(e, r, NULL, "the vault file: %s", strerror(-r));
	r = store_write(&file, e);
	if (r < 0)
		return r;
	store_mark(&v->header, s->key.key);
	memcpy(s->key.id, v->header.id, sizeof(s->key.id));
	s->key.generation = v->header.generation;
	if (s->is_remembered && keys_save(&s->folder, &s->key) < 0)
		s->is_remembered = false;
	return 0;
}

/* A change: the lock stays until the caller closes it. */
static int operation_begin(struct vault_server *s, struct vault *v, int *ret_lock, struct error *e)
{
	int r = store_lock(OPERATION_LOCK_MS, ret_lock, e);

	return r < 0 ? r : operation_open(s, v, e);
}

static int operation_find(
	struct vault *v, const char *name, struct vault_entry **ret, struct error *e)
{
	*ret = vault_find(v, name);
	if (*ret)
		return 0;
	(void)error_set(e, -ENOENT, NULL, "there is no secret `%s`", name);
	error_hint(e, "corral vault list");
	return -ENOENT;
}

/* Keys */

static int operation_check_passphrase(const struct vault_message *m, struct error *e)
{
	if (m->secret_len < VAULT_PASSPHRASE_LEAST)
		return error_set(e, -EINVAL, NULL, "a passphrase needs at least %d characters",
			VAULT_PASSPHRASE_LEAST);
	if (m->secret_len > VAULT_PASSPHRASE_MAX)
		return error_set(e, -EINVAL, NULL, "a passphrase has at most %d bytes",
			VAULT_PASSPHRASE_MAX);
	return 0;
}

/* A new key, in one slot that the passphrase opens. */
static int operation_new_key(struct vault_server *s, struct vault_header *h,
	const struct vault_message *m, struct error *e)
{
	uint8_t by[VAULT_KEY_BYTES];
	int r;

	h->n_slots = 1;
	vault_slot_new(&h->slots[0], VAULT_SLOT_PASSPHRASE);
	r = vault_slot_derive(&h->slots[0], m->secret, m->secret_len, by);
	if (r < 0)
		return error_set(e, r, NULL, "Argon2id needs %" PRIu64 " MiB of memory",
			h->slots[0].memory >> 20);
	randombytes_buf(s->key.key, sizeof(s->key.key));
	s->key.generation = 0;
	vault_slot_wrap(&h->slots[0], h->id, by, s->key.key);
	secret_wipe(by, sizeof(by));
	s->has_key = true;
	return 0;
}

static int operation_init(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault *v = &ret->vault;
	auto_fd lock = -1;
	int r = operation_check_passphrase(m, e);

	if (r == 0)
		r = store_lock(OPERATION_LOCK_MS, &lock, e);
	if (r == 0 && access(STORE_FILE, F_OK) == 0) {
		r = error_set(e, -EEXIST, NULL, "there is a vault already");
		error_hint(e, "for another passphrase: corral vault rotate --passphrase");
	}
	if (r == 0)
		r = operation_record(s, "init", "", "", AUDIT_ALLOWED, "", e);
	if (r < 0)
		return r;
	randombytes_buf(v->header.id, sizeof(v->header.id));
	r = operation_new_key(s, &v->header, m, e);
	return r < 0 ? r : operation_write(s, v, e);
}

static int operation_rekey(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	auto_fd lock = -1;
	int r = operation_check_passphrase(m, e);

	if (r == 0)
		r = operation_begin(s, &ret->vault, &lock, e);
	if (r == 0)
		r = operation_record(s, "rekey", "", "", AUDIT_ALLOWED, "", e);
	if (r == 0)
		r = operation_new_key(s, &ret->vault.header, m, e);
	if (r == 0)
		r = operation_write(s, &ret->vault, e);
	/* It opens with the old passphrase. */
	if (r == 0)
		store_forget_backup();
	else if (s->has_key)
		s->is_remembered = s->has_key = keys_load(&s->folder, &s->key) == 0;
	return r;
}

/* The key of the file, by a passphrase: one at a time, so that many at once are not faster. */
static int operation_try(struct vault_server *s, const struct vault_header *h,
	const struct vault_message *m, struct error *e)
{
	uint8_t by[VAULT_KEY_BYTES];
	uint64_t wait = 0;
	int r = store_attempt(operation_now_s(), &wait, e);

	for (uint32_t i = 0; r == 0 && i < h->n_slots; i++) {
		if (h->slots[i].kind != VAULT_SLOT_PASSPHRASE)
			continue;
		r = vault_slot_derive(&h->slots[i], m->secret, m->secret_len, by);
		if (r < 0)
			(void)error_set(e, r, NULL, "Argon2id needs %" PRIu64 " MiB of memory",
				h->slots[i].memory >> 20);
		else
			r = vault_slot_unwrap(&h->slots[i], h->id, by, s->key.key);
		secret_wipe(by, sizeof(by));
		if (r == 0) {
			store_attempt_succeeded();
			return 0;
		}
		if (r == -EKEYREJECTED)
			return error_set(e, r, NULL, "the passphrase is wrong");
	}
	return r < 0 ? r : error_set(e, -ENOKEY, NULL, "no passphrase opens this vault");
}

/* By a key that is stored elsewhere. */
static int operation_try_slot(struct vault_server *s, const struct vault_header *h,
	const struct vault_message *m, struct error *e)
{
	for (uint32_t i = 0; i < h->n_slots; i++)
		if (strcmp(vault_slot_names[h->slots[i].kind], m->text) == 0 &&
			m->secret_len == VAULT_KEY_BYTES &&
			vault_slot_unwrap(&h->slots[i], h->id, m->secret, s->key.key) == 0)
			return 0;
	return error_set(e, -EKEYREJECTED, NULL, "what %s has does not open this vault", m->text);
}

static int operation_remember(struct vault_server *s, uint64_t seconds, struct error *e)
{
	int r;

	if (seconds == 0)
		return 0;
	if (seconds > OPERATION_REMEMBER_MAX_S)
		seconds = OPERATION_REMEMBER_MAX_S;
	s->key.until_s = operation_now_s() + seconds;
	r = keys_save(&s->folder, &s->key);
	s->is_remembered = r == 0;
	if (r < 0) {
		(void)error_set(
			e, r, NULL, "the kernel's keyring does not take the key: %s", strerror(-r));
		error_hint(e, "without it every command asks for the passphrase");
	}
	return r;
}

static int operation_unlock(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	const bool is_restored = m->flags & VAULT_FLAG_RESTORED;
	struct keys_entry before = s->key;
	auto_buffer file = { 0 };
	struct vault_header h;
	auto_fd lock = -1;
	size_t at;
	int r = store_lock(OPERATION_LOCK_MS, &lock, e);

	if (r == 0)
		r = store_read(&file, e);
	if (r == -ENOENT)
		return operation_no_vault(e);
	if (r == 0)
		r = vault_header_decode(&h, file.data, file.len, STORE_FILE, &at, e);
	if (r == -EBADMSG)
		return operation_damaged(e);
	if (r == 0)
		r = *m->text ? operation_try_slot(s, &h, m, e) : operation_try(s, &h, m, e);
	if (r == 0) {
		r = operation_read(s, is_restored, &ret->vault, e);
		r = r == -EKEYREJECTED ? operation_damaged(e) : r;
	}
	if (r == 0 && is_restored)
		r = operation_record(s, "restore", "", "", AUDIT_ALLOWED, "", e);
	if (r == 0 && is_restored)
		r = operation_write(s, &ret->vault, e);
	if (r < 0)
		s->key = before;
	secret_wipe(&before, sizeof(before));
	if (r < 0)
		return r;
	s->has_key = true;
	return operation_remember(s, m->number, e);
}

static int operation_lock(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	(void)m;
	(void)ret;
	(void)e;
	keys_drop(&s->folder);
	secret_wipe(&s->key, sizeof(s->key));
	s->has_key = s->is_remembered = false;
	return 0;
}

static int operation_slot_begin(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	(void)m;
	if (!s->has_key)
		return operation_locked(e);
	randombytes_buf(s->slot_key, sizeof(s->slot_key));
	s->has_slot_key = true;
	ret->answer.secret = s->slot_key;
	ret->answer.secret_len = sizeof(s->slot_key);
	return 0;
}

static int operation_slot_add(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault_header *h = &ret->vault.header;
	enum vault_slot_kind kind = VAULT_SLOT_SYSTEMD;
	struct vault_slot *slot = NULL;
	auto_fd lock = -1;
	int r;

	while (kind < VAULT_SLOT_KINDS && strcmp(vault_slot_names[kind], m->text) != 0)
		kind++;
	if (!s->has_slot_key || kind == VAULT_SLOT_KINDS || m->secret_len > VAULT_BLOB_MAX)
		return error_set(e, -EINVAL, NULL, "`%s` does not store keys", m->text);
	r = operation_begin(s, &ret->vault, &lock, e);
	if (r == 0)
		r = operation_record(s, "slot", "", "", AUDIT_ALLOWED, m->text, e);
	if (r < 0)
		return r;
	for (uint32_t i = 0; !slot && i < h->n_slots; i++)
		slot = h->slots[i].kind == kind ? &h->slots[i] : NULL;
	if (!slot && h->n_slots < VAULT_SLOTS_MAX)
		slot = &h->slots[h->n_slots++];
	if (!slot)
		return error_set(e, -E2BIG, NULL, "the vault has too many keys");
	vault_slot_new(slot, kind);
	slot->blob_len = m->secret_len;
	memcpy(slot->blob, m->secret, m->secret_len);
	vault_slot_wrap(slot, h->id, s->slot_key, s->key.key);
	secret_wipe(s->slot_key, sizeof(s->slot_key));
	s->has_slot_key = false;
	return operation_write(s, &ret->vault, e);
}

/* What is there */

static void operation_put_header(struct json_writer *w, const struct vault_header *h)
{
	json_put_encoded(w, "id", ENCODING_HEX, h->id, sizeof(h->id));
	json_put_count(w, "generation", h->generation);
	json_open_list(w, "keys");
	for (uint32_t i = 0; i < h->n_slots; i++) {
		json_open_map(w, NULL);
		json_put_text(w, "kind", vault_slot_names[h->slots[i].kind]);
		if (h->slots[i].blob_len > 0)
			json_put_encoded(
				w, "blob", ENCODING_HEX, h->slots[i].blob, h->slots[i].blob_len);
		json_close(w);
	}
	json_close(w);
}

static int operation_status(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct json_writer w = { .out = &ret->text };
	auto_buffer file = { 0 };
	struct vault_header h;
	struct keys_entry probe;
	size_t at;
	int r = store_read(&file, e), keyring = keys_load(&s->folder, &probe);
	const bool exists = r == 0;

	(void)m;
	secret_wipe(&probe, sizeof(probe));
	if (exists)
		r = vault_header_decode(&h, file.data, file.len, STORE_FILE, &at, e);
	if (r == -EBADMSG)
		return operation_damaged(e);
	if (r < 0 && r != -ENOENT)
		return r;
	json_open_map(&w, NULL);
	json_put_flag(&w, "exists", exists);
	json_put_flag(&w, "unlocked", s->has_key);
	json_put_flag(&w, "remembered", s->is_remembered);
	json_put_count(&w, "until", s->is_remembered ? s->key.until_s : 0);
	json_put_flag(&w, "keyring", keyring == 0 || keyring == -ENOKEY);
	json_put_count(&w, "wait", store_attempt_wait(operation_now_s()));
	json_put_flag(&w, "backup", access(STORE_BACKUP, F_OK) == 0);
	if (exists)
		operation_put_header(&w, &h);
	json_close(&w);
	ret->answer.text = buffer_text(&ret->text);
	return json_end(&w);
}

static void operation_put_entry(struct json_writer *w, const struct vault_entry *x)
{
	json_open_map(w, NULL);
	json_put_text(w, "name", x->name);
	json_put_text(w, "source", *x->source ? x->source : NULL);
	json_put_count(w, "version", x->version);
	json_put_count(w, "created", x->created_s);
	json_put_count(w, "changed", x->changed_s);
	json_put_count(w, "expires", x->expires_s);
	json_put_count(w, "keep", x->keep_s);
	json_open_list(w, "grants");
	for (uint32_t i = 0; i < x->n_grants; i++) {
		auto_buffer places = { 0 };

		vault_places_print(x->grants[i].places, &places);
		json_open_map(w, NULL);
		json_put_text(w, "host", x->grants[i].host);
		json_put_buffer(w, "in", &places);
		json_put_text(w, "to", *x->grants[i].principal ? x->grants[i].principal : NULL);
		json_close(w);
	}
	json_close(w);
	json_close(w);
}

static int operation_list(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct json_writer w = { .out = &ret->text };
	int r = operation_open(s, &ret->vault, e);

	(void)m;
	if (r < 0)
		return r;
	json_open_map(&w, NULL);
	json_open_list(&w, "secrets");
	for (size_t i = 0; i < ret->vault.n; i++)
		operation_put_entry(&w, &ret->vault.entries[i]);
	json_close(&w);
	json_close(&w);
	ret->answer.text = buffer_text(&ret->text);
	return json_end(&w);
}

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

static int operation_check_value(const struct vault_message *m, struct error *e)
{
	const char *rest;

	if (!vault_name_is_valid(m->name)) {
		(void)error_set(e, -EINVAL, NULL, "`%s` is not a name of a secret", m->name);
		error_hint(e, "letters, digits, _ . and -, beginning with a letter or _");
		return -EINVAL;
	}
	if (*m->text && m->secret_len > 0)
		return error_set(e, -EINVAL, NULL, "a secret has a value or a source, not both");
	if (*m->text) {
		int r = source_text_check(m->text, &rest, e);

		return r < 0 ? r : 0;
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
	return operation_write(s, &ret->vault, e);
}

/* A value of a source, now. 1: it was written back, and the entry has it. */
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
	if (value->number == 0)
		return 0;
	operation_put_value(x, value, value->number);
	r = operation_write(s, v, e);
	return r < 0 ? r : 1;
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
	if (r == 0 && *x->source && m->secret_len > 0)
		r = error_set(
			e, -EINVAL, NULL, "the value of `%s` comes from %s", m->name, x->source);
	if (r == 0 && !*x->source && m->secret_len == 0)
		r = error_set(e, -EINVAL, NULL, "the value is empty");
	if (r == 0)
		r = operation_record(s, "rotate", m->name, "", AUDIT_ALLOWED, "", e);
	if (r < 0 || !x)
		return r;
	if (*x->source) {
		r = operation_fetch(s, &ret->vault, x, &value, e);
		return r < 0 ? r : 0;
	}
	operation_put_value(x, m, m->number);
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

static int operation_grant(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	struct vault_grant *g = NULL;
	struct vault_entry *x = NULL;
	auto_fd lock = -1;
	int r;

	if (!vault_host_is_valid(m->text) || strlen(m->principal) > VAULT_NAME_MAX ||
		m->places == 0 || m->places > VAULT_PLACES_ALL)
		return error_set(e, -EINVAL, NULL, "`%s` is not one host with one port", m->text);
	r = operation_begin(s, &ret->vault, &lock, e);
	if (r == 0)
		r = operation_find(&ret->vault, m->name, &x, e);
	if (r == 0)
		r = operation_record(s, "grant", m->name, m->principal, AUDIT_ALLOWED, m->text, e);
	if (r < 0 || !x)
		return r;
	for (uint32_t i = 0; !g && i < x->n_grants; i++)
		g = operation_is_grant(&x->grants[i], m->text, m->principal) ? &x->grants[i] : NULL;
	if (!g && x->n_grants == VAULT_GRANTS_MAX)
		return error_set(
			e, -E2BIG, NULL, "a secret has at most %d grants", VAULT_GRANTS_MAX);
	if (!g)
		g = &x->grants[x->n_grants++];
	*g = (struct vault_grant){ m->text, m->places, m->principal };
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
	return !*x->source ||
	       (x->value_len > 0 && x->expires_s > operation_now_s() + OPERATION_FRESH_S);
}

/* The value of an entry: stored, kept, or fetched under the lock, so once for all who wait. */
static int operation_value(
	struct vault_server *s, const char *name, struct operation_result *ret, struct error *e)
{
	struct vault_entry *x = vault_find(&ret->vault, name);
	struct vault_message value = { 0 };
	auto_fd lock = -1;
	int r;

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

static bool operation_is_granted(
	const struct vault_entry *x, const char *principal, const struct vault_message *m)
{
	/* One place: what is asked for is what is recorded. */
	if (m->places == 0 || (m->places & (m->places - 1)) != 0)
		return false;
	for (uint32_t i = 0; x && i < x->n_grants; i++)
		if ((!*x->grants[i].principal || strcmp(x->grants[i].principal, principal) == 0) &&
			strcmp(x->grants[i].host, m->text) == 0 &&
			(x->grants[i].places & m->places))
			return true;
	return false;
}

int vault_operation_get(struct vault_server *s, const char *principal,
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
	is_granted = operation_is_granted(x, principal, m);
	buffer_printf(&reason, "%s in ", m->text);
	vault_places_print(m->places, &reason);
	r = operation_record(s, "use", m->name, principal,
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
	return operation_value(s, m->name, ret, e);
}

typedef int operation_handler(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e);
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
};

int vault_operation_run(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	if (!operation_handlers[m->op])
		return error_set(e, -EOPNOTSUPP, NULL, "no such operation of the vault");
	return operation_handlers[m->op](s, m, ret, e);
}
