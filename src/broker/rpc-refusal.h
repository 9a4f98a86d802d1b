/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Why a call of the broker is refused, and how that stands in frames. It is apart from rpc.h, so
 * that a program which only passes refusals on does not carry the table of methods.
 */
#include <stddef.h>

#include "broker/value.h"

/* Why a call fails. Each has Corral's code and the one for a caller that uses AgenShield's names.
 */
enum rpc_class {
	RPC_INTERNAL = 0,
	RPC_PARSE,
	RPC_REQUEST,
	RPC_METHOD,
	RPC_PARAMS,
	RPC_PERMISSION,
	RPC_SCOPE,
	RPC_RATE,
	RPC_TIMEOUT,
	RPC_SERVICE,
	RPC_NETWORK,
	RPC_PATH,
	RPC_CHANNEL, /* not where it was called */
	RPC_CLASS_COUNT,
};

/* An error as it is answered. Texts may be NULL but for the message. */
struct rpc_refusal {
	enum rpc_class class;
	const char *message;
	const char *hint;                 /* what to do */
	const char *rule;                 /* file:line that decided */
	const struct value_item *allowed; /* what is allowed instead */
	size_t n_allowed;
};

/* What stands in frames for one: values_encode() and values_decode() with these rows. */
extern const struct schema_field rpc_refusal_fields[];
struct values rpc_refusal_values(const struct rpc_refusal *r);
/* -EPROTO: it is of no class. Texts are those of the values. */
int rpc_refusal_read(const struct values *v, struct rpc_refusal *ret);
