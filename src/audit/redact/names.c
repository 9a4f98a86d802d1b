/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/redact/names.h"

#include <ctype.h>
#include <string.h>

#include "audit/redact/percent.h"
#include "base/array.h"

enum { LETTERS_MAX = 64 };

enum where { ANYWHERE, END, EXACT };

/* Of a name without what stands between its words: X-Api-Key is xapikey. The first that fits. */
#define WORD(literal) (literal), sizeof(literal) - 1
static const struct telling {
	const char *word;
	size_t len;
	enum where where;
	enum redact_name kind;
} telling[] = {
	{ WORD("authorization"), ANYWHERE, REDACT_NAME_HEADER },
	{ WORD("cookie"), END, REDACT_NAME_HEADER },
	{ WORD("password"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("passwd"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("passphrase"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("passwort"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("secret"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("credential"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("signature"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("apikey"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("accesskey"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("privatekey"), ANYWHERE, REDACT_NAME_SECRET },
	{ WORD("token"), END, REDACT_NAME_SECRET },
	{ WORD("tokenvalue"), END, REDACT_NAME_SECRET },
	{ WORD("accountkey"), END, REDACT_NAME_SECRET },
	{ WORD("authkey"), END, REDACT_NAME_SECRET },
	{ WORD("encryptionkey"), END, REDACT_NAME_SECRET },
	{ WORD("masterkey"), END, REDACT_NAME_SECRET },
	{ WORD("sessionkey"), END, REDACT_NAME_SECRET },
	{ WORD("sharedkey"), END, REDACT_NAME_SECRET },
	{ WORD("signingkey"), END, REDACT_NAME_SECRET },
	{ WORD("sessionid"), END, REDACT_NAME_SECRET },
	{ WORD("sessid"), END, REDACT_NAME_SECRET },
	{ WORD("storepass"), END, REDACT_NAME_SECRET },
	{ WORD("keypass"), END, REDACT_NAME_SECRET },
	{ WORD("userpass"), END, REDACT_NAME_SECRET },
	{ WORD("dbpass"), END, REDACT_NAME_SECRET },
	{ WORD("jwt"), END, REDACT_NAME_SECRET },
	{ WORD("pwd"), EXACT, REDACT_NAME_SECRET },
	{ WORD("pass"), EXACT, REDACT_NAME_SECRET },
	{ WORD("bearer"), EXACT, REDACT_NAME_SECRET },
	{ WORD("xauth"), EXACT, REDACT_NAME_SECRET },
	{ WORD("access"), EXACT, REDACT_NAME_QUERY },
	{ WORD("assertion"), EXACT, REDACT_NAME_QUERY },
	{ WORD("auth"), EXACT, REDACT_NAME_QUERY },
	{ WORD("code"), EXACT, REDACT_NAME_QUERY },
	{ WORD("hmac"), EXACT, REDACT_NAME_QUERY },
	{ WORD("key"), EXACT, REDACT_NAME_QUERY },
	{ WORD("pw"), EXACT, REDACT_NAME_QUERY },
	{ WORD("sid"), EXACT, REDACT_NAME_QUERY },
	{ WORD("sig"), EXACT, REDACT_NAME_QUERY },
};

/* Letters and digits, in lower case, with percent-encoded ones decoded. */
static size_t bare(const char *name, size_t len, char out[LETTERS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < LETTERS_MAX;) {
		int byte = redact_percent_decode(name + i, len - i);
		unsigned char c = byte < 0 ? (unsigned char)name[i] : (unsigned char)byte;

		if (isalnum(c))
			out[n++] = (char)tolower(c);
		i += byte < 0 ? 1 : 3;
	}
	return n;
}

static bool redact_names_has(const char *name, size_t len, const struct telling *t)
{
	for (size_t i = 0; i + t->len <= len; i++) {
		if (name[i] == t->word[0] && memcmp(name + i, t->word, t->len) == 0)
			return true;
	}
	return false;
}

/* The last letter first: most differ there. */
static bool redact_names_fits(const char *name, size_t len, const struct telling *t)
{
	if (t->len > len || (t->where == EXACT && t->len < len))
		return false;
	if (t->where == ANYWHERE)
		return redact_names_has(name, len, t);
	return name[len - 1] == t->word[t->len - 1] &&
	       memcmp(name + len - t->len, t->word, t->len) == 0;
}

enum redact_name redact_name_judge(const char *name, size_t len)
{
	char letters[LETTERS_MAX] = "";
	size_t n = bare(name, len, letters);

	/* No name that tells is shorter. */
	if (n < 2)
		return REDACT_NAME_PLAIN;
	for (size_t i = 0; i < ROWS(telling); i++) {
		if (redact_names_fits(letters, n, &telling[i]))
			return telling[i].kind;
	}
	return REDACT_NAME_PLAIN;
}

/* One that ends with "*" stands for all that begin so. */
static const char *const harmless[] = { "HOME", "PATH", "PWD", "OLDPWD", "SHELL", "SHLVL", "USER",
	"LOGNAME", "HOSTNAME", "HOST", "LANG", "LANGUAGE", "LC_*", "TERM", "TERM_*", "TERMINFO",
	"COLORTERM", "COLUMNS", "LINES", "TZ", "TMPDIR", "TMP", "TEMP", "EDITOR", "VISUAL", "PAGER",
	"LESS", "LS_COLORS", "DISPLAY", "WAYLAND_DISPLAY", "XDG_*", "MAIL", "MANPATH", "INFOPATH",
	"NODE_ENV", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX",
	"GOPATH", "GOROOT", "GOCACHE", "GOMODCACHE", "CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME",
	"NVM_DIR", "PYENV_ROOT", "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS",
	"PKG_CONFIG_PATH", "LD_LIBRARY_PATH", "DEBIAN_FRONTEND", "NO_COLOR", "FORCE_COLOR",
	"CLICOLOR", "CI" };

static bool is_match(const char *pattern, const char *text)
{
	size_t n = strcspn(pattern, "*");

	return strncmp(pattern, text, n) == 0 && (pattern[n] == '*' || text[n] == '\0');
}

bool redact_name_is_harmless(const char *variable)
{
	for (size_t i = 0; i < ROWS(harmless); i++) {
		if (is_match(harmless[i], variable))
			return true;
	}
	return false;
}

static const char *const plain_values[] = { "true", "false", "True", "False", "TRUE", "FALSE",
	"none", "null", "auto", "always", "never", "default", "enabled", "disabled", "debug",
	"info", "warn", "warning", "error", "production", "development", "staging", "test", "local",
	"localhost", "127.0.0.1", "http", "https", "utf-8", "UTF-8", "redacted", "[redacted]" };

bool redact_name_is_plain_value(const char *value)
{
	for (size_t i = 0; i < ROWS(plain_values); i++) {
		if (strcmp(plain_values[i], value) == 0)
			return true;
	}
	return false;
}
