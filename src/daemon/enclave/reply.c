/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers, as JSON. What the policy does not allow is 403 and begins with "Permission denied", as
 * programs of desktop shells expect it; the denial beside it says which rule, and what would allow
 * it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "codec/json-writer.h"
#include "daemon/enclave/internal.h"
#include "policy/operation-names.h"

void reply_text(struct buffer *json, const char *key, const char *text)
{
	const bool is_first = json->len == 0 || json->data[json->len - 1] == '{';

	buffer_printf(json, "%s\"%s\":", is_first ? "" : ",", key);
	json_print_string(json, text, strlen(text));
}

void reply_data(struct buffer *json, const char *key, const char *data, size_t len, bool base64)
{
	const size_t before = json->len;
	enum encoding e = base64 || !encoding_fits(ENCODING_UTF8, data, len) ? ENCODING_BASE64
									     : ENCODING_UTF8;

	buffer_printf(json, "\"%s\":", key);
	json_put_encoded(&(struct json_writer){ .out = json }, NULL, e, data, len);
	/* Each control character takes six bytes. */
	if (e == ENCODING_UTF8 && !json->failed && json->len - before > 2 * len + 1024) {
		json->len = before;
		e = ENCODING_BASE64;
		buffer_printf(json, "\"%s\":", key);
		json_put_encoded(&(struct json_writer){ .out = json }, NULL, e, data, len);
	}
	buffer_printf(json, ",\"encoding\":\"%s\"", e == ENCODING_BASE64 ? "base64" : "utf8");
}

void reply_denial(struct buffer *json, const struct corral_denial *d)
{
	buffer_addc(json, '{');
	reply_text(json, "op", (size_t)d->op < OPERATION_COUNT ? operation_names[d->op] : "?");
	reply_text(json, "target", d->target);
	reply_text(json, "rule", d->rule);
	reply_text(json, "reason", d->reason);
	reply_text(json, "remedy", d->remedy);
	buffer_addc(json, '}');
}

static unsigned reply_status(int r)
{
	static const struct {
		int code;
		unsigned status;
	} rows[] = {
		{ -EACCES, 403 },
		{ -EPERM, 403 },
		{ -ELOOP, 403 },
		{ -EMLINK, 403 },
		{ -ENOENT, 404 },
		{ -EINPROGRESS, 409 },
		{ -EBUSY, 409 },
		{ -ECANCELED, 409 },
		{ -ECONNRESET, 409 },
		{ -EROFS, 409 },
		{ -ENOSPC, 409 },
		{ -EDQUOT, 409 },
		{ -EEXIST, 409 },
		{ -ENOTEMPTY, 409 },
		{ -ETXTBSY, 409 },
		{ -EOPNOTSUPP, 409 },
		{ -EFBIG, 413 },
		{ -E2BIG, 413 },
		{ -ETIMEDOUT, 504 },
		{ -ENOMEM, 503 },
		{ -EMFILE, 503 },
		{ -EINVAL, 400 },
		{ -EISDIR, 400 },
		{ -ENOTDIR, 400 },
		{ -ENAMETOOLONG, 400 },
		{ -ENOEXEC, 400 },
		{ -EILSEQ, 400 },
	};

	for (size_t i = 0; i < ROWS(rows); i++)
		if (rows[i].code == r)
			return rows[i].status;
	return 500;
}

void reply_refuse(struct bridge_call *c, int r, struct corral_error *e)
{
	static const char denied[] = "permission denied: ";
	const char *message = e ? corral_error_message(e) : strerror(-r);
	const struct corral_denial *d = e ? corral_error_denial(e) : NULL;
	auto_buffer text = { 0 };

	c->status = reply_status(r);
	/* The user ended it: the next call has another one. */
	if (r == -ECANCELED)
		atomic_store(&c->bridge->is_ended, true);
	if (c->status == 403) {
		buffer_adds(&text, "Permission denied: ");
		if (strncmp(message, denied, strlen(denied)) == 0)
			message += strlen(denied);
	}
	buffer_adds(&text, message);
	if (d && c->status == 403)
		policy_print_missing(c->bridge, &text);
	buffer_clear(&c->json);
	buffer_addc(&c->json, '{');
	reply_text(&c->json, "error", buffer_text(&text));
	if (d) {
		buffer_adds(&c->json, ",\"denial\":");
		reply_denial(&c->json, d);
	}
	if (e && corral_error_question(e))
		buffer_printf(&c->json, ",\"question\":%" PRIu64, corral_error_question(e));
	if (e && corral_error_line(e))
		buffer_printf(&c->json, ",\"line\":%u,\"column\":%u", corral_error_line(e),
			corral_error_column(e));
	buffer_adds(&c->json, "}\n");
	corral_error_free(e);
}

void reply_fail(struct bridge_call *c, unsigned status, const char *text)
{
	c->status = status;
	buffer_clear(&c->json);
	buffer_addc(&c->json, '{');
	reply_text(&c->json, "error", text);
	buffer_adds(&c->json, "}\n");
}
