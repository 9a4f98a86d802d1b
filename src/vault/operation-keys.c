/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vault's key: made once, in slots that a passphrase or a key stored elsewhere opens, kept in
 * the kernel's keyring for as long as the user wants.
 */
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "vault/operation.h"

enum { OPERATION_REMEMBER_MAX_S = 7 * 24 * 3600 };

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

int operation_init(struct vault_server *s, const struct vault_message *m,
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
	store_turn_read(s->turn);
	randombytes_buf(v->header.id, sizeof(v->header.id));
	r = operation_new_key(s, &v->header, m, e);
	return r < 0 ? r : operation_write(s, v, e);
}

int operation_rekey(struct vault_server *s, const struct vault_message *m,
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
	/* Runs that lost it by a lock have it back. */
	if (r == 0) {
		r = store_turn(e);
		store_turn_read(s->turn);
		if (r < 0)
			return r;
	}
	if (r < 0) {
		(void)error_set(
			e, r, NULL, "the kernel's keyring does not take the key: %s", strerror(-r));
		error_hint(e, "without it every command asks for the passphrase");
	}
	return r;
}

int operation_unlock(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	const bool is_restored = m->flags & VAULT_FLAG_RESTORED;
	struct keys_entry before = s->key;
	auto_buffer file = { 0 };
	uint8_t turn[STORE_TURN_BYTES];
	struct vault_header h;
	auto_fd lock = -1;
	size_t at;
	int r = store_lock(OPERATION_LOCK_MS, &lock, e);

	store_turn_read(turn);
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
	memcpy(s->turn, turn, sizeof(turn));
	return operation_remember(s, m->number, e);
}

int operation_lock(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	int r;

	(void)m;
	(void)ret;
	keys_drop(&s->folder);
	secret_wipe(&s->key, sizeof(s->key));
	s->has_key = s->is_remembered = false;
	r = access(STORE_FILE, F_OK) == 0 ? store_turn(e) : 0;
	if (r < 0)
		error_hint(e, "the vault is locked, but runs that are under way keep what they "
			      "were lent: end them");
	store_turn_read(s->turn);
	return r;
}

int operation_slot_begin(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e)
{
	(void)m;
	operation_look_for_key(s);
	if (!s->has_key)
		return operation_locked(e);
	randombytes_buf(s->slot_key, sizeof(s->slot_key));
	s->has_slot_key = true;
	ret->answer.secret = s->slot_key;
	ret->answer.secret_len = sizeof(s->slot_key);
	return 0;
}

int operation_slot_add(struct vault_server *s, const struct vault_message *m,
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
