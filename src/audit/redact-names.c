/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/redact-names.h"

#include <ctype.h>
#include <string.h>

enum { LETTERS_MAX = 64 };

enum where { ANYWHERE, END, EXACT };

/* Of a name without what stands between its words: X-Api-Key is xapikey. The first that fits. */
static const struct {
	const char *word;
	enum where where;
	enum redact_name kind;
} telling[] = {
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

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Letters and digits, in lower case, with percent-encoded ones decoded. */
static size_t bare(const char *name, size_t len, char out[LETTERS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < LETTERS_MAX; i++) {
		char c = name[i];

		if (c == '%' && len - i > 2 && hex(name[i + 1]) >= 0 && hex(name[i + 2]) >= 0) {
			c = (char)(hex(name[i + 1]) << 4 | hex(name[i + 2]));
			i += 2;
		}
		if (isalnum((unsigned char)c))
			out[n++] = (char)tolower((unsigned char)c);
	}
	return n;
}

static bool has(const char *name, size_t len, const char *word, size_t n)
{
	for (size_t i = 0; i + n <= len; i++) {
		if (name[i] == word[0] && memcmp(name + i, word, n) == 0)
			return true;
	}
	return false;
}

static bool fits(const char *name, size_t len, const char *word, enum where where)
{
	size_t n = strlen(word);

	if (n > len)
		return false;
	if (where == ANYWHERE)
		return has(name, len, word, n);
	return (where == END || n == len) && memcmp(name + len - n, word, n) == 0;
}

enum redact_name redact_name_judge(const char *name, size_t len)
{
	char letters[LETTERS_MAX];
	size_t n = bare(name, len, letters);

	/* No name that tells is shorter. */
	if (n < 2)
		return REDACT_NAME_PLAIN;
	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++) {
		if (fits(letters, n, telling[i].word, telling[i].where))
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
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++) {
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
	for (size_t i = 0; i < sizeof(plain_values) / sizeof(plain_values[0]); i++) {
		if (strcmp(plain_values[i], value) == 0)
			return true;
	}
	return false;
}
