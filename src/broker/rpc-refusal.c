/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/rpc-refusal.h"

#include <errno.h>
#include <string.h>

enum { REFUSAL_CLASS, REFUSAL_MESSAGE, REFUSAL_HINT, REFUSAL_RULE, REFUSAL_ALLOWED };

const struct schema_field rpc_refusal_fields[] = {
	[REFUSAL_CLASS] = { "class", .type = SCHEMA_NUMBER, .required = true,
		.max = RPC_CLASS_COUNT - 1 },
	[REFUSAL_MESSAGE] = { "message", .type = SCHEMA_TEXT, .required = true },
	[REFUSAL_HINT] = { "hint", .type = SCHEMA_TEXT },
	[REFUSAL_RULE] = { "rule", .type = SCHEMA_TEXT },
	[REFUSAL_ALLOWED] = { "allowed", .type = SCHEMA_WORDS, .max = 256 << 10 },
	{ 0 },
};

static struct value rpc_optional_text(const char *text)
{
	return text ? value_text(text, strlen(text)) : (struct value){ 0 };
}

struct values rpc_refusal_values(const struct rpc_refusal *r)
{
	struct values v = { 0 };

	v.v[REFUSAL_CLASS] = value_number(SCHEMA_NUMBER, r->class);
	v.v[REFUSAL_MESSAGE] = rpc_optional_text(r->message);
	v.v[REFUSAL_HINT] = rpc_optional_text(r->hint);
	v.v[REFUSAL_RULE] = rpc_optional_text(r->rule);
	if (r->n_allowed > 0)
		v.v[REFUSAL_ALLOWED] = (struct value){
			.type = SCHEMA_WORDS, .items = r->allowed, .n = r->n_allowed
		};
	return v;
}

int rpc_refusal_read(const struct values *v, struct rpc_refusal *ret)
{
	const char *message = v->v[REFUSAL_MESSAGE].text;

	if (v->v[REFUSAL_CLASS].number >= RPC_CLASS_COUNT)
		return -EPROTO;
	*ret = (struct rpc_refusal){
		.class = (enum rpc_class)v->v[REFUSAL_CLASS].number,
		.message = message[0] ? message : "it was refused without a reason",
		.hint = v->v[REFUSAL_HINT].text,
		.rule = v->v[REFUSAL_RULE].text,
		.allowed = v->v[REFUSAL_ALLOWED].items,
		.n_allowed = v->v[REFUSAL_ALLOWED].n,
	};
	return 0;
}
