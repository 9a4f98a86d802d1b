/* SPDX-License-Identifier: Apache-2.0 */
/* `corral vault`, and its keys: init, unlock, lock. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/output.h"
#include "cli/vault/internal.h"
#include "cli/vault/stored-key.h"
#include "codec/unit.h"

enum { VERB_VAULT_REMEMBER_S = 8 * 3600 };

/* A key of the vault is kept elsewhere, too. */
static int verb_vault_store_key(struct vault_session *s, enum vault_slot_kind kind)
{
	struct vault_message m = { .op = VAULT_SLOT_BEGIN }, answer;
	auto_document status = { 0 };
	auto_secret key = { 0 }, blob = { 0 };
	int r = vault_session_call(s, &m, &answer);

	if (r == 0)
		r = secret_copy(&key, answer.secret, answer.secret_len);
	if (r == 0)
		r = vault_session_ask(s, VAULT_STATUS, &status);
	if (r == 0)
		r = stored_key_keep(
			kind, node_get_text(status.root, "id"), &key, &blob, s->call->error);
	if (r < 0)
		return r;
	m = (struct vault_message){ .op = VAULT_SLOT_ADD,
		.text = vault_slot_names[kind],
		.secret = blob.data,
		.secret_len = (uint32_t)blob.len };
	r = vault_session_call(s, &m, &answer);
	if (r == 0)
		vault_session_note("%s opens the vault, too", vault_slot_names[kind]);
	return r;
}

static int verb_vault_check_key(struct call *c, const char *key)
{
	static const struct options_row row = { .is = { .name = "key" } };

	if (!key || stored_key_kind(key) != VAULT_SLOT_NONE)
		return 0;
	return options_unknown_word(c, &row, key, vault_slot_names + VAULT_SLOT_SYSTEMD,
		VAULT_SLOT_KINDS - VAULT_SLOT_SYSTEMD);
}

/* Before a passphrase is typed. */
static int verb_vault_check_none(struct vault_session *s)
{
	int r = vault_session_exists(s);

	if (r <= 0)
		return r;
	(void)error_set(s->call->error, -EEXIST, NULL, "there is a vault already");
	error_hint(s->call->error, "for another passphrase: corral vault rotate --passphrase");
	return -EEXIST;
}

static int verb_vault_init_run(struct call *c)
{
	struct vault_message m = { .op = VAULT_INIT }, answer;
	auto_secret passphrase = { 0 };
	const char *key = NULL;
	auto_vault_session s = { 0 };
	const struct options_row rows[] = {
		{ { "key", SCHEMA_TEXT,
			  .help = "what opens the vault beside its passphrase: systemd-creds, "
				  "secret-service" },
			0, "KIND", .target = &key },
		SESSION_PASSPHRASE(&s),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = verb_vault_check_key(c, key);
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r == 0)
		r = verb_vault_check_none(&s);
	if (r == 0)
		r = vault_session_new_passphrase(&s, &passphrase);
	if (r < 0)
		return r;
	m.secret = passphrase.data;
	m.secret_len = (uint32_t)passphrase.len;
	r = vault_session_call_locked(&s, &m, &answer);
	if (r < 0)
		return r;
	vault_session_note("the vault was made; without its passphrase nothing opens it");
	r = key ? verb_vault_store_key(&s, stored_key_kind(key)) : 0;
	return r < 0 ? r : STATUS_YES;
}

static int verb_vault_take_duration(
	struct call *c, const struct options_row *row, const char *value)
{
	uint64_t ms = 0;

	if (unit_parse_duration(value, &ms) < 0 || ms < 1000) {
		(void)error_set(c->error, -EINVAL, NULL,
			"invalid value for --%s: `%s` (expected a time such as 30m, 8h or 7d)",
			row->is.name, value);
		return -EINVAL;
	}
	*(uint64_t *)row->target = ms / 1000;
	return 0;
}
options_taker *const vault_take_duration = verb_vault_take_duration;

