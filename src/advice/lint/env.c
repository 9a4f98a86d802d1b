/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of the environment, and secrets that take their place. What a variable means is known
 * from its name alone, so there are tables of words with `*`. A grant may be such a word itself: it
 * is judged by the well-known names that it takes in, and by what it would be if its stars stood
 * for something unheard of. LC_* could be LC_TOKEN, and nobody has that; AWS_* is
 * AWS_SECRET_ACCESS_KEY.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "policy/match/env-name.h"
#include "policy/match/secret.h"
#include "advice/lint/internal.h"
#include "policy/match/service.h"
#include "policy/network/host.h"
#include "threat/threat.h"

enum { NAME_MAX_BYTES = 256 };

/* Names */

/* The name with every `*` and `?` replaced by a letter that no word ends with. */
static void name_sample(const char *name, char sample[NAME_MAX_BYTES])
{
	size_t n = 0;

	for (; *name && *name != '=' && n + 1 < NAME_MAX_BYTES; name++)
		sample[n++] = (char)(*name == '*' || *name == '?' ? 'Q' : *name);
	sample[n] = '\0';
}

/* The first word with the use that a name, or a sample of it, matches; NULL: none. */
static const struct threat *lint_env_find_word(unsigned use, const char *name)
{
	for (const struct threat *t = threat_secrets; t < threat_secrets + threat_secrets_n; t++) {
		if (t->uses & use && service_word_matches(threat_name(t), name, strlen(name)))
			return t;
	}
	return NULL;
}

/* Does a grant with a star take in this name? */
static bool is_taken(const char *name, const struct lint_globs *g)
{
	char path[NAME_MAX_BYTES] = "/";

	(void)strncat(path, name, sizeof(path) - 2);
	return !strpbrk(name, "*?") && lint_all_match(g, path, strlen(path));
}

static bool takes_all(const struct lint_entry *e)
{
	return lint_all_match(&e->globs, "/" LINT_ANY, sizeof("/" LINT_ANY) - 1);
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
	char sample[NAME_MAX_BYTES];
	const struct threat *t;

	name_sample(e->parts[0].text, sample);
	if (lint_env_value_of(e) || takes_all(e) || lint_env_find_word(THREAT_HARMLESS, sample))
		return 0;
	t = lint_env_find_word(THREAT_SECRET, sample);
	for (size_t i = 0; !t && i < threat_secrets_n; i++) {
		if (threat_secrets[i].uses & THREAT_KNOWN &&
			is_taken(threat_name(&threat_secrets[i]), &e->globs))
			t = &threat_secrets[i];
	}
	if (!t)
		return 0;
	return lint_report(l, e,
		lint_say(l, "variables such as %s usually hold a secret, or the way to one",
			threat_name(t)),
		"remove it, or pass on one that can do no more than this work needs");
}

int lint_env_code(struct lint *l, const struct lint_entry *e)
{
	const char *const *words = env_name_code_words;
	size_t n = env_name_n_code_words, i = 0;
	char sample[NAME_MAX_BYTES];

	if (takes_all(e))
		return 0;
	name_sample(e->parts[0].text, sample);
	while (i < n && !service_word_matches(words[i], sample, strlen(sample)))
		i++;
	if (i == n) {
		for (i = 0; i < n && !is_taken(words[i], &e->globs); i++)
			;
	}
	if (i == n)
		return 0;
	return lint_report(l, e,
		lint_say(l, "%s makes programs load or run other code than their own", words[i]),
		"remove it; if it is needed, give it a fixed value (NAME=value)");
}

/* Values */

/* It begins as keys of well-known services do. */
static bool has_key_form(const char *value)
{
	for (const struct threat *t = threat_secrets; t < threat_secrets + threat_secrets_n; t++) {
		const char *begin = threat_name(t);

		if (t->uses & THREAT_VALUE && strncmp(value, begin, strlen(begin)) == 0 &&
			strlen(value) >= strtoul(threat_inside(t), NULL, 10))
			return true;
	}
	return false;
}

