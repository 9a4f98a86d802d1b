/* SPDX-License-Identifier: Apache-2.0 */
/* `corral vault set`, `rotate` and `remove`: single values. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/output.h"
#include "cli/vault/internal.h"
#include "cli/vault/prompt.h"
#include "mask/mask.h"
#include "vault/source-text.h"
#include "vault/source.h"
#include "vault/strength.h"

struct values_settings {
	const char *from;
	uint64_t keep_s, expires_in_s;
	bool passphrase;
};

/* Rows of options of `set` and `rotate`. */
#define VALUES_FROM(v)                                                                             \
	{                                                                                          \
		{ "from", SCHEMA_TEXT,                                                             \
			.help = "where the value is: file:PATH, env:NAME, cmd:PROGRAM "            \
				"WORD...,\nsecret-service:NAME=VALUE,..., or login:FILE, such as " \
				"login:gh" },                                                      \
			0, "SOURCE", .target = &(v).from                                           \
	}
#define VALUES_KEEP(v)                                                                          \
	{                                                                                       \
		{ "keep", SCHEMA_OTHER,                                                         \
			.help = "how long a value of the source is kept, if it does not say" }, \
			0, "TIME", .target = &(v).keep_s, .take = vault_take_duration           \
	}

/* What stands behind the name would be the value, in sight of every process. */
static int verb_vault_check_words(struct call *c, size_t most)
{
	if (c->n <= most)
		return 0;
	(void)error_set(c->error, -EINVAL, NULL,
		"a value is not given as an argument: other processes can see it, "
		"and the shell remembers it");
	error_hint(c->error, "type it, or pipe it: %s %s < FILE", c->name, c->words[0]);
	return -EINVAL;
}

/* A value that is typed, or all of standard input. */
static int verb_vault_read_value(struct vault_session *s, const char *name, struct secret *ret)
{
	char question[VAULT_NAME_MAX + 64];
	int r;

	if (!isatty(STDIN_FILENO))
		return prompt_read_input(ret, s->call->error);
	(void)snprintf(question, sizeof(question),
		"Value of %.*s (it is not shown): ", VAULT_NAME_MAX, name);
	r = prompt_read(question, ret, s->call->error);
	return r;
}

/* It is kept: some services have no better ones. */
static void verb_vault_warn(const char *name, const struct secret *value)
{
	if (value->len > 0 && strength_is_weak(value->data, value->len))
		vault_session_note(
			"%s is easy to guess: a command that may use it can try values at a "
			"host that sends them back, and see by the stars which is right",
			name);
}

/*
 * A file in which a program keeps its credentials: it is read now, so that who sets it hears what
 * is wrong with it, or which of its secrets could be meant.
 */
static int verb_vault_try_login(const char *source, const struct mask_file **ret, struct error *e)
{
	struct source_value value = { 0 };
	const char *rest = NULL;
	int r = source_text_check(source, &rest, e);

	if (r != SOURCE_LOGIN)
		return r < 0 ? r : 0;
	*ret = mask_file_find(rest, strcspn(rest, "#"));
	r = source_read(source, &value, e);
	secret_free(&value.value);
	return r;
}

static void verb_vault_tell_next(const char *name, const struct mask_file *file)
{
	if (!file)
		vault_session_note(
			"%s goes nowhere until it is granted to a host: corral vault grant "
			"%s HOST:443",
			name, name);
	else
		vault_session_note("`corral run --secret %s` shows ~/%s with placeholders, once it "
				   "is granted: corral vault grant %s %s",
			name, file->path, name, *file->hosts ? file->hosts : "HOST:443");
}

/* Before a value is typed. */
static int verb_vault_check_new(struct vault_session *s, const char *name, bool has_source)
{
	auto_document list = { 0 };
	const struct node *is;
	struct error *e = s->call->error;
	int r = vault_session_look(s, name, &list, &is);

	if (r < 0 || !is)
		return r;
	(void)error_set(e, -EEXIST, NULL, "there is a secret `%s`", name);
	if (has_source)
		error_hint(e, "for another source: corral vault rotate %s --from SOURCE", name);
	else if (*node_get_text(is, "source"))
		error_hint(e,
			"corral vault remove %s removes it and its grants; then set and grant it "
			"again",
			name);
	else
		error_hint(e, "for another value: corral vault rotate %s", name);
	return -EEXIST;
}

