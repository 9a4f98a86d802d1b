/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/operation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"

/* Records */

int operation_record(struct vault_server *s, const char *what, const char *name,
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

int operation_no_vault(struct error *e)
{
	(void)error_set(e, -ENOENT, NULL, "there is no vault");
	error_hint(e, "make one: corral vault init");
	return -ENOENT;
}

int operation_locked(struct error *e)
{
	(void)error_set(e, -ENOKEY, NULL, "the vault is locked");
	error_hint(e, "open it: corral vault unlock");
	return -ENOKEY;
}

int operation_damaged(struct error *e)
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

/* The turn is read first: what the keyring has then is not older. */
void operation_look_for_key(struct vault_server *s)
{
	uint8_t turn[STORE_TURN_BYTES];
	struct keys_entry key = { 0 };

	store_turn_read(turn);
	if (s->has_key && memcmp(turn, s->turn, sizeof(turn)) == 0)
		return;
	memcpy(s->turn, turn, sizeof(turn));
	secret_wipe(&s->key, sizeof(s->key));
	s->is_remembered = s->has_key = keys_load(&s->folder, &key) == 0;
	if (s->has_key)
		s->key = key;
	secret_wipe(&key, sizeof(key));
}

/* Reads the file with the key. -ENOKEY: another process changed it. */
int operation_read(struct vault_server *s, bool is_restored, struct vault *v, struct error *e)
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

int operation_open(struct vault_server *s, struct vault *v, struct error *e)
{
	int r;

	operation_look_for_key(s);
	r = s->has_key                     ? operation_read(s, false, v, e)
	    : access(STORE_FILE, F_OK) < 0 ? operation_no_vault(e)
					   : operation_locked(e);
	if (r != -EKEYREJECTED)
		return r;
	/* It has another key by now, or is damaged: unlocking tells. */
	secret_wipe(&s->key, sizeof(s->key));
	s->has_key = s->is_remembered = false;
	return operation_locked(e);
}

int operation_write(struct vault_server *s, struct vault *v, struct error *e)
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
int operation_begin(struct vault_server *s, struct vault *v, int *ret_lock, struct error *e)
{
	int r = store_lock(OPERATION_LOCK_MS, ret_lock, e);

	return r < 0 ? r : operation_open(s, v, e);
}

int operation_find(struct vault *v, const char *name, struct vault_entry **ret, struct error *e)
{
	*ret = vault_find(v, name);
	if (*ret)
		return 0;
	(void)error_set(e, -ENOENT, NULL, "there is no secret `%s`", name);
	error_hint(e, "corral vault list");
	return -ENOENT;
}