/* Long, and made of letters of both cases and digits: it was generated. */
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
	for (size_t i = 0; i < ROWS(harmless); i++) {
		if (service_word_matches(harmless[i], value, strlen(value)))
			return false;
	}
	return strlen(value) >= 8 && lint_env_find_word(THREAT_SECRET, sample) &&
	       !lint_env_find_word(THREAT_HARMLESS, sample);
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

/* Secrets of the vault: whether they can be used where they are named, and are not seen beside. */

/* Some entry that allows, a rule's too, covers the host. */
static bool secrets_reaches(const struct lint *l, const struct host_pattern *host)
{
	const struct lint_entries *all = &l->entries[OPERATION_NET_CONNECT];

	for (size_t i = 0; i < all->n; i++) {
		const struct lint_entry *e = &all->items[i];

		for (size_t k = 0; e->verdict != VERDICT_DENY && k < e->n_hosts; k++) {
			if (host_pattern_contains(&e->hosts[k], host))
				return true;
		}
	}
	return false;
}

int lint_secret_host(struct lint *l, const struct lint_entry *e)
{
	struct host_pattern host;
	struct secret_entry s;
	const char *text;
	int r;

	if (l->p->fallback != VERDICT_DENY || l->p->mode != MODE_ENFORCE)
		return 0;
	secret_split(e->parts[0].text, &s);
	text = arena_strndup(l->scratch, s.host, s.host_len);
	r = text ? host_pattern_parse(&host, l->scratch, text, NULL, NULL) : -ENOMEM;
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (secrets_reaches(l, &host))
		return 0;
	return lint_report(l, e, lint_say(l, "nothing in network.allow grants %s", text),
		lint_say(l, "add network: {allow: [\"%s\"]}", text));
}

/* What is found when a connection is made (warden/socket-program.h), as far as it can be known. */
int lint_secret_program(struct lint *l, const struct lint_entry *e)
{
	const struct lint_entries *files = &l->entries[OPERATION_FS_WRITE];
	struct secret_entry s;

	secret_split(e->parts[0].text, &s);
	if (!*s.program)
		return 0;
	if (threat_program(s.program, THREAT_INTERPRETER))
		return lint_report(l, e,
			lint_say(l,
				"%s is an interpreter, which runs what it is given: it gets no "
				"value",
				s.program),
			"name the program that makes the requests, or leave programs out");
	for (size_t i = 0; i < files->n; i++) {
		const struct lint_entry *w = &files->items[i];

		if (w->verdict == VERDICT_ALLOW &&
			lint_all_match(&w->globs, s.program, strlen(s.program)))
			return lint_report(l, e,
				lint_say(l, "commands may write %s, by %s: it gets no value",
					s.program, w->text),
				"name a program that commands cannot change");
	}
	return 0;
}

int lint_secret_variable(struct lint *l, const struct lint_entry *e)
{
	const struct lint_entries *env = &l->entries[OPERATION_ENV];
	struct secret_entry s;
	const char *path;

	secret_split(e->parts[0].text, &s);
	path = arena_printf(l->scratch, "/%.*s", (int)s.name_len, s.name);
	if (!path)
		return -ENOMEM;
	for (size_t i = 0; i < env->n; i++) {
		const struct lint_entry *v = &env->items[i];
		bool is_passed_on = v->verdict == VERDICT_ALLOW;

		for (size_t k = 0; k < v->n; k++)
			is_passed_on = is_passed_on && !v->parts[k].value;
		if (is_passed_on && lint_all_match(&v->globs, path, strlen(path)))
			return lint_report(l, e,
				lint_say(l,
					"env passes %.*s on as it is, by %s: the command sees it",
					(int)s.name_len, s.name, v->text),
				"remove the variable, or the secret");
	}
	return 0;
}
