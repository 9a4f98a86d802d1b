/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/self/cgroup has a line "0::/path" for the cgroup2 hierarchy; the path counts from the root
 * of our cgroup namespace, and starts with "/.." if we are outside of that. /proc/self/mountinfo
 * tells where the hierarchy is mounted, and which part of it (the mount's root, counted the same
 * way): a container may see only a part. What lies on top of a mount is not told; the caller finds
 * out whether the folder really is ours by looking for itself in it.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "jail/limits/cgroup-find.h"

#define DELETED " (deleted)"

/* A piece of text that ends elsewhere than with NUL. */
struct span {
	const char *text;
	size_t len;
};

static bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.text, text, s.len) == 0;
}

/* The line at *at, without its newline; moves on. False: there is none. */
static bool cgroup_find_next_line(const char **at, struct span *ret)
{
	if (**at == '\0')
		return false;
	*ret = (struct span){ *at, strcspn(*at, "\n") };
	*at += ret->len + ((*at)[ret->len] == '\n');
	return true;
}

/* The n-th word of a line, counted from 0. */
static bool cgroup_find_word(struct span line, unsigned n, struct span *ret)
{
	const char *at = line.text, *end = line.text + line.len;

	for (;; n--) {
		const char *space = memchr(at, ' ', (size_t)(end - at));
		size_t len = (size_t)((space ? space : end) - at);

		if (n == 0) {
			*ret = (struct span){ at, len };
			return len > 0;
		}
		if (!space)
			return false;
		at = space + 1;
	}
}

static int find_own(const char *cgroups, struct span *ret)
{
	struct span line;

	while (cgroup_find_next_line(&cgroups, &line)) {
		size_t deleted = strlen(DELETED);

		if (line.len < 4 || memcmp(line.text, "0::", 3) != 0)
			continue;
		*ret = (struct span){ line.text + 3, line.len - 3 };
		if (ret->text[0] != '/')
			return -EINVAL;
		if (ret->len > deleted &&
			memcmp(ret->text + ret->len - deleted, DELETED, deleted) == 0)
			return -ESTALE;
		return 0;
	}
	return -ENOENT;
}

/* "36 35 0:30 ROOT POINT rw,… [optional…] - TYPE SOURCE OPTIONS" */
static bool cgroup_find_is_cgroup2(struct span line, struct span *root, struct span *point)
{
	struct span type;

	if (!cgroup_find_word(line, 3, root) || !cgroup_find_word(line, 4, point))
		return false;
	for (unsigned i = 6; cgroup_find_word(line, i, &type); i++) {
		if (span_is(type, "-"))
			return cgroup_find_word(line, i + 1, &type) && span_is(type, "cgroup2");
	}
	return false;
}

static bool octal(const char *s, size_t left)
{
	return left >= 4 && s[0] == '\\' && s[1] >= '0' && s[1] <= '3' && s[2] >= '0' &&
	       s[2] <= '7' && s[3] >= '0' && s[3] <= '7';
}

/* mountinfo writes space, tab, newline and backslash as \040 and so on. */
static void cgroup_find_add_plain(struct buffer *out, struct span s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (octal(s.text + i, s.len - i)) {
			buffer_addc(out, (char)((s.text[i + 1] - '0') * 64 +
						 (s.text[i + 2] - '0') * 8 + s.text[i + 3] - '0'));
			i += 3;
		} else {
			buffer_addc(out, s.text[i]);
		}
	}
}

/* The part of own that is below root: "" if they are the same. */
static bool cgroup_find_below(struct span own, const char *root, struct span *ret)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (own.len < len || memcmp(own.text, root, len) != 0)
		return false;
	*ret = (struct span){ own.text + len, own.len - len };
	if (span_is(*ret, "/"))
		ret->len = 0;
	return ret->len == 0 || ret->text[0] == '/';
}

static bool outside(struct span own)
{
	return own.len >= 3 && memcmp(own.text, "/..", 3) == 0 &&
	       (own.len == 3 || own.text[3] == '/');
}

int cgroup_find(const char *cgroups, const char *mounts, struct buffer *ret)
{
	struct span own, line, root, point, rest;
	int r = find_own(cgroups, &own), missing = -ENOENT;

	if (r < 0)
		return r;
	while (cgroup_find_next_line(&mounts, &line)) {
		auto_buffer plain = { 0 };

		if (!cgroup_find_is_cgroup2(line, &root, &point))
			continue;
		missing = -EXDEV;
		cgroup_find_add_plain(&plain, root);
		if (plain.failed)
			return -ENOMEM;
		if (outside(own) || !cgroup_find_below(own, buffer_text(&plain), &rest))
			continue;
		cgroup_find_add_plain(ret, point);
		buffer_add(ret, rest.text, rest.len);
		return ret->failed ? -ENOMEM : 0;
	}
	return missing;
}
