/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network/url-path.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

struct out {
	char *text;
	size_t n, size;
};

static bool is_alnum(unsigned char c)
{
	return ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (c >= '0' && c <= '9');
}

static bool is_unreserved(unsigned char c)
{
	return is_alnum(c) || (c && strchr("-._~", c));
}

/* What RFC 3986 lets stand in a segment. */
static bool is_segment_char(unsigned char c)
{
	return is_unreserved(c) || (c && strchr("!$&'()*+,;=:@", c));
}

static int url_path_hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
		return (c | 0x20) - 'a' + 10;
	return -1;
}

static int url_path_put(struct out *o, char c)
{
	if (o->n + 1 >= o->size)
		return -ENAMETOOLONG;
	o->text[o->n++] = c;
	return 0;
}

static int url_path_put_escaped(struct out *o, unsigned char c)
{
	static const char digits[] = "0123456789ABCDEF";

	if (url_path_put(o, '%') < 0 || url_path_put(o, digits[c >> 4]) < 0)
		return -ENAMETOOLONG;
	return url_path_put(o, digits[c & 15]);
}

/* Writes one character or escape in normal form; as_is are taken besides those of a segment. */
static int put_normal(
	struct out *o, const char *text, size_t len, const char *as_is, size_t *ret_used)
{
	unsigned char c = (unsigned char)text[0];
	bool escaped = c == '%' && len >= 3 && url_path_hex_value(text[1]) >= 0 &&
		       url_path_hex_value(text[2]) >= 0;

	*ret_used = escaped ? 3 : 1;
	if (escaped) {
		c = (unsigned char)(url_path_hex_value(text[1]) << 4 | url_path_hex_value(text[2]));
		return is_unreserved(c) ? url_path_put(o, (char)c) : url_path_put_escaped(o, c);
	}
	return is_segment_char(c) || (c && strchr(as_is, c)) ? url_path_put(o, (char)c)
							     : url_path_put_escaped(o, c);
}

static bool is_dots(const char *s, size_t n)
{
	return (n == 1 || n == 2) && s[0] == '.' && s[n - 1] == '.';
}

/* True if a part of the segment between escaped slashes is dots, perhaps with a parameter. */
static bool hides_dots(const char *s, size_t n)
{
	for (;;) {
		size_t part = 0, bare;

		while (part < n && strncmp(s + part, "%2F", 3) != 0 &&
			strncmp(s + part, "%5C", 3) != 0)
			part++;
		for (bare = 0; bare < part && s[bare] != ';';)
			bare++;
		if (is_dots(s, bare))
			return true;
		if (part == n)
			return false;
		s += part + 3;
		n -= part + 3;
	}
}

/* Ends the segment that starts with the slash at `start`. */
static int end_segment(struct out *o, size_t start, bool last)
{
	const char *segment = o->text + start + 1;
	size_t n = o->n - start - 1;

	if (!is_dots(segment, n))
		return hides_dots(segment, n) ? -EINVAL : 0;
	o->n = start;
	if (n == 2 && start > 0) {
		const char *slash = memrchr(o->text, '/', start);

		if (slash == o->text + start - 1)
			return -EINVAL;
		o->n = (size_t)(slash - o->text);
	}
	return last ? url_path_put(o, '/') : 0;
}

static bool url_path_is_slash(char c)
{
	return c == '/' || c == '\\';
}

int url_path_normal(const char *text, size_t len, char *out, size_t size)
{
	struct out o = { out, 0, size };
	size_t i = 0;

	do {
		size_t start = o.n, used;
		int r = url_path_put(&o, '/');

		if (i < len && url_path_is_slash(text[i]))
			i++;
		for (; r == 0 && i < len && !url_path_is_slash(text[i]); i += used)
			r = put_normal(&o, text + i, len - i, "", &used);
		/* hides_dots() compares up to the NUL. */
		o.text[o.n] = '\0';
		if (r == 0)
			r = end_segment(&o, start, i == len);
		if (r < 0)
			return r;
	} while (i < len);
	o.text[o.n] = '\0';
	return 0;
}

/* The first byte of path is a slash. */
static bool has_odd_segment(const char *path)
{
	while (*path) {
		size_t n = strcspn(path + 1, "/");

		if (is_dots(path + 1, n) || (n == 0 && path[1] == '/'))
			return true;
		path += n + 1;
	}
	return false;
}

int url_path_pattern(const char *text, size_t len, char *out, size_t size)
{
	struct out o = { out, 0, size };
	size_t used;

	for (size_t i = 0; i < len; i += used) {
		int r = put_normal(&o, text + i, len - i, "/[]{}", &used);

		if (r < 0)
			return r;
	}
	o.text[o.n] = '\0';
	if (has_odd_segment(out) || (strchr(out, '[') && strchr(out, '%')))
		return -EINVAL;
	return 0;
}
