/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/client/opener.h"

#include <string.h>

#include "base/array.h"
#include "codec/encoding.h"

bool opener_is_name(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 && strcmp(slash ? slash + 1 : argv0, "xdg-open") == 0;
}

/* The value of redirect_uri, if it leads to this machine; NULL: it does not. */
static const char *opener_find_back(const char *address)
{
	static const char *const local[] = { "http%3A%2F%2Flocalhost%3A",
		"http%3A%2F%2F127.0.0.1%3A", "http://localhost:", "http://127.0.0.1:" };
	const char *at = strchr(address, '?');

	while (at && strncmp(at + 1, "redirect_uri=", 13) != 0)
		at = strchr(at + 1, '&');
	for (size_t i = 0; at && i < ROWS(local); i++)
		if (strncmp(at + 14, local[i], strlen(local[i])) == 0)
			return at + 14;
	return NULL;
}

void opener_put(const char *address, const char *back, struct buffer *out)
{
	const char *value = back ? opener_find_back(address) : NULL;

	if (!value) {
		buffer_adds(out, address);
		return;
	}
	buffer_add(out, address, (size_t)(value - address));
	encoding_percent(back, strlen(back), "-._~", out);
	buffer_adds(out, value + strcspn(value, "&"));
}
