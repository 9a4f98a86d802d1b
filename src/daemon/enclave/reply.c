/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/enclave/reply.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "codec/encoding.h"
#include "codec/json-writer.h"
#include "policy/operation-names.h"

void reply_data(struct json_writer *w, const char *key, const char *data, size_t len, bool base64)
{
	auto_buffer text = { 0 };

	if (!base64 && encoding_fits(ENCODING_UTF8, data, len))
		json_print_string(&text, data, len);
	/* Each control character takes six bytes. */
	if (text.len == 0 || strlen(key) + 3 + text.len > 2 * len + 1024) {
		json_put_encoded(w, key, ENCODING_BASE64, data, len);
		json_put_text(w, "encoding", "base64");
	} else {
		json_put_raw(w, key, text.data);
		json_put_text(w, "encoding", "utf8");
	}
	w->out->failed = w->out->failed || text.failed;
}

void reply_denial(struct json_writer *w, const char *key, const struct corral_denial *d)
{
	json_open_map(w, key);
	json_put_text(w, "op", (size_t)d->op < OPERATION_COUNT ? operation_names[d->op] : "?");
	json_put_text(w, "target", d->target);
	json_put_text(w, "rule", d->rule);
	json_put_text(w, "reason", d->reason);
	json_put_text(w, "remedy", d->remedy);
	json_close(w);
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

void reply_refuse(struct reply *c, int r, struct corral_error *e)
{
	static const char denied[] = "permission denied: ";
	const char *message = e ? corral_error_message(e) : strerror(-r);
	const struct corral_denial *d = e ? corral_error_denial(e) : NULL;
	struct json_writer w = { .out = &c->json };
	auto_buffer text = { 0 };

	c->status = reply_status(r);
	/* The user ended it: the next call has another one. */
	if (r == -ECANCELED)
		c->is_ended = true;
	if (c->status == 403) {
		buffer_adds(&text, "Permission denied: ");
		if (strncmp(message, denied, strlen(denied)) == 0)
			message += strlen(denied);
	}
	buffer_adds(&text, message);
	if (d && c->status == 403 && c->missing)
		buffer_adds(&text, c->missing);
	buffer_clear(&c->json);
	json_open_map(&w, NULL);
	json_put_buffer(&w, "error", &text);
	if (d)
		reply_denial(&w, "denial", d);
	if (e && corral_error_question(e))
		json_put_count(&w, "question", corral_error_question(e));
	if (e && corral_error_line(e)) {
		json_put_count(&w, "line", corral_error_line(e));
		json_put_count(&w, "column", corral_error_column(e));
	}
	json_end_line(&w);
	corral_error_free(e);
}

void reply_fail(struct reply *c, unsigned status, const char *text)
{
	struct json_writer w = { .out = &c->json };

	c->status = status;
	buffer_clear(&c->json);
	json_open_map(&w, NULL);
	json_put_text(&w, "error", text);
	json_end_line(&w);
}

bool reply_path(struct reply *c, const char *name, char out[PATH_BYTES], const char **ret)
{
	const char *path = route_value(&c->call, name);
	size_t len;

	*ret = NULL;
	if (path && path_normalize(path, strlen(path), out, &len) < 0) {
		reply_fail(c, 400, "the path must be absolute, and shorter than 4096 bytes");
		return false;
	}
	if (path)
		*ret = out;
	return true;
}
