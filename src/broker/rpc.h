/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * JSON-RPC 2.0 as the broker speaks it: one message per line, a request, a notification (no id) or
 * a batch of both. Parameters are given by name. Everything is strict: a key that appears twice, a
 * parameter that a method does not have or of another type is an error that names it, because a
 * call that is not understood whole must not be half done.
 *
 * Reading gives calls whose values fit their method's row; nothing is decided here.
 */
#include <stdbool.h>
#include <stddef.h>

#include "codec/encoding.h"
#include "broker/rpc-refusal.h"
#include "broker/value.h"
#include "codec/node.h"

struct buffer;

enum {
	RPC_LINE_MAX = 8 << 20,
	RPC_BATCH_MAX = 1000,
	RPC_ID_MAX = 1024, /* bytes of an id, as text */
};

int rpc_code(enum rpc_class class, bool by_shield);
/* The word that `data` has for it. */
const char *rpc_class_name(enum rpc_class class);

struct rpc_call {
	const char *id; /* as JSON, in the document's arena; NULL: a notification, never answered */
	const struct method *method; /* NULL: refused before it was found */
	bool by_shield;
	struct values params;
};

/*
 * Reads one line into a document: its root is a call, or a list of 1 to RPC_BATCH_MAX calls.
 * 0, 1 (refused: *why, with texts in `e`), or -ENOMEM.
 */
int rpc_read(
	struct document *d, const char *line, size_t len, struct error *e, struct rpc_refusal *why);
/*
 * Reads one call of it. Texts of *ret point into the document, or into its arena. 0: a call for
 * `channel`. 1: it is refused, and *ret is filled as far as it was understood, for the answer. The
 * method's own refusal counts. -ENOMEM.
 */
int rpc_call_read(struct document *d, const struct node *n, unsigned channel, struct rpc_call *ret,
	struct error *e, struct rpc_refusal *why);

/* The encoding that the call names (enum encoding); -1: it names none. */
int rpc_wanted(const struct rpc_call *c);

/* One answer each, without a newline. id: JSON text; NULL is null. */
void rpc_print_refusal(
	struct buffer *out, const char *id, bool by_shield, const struct rpc_refusal *r);
/*
 * wanted: the place of the encoding that the call named, or -1. Without one, bytes that are no text
 * become base64 if the result can say so, else U+FFFD if the method is lossy. Otherwise they are
 * refused: 1, and an error was printed.
 */
int rpc_print_result(struct buffer *out, const char *id, const struct method *m, bool by_shield,
	int wanted, const struct values *results);
/*
 * A notification of a call that runs, by the notes of its row; id as above. Bytes that are no text
 * become base64, and the note says so.
 */
void rpc_print_note(struct buffer *out, const char *id, const struct method *m, bool by_shield,
	int wanted, const struct values *notes);
