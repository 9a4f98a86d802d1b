/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/client/places.h"

#include <errno.h>
#include <string.h>

#include "base/utf8.h"
#include "mcp/client/internal.h"

int places_read(struct text_place **ret, struct arena *a, enum places_dialect dialect,
	const char *file, const char *text, size_t len, struct error *e)
{
	struct places_reader r = { a, e, file, text, len, 0, dialect, 0, 0 };
	const struct location at = { file, 0, 0 };
	size_t bad = 0;

	if (len > PLACES_BYTES_MAX)
		return error_set(e, -E2BIG, &at, "the file is longer than %d MiB",
			(int)PLACES_BYTES_MAX >> 20);
	if (!utf8_valid(text, len, &bad) || memchr(text, '\0', len)) {
		const char *nul = memchr(text, '\0', len);
		const struct location where = place_location(file, text, len,
			nul && (size_t)(nul - text) < bad ? (size_t)(nul - text) : bad);

		return error_set(e, -EINVAL, &where, "the file is no text in UTF-8");
	}
	if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		r.at = 3;
	return dialect == PLACES_TOML ? places_read_toml(&r, ret) : places_read_json(&r, ret);
}
