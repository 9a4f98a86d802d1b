/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The quick ways to look at a text and at a name, compared with slow ones that are easy to read;
 * and what is found in a text does not depend on where its blocks begin.
 */
#include "test/unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "audit/redact/internal.h"
#include "base/array.h"
#include "base/ascii.h"

static uint64_t seed = 88172645463325252u;

static size_t below(size_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)(seed >> 11) % n;
}

/* Each byte by itself. */
static void check_places(const char *text, size_t len)
{
	const struct redact_places p = redact_places_find(text, len);
	struct redact_places want = { 0 };

	for (size_t i = 0; i < len; i++) {
		if (text[i] && strchr(":=%- \t", text[i]))
			want.looks |= UINT64_C(1) << i;
		if (ascii_is_alnum(text[i]) || text[i] == '_' || text[i] == '-')
			want.keys |= UINT64_C(1) << i;
	}
	if (p.looks != want.looks || p.keys != want.keys)
		fail_msg("<%.*s>: %" PRIx64 " %" PRIx64 ", want %" PRIx64 " %" PRIx64, (int)len,
			text, p.looks, p.keys, want.looks, want.keys);
}

static void test_places(void **state)
{
	char text[REDACT_BLOCK];

	(void)state;
	check_places("", 0);
	/* Each byte at each place of a text of each length. */
	for (size_t len = 1; len <= REDACT_BLOCK; len++) {
		for (unsigned byte = 0; byte < 256; byte++) {
			for (size_t at = 0; at < len; at++) {
				memset(text, byte & 1 ? '/' : 'a', sizeof(text));
				text[at] = (char)byte;
				check_places(text, len);
			}
		}
	}
	for (unsigned round = 0; round < 100000; round++) {
		for (size_t i = 0; i < sizeof(text); i++)
			text[i] = (char)below(256);
		check_places(text, below(sizeof(text) + 1));
	}
}

/* The words as names.c has them. */
static const struct {
	const char *word;
	enum { ANYWHERE, END, EXACT } where;
	enum redact_name kind;
} words[] = {
	{ "authorization", ANYWHERE, REDACT_NAME_HEADER },
	{ "cookie", END, REDACT_NAME_HEADER },
	{ "password", ANYWHERE, REDACT_NAME_SECRET },
	{ "passwd", ANYWHERE, REDACT_NAME_SECRET },
	{ "passphrase", ANYWHERE, REDACT_NAME_SECRET },
	{ "passwort", ANYWHERE, REDACT_NAME_SECRET },
	{ "secret", ANYWHERE, REDACT_NAME_SECRET },
	{ "credential", ANYWHERE, REDACT_NAME_SECRET },
	{ "signature", ANYWHERE, REDACT_NAME_SECRET },
	{ "apikey", ANYWHERE, REDACT_NAME_SECRET },
	{ "accesskey", ANYWHERE, REDACT_NAME_SECRET },
	{ "privatekey", ANYWHERE, REDACT_NAME_SECRET },
	{ "token", END, REDACT_NAME_SECRET },
	{ "tokenvalue", END, REDACT_NAME_SECRET },
	{ "accountkey", END, REDACT_NAME_SECRET },
	{ "authkey", END, REDACT_NAME_SECRET },
	{ "encryptionkey", END, REDACT_NAME_SECRET },
	{ "masterkey", END, REDACT_NAME_SECRET },
	{ "sessionkey", END, REDACT_NAME_SECRET },
	{ "sharedkey", END, REDACT_NAME_SECRET },
	{ "signingkey", END, REDACT_NAME_SECRET },
	{ "sessionid", END, REDACT_NAME_SECRET },
	{ "sessid", END, REDACT_NAME_SECRET },
	{ "storepass", END, REDACT_NAME_SECRET },
	{ "keypass", END, REDACT_NAME_SECRET },
	{ "userpass", END, REDACT_NAME_SECRET },
	{ "dbpass", END, REDACT_NAME_SECRET },
	{ "jwt", END, REDACT_NAME_SECRET },
	{ "pwd", EXACT, REDACT_NAME_SECRET },
	{ "pass", EXACT, REDACT_NAME_SECRET },
	{ "bearer", EXACT, REDACT_NAME_SECRET },
	{ "xauth", EXACT, REDACT_NAME_SECRET },
	{ "access", EXACT, REDACT_NAME_QUERY },
	{ "assertion", EXACT, REDACT_NAME_QUERY },
	{ "auth", EXACT, REDACT_NAME_QUERY },
	{ "code", EXACT, REDACT_NAME_QUERY },
	{ "hmac", EXACT, REDACT_NAME_QUERY },
	{ "key", EXACT, REDACT_NAME_QUERY },
	{ "pw", EXACT, REDACT_NAME_QUERY },
	{ "sid", EXACT, REDACT_NAME_QUERY },
	{ "sig", EXACT, REDACT_NAME_QUERY },
};