static int verb_vault_set_run(struct call *c)
{
	struct vault_message m = { .op = VAULT_SET }, answer;
	const struct mask_file *file = NULL;
	struct values_settings v = { 0 };
	auto_secret value = { 0 };
	auto_vault_session s = { 0 };
	const struct options_row rows[] = {
		VALUES_FROM(v),
		VALUES_KEEP(v),
		{ { "expires-in", SCHEMA_OTHER,
			  .help = "the value is not given out after this time" },
			0, "TIME", .target = &v.expires_in_s, .take = vault_take_duration },
		SESSION_PASSPHRASE(&s),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = verb_vault_check_words(c, 1);
	if (r == 0 && v.from ? v.expires_in_s > 0 : v.keep_s > 0)
		r = options_misused(c, "--keep is for a source, and --expires-in for a value");
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r == 0)
		r = verb_vault_check_new(&s, c->words[0], v.from);
	if (r < 0)
		return vault_session_refuse(&s, r);
	r = v.from ? verb_vault_try_login(v.from, &file, c->error)
		   : verb_vault_read_value(&s, c->words[0], &value);
	if (r < 0)
		return r;
	m.name = c->words[0];
	m.text = v.from;
	m.secret = value.data;
	m.secret_len = (uint32_t)value.len;
	m.number = v.from           ? v.keep_s
		   : v.expires_in_s ? clock_ms(CLOCK_REALTIME) / 1000 + v.expires_in_s
				    : 0;
	r = vault_session_call(&s, &m, &answer);
	if (r == 0)
		verb_vault_warn(m.name, &value);
	if (r == 0)
		verb_vault_tell_next(m.name, file);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

static int verb_vault_rekey(struct vault_session *s)
{
	struct vault_message m = { .op = VAULT_LIST }, answer;
	auto_secret passphrase = { 0 };
	int r = vault_session_call(s, &m, &answer);

	/* The file had the old one. */
	s->passphrase_file = NULL;
	if (r == 0)
		r = isatty(STDIN_FILENO) ? vault_session_new_passphrase(s, &passphrase)
					 : prompt_read_input(&passphrase, s->call->error);
	if (r < 0)
		return r;
	m = (struct vault_message){
		.op = VAULT_REKEY, .secret = passphrase.data, .secret_len = (uint32_t)passphrase.len
	};
	r = vault_session_call_locked(s, &m, &answer);
	if (r == 0)
		vault_session_note("the vault has another key; only the new passphrase opens it");
	return r;
}

static int verb_vault_rotate_value(struct vault_session *s, const struct values_settings *v)
{
	struct vault_message m = { .op = VAULT_ROTATE, .name = s->call->words[0] }, answer;
	const struct mask_file *file = NULL;
	auto_document list = { 0 };
	auto_secret value = { 0 };
	const struct node *is;
	int r = vault_session_look(s, m.name, &list, &is);

	if (r == 0 && v->from)
		r = verb_vault_try_login(v->from, &file, s->call->error);
	/* Where there is none, the vault says so. */
	else if (r == 0 && is && !*node_get_text(is, "source"))
		r = verb_vault_read_value(s, m.name, &value);
	if (r < 0)
		return r;
	m.text = v->from;
	m.secret = value.data;
	m.secret_len = (uint32_t)value.len;
	m.number = v->from           ? v->keep_s
		   : v->expires_in_s ? clock_ms(CLOCK_REALTIME) / 1000 + v->expires_in_s
				     : 0;
	r = vault_session_call(s, &m, &answer);
	if (r == 0)
		verb_vault_warn(m.name, &value);
	return r;
}

static int verb_vault_rotate_run(struct call *c)
{
	struct values_settings v = { 0 };
	auto_vault_session s = { 0 };
	const struct options_row rows[] = {
		{ { "passphrase", SCHEMA_FLAG,
			  .help = "another passphrase and another key for the whole vault" },
			.target = &v.passphrase },
		VALUES_FROM(v),
		VALUES_KEEP(v),
		{ { "expires-in", SCHEMA_OTHER,
			  .help = "the value is not given out after this time" },
			0, "TIME", .target = &v.expires_in_s, .take = vault_take_duration },
		SESSION_PASSPHRASE(&s),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = verb_vault_check_words(c, 1);
	if (r == 0 && v.passphrase == (c->n == 1))
		r = options_misused(c, "name a secret, or give --passphrase");
	if (r == 0 && v.from ? v.expires_in_s > 0 : v.keep_s > 0)
		r = options_misused(c, "--keep is for a source, and --expires-in for a value");
	if (r == 0 && v.from && v.passphrase)
		r = options_misused(c, "--from is for a secret, --passphrase for the vault");
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r == 0)
		r = v.passphrase ? verb_vault_rekey(&s) : verb_vault_rotate_value(&s, &v);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

static int verb_vault_remove_run(struct call *c)
{
	auto_vault_session s = { 0 };
	const struct options_row rows[] = { SESSION_PASSPHRASE(&s) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = vault_session_begin(&s, c);
	for (size_t i = 0; r == 0 && i < c->n; i++) {
		const struct vault_message m = { .op = VAULT_REMOVE, .name = c->words[i] };
		struct vault_message answer;

		r = vault_session_call(&s, &m, &answer);
	}
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

const struct verb verb_vault_set = {
	.name = "set",
	.synopsis = "[OPTION]... NAME",
	.summary = "keep a value, or say where it is",
	.description =
		"Asks for the value without showing it, or reads it from standard input, without "
		"the end of its last "
		"line. With --from the vault keeps only where the value is. A file must be the "
		"user's own, with mode "
		"0600. A program must be one that no command in a sandbox could have changed; it "
		"gets no variables, no "
		"input and a minute, and prints the value, or JSON with `value` and `expires` or "
		"`expires_in`. A value that "
		"expires is kept, and asked for again when its time is over.\n"
		"login:FILE is a file in which a program keeps its credentials: gh, netrc, npm, "
		"docker, aws, gcloud, pypi, git or cargo. A command that is lent the secret sees "
		"that file, with placeholders in place of all secrets. Where it has several, "
		"login:FILE#KEY says which, such as login:gh#github.com.\n"
		"A name that is there is refused: `corral vault rotate` gives it another value.",
	.examples = "corral vault set GITHUB_TOKEN\n"
		    "corral vault set NPM_TOKEN < token.txt\n"
		    "corral vault set GITHUB_TOKEN --from 'cmd:/usr/bin/gh auth token' --keep 1h\n"
		    "corral vault set PYPI_TOKEN --from file:/home/me/.config/pypi-token\n"
		    "corral vault set GH --from login:gh\n",
	.operand = "NAME",
	.min = 1,
	.max = 2,
	.run = verb_vault_set_run,
};

const struct verb verb_vault_rotate = {
	.name = "rotate",
	.synopsis = "[OPTION]... NAME | --passphrase",
	.summary = "give a secret another value, or the vault another passphrase",
	.description = "Replaces the value of a secret and keeps its grants; of a secret with a "
		       "source, asks the source now. With --from the value comes from there from "
		       "now on, and what the vault had is gone.\n"
		       "With --passphrase all is encrypted anew, with another key. Keys that "
		       "systemd-creds keeps, and the file "
		       "vault.old, are gone then.",
	.examples = "corral vault rotate GITHUB_TOKEN\n"
		    "corral vault rotate GITHUB_TOKEN --from 'cmd:/usr/bin/gh auth token'\n"
		    "corral vault rotate --passphrase\n",
	.operand = "NAME",
	.max = 2,
	.run = verb_vault_rotate_run,
};

const struct verb verb_vault_remove = {
	.name = "remove",
	.synopsis = "[OPTION]... NAME...",
	.summary = "remove secrets with their grants",
	.description = "Removes secrets. The file vault.old in the vault's folder has them until "
		       "the next change.",
	.examples = "corral vault remove NPM_TOKEN\n",
	.operand = "NAME",
	.min = 1,
	.max = 256,
	.run = verb_vault_remove_run,
};
