/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/vault/stored-key.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vault/source.h"

#define SYSTEMD_PROGRAM "/usr/bin/systemd-creds"

enum { SYSTEMD_NAME_BYTES = 64 };

static int stored_key_systemd(const char *verb, const char *id, const struct secret *input,
	struct secret *ret, struct error *e)
{
	const bool is_root = geteuid() == 0;
	char name[SYSTEMD_NAME_BYTES + sizeof("--name=corral-vault-")];
	const char *const argv[] = { SYSTEMD_PROGRAM, verb, name, "-", "-",
		is_root ? NULL : "--user", NULL };
	int r;

	if (strlen(id) >= SYSTEMD_NAME_BYTES)
		return -EINVAL;
	(void)snprintf(name, sizeof(name), "--name=corral-vault-%s", id);
	r = access(SYSTEMD_PROGRAM, X_OK) < 0 ? -EOPNOTSUPP : source_run(argv, input, ret, NULL);
	if (r == 0)
		return 0;
	(void)error_set(e, r, NULL, "systemd-creds %s",
		r == -EOPNOTSUPP ? "is not installed"
		: is_root        ? "does not work here"
				 : "does not work for this user");
	if (!is_root)
		error_hint(e, "before systemd 256 it is for root only");
	return r;
}

/* Attributes by which the item is found again. */
static int stored_key_service(const char *verb, const char *id, const struct secret *input,
	struct secret *ret, struct error *e)
{
	const bool sets = strcmp(verb, "set") == 0;
	char attributes[SYSTEMD_NAME_BYTES + sizeof("application=corral-vault,id=")];
	const char *const words[] = { verb, sets ? "Key of the Corral vault" : attributes,
		sets ? attributes : NULL, NULL };

	if (strlen(id) >= SYSTEMD_NAME_BYTES)
		return -EINVAL;
	(void)snprintf(attributes, sizeof(attributes), "application=corral-vault,id=%s", id);
	return source_run_service(words, input, ret, e);
}

enum vault_slot_kind stored_key_kind(const char *word)
{
	for (enum vault_slot_kind kind = VAULT_SLOT_SYSTEMD; word && kind < VAULT_SLOT_KINDS;
		kind++)
		if (strcmp(vault_slot_names[kind], word) == 0)
			return kind;
	return VAULT_SLOT_NONE;
}

/* As digits: the end of a line is not taken for a part of a key, nor a part of it for that. */
int stored_key_keep(enum vault_slot_kind kind, const char *id, const struct secret *key,
	struct secret *ret, struct error *e)
{
	auto_secret hex = { 0 };
	int r = secret_new(&hex, 2 * key->len + 1);

	if (r < 0)
		return error_set(e, r, NULL, "%s: %s", vault_slot_names[kind], strerror(-r));
	(void)sodium_bin2hex((char *)hex.data, hex.len, key->data, key->len);
	hex.len--;
	return kind == VAULT_SLOT_SYSTEMD ? stored_key_systemd("encrypt", id, &hex, ret, e)
					  : stored_key_service("set", id, &hex, ret, e);
}

int stored_key_take(enum vault_slot_kind kind, const char *id, const char *blob, struct secret *ret,
	struct error *e)
{
	uint8_t bytes[VAULT_BLOB_MAX];
	struct secret input = { .data = bytes };
	auto_secret hex = { 0 }, key = { 0 };
	int r;

	if (kind == VAULT_SLOT_SERVICE)
		r = stored_key_service("get", id, NULL, &hex, e);
	else if (sodium_hex2bin(bytes, sizeof(bytes), blob, strlen(blob), NULL, &input.len, NULL) <
		 0)
		r = error_set(e, -EINVAL, NULL, "the vault has no key of systemd-creds");
	else
		r = stored_key_systemd("decrypt", id, &input, &hex, e);
	if (r == 0)
		r = secret_new(&key, VAULT_KEY_BYTES);
	if (r == 0 && (hex.len != 2 * VAULT_KEY_BYTES ||
			      sodium_hex2bin(key.data, key.len, (const char *)hex.data, hex.len,
				      NULL, NULL, NULL) < 0))
		r = error_set(
			e, -EBADMSG, NULL, "what %s has is not a key", vault_slot_names[kind]);
	if (r == 0) {
		*ret = key;
		key = (struct secret){ 0 };
	}
	return r;
}
