/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The broker of a session (the program corral-broker): a child of whoever holds the session,
 * outside the sandbox's namespaces, that answers what commands ask at the socket in their /dev. It
 * is started early, and told all that it has to know, so that the kernel loads it and it makes
 * itself ready while the sandbox is built; it gets its sockets once the tree stands.
 *
 * It ends with its holder: by the end of the control socket, or by PR_SET_PDEATHSIG. If it dies,
 * the sandbox goes on, and it is started again a few times with the same socket, so that calls
 * which wait there are answered; after that, connections are refused.
 *
 * A holder that confines itself can start no program that is not confined. It leaves a keeper
 * behind first: a child process that waits, starts the same broker with the same setup again when
 * the holder asks for that, and accepts nothing else.
 */
#include "base/error.h"
#include "wire/broker.h"
#include "wire/frame.h"

struct broker_process;

/* Starts the program; that it cannot be loaded is heard when its answer is. The caller's, for
 * broker_process_end() or _leave(). The ledger (wire/ledger.h) stays open as long as it lives. */
int broker_process_start(
	struct broker_process **ret, const char *program, int ledger, struct error *e);
/* Sends what it has to know, and the ledger, and keeps a copy. As broker_setup_encode(). */
int broker_process_configure(struct broker_process *b, const struct broker_setup *setup);
/* Sends the listener, the root directory that commands see and the listener for HTTP (-1: there is
 * none), which it takes over. */
int broker_process_serve(
	struct broker_process *b, int listener, int root, int http, struct error *e);
/* Readable when it has answered; then broker_process_ready() says whether it serves. */
int broker_process_socket(const struct broker_process *b);
int broker_process_ready(struct broker_process *b, struct error *e);
/* Readable when it has died. */
int broker_process_pidfd(const struct broker_process *b);
/*
 * It has died: starts it again, with another pidfd. Negative: not any more, and its socket is
 * closed. The sentence says how it ended.
 */
int broker_process_restart(struct broker_process *b, struct error *e);
/*
 * The holder is about to confine itself: from here on a keeper starts it again. Negative: no
 * process does.
 */
int broker_process_keep(struct broker_process *b);

/*
 * It has to end, after it has said what is left for the log, which the caller reads from its socket
 * until the end of it; no longer than so many ms. Negative: there is none.
 */
int broker_process_finish(struct broker_process *b, int *ret_ms);
/* It has ended its socket: waits for its own end, for a while. */
void broker_process_finished(struct broker_process *b);
/* What it sent when it failed, for broker_process_restart(). */
void broker_process_note(struct broker_process *b, const struct frame *f);
/* Kills it and waits for its end; NULL is nothing. Frees. */
void broker_process_end(struct broker_process *b);
