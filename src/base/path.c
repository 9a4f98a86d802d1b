/* SPDX-License-Identifier: Apache-2.0 */
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_dot(const char *s, size_t n)
{
	return n == 1 && s[0] == '.';
}

static bool is_dotdot(const char *s, size_t n)
{
	return n == 2 && s[0] == '.' && s[1] == '.';
}

bool path_is_normal(const char *path, size_t len)
{
	size_t start = 1;

	if (len == 0 || path[0] != '/')
		return false;
	if (len == 1)
		return true;
	for (size_t i = 1; i <= len; i++) {
		if (i < len && path[i] == '\0')
			return false;
		if (i < len && path[i] != '/')
			continue;
		if (i == start || is_dot(path + start, i - start) ||
			is_dotdot(path + start, i - start))
			return false;
		start = i + 1;
	}
	return true;
}

/* Drops the last component of out[0..n). */
static size_t path_pop(const char *out, size_t n)
{
	while (n > 0 && out[n - 1] != '/')
		n--;
	return n > 0 ? n - 1 : 0;
}

bool path_is_plain(const char *path, size_t len)
{
	static const char special[] = ",*?[]{}\\$\"'`";

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)path[i] <= ' ' || path[i] == 127 || strchr(special, path[i]))
			return false;
	return path_is_normal(path, len);
}

int path_normalize(const char *path, size_t len, char out[PATH_BYTES], size_t *ret_len)
{
	size_t n = 0, i = 0;

	if (len == 0 || path[0] != '/' || memchr(path, '\0', len))
		return -EINVAL;
	while (i < len) {
		size_t start, count;

		while (i < len && path[i] == '/')
			i++;
		start = i;
		while (i < len && path[i] != '/')
			i++;
		count = i - start;
		if (count == 0 || is_dot(path + start, count))
			continue;
		if (is_dotdot(path + start, count)) {
			n = path_pop(out, n);
			continue;
		}
		if (count + 2 > PATH_BYTES - n)
			return -ENAMETOOLONG;
		out[n++] = '/';
		memcpy(out + n, path + start, count);
		n += count;
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	*ret_len = n;
	return 0;
}

bool path_is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (n == 1)
		return true;
	return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

bool path_join(char out[PATH_BYTES], const char *folder, const char *name)
{
	return snprintf(out, PATH_BYTES, "%s/%s", folder[1] ? folder : "", name) < PATH_BYTES;
}
