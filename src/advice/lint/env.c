/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of the environment. What a variable means is known from its name alone, so the names
 * are tables of words with `*`. A grant may be such a word itself: it is judged by the well-known
 * names that it takes in, and by what it would be if its stars stood for something unheard of.
 * LC_* could be LC_TOKEN, and nobody has that; AWS_* is AWS_SECRET_ACCESS_KEY.
 */
#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "policy/match/env-name.h"
#include "advice/lint/internal.h"
#include "policy/match/service.h"

enum { NAME_MAX_BYTES = 256 };

static const char *const secret_words[] = { "AWS_*", "AZURE_*", "GOOGLE_APPLICATION_CREDENTIALS",
	"GOOGLE_CREDENTIALS", "*_TOKEN", "TOKEN", "*_TOKENS", "*_KEY", "*_KEYS", "*APIKEY",
	"*_SECRET", "*_SECRETS", "*SECRET_*", "SECRET", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*",
	"*_PASS", "*CREDENTIAL*", "*_PAT", "*_AUTH", "*_COOKIE", "*PRIVATE_KEY*", "SSH_AUTH_SOCK",
	"SSH_AGENT_*", "GPG_*", "GNUPGHOME", "KUBECONFIG", "VAULT_*", "DATABASE_URL",
	"*_DATABASE_URL", "*_DSN", "*_CONNECTION_STRING", "*_WEBHOOK_URL", "MONGODB_URI",
	"REDIS_URL", "DOCKER_AUTH_CONFIG", "NPM_CONFIG__AUTH*", "TF_VAR_*",
	"DBUS_SESSION_BUS_ADDRESS", "XAUTHORITY", "AGE_*", "SOPS_*", "OP_SESSION_*", "BW_SESSION",
	"PGPASSFILE", "NETRC" };

/* What a word above takes in, and is no secret. */
static const char *const harmless_words[] = { "AWS_REGION", "AWS_DEFAULT_*", "AWS_PROFILE",
	"AWS_PAGER", "AZURE_REGION", "AZURE_LOCATION", "GPG_TTY", "*PUBLIC_KEY", "VAULT_ADDR",
	"VAULT_NAMESPACE" };

/* Names that everybody knows, for grants with a star. */
static const char *const secret_names[] = { "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	"AZURE_CLIENT_SECRET", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN",
	"NPM_TOKEN", "PYPI_TOKEN", "TWINE_PASSWORD", "CARGO_REGISTRY_TOKEN", "OPENAI_API_KEY",
	"ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "HF_TOKEN",
	"HUGGING_FACE_HUB_TOKEN", "REPLICATE_API_TOKEN", "SLACK_BOT_TOKEN", "SLACK_TOKEN",
	"DISCORD_TOKEN", "TELEGRAM_BOT_TOKEN", "STRIPE_SECRET_KEY", "TWILIO_AUTH_TOKEN",
	"SENDGRID_API_KEY", "DOCKER_PASSWORD", "DIGITALOCEAN_ACCESS_TOKEN", "CLOUDFLARE_API_TOKEN",
	"HEROKU_API_KEY", "FLY_API_TOKEN", "VERCEL_TOKEN", "NETLIFY_AUTH_TOKEN",
	"SENTRY_AUTH_TOKEN", "DATADOG_API_KEY", "PGPASSWORD", "MYSQL_PWD", "MYSQL_PASSWORD",
	"POSTGRES_PASSWORD", "REDIS_PASSWORD", "DATABASE_URL", "DB_PASSWORD", "VAULT_TOKEN",
	"CONSUL_HTTP_TOKEN", "SSH_AUTH_SOCK", "GPG_AGENT_INFO", "KUBECONFIG", "JWT_SECRET",
	"SECRET_KEY", "DJANGO_SECRET_KEY", "API_KEY", "API_TOKEN", "ACCESS_TOKEN" };

/* Names */

/* The name with every `*` and `?` replaced by a letter that no word ends with. */
static void name_sample(const char *name, char sample[NAME_MAX_BYTES])
{
	size_t n = 0;

	for (; *name && *name != '=' && n + 1 < NAME_MAX_BYTES; name++)
		sample[n++] = (char)(*name == '*' || *name == '?' ? 'Q' : *name);
	sample[n] = '\0';
}

static const char *lint_env_find_word(const char *const *words, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (service_word_matches(words[i], name, strlen(name)))
			return words[i];
	}
	return NULL;
}

/* The first of the names that a grant with a star takes in. */
static const char *find_taken(const char *const *names, size_t n, const struct lint_globs *g)
{
	for (size_t i = 0; i < n; i++) {
		char path[NAME_MAX_BYTES] = "/";

		(void)strncat(path, names[i], sizeof(path) - 2);
		if (!strpbrk(names[i], "*?") && lint_all_match(g, path, strlen(path)))
			return names[i];
	}
	return NULL;
}

static bool takes_all(const struct lint_entry *e)
{
	return lint_all_match(&e->globs, "/" LINT_ANY, sizeof("/" LINT_ANY) - 1);
}

/* The name or word of a table that e takes in, or NULL. */
static const char *lint_env_find_in(const struct lint_entry *e, const char *const *words,
	size_t n_words, const char *const *names, size_t n_names)
{
	char sample[NAME_MAX_BYTES];
	const char *found;

	name_sample(e->parts[0].text, sample);
	if (words == secret_words &&
		lint_env_find_word(harmless_words, ROWS(harmless_words), sample))
		return NULL;
	found = lint_env_find_word(words, n_words, sample);
	return found ? found : find_taken(names, n_names, &e->globs);
}

