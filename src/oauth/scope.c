/* SPDX-License-Identifier: Apache-2.0 */
#include "oauth/scope.h"

#include <string.h>

enum { SCOPE_SHOWN_MAX = 256 };

static bool scope_has(const char *scope, const char *word, size_t len)
{
	for (;;) {
		const size_t n = strcspn(scope += strspn(scope, " "), " ");

		if (n == 0)
			return false;
		if (n == len && strncmp(scope, word, len) == 0)
			return true;
		scope += n;
	}
}

void oauth_scope_add(struct buffer *out, const char *words)
{
	size_t n = 0;

	for (const char *word = words; word; word += n) {
		word += strspn(word, " ");
		n = strcspn(word, " ");
		if (n == 0)
			return;
		if (scope_has(buffer_text(out), word, n))
			continue;
		if (out->len > 0)
			buffer_addc(out, ' ');
		buffer_add(out, word, n);
	}
}

bool oauth_scope_covers(const char *scope, const char *words)
{
	size_t n = 0;

	for (const char *word = words;; word += n) {
		word += strspn(word, " ");
		n = strcspn(word, " ");
		if (n == 0)
			return true;
		if (!scope_has(scope, word, n))
			return false;
	}
}

bool oauth_scope_is_plain(const char *scope)
{
	const size_t len = strspn(scope, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					 "0123456789:/._+=,@~ -");

	return len > 0 && len <= SCOPE_SHOWN_MAX && scope[len] == '\0' && scope[0] != '-' &&
	       scope[strspn(scope, " ")] != '\0';
}
