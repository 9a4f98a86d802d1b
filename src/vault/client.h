/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A corral-vault of one's own, for a process that is not in a sandbox: started here, with two
 * socket pairs, and gone with its starter. Several of a user may run at once; the file is what they
 * share.
 *
 * While a call waits for its answer, this writes the log and reads sources for the vault. A process
 * that handed out sockets does the same in its loop: vault_client_service_fd(), and
 * vault_client_serve() when it is readable.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "vault/message.h"

struct vault_client;
struct audit_event;

/* The folder of the user's vault: `vault` beside the audit log. */
int vault_place(struct buffer *out, struct error *e);

int vault_client_start(struct vault_client **ret, struct error *e);
/* Ends the process. NULL is fine. */
void vault_client_end(struct vault_client *c);

/* The answer lives until the next call. Negative: it was refused, with a sentence. */
int vault_client_call(struct vault_client *c, const struct vault_message *m,
	struct vault_message *ret, struct error *e);
/*
 * Gives a process of one sandbox the right to ask for the values of these secrets, by a connected
 * SOCK_SEQPACKET socket whose other end it has. The socket stays the caller's. principal: the
 * sandbox, as grants name it. names: each with a newline behind it; grants that name every sandbox
 * open no other secret to it.
 */
int vault_client_add(struct vault_client *c, const char *principal, const char *names, int socket);
int vault_client_service_fd(const struct vault_client *c);
/* Does what the vault asks for, once. -EPIPE: it has gone. */
int vault_client_serve(struct vault_client *c);
/* Into the log of the vault, as what the vault asks for. */
int vault_client_record(struct vault_client *c, const struct audit_event *event, struct error *e);
