/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <string.h>

#include "audit/redact/internal.h"
#include "base/array.h"
#include "base/ascii.h"
#include "base/words.h"

enum { LETTERS_MAX = 64 };

enum where { ANYWHERE, END, EXACT };

/* The letters of a word, a bit for each, as a constant. */
#define LETTER(word, i) ((i) < sizeof(word) - 1 ? 1U << ((word)[(i) % sizeof(word)] & 31) : 0U)
#define LETTERS_4(word, i) \
	(LETTER(word, i) | LETTER(word, (i) + 1) | LETTER(word, (i) + 2) | LETTER(word, (i) + 3))
#define LETTERS(word) \
	(LETTERS_4(word, 0) | LETTERS_4(word, 4) | LETTERS_4(word, 8) | LETTERS_4(word, 12))

/* Of a name without what stands between its words: X-Api-Key is xapikey. The first that fits. */
#define TELLING(X)                           \
	X(HEADER, ANYWHERE, "authorization") \
	X(HEADER, END, "cookie")             \
	X(SECRET, ANYWHERE, "password")      \
	X(SECRET, ANYWHERE, "passwd")        \
	X(SECRET, ANYWHERE, "passphrase")    \
	X(SECRET, ANYWHERE, "passwort")      \
	X(SECRET, ANYWHERE, "secret")        \
	X(SECRET, ANYWHERE, "credential")    \
	X(SECRET, ANYWHERE, "signature")     \
	X(SECRET, ANYWHERE, "apikey")        \
	X(SECRET, ANYWHERE, "accesskey")     \
	X(SECRET, ANYWHERE, "privatekey")    \
	X(SECRET, END, "token")              \
	X(SECRET, END, "tokenvalue")         \
	X(SECRET, END, "accountkey")         \
	X(SECRET, END, "authkey")            \
	X(SECRET, END, "encryptionkey")      \
	X(SECRET, END, "masterkey")          \
	X(SECRET, END, "sessionkey")         \
	X(SECRET, END, "sharedkey")          \
	X(SECRET, END, "signingkey")         \
	X(SECRET, END, "sessionid")          \
	X(SECRET, END, "sessid")             \
	X(SECRET, END, "storepass")          \
	X(SECRET, END, "keypass")            \
	X(SECRET, END, "userpass")           \
	X(SECRET, END, "dbpass")             \
	X(SECRET, END, "jwt")                \
	X(SECRET, EXACT, "pwd")              \
	X(SECRET, EXACT, "pass")             \
	X(SECRET, EXACT, "bearer")           \
	X(SECRET, EXACT, "xauth")            \
	X(QUERY, EXACT, "access")            \
	X(QUERY, EXACT, "assertion")         \
	X(QUERY, EXACT, "auth")              \
	X(QUERY, EXACT, "code")              \
	X(QUERY, EXACT, "hmac")              \
	X(QUERY, EXACT, "key")               \
	X(QUERY, EXACT, "pw")                \
	X(QUERY, EXACT, "sid")               \
	X(QUERY, EXACT, "sig")
#define ANY UINT32_MAX
#define TELLING_ROW(kind, where, word) { word, sizeof(word) - 1, where, REDACT_NAME_##kind },
#define TELLING_NEEDS(kind, where, word) LETTERS(word),
/* clang-format off */
static const struct telling {
	char word[16];
	size_t len;
	enum where where;
	enum redact_name kind;
} telling[] = { TELLING(TELLING_ROW) };
/*
 * The letters without which a name cannot have the word; apart, and a multiple of four, so that they
 * are compared at once: the last three belong to no word.
 */
static const uint32_t telling_needs[] = { TELLING(TELLING_NEEDS) ANY, ANY, ANY };
_Static_assert(ROWS(telling_needs) % 4 == 0, "they are compared by fours");

