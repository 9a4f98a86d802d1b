/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Lines of a broker: the answer to a call, or a note while it runs. A broker may lie; what is no
 * JSON-RPC 2.0 is refused.
 */
#include <stddef.h>

#include "base/error.h"
#include "broker/rpc.h"
#include "codec/node.h"

enum client_answer_kind { ANSWER_RESULT, ANSWER_ERROR, ANSWER_NOTE };

struct client_answer {
	enum client_answer_kind kind;
	struct document doc;
	const struct node *body; /* a map: the result, the error, or the params of a note */
	const char *note;        /* the notification's name */
};

/*
 * id: that of the call, as JSON has it. NULL: any. -EPROTO: it is no answer to this call, and *e
 * says why. -ENOMEM.
 */
int answer_read(
	struct client_answer *ret, const char *line, size_t len, const char *id, struct error *e);
/* An error of our own, in the form of an answer; by_shield: with AgenShield's code. */
int answer_make(struct client_answer *ret, const struct rpc_refusal *why, bool by_shield);
void answer_deinit(struct client_answer *a);
#define auto_answer __attribute__((cleanup(answer_deinit))) struct client_answer

/* Of an error: its class; and the exit status for it. */
enum rpc_class answer_class(const struct client_answer *a);
int answer_status(enum rpc_class class);
