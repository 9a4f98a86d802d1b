/* SPDX-License-Identifier: Apache-2.0 */
/* The error, then the sentence and the hint, each with its NUL. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "wire/frame.h"
#include "wire/reader.h"
#include "wire/report.h"

/* The kernel's own bound; a refusal without an error would look like success somewhere. */
enum { ERROR_MAX = 4095 };

static bool is_error(int32_t error)
{
	return error > 0 && error <= ERROR_MAX;
}

int refusal_encode(const struct refusal *r, struct buffer *out)
{
	const char *text = r->text ? r->text : "", *hint = r->hint ? r->hint : "";
	size_t text_size = strlen(text) + 1, hint_size = strlen(hint) + 1;

	if (!is_error(r->error))
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

	if (!reader_bytes(&reader, &r.error, sizeof(r.error)) || !is_error(r.error))
		return -EPROTO;
	r.text = reader_string(&reader);
	r.hint = reader_string(&reader);
	if (!r.text || !r.hint || reader.left > 0)
		return -EPROTO;
	*ret = r;
	return 0;
}
