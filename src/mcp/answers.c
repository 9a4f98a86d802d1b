/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "codec/json-writer.h"
#include "lib/enclave/share.h"
#include "mcp/backend.h"
#include "policy/explain.h"
#include "policy/operation-names.h"

static const char *answers_operation(const struct corral_denial *d)
{
	return (size_t)d->op < OPERATION_COUNT ? operation_names[d->op] : "?";
}

/* As an option of this command, where there is one. */
static void answers_remedy(const char *remedy, struct buffer *out)
{
	auto_buffer value = { 0 };
	const char *rest, *option = remedy ? explain_option(remedy, &value, &rest) : NULL;

	if (option)
		buffer_printf(out, "%s %s%s", option, buffer_text(&value), rest);
	else if (remedy)
		buffer_adds(out, remedy);
}

void mcp_answer_refusal(struct buffer *out, const char *message, const char *remedy)
{
	const bool is_line = remedy && strncmp(remedy, "add ", 4) == 0;
	auto_buffer text = { 0 };

	answers_remedy(remedy, &text);
	buffer_adds(out, message);
	if (text.len && strncmp(text.data, "none: ", 6) != 0)
		buffer_printf(out, "; %s%s", is_line ? "to allow it: " : "", text.data);
	buffer_addc(out, '\n');
}

void mcp_answer_denial(struct buffer *out, const struct corral_denial *d)
{
	auto_buffer message = { 0 };

	buffer_printf(&message, "denied: %s %s: %s", answers_operation(d),
		d->target ? d->target : "?",
		d->reason ? d->reason : "the policy does not allow it");
	mcp_answer_refusal(out, buffer_text(&message), d->remedy);
}

void mcp_answer_put_denial(struct json_writer *w, const char *key, const struct corral_denial *d)
{
	auto_buffer remedy = { 0 };

	answers_remedy(d->remedy, &remedy);
	json_open_map(w, key);
	json_put_text(w, "operation", answers_operation(d));
	json_put_text(w, "target", d->target);
	json_put_text(w, "rule", d->rule);
	json_put_text(w, "reason", d->reason);
	json_put_text(w, "remedy", buffer_text(&remedy));
	json_close(w);
}

void mcp_answer_refuse(
	const struct mcp_backend_options *o, struct mcp_result *r, int code, struct corral_error *e)
{
	const struct corral_denial *d = e ? corral_error_denial(e) : NULL;
	struct json_writer w = { .out = &r->structured };

	buffer_clear(&r->text);
	buffer_clear(&r->structured);
	r->is_error = true;
	r->asks = code == -EINPROGRESS && mcp_consent_is_wanted(o->consent);
	if (r->asks && e)
		(void)enclave_drop_question(o->enclave, corral_error_question(e));
	if (r->asks && o->consent->unasked) {
		buffer_printf(&r->text, "denied: %s\n", o->consent->unasked);
		r->asks = false;
	} else if (code == -EINPROGRESS) {
		buffer_printf(&r->text,
			"the user has to agree first (question %llu). %s, then call this again\n",
			(unsigned long long)(e ? corral_error_question(e) : 0),
			o->has_daemon
				? "Ask the user to answer it: `corral questions` or `corral "
				  "dashboard`"
				: "No daemon of Corral runs that could ask: ask the user to start "
				  "`corral dashboard`, and this server anew");
	} else if (d && code == -EACCES) {
		mcp_answer_denial(&r->text, d);
		if (mcp_consent_refused(o->consent))
			buffer_adds(&r->text, "the user was asked, and did not agree\n");
	} else {
		buffer_printf(&r->text, "%s\n", e ? corral_error_message(e) : strerror(-code));
	}
	if (d) {
		json_open_map(&w, NULL);
		mcp_answer_put_denial(&w, "denial", d);
		(void)json_end(&w);
	}
	corral_error_free(e);
}

void mcp_answer_end(const struct mcp_backend_options *o, struct mcp_call *c, struct mcp_result *r)
{
	if (!r->asks) {
		mcp_server_answer(c, r);
		return;
	}
	buffer_deinit(&r->text);
	buffer_deinit(&r->structured);
	mcp_consent_ask(o->consent, c);
}