static int verb_vault_unlock_run(struct call *c)
{
	uint64_t seconds = VERB_VAULT_REMEMBER_S;
	bool is_restored = false;
	const char *key = NULL;
	auto_vault_session s = { 0 };
	const struct options_row rows[] = {
		{ { "for", SCHEMA_OTHER,
			  .help = "how long the kernel keeps the key: 8h if not given, 7d at "
				  "most" },
			0, "TIME", .target = &seconds, .take = verb_vault_take_duration },
		{ { "key", SCHEMA_TEXT,
			  .help = "from now on this opens the vault, too: systemd-creds, "
				  "secret-service" },
			0, "KIND", .target = &key },
		{ { "restored", SCHEMA_FLAG,
			  .help = "accept an older file that was put back on purpose" },
			.target = &is_restored },
		SESSION_PASSPHRASE(&s),
		OPTIONS_JSON(&s.json),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = verb_vault_check_key(c, key);
	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r == 0)
		r = vault_session_unlock(&s, seconds, is_restored ? VAULT_FLAG_RESTORED : 0);
	if (r == 0 && key)
		r = verb_vault_store_key(&s, stored_key_kind(key));
	if (r == 0 && s.json)
		r = vault_put_state(&s);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

static int verb_vault_lock_run(struct call *c)
{
	const struct vault_message m = { .op = VAULT_LOCK };
	struct vault_message answer;
	auto_vault_session s = { 0 };
	const struct options_row rows[] = { OPTIONS_JSON(&s.json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = vault_session_begin(&s, c);
	if (r == 0)
		r = vault_session_call_locked(&s, &m, &answer);
	if (r == 0 && s.json)
		r = vault_put_state(&s);
	return r < 0 ? r : STATUS_YES;
}

static const struct verb verb_vault_init = {
	.name = "init",
	.synopsis = "[OPTION]...",
	.summary = "make the vault",
	.description = "Makes an empty vault in the user's state folder, with a passphrase that is "
		       "asked for. "
		       "Argon2id makes its key of it; nothing else opens the vault, so keep the "
		       "passphrase.\n"
		       "With --key systemd-creds this machine opens it, too, by its TPM or a key "
		       "of the host.",
	.examples = "corral vault init\n"
		    "corral vault init --key systemd-creds\n",
	.run = verb_vault_init_run,
};

static const struct verb verb_vault_unlock = {
	.name = "unlock",
	.synopsis = "[OPTION]...",
	.summary = "open the vault for a time",
	.description =
		"Asks for the passphrase and gives the key to the kernel's keyring for a time, so "
		"that later "
		"commands do not ask. Commands in sandboxes cannot read it. After three wrong "
		"passphrases the next one has to wait, longer each time.",
	.examples = "corral vault unlock\n"
		    "corral vault unlock --for 30m\n",
	.run = verb_vault_unlock_run,
};

static const struct verb verb_vault_lock = {
	.name = "lock",
	.synopsis = "[OPTION]...",
	.summary = "forget the key",
	.description = "Takes the key out of the kernel's keyring, and the values out of runs that "
		       "were lent some: their requests are refused until `corral vault unlock`. "
		       "`corral ps` lists them.",
	.examples = "corral vault lock\n",
	.run = verb_vault_lock_run,
};

static const struct verb *const verb_vault_verbs[] = {
	&verb_vault_init,
	&verb_vault_set,
	&verb_vault_status,
	&verb_vault_list,
	&verb_vault_uses,
	&verb_vault_grant,
	&verb_vault_revoke,
	&verb_vault_lend,
	&verb_vault_rotate,
	&verb_vault_remove,
	&verb_vault_lock,
	&verb_vault_unlock,
	&verb_vault_import,
	&verb_vault_export,
	&verb_vault_doctor,
	NULL,
};

const struct verb verb_vault = {
	.name = "vault",
	.synopsis = "COMMAND [OPTION]...",
	.summary = "keep secrets, and say which hosts they may go to",
	.description = "The vault keeps values such as tokens, encrypted, or says where they are: "
		       "in a file, in a "
		       "variable, printed by a program. Commands in sandboxes cannot read it. A "
		       "secret goes only to "
		       "hosts that it was granted for. Every use is a record of the log, without "
		       "the value.\n"
		       "Values are typed or come from standard input, never from arguments, which "
		       "other processes can see.",
	.examples = "corral vault init\n"
		    "corral vault set GITHUB_TOKEN\n"
		    "corral vault set GITHUB_TOKEN --from 'cmd:/usr/bin/gh auth token'\n"
		    "corral vault grant GITHUB_TOKEN api.github.com:443\n",
	.verbs = verb_vault_verbs,
};
