/* SPDX-License-Identifier: Apache-2.0 */
#include "net/gate/internal.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "policy/network/address.h"
#include "policy/network/host.h"

enum { LABEL_MAX = 63, NAME_MAX_BYTES = 253 };

static void host_text_copy_lower(char *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] | 0x20) : text[i];
	out[len] = '\0';
}

/* Labels of 1 to 63 name characters between dots. */
static bool host_text_is_name(const char *text, size_t len)
{
	size_t label = 0;

	if (len > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '_';

		if (c == '.' ? label == 0 : !fits)
			return false;
		label = c == '.' ? 0 : label + 1;
		if (label > LABEL_MAX)
			return false;
	}
	return label > 0;
}

int host_text_name(const char *text, size_t len, char out[HOST_TEXT_BYTES])
{
	struct address a;
	bool is_address = address_parse(text, len, &a) == 0 && a.bits == 32;

	/* Before the dot is taken away: "1.2.3.4." is an address to some readers. */
	if (!is_address && address_parse_loose(text, len, &a) != -EINVAL)
		return -EINVAL;
	if (len > 0 && text[len - 1] == '.')
		len--;
	if (!host_text_is_name(text, len))
		return -EINVAL;
	host_text_copy_lower(out, text, len);
	return is_address;
}

int host_text_authority(const char *text, size_t len, char out[HOST_TEXT_BYTES], uint16_t *ret_port)
{
	bool brackets = len > 0 && text[0] == '[';
	const char *end = len > 0 ? memchr(text, brackets ? ']' : ':', len) : NULL;
	size_t n = end ? (size_t)(end - text) + brackets : brackets ? 0 : len;
	struct address a;
	uint16_t port = 0;

	if (n == 0 || n >= HOST_TEXT_BYTES)
		return -EINVAL;
	if (brackets && (address_parse(text + 1, n - 2, &a) < 0 || a.bits != 128))
		return -EINVAL;
	if (n < len && (text[n] != ':' || host_port_parse(text + n + 1, len - n - 1, &port) < 0))
		return -EINVAL;
	if (brackets)
		host_text_copy_lower(out, text, n);
	else if (host_text_name(text, n, out) < 0)
		return -EINVAL;
	*ret_port = port;
	return 0;
}
