/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/encoding.h"

#include <errno.h>
#include <string.h>

#include <sodium/utils.h>

#include "base/buffer.h"
#include "base/utf8.h"
#include "codec/json.h"

/* Bytes of input for one piece of output: whole groups of base64, no piece padded but the last. */
enum { PIECE = 3 * 1024, PIECE_TEXT = 2 * PIECE + 1 };

int encoding_decode(enum encoding encoding, const char *text, size_t len, struct arena *a,
	const char **ret, size_t *ret_len)
{
	const char *end;
	unsigned char *bytes;
	int r;

	if (encoding == ENCODING_UTF_8 || encoding == ENCODING_UTF8) {
		*ret = text;
		*ret_len = len;
		return 0;
	}
	bytes = arena_alloc(a, len + 1);
	if (!bytes)
		return -ENOMEM;
	if (encoding == ENCODING_BASE64)
		r = sodium_base642bin(bytes, len, text, len, "\r\n", ret_len, &end,
			sodium_base64_VARIANT_ORIGINAL);
	else
		r = sodium_hex2bin(bytes, len, text, len, NULL, ret_len, &end);
	if (r != 0 || end != text + len)
		return -EINVAL;
	bytes[*ret_len] = '\0';
	*ret = (const char *)bytes;
	return 0;
}

bool encoding_fits(enum encoding encoding, const char *data, size_t len)
{
	return encoding == ENCODING_BASE64 || encoding == ENCODING_HEX ||
	       (!memchr(data, '\0', len) && utf8_valid(data, len, NULL));
}

void encoding_print(enum encoding encoding, const char *data, size_t len, struct buffer *out)
{
	char piece[PIECE_TEXT];

	if (encoding == ENCODING_UTF_8 || encoding == ENCODING_UTF8) {
		json_print_string(out, data, len);
		return;
	}
	buffer_addc(out, '"');
	for (size_t at = 0; at < len; at += PIECE) {
		const unsigned char *from = (const unsigned char *)data + at;
		size_t n = len - at < PIECE ? len - at : PIECE;

		if (encoding == ENCODING_BASE64)
			(void)sodium_bin2base64(
				piece, sizeof(piece), from, n, sodium_base64_VARIANT_ORIGINAL);
		else
			(void)sodium_bin2hex(piece, sizeof(piece), from, n);
		buffer_adds(out, piece);
	}
	buffer_addc(out, '"');
}