/* The part that sets a value, or NULL: the host's own comes in. */
static const struct lint_part *lint_env_value_of(const struct lint_entry *e)
{
	for (size_t i = 0; i < e->n; i++) {
		if (e->parts[i].value)
			return &e->parts[i];
	}
	return NULL;
}

int lint_env_everything(struct lint *l, const struct lint_entry *e)
{
	if (lint_env_value_of(e) || !takes_all(e))
		return 0;
	return lint_report(l, e,
		"every variable of the host comes in, also those that hold keys and tokens",
		"name the variables that are needed, such as PATH, HOME, LANG, LC_*, TERM");
}

int lint_env_secret(struct lint *l, const struct lint_entry *e)
{
	const char *name;

	if (lint_env_value_of(e) || takes_all(e))
		return 0;
	name = lint_env_find_in(
		e, secret_words, ROWS(secret_words), secret_names, ROWS(secret_names));
	if (!name)
		return 0;
	return lint_report(l, e,
		lint_say(l, "variables such as %s usually hold a secret, or the way to one", name),
		"remove it, or pass on one that can do no more than this work needs");
}

int lint_env_code(struct lint *l, const struct lint_entry *e)
{
	const char *name;

	if (takes_all(e))
		return 0;
	name = lint_env_find_in(e, env_name_code_words, env_name_n_code_words, env_name_code_words,
		env_name_n_code_words);
	if (!name)
		return 0;
	return lint_report(l, e,
		lint_say(l, "%s makes programs load or run other code than their own", name),
		"remove it; if it is needed, give it a fixed value (NAME=value)");
}

/* Values */

/* How keys of well-known services begin. */
static const struct {
	const char *prefix;
	size_t least; /* bytes in all */
} key_forms[] = { { "AKIA", 20 }, { "ASIA", 20 }, { "ghp_", 20 }, { "gho_", 20 }, { "ghu_", 20 },
	{ "ghs_", 20 }, { "github_pat_", 20 }, { "glpat-", 20 }, { "sk-", 20 }, { "sk_live_", 16 },
	{ "sk_test_", 16 }, { "rk_live_", 16 }, { "xoxb-", 16 }, { "xoxp-", 16 }, { "xoxa-", 16 },
	{ "xapp-", 16 }, { "AIza", 30 }, { "ya29.", 20 }, { "eyJ", 30 }, { "npm_", 20 },
	{ "pypi-", 20 }, { "hf_", 20 }, { "dop_v1_", 20 }, { "SG.", 30 }, { "-----BEGIN", 20 },
	{ "AGE-SECRET-KEY-", 20 }, { "hvs.", 20 }, { "shpat_", 20 }, { "r8_", 20 }, { "gsk_", 20 },
	{ "lin_api_", 20 }, { "figd_", 20 } };

static bool has_key_form(const char *value)
{
	for (size_t i = 0; i < ROWS(key_forms); i++) {
		if (strncmp(value, key_forms[i].prefix, strlen(key_forms[i].prefix)) == 0 &&
			strlen(value) >= key_forms[i].least)
			return true;
	}
	return false;
}

/* Long, and made of letters of both cases and digits: nobody writes that by hand. */
static bool looks_random(const char *value)
{
	unsigned lower = 0, upper = 0, digit = 0;

	for (const char *s = value; *s; s++) {
		if (!isalnum((unsigned char)*s) && !strchr("+/=_-", *s))
			return false;
		lower += islower((unsigned char)*s) != 0;
		upper += isupper((unsigned char)*s) != 0;
		digit += isdigit((unsigned char)*s) != 0;
	}
	return strlen(value) >= 32 && strchr(value, '/') != value && lower > 3 && upper > 3 &&
	       digit > 3;
}

/* user:password@ in a URL. */
static bool has_password(const char *value)
{
	const char *rest = strstr(value, "://");
	size_t at = rest ? strcspn(rest + 3, "@/") : 0;

	return rest && rest[3 + at] == '@' && memchr(rest + 3, ':', at);
}

/* A value under a secret's name, unless it only says where the secret is, or that there is none. */
static bool stands_for_secret(const char *name, const char *value)
{
	static const char *const harmless[] = { "/*", "$*", "<*", "*...*", "true", "false", "none",
		"null", "example*", "dummy*", "test*", "changeme*", "placeholder*", "*.json",
		"*.pem" };
	char sample[NAME_MAX_BYTES];

	name_sample(name, sample);
	return strlen(value) >= 8 && lint_env_find_word(secret_words, ROWS(secret_words), sample) &&
	       !lint_env_find_word(harmless_words, ROWS(harmless_words), sample) &&
	       !lint_env_find_word(harmless, ROWS(harmless), value);
}

int lint_env_secret_value(struct lint *l, const struct lint_entry *e)
{
	const struct lint_part *part = lint_env_value_of(e);

	if (!part)
		return 0;
	if (!has_key_form(part->value) && !looks_random(part->value) &&
		!has_password(part->value) && !stands_for_secret(part->text, part->value))
		return 0;
	return lint_report(l, e,
		"the value looks like a secret: whoever can read this policy has it",
		"take it out of the file, change it where it is used, and pass it on by name or "
		"keep it in the vault");
}
