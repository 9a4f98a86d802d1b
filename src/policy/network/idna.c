/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTS #46, non-transitional, through libidn2, which is stricter than browsers: it holds to IDNA2008
 * as well and so refuses symbols. That is the right side to err on. What two versions of the
 * standard map to different names is refused too: a policy and the program it binds could disagree.
 */
#include "policy/network/idna.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/utf8.h"

enum {
	INPUT_MAX = 1024, /* UTF-8 and ignorable characters make the input longer than the name */
	LABEL_MAX = 63,
	NAME_MAX_BYTES = 253, /* without the dot at the end */
};

/* Labels of 1 to 63 name characters between dots; one dot may stand at the end. */
static bool is_dns_name(const char *name, size_t len)
{
	size_t label = 0;

	if (len > 0 && name[len - 1] == '.')
		len--;
	if (len > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (name[i] == '.' && label == 0)
			return false;
		if (name[i] != '.' &&
			!((name[i] >= 'a' && name[i] <= 'z') || ascii_is_digit(name[i]) ||
				name[i] == '-' || name[i] == '_'))
			return false;
		label = name[i] == '.' ? 0 : label + 1;
		if (label > LABEL_MAX)
			return false;
	}
	return label > 0;
}

/* ASCII, and no A-label in it. */
static bool is_plain_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] >= 0x80 ||
			(len - i >= 4 && (i == 0 || name[i - 1] == '.') &&
				strncasecmp(name + i, "xn--", 4) == 0))
			return false;
	return true;
}

static int idna_copy_lower(const char *name, size_t len, char *out, size_t size)
{
	if (len >= size)
		return -ENAMETOOLONG;
	for (size_t i = 0; i < len; i++)
		out[i] = ascii_lower(name[i]);
	out[len] = '\0';
	return is_dns_name(out, len) ? 0 : -EINVAL;
}

static int idna_lookup(const char *name, char *out, size_t size)
{
	char found[INPUT_MAX];
	int r = idna_library_lookup(name, found, sizeof(found));

	return r < 0 ? r : idna_copy_lower(found, strlen(found), out, size);
}

int idna_to_ascii(const char *name, size_t len, char *out, size_t size)
{
	char text[INPUT_MAX], once[NAME_MAX_BYTES + 2];
	int r;

	if (is_plain_name(name, len))
		return idna_copy_lower(name, len, out, size);
	/* Capital sharp s is "ss" up to Unicode 15.0 and "ß" since. */
	if (len >= sizeof(text) || memchr(name, '\0', len) || !utf8_valid(name, len, NULL) ||
		memmem(name, len, "ẞ", 3))
		return -EINVAL;
	memcpy(text, name, len);
	text[len] = '\0';
	r = idna_lookup(text, once, sizeof(once));
	if (r < 0)
		return r == -ENAMETOOLONG ? -EINVAL : r;
	/* The A-labels that came out must be valid as input, and mean themselves. */
	r = idna_lookup(once, text, sizeof(text));
	if (r < 0 || strcmp(once, text) != 0)
		return r == -ENOMEM || r == -ELIBACC ? r : -EINVAL;
	if (strlen(once) >= size)
		return -ENAMETOOLONG;
	memcpy(out, once, strlen(once) + 1);
	return 0;
}