/* Of characters of names that are no letters. */
enum { OTHER = 1 };
#define BIT(letter) (1U << ((letter) & 31))
#define CASES(lower, upper) [lower] = BIT(lower), [upper] = BIT(upper)
const uint32_t redact_name_letters[256] = {
	['0' ... '9'] = OTHER, ['_'] = OTHER, ['-'] = OTHER, ['.'] = OTHER, ['['] = OTHER,
	[']'] = OTHER, ['%'] = ANY,
	CASES('a', 'A'), CASES('b', 'B'), CASES('c', 'C'), CASES('d', 'D'), CASES('e', 'E'),
	CASES('f', 'F'), CASES('g', 'G'), CASES('h', 'H'), CASES('i', 'I'), CASES('j', 'J'),
	CASES('k', 'K'), CASES('l', 'L'), CASES('m', 'M'), CASES('n', 'N'), CASES('o', 'O'),
	CASES('p', 'P'), CASES('q', 'Q'), CASES('r', 'R'), CASES('s', 'S'), CASES('t', 'T'),
	CASES('u', 'U'), CASES('v', 'V'), CASES('w', 'W'), CASES('x', 'X'), CASES('y', 'Y'),
	CASES('z', 'Z'),
};
/* clang-format on */

/* Whether a name with these letters could have one of the words: most names lack one of each. */
static bool redact_name_may_tell(uint32_t letters)
{
	uint32_t may = 0;

	for (size_t i = 0; i < ROWS(telling_needs); i++)
		may |= (telling_needs[i] & ~letters) == 0;
	return may;
}

/* The last letter first: most differ there. */
static bool redact_name_fits(const char *name, size_t len, const struct telling *t)
{
	if (t->len > len || (t->where == EXACT && t->len < len))
		return false;
	for (size_t i = 0; t->where == ANYWHERE && i + t->len < len; i++) {
		if (name[i] == t->word[0] && memcmp(name + i, t->word, t->len) == 0)
			return true;
	}
	return name[len - 1] == t->word[t->len - 1] &&
	       memcmp(name + len - t->len, t->word, t->len) == 0;
}

enum redact_name redact_name_judge(const char *name, size_t len, uint32_t letters)
{
	char word[LETTERS_MAX];
	size_t n = 0;

	if (!redact_name_may_tell(letters))
		return REDACT_NAME_PLAIN;
	/* Letters and digits, in lower case, with percent-encoded ones decoded. */
	for (size_t i = 0; i < len && n < LETTERS_MAX;) {
		int byte = name[i] == '%' ? redact_percent_decode(name + i, len - i) : -1;
		unsigned char c = byte < 0 ? (unsigned char)name[i] : (unsigned char)byte;

		if (ascii_is_alnum((char)c))
			word[n++] = ascii_lower((char)c);
		i += byte < 0 ? 1 : 3;
	}
	/* No name that tells is shorter. */
	if (n < 2)
		return REDACT_NAME_PLAIN;
	for (size_t i = 0; i < ROWS(telling); i++) {
		if (redact_name_fits(word, n, &telling[i]))
			return telling[i].kind;
	}
	return REDACT_NAME_PLAIN;
}

/* One that ends with "*" stands for all that begin so. */
static const char harmless[][20] = { "HOME", "PATH", "PWD", "OLDPWD", "SHELL", "SHLVL", "USER",
	"LOGNAME", "HOSTNAME", "HOST", "LANG", "LANGUAGE", "LC_*", "TERM", "TERM_*", "TERMINFO",
	"COLORTERM", "COLUMNS", "LINES", "TZ", "TMPDIR", "TMP", "TEMP", "EDITOR", "VISUAL", "PAGER",
	"LESS", "LS_COLORS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_*", "MAIL", "MANPATH", "INFOPATH",
	"NODE_ENV", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX",
	"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME",
	"NVM_DIR", "PYENV_ROOT", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS",
	"PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "DEBIAN_FRONTEND", "NO_COLOR", "FORCE_COLOR",
	"CLICOLOR", "CI" };

bool redact_name_is_harmless(const char *variable)
{
	for (size_t i = 0; i < ROWS(harmless); i++) {
		const size_t n = strcspn(harmless[i], "*");

		if (strncmp(harmless[i], variable, n) == 0 &&
			(harmless[i][n] == '*' || variable[n] == '\0'))
			return true;
	}
	return false;
}

static const char *const plain_values[] = { "true", "false", "True", "False", "TRUE", "FALSE",
	"none", "null", "auto", "always", "never", "default", "enabled", "disabled", "debug",
	"info", "warn", "warning", "error", "production", "development", "staging", "test", "local",
	"localhost", "127.0.0.1", "http", "https", "utf-8", "UTF-8", "redacted", "[redacted]",
	NULL };

bool redact_name_is_plain_value(const char *value)
{
	return words_has(plain_values, value);
}
