/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three tools about permissions. A look at the policy comes first, because a call of the
 * enclave asks the user where the policy says so, and to check is not to ask.
 */
#include <errno.h>
#include <string.h>

#include "codec/json-writer.h"
#include "mcp/backend.h"
#include "policy/operation-names.h"

static enum operation permission_operation(const struct mcp_call *c)
{
	return (enum operation)mcp_tool_number(
		c->tool, c->arguments, "operation", OPERATION_FS_READ);
}

/* Whether the policy asks about it, as it was declared. */
static bool permission_is_asked(const struct mcp_backend_options *o, const struct mcp_call *c)
{
	const struct request request = { .op = permission_operation(c),
		.target = node_get_text(c->arguments, "target") };
	struct decision d;

	return policy_decide(o->policy, &request, &d) == 0 && d.verdict == VERDICT_ASK;
}

static void permission_say(
	const struct mcp_call *c, struct mcp_result *r, const char *verdict, const char *text)
{
	struct json_writer w = { .out = &r->structured };

	buffer_printf(&r->text, "%s: %s\n", verdict, text);
	json_open_map(&w, NULL);
	json_put_text(&w, "verdict", verdict);
	json_put_text(&w, "operation", operation_names[permission_operation(c)]);
	json_put_text(&w, "target", node_get_text(c->arguments, "target"));
	(void)json_end(&w);
}

static void permission_deny(
	const struct mcp_call *c, struct mcp_result *r, struct corral_error *e, int code)
{
	const struct corral_denial *d = e ? corral_error_denial(e) : NULL;
	struct json_writer w = { .out = &r->structured };

	/* To know that it is denied is what was wanted. */
	if (d) {
		mcp_answer_denial(&r->text, d);
		if (d->rule && *d->rule && c->tool == &mcp_tools[MCP_EXPLAIN_DENIAL])
			buffer_printf(&r->text, "the rule: %s\n", d->rule);
	} else {
		buffer_printf(
			&r->text, "denied: %s\n", e ? corral_error_message(e) : strerror(-code));
	}
	json_open_map(&w, NULL);
	json_put_text(&w, "verdict", "deny");
	if (d)
		mcp_answer_put_denial(&w, "denial", d);
	(void)json_end(&w);
}

void mcp_permission_answer(const struct mcp_backend_options *o, struct mcp_call *c)
{
	const bool requests = c->tool == &mcp_tools[MCP_REQUEST_PERMISSION];
	const struct corral_by by = { .size = sizeof(by), .actor = "mcp" };
	struct mcp_result answer = { 0 };
	struct corral_error *e = NULL;
	int r;

	/* An answer counts for the call that needs it: there is none to give before that. */
	if (requests && mcp_asking_is_possible(c) && permission_is_asked(o, c)) {
		permission_say(c, &answer, "ask",
			"call the tool that needs it: the user is asked then, for that call");
		mcp_server_answer(c, &answer);
		return;
	}
	if (!requests && permission_is_asked(o, c)) {
		permission_say(c, &answer, "ask",
			"the user has to agree; request_permission asks, and so does the tool "
			"that needs it");
		mcp_server_answer(c, &answer);
		return;
	}
	r = corral_enclave_check(o->enclave, &by, (enum corral_operation)permission_operation(c),
		node_get_text(c->arguments, "target"), &e);
	if (r >= 0) {
		permission_say(c, &answer, "allow", "the policy allows it");
	} else if (r == -EACCES) {
		permission_deny(c, &answer, e, r);
		answer.is_error = requests;
	} else {
		mcp_answer_refuse(o, &answer, r, e);
		e = NULL;
	}
	if (r >= 0 || r == -EACCES)
		corral_error_free(e);
	mcp_server_answer(c, &answer);
}