enum { NAME_ROOM = 64 };

static enum redact_name judge_slowly(const char *name, size_t len)
{
	char plain[NAME_ROOM + 1];
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		const int byte = redact_percent_decode(name + i, len - i);
		const char c = byte < 0 ? name[i] : (char)byte;

		if (ascii_is_alnum(c))
			plain[n++] = ascii_lower(c);
		i += byte < 0 ? 0 : 2;
	}
	plain[n] = '\0';
	for (size_t i = 0; i < ROWS(words); i++) {
		const size_t word = strlen(words[i].word);

		if (words[i].where == ANYWHERE ? strstr(plain, words[i].word) != NULL
			: words[i].where == END
				? n >= word && strcmp(plain + n - word, words[i].word) == 0
				: strcmp(plain, words[i].word) == 0)
			return words[i].kind;
	}
	return REDACT_NAME_PLAIN;
}

/* A word of the list, or a part of one, as a name may have it. */
static size_t add_word(char *name, size_t len)
{
	const char *word = words[below(ROWS(words))].word;
	const size_t end = below(4) ? strlen(word) : below(strlen(word));

	for (size_t i = 0; i < end && len + 4 <= NAME_ROOM; i++) {
		if (!below(12))
			name[len++] = "-_.[]%0"[below(7)];
		if (!below(12))
			len += (size_t)sprintf(name + len, "%%%02x", (unsigned char)word[i]);
		else
			name[len++] = (char)(word[i] ^ (below(4) ? 0 : 0x20));
	}
	return len;
}

static void test_names(void **state)
{
	size_t telling = 0;

	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		const bool may =
			ascii_is_alnum((char)byte) || (byte && strchr("_-.%[]", (int)byte));

		assert_int_equal(redact_name_letters[byte] != 0, may);
	}
	for (unsigned round = 0; round < 500000; round++) {
		char name[NAME_ROOM + 1];
		size_t len = 0;
		uint32_t letters = 0;
		enum redact_name got, want;

		for (size_t n = 1 + below(3); n > 0; n--)
			len = add_word(name, len);
		for (size_t i = 0; i < len; i++)
			letters |= redact_name_letters[(unsigned char)name[i]];
		got = redact_name_judge(name, len, letters);
		want = judge_slowly(name, len);
		telling += want != REDACT_NAME_PLAIN;
		if (got != want)
			fail_msg("<%.*s>: got %d, want %d", (int)len, name, (int)got, (int)want);
	}
	/* The names are worth the while. */
	assert_true(telling > 100000);
}

/* Pieces that set off every way to look. */
static const char *const pieces[] = { "://", "@", ":", "=", "&", "?", "token", "password", "\"",
	"'", "\\", " ", "\t", "\n", "-", "--", "Authorization: ", "cookie:", "%", "%3D", "+", "x",
	"/", "{", "}", ",", "-----BEGIN ", "PRIVATE KEY-----", "-----END ", "sk-", "ghp_", "AKIA",
	"Bearer ", "eyJ", "npm_", "é", "\xff", "-u ", "--user", "0123456789abcdefABCDEF",
	"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "A1b2C3d4E5f6G7h8I9j0K1l2", "'\\''", "host", "_", ".",
	"[", "]", ";", "sh -c '" };

/* Lines in front move a text in its blocks. They are no part of any form. */
static void test_blocks(void **state)
{
	enum { TEXT = 1024 };
	size_t found = 0;

	(void)state;
	for (unsigned round = 0; round < 100000; round++) {
		static char text[REDACT_BLOCK + TEXT], hidden[sizeof(text)], moved[sizeof(text)];
		const size_t lines = 1 + below(REDACT_BLOCK);
		size_t len = lines;
		bool any;

		memset(text, '\n', lines);
		for (size_t n = below(16); n > 0; n--) {
			const char *piece = pieces[below(ROWS(pieces))];

			memcpy(text + len, piece, strlen(piece));
			len += strlen(piece);
		}
		memset(hidden, 0, sizeof(hidden));
		memset(moved, 0, sizeof(moved));
		any = redact_forms_mark(text + lines, len - lines, hidden);
		found += any;
		assert_int_equal(redact_forms_mark(text, len, moved), any);
		assert_int_equal(memchr(moved, 1, lines) != NULL, false);
		assert_memory_equal(moved + lines, hidden, len - lines);
	}
	assert_true(found > 10000);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
