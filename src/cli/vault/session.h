/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One use of the vault by `corral vault`: corral-vault runs as long as the command. Where the vault
 * is locked, its key comes from systemd-creds, if the vault has one there, or from a passphrase:
 * that of --passphrase-file, or one that is typed.
 */
#include "cli/options.h"
#include "codec/node.h"
#include "vault/client.h"

struct vault_session {
	struct call *call;
	const char *passphrase_file; /* NULL: ask */
	bool json;
	struct vault_client *vault;
};

#define SESSION_PASSPHRASE(s)                                                                   \
	{                                                                                       \
		{ "passphrase-file", SCHEMA_TEXT,                                               \
			.help = "read the passphrase from a file of mode 0600, or /dev/fd/N" }, \
			0, "FILE", .target = &(s)->passphrase_file                              \
	}

/* No other process of the user may look into this one from here on; starts corral-vault. */
int vault_session_begin(struct vault_session *s, struct call *c);
void vault_session_end(struct vault_session *s);
#define auto_vault_session __attribute__((cleanup(vault_session_end))) struct vault_session

/* Unlocks the vault first, if it is locked. The call's error says what was refused. */
int vault_session_call(
	struct vault_session *s, const struct vault_message *m, struct vault_message *ret);
/* The same, without unlocking. */
int vault_session_call_locked(
	struct vault_session *s, const struct vault_message *m, struct vault_message *ret);
/* VAULT_STATUS or VAULT_LIST as a tree, in the document. */
int vault_session_ask(struct vault_session *s, enum vault_op op, struct document *ret);
/* 1: there is a vault, 0: there is none. */
int vault_session_exists(struct vault_session *s);
/*
 * The secret of this name in the document's list, NULL: there is none. The vault is unlocked for
 * it, so a passphrase is asked for before a value is.
 */
int vault_session_look(
	struct vault_session *s, const char *name, struct document *list, const struct node **ret);
/* By what opens it; remember_s: how long the kernel keeps the key, 0: not at all. */
int vault_session_unlock(struct vault_session *s, uint64_t remember_s, uint32_t flags);
/* A new passphrase: typed twice, or from the file. */
int vault_session_new_passphrase(struct vault_session *s, struct secret *ret);
/* For the status of a refusal: there is no such secret or vault. */
int vault_session_refuse(struct vault_session *s, int r);

/* A line of what was done, on standard error. */
void vault_session_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
