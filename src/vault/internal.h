/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The process corral-vault: server.c listens, operations.c does what is asked, starter.c asks the
 * starter. */
#include <stdbool.h>
#include <sys/stat.h>

#include "audit/event.h"
#include "base/error.h"
#include "event/loop.h"
#include "vault/keys.h"
#include "vault/message.h"
#include "vault/store.h"

enum { SERVER_CLIENTS_MAX = 64 };

/* A process of one sandbox, by the socket that the starter handed over. */
struct vault_server_client {
	struct watcher watcher; /* fd -1: free */
	char principal[VAULT_TEXT_MAX + 1];
	char *names; /* of the secrets that it may ask for, each with a newline behind it */
};

/* Static and locked: frames and keys are in it. */
struct vault_server {
	int control, service;
	struct stat folder;
	struct loop *loop;
	struct watcher watcher;
	int ended; /* not 0: why the loop ends */
	bool has_key, is_remembered;
	struct keys_entry key;          /* until_s counts if it is remembered */
	uint8_t turn[STORE_TURN_BYTES]; /* at which it was had */
	bool has_slot_key;
	uint8_t slot_key[VAULT_KEY_BYTES]; /* of VAULT_SLOT_BEGIN */
	uint64_t next_id;
	char state[VAULT_STATE_MAX + 1]; /* of the secret that was asked for last */
	struct secret scratch, room;     /* to encode a secret, and a message */
	struct frame frame, service_frame;
	struct vault_server_client clients[SERVER_CLIENTS_MAX];
};

/*
 * Both wait for the starter, with a bound: it writes the log, and asks sources.
 * vault_starter_record() is called before what it records is done or answered.
 * vault_starter_fetch(): the value lives in the frame until the next of these calls.
 */
int vault_starter_record(struct vault_server *s, const struct audit_event *event, struct error *e);
int vault_starter_fetch(struct vault_server *s, const char *name, const char *source,
	struct vault_message *ret, struct error *e);

/* What is answered: the memory is the operation's own, until the answer is sent. */
struct operation_result {
	struct vault_message answer;
	struct vault vault; /* values of the answer are in here, or in the server's frames */
	struct buffer text;
};

/* By the starter. Negative, with a sentence: refused. */
int vault_operation_run(struct vault_server *s, const struct vault_message *m,
	struct operation_result *ret, struct error *e);
/* By a client: VAULT_GET. */
int vault_operation_get(struct vault_server *s, const struct vault_server_client *c,
	const struct vault_message *m, struct operation_result *ret, struct error *e);
