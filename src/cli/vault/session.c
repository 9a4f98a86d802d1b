/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/vault/session.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/vault/prompt.h"
#include "cli/vault/stored-key.h"
#include "codec/json.h"
#include "jail/limits/rlimits.h"
#include "jail/privilege.h"

int vault_session_begin(struct vault_session *s, struct call *c)
{
	int r = rlimits_no_core();

	s->call = c;
	if (r == 0)
		r = privilege_hide();
	if (r < 0)
		return error_set(c->error, r, NULL, "cannot hide this process: %s", strerror(-r));
	return vault_client_start(&s->vault, c->error);
}

void vault_session_end(struct vault_session *s)
{
	vault_client_end(s->vault);
	s->vault = NULL;
}

void vault_session_note(const char *format, ...)
{
	auto_output o = output_for(STDERR_FILENO);
	va_list args;

	output_note(&o);
	va_start(args, format);
	buffer_vprintf(&o.text, format, args);
	va_end(args);
	buffer_addc(&o.text, '\n');
	(void)output_write(&o, STDERR_FILENO, NULL);
}

int vault_session_call_locked(
	struct vault_session *s, const struct vault_message *m, struct vault_message *ret)
{
	return vault_client_call(s->vault, m, ret, s->call->error);
}

int vault_session_call(
	struct vault_session *s, const struct vault_message *m, struct vault_message *ret)
{
	int r = vault_session_call_locked(s, m, ret);

	if (r != -ENOKEY)
		return r;
	*s->call->error = (struct error){ 0 };
	r = vault_session_unlock(s, 0, 0);
	return r < 0 ? r : vault_session_call_locked(s, m, ret);
}

int vault_session_ask(struct vault_session *s, enum vault_op op, struct document *ret)
{
	const struct vault_message m = { .op = op };
	struct vault_message answer;
	int r = op == VAULT_STATUS ? vault_session_call_locked(s, &m, &answer)
				   : vault_session_call(s, &m, &answer);

	return r < 0 ? r
		     : json_read(ret, "corral-vault", answer.text, strlen(answer.text),
			       s->call->error);
}

int vault_session_exists(struct vault_session *s)
{
	auto_document status = { 0 };
	bool exists = false;
	int r = vault_session_ask(s, VAULT_STATUS, &status);

	if (r < 0)
		return r;
	(void)node_boolean(node_get(status.root, "exists"), &exists);
	return exists;
}

static int vault_session_absent(struct error *e)
{
	(void)error_set(e, -ENOENT, NULL, "there is no vault");
	error_hint(e, "make one: corral vault init");
	return -ENOENT;
}

int vault_session_look(
	struct vault_session *s, const char *name, struct document *list, const struct node **ret)
{
	int r = vault_session_exists(s);
	const struct node *secrets;

	*ret = NULL;
	if (r == 0)
		return vault_session_absent(s->call->error);
	if (r > 0)
		r = vault_session_ask(s, VAULT_LIST, list);
	secrets = r < 0 ? NULL : node_get(list->root, "secrets");
	for (const struct node *x = secrets ? secrets->first : NULL; x; x = x->next)
		if (strcmp(node_get_text(x, "name"), name) == 0)
			*ret = x;
	return r < 0 ? r : 0;
}

/* By a key that is stored elsewhere. 1: there is none, or it cannot be had. */
static int vault_session_unlock_stored(struct vault_session *s, uint64_t remember_s, uint32_t flags)
{
	auto_document status = { 0 };
	const struct node *keys;
	bool exists = false;
	int r = vault_session_ask(s, VAULT_STATUS, &status);

	if (r < 0)
		return r;
	(void)node_boolean(node_get(status.root, "exists"), &exists);
	if (!exists)
		return vault_session_absent(s->call->error);
	keys = node_get(status.root, "keys");
	for (const struct node *k = keys ? keys->first : NULL; k; k = k->next) {
		struct vault_message m = { .op = VAULT_UNLOCK,
			.text = node_get_text(k, "kind"),
			.number = remember_s,
			.flags = flags };
		struct vault_message answer;
		struct error why = { 0 };
		auto_secret key = { 0 };

		if (stored_key_kind(m.text) == VAULT_SLOT_NONE)
			continue;
		r = stored_key_take(stored_key_kind(m.text), node_get_text(status.root, "id"),
			node_get_text(k, "blob"), &key, &why);
		if (r < 0) {
			vault_session_note("%s; the passphrase is asked for instead", why.text);
			continue;
		}
		m.secret = key.data;
		m.secret_len = (uint32_t)key.len;
		return vault_session_call_locked(s, &m, &answer);
	}
	return 1;
}

int vault_session_unlock(struct vault_session *s, uint64_t remember_s, uint32_t flags)
{
	struct vault_message m = { .op = VAULT_UNLOCK, .number = remember_s, .flags = flags };
	struct vault_message answer;
	auto_secret passphrase = { 0 };
	int r = vault_session_unlock_stored(s, remember_s, flags);

	if (r <= 0)
		return r;
	if (s->passphrase_file)
		r = prompt_read_file(s->passphrase_file, &passphrase, s->call->error);
	else
		r = prompt_read("Passphrase of the vault: ", &passphrase, s->call->error);
	if (r == -ENXIO) {
		(void)error_set(s->call->error, r, NULL,
			"the vault is locked, and there is no terminal to ask for its passphrase");
		error_hint(s->call->error,
			"corral vault unlock in a terminal, or --passphrase-file FILE");
	}
	if (r < 0)
		return r;
	m.secret = passphrase.data;
	m.secret_len = (uint32_t)passphrase.len;
	return vault_session_call_locked(s, &m, &answer);
}

int vault_session_new_passphrase(struct vault_session *s, struct secret *ret)
{
	auto_secret again = { 0 };
	int r;

	if (s->passphrase_file)
		return prompt_read_file(s->passphrase_file, ret, s->call->error);
	r = prompt_read("New passphrase: ", ret, s->call->error);
	if (r == 0)
		r = prompt_read("The same again: ", &again, s->call->error);
	if (r == 0 && (again.len != ret->len || memcmp(again.data, ret->data, ret->len) != 0))
		r = error_set(s->call->error, -EINVAL, NULL, "the two passphrases differ");
	return r;
}

int vault_session_refuse(struct vault_session *s, int r)
{
	return r == -ENOENT   ? verb_refuse(s->call, s->json, STATUS_ABSENT)
	       : r == -EACCES ? verb_refuse(s->call, s->json, STATUS_NO)
			      : r;
}
