/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports are plain structs: what is sent is the struct, and reading it is checking it. A refusal
 * is the error, then the sentence and the hint, each with its NUL.
 */
#include "wire/report.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/reader.h"

/* ERROR_MAX is the kernel's own bound; a refusal without an error would look like success
 * somewhere. */
enum { EXIT_CODE_MAX = 255, SIGNAL_MAX = 64, ERROR_MAX = 4095 };

_Static_assert(sizeof(struct report) == 56, "no padding goes over the wire");
_Static_assert(sizeof(struct ready) == 8, "no padding goes over the wire");

int report_decode(struct report *ret, const void *body, size_t len)
{
	struct report r;

	if (len != sizeof(r))
		return -EPROTO;
	memcpy(&r, body, sizeof(r));
	if (r.flags & ~(uint32_t)REPORT_FLAGS || r.output_error > ERROR_MAX || r.signal < 0 ||
		r.signal > SIGNAL_MAX || r.memory_by > REPORT_BY_POLLING ||
		r.pids_by > REPORT_BY_POLLING)
		return -EPROTO;
	if (r.signal == 0 && (r.exit_code < 0 || r.exit_code > EXIT_CODE_MAX))
		return -EPROTO;
	*ret = r;
	return 0;
}

int ready_decode(struct ready *ret, const void *body, size_t len)
{
	struct ready r;

	if (len != sizeof(r))
		return -EPROTO;
	memcpy(&r, body, sizeof(r));
	if (r.tier < READY_TIER_MIN || r.tier > READY_TIER_MAX || r.reserved)
		return -EPROTO;
	*ret = r;
	return 0;
}

static bool refusal_is_error(int32_t error)
{
	return error > 0 && error <= ERROR_MAX;
}

int refusal_encode(const struct refusal *r, struct buffer *out)
{
	const char *text = r->text ? r->text : "", *hint = r->hint ? r->hint : "";
	size_t text_size = strlen(text) + 1, hint_size = strlen(hint) + 1;

	if (!refusal_is_error(r->error))
		return -EINVAL;
	if (text_size + hint_size > FRAME_MEMFD_MAX - sizeof(r->error))
		return -E2BIG;
	buffer_add(out, &r->error, sizeof(r->error));
	buffer_add(out, text, text_size);
	buffer_add(out, hint, hint_size);
	return out->failed ? -ENOMEM : 0;
}

int refusal_decode(struct refusal *ret, const void *body, size_t len)
{
	struct reader reader = { body, len };
	struct refusal r = { 0 };

	if (!reader_bytes(&reader, &r.error, sizeof(r.error)) || !refusal_is_error(r.error))
		return -EPROTO;
	r.text = reader_string(&reader);
	r.hint = reader_string(&reader);
	if (!r.text || !r.hint || reader.left > 0)
		return -EPROTO;
	*ret = r;
	return 0;
}

int refusal_send(int socket, enum frame_type type, int error, const struct error *e)
{
	const struct refusal refusal = { .error = -error, .text = e->text, .hint = e->hint };
	auto_buffer body = { 0 };
	int r = refusal_encode(&refusal, &body);

	return r < 0 ? r : frame_send(socket, type, 0, body.data, body.len, NULL, 0);
}
