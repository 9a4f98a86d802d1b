/* SPDX-License-Identifier: Apache-2.0 */
/* `corral vault status`: whether there is a vault, and whether it is open; nothing is asked for. If
 * it is open, its secrets, without their values. */
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/output.h"
#include "cli/vault/internal.h"
#include "codec/json-writer.h"
#include "codec/json.h"

struct vault_state {
	struct document status, list;
	bool exists, is_unlocked;
	int64_t until_s, wait_s;
};

static void verb_status_deinit(struct vault_state *v)
{
	document_deinit(&v->status);
	document_deinit(&v->list);
}
#define auto_vault_state __attribute__((cleanup(verb_status_deinit))) struct vault_state

static int verb_status_read(struct vault_session *s, struct vault_state *v)
{
	int r = vault_session_ask(s, VAULT_STATUS, &v->status);

	if (r < 0)
		return r;
	(void)node_boolean(node_get(v->status.root, "exists"), &v->exists);
	(void)node_boolean(node_get(v->status.root, "unlocked"), &v->is_unlocked);
	(void)node_integer(node_get(v->status.root, "until"), &v->until_s);
	(void)node_integer(node_get(v->status.root, "wait"), &v->wait_s);
	return v->exists && v->is_unlocked ? vault_session_ask(s, VAULT_LIST, &v->list) : 0;
}

static size_t verb_status_count(const struct node *list)
{
	size_t n = 0;

	for (const struct node *x = list ? list->first : NULL; x; x = x->next)
		n++;
	return n;
}

static int verb_status_print_json(const struct vault_state *v, struct error *e)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text };
	const struct node *keys = node_get(v->status.root, "keys");
	const struct node *secrets = v->list.root ? node_get(v->list.root, "secrets") : NULL;
	auto_buffer text = { 0 };

	json_open_map(&w, NULL);
	json_put_text(&w, "state", !v->exists ? "absent" : v->is_unlocked ? "unlocked" : "locked");
	json_put_number(&w, "until", v->until_s);
	json_put_number(&w, "wait", v->wait_s);
	json_open_list(&w, "keys");
	for (const struct node *k = keys ? keys->first : NULL; k; k = k->next)
		json_put_text(&w, NULL, node_get_text(k, "kind"));
	json_close(&w);
	if (secrets)
		json_print(&text, secrets, JSON_COMPACT);
	json_put_raw(&w, "secrets", secrets ? buffer_text(&text) : "[]");
	json_end_line(&w);
	return text.failed ? error_no_memory(e) : output_write(&o, STDOUT_FILENO, e);
}

static int verb_status_print(const struct vault_state *v, struct error *e)
{
	auto_output o = output_for(STDOUT_FILENO);
	const size_t n = v->list.root ? verb_status_count(node_get(v->list.root, "secrets")) : 0;
	const time_t until = (time_t)v->until_s;
	char text[32];
	struct tm tm;

	if (!v->exists) {
		buffer_adds(&o.text, "There is no vault. To make one: corral vault init\n");
	} else if (!v->is_unlocked) {
		buffer_adds(&o.text, "The vault is locked. To open it: corral vault unlock\n");
		if (v->wait_s > 0)
			buffer_printf(&o.text,
				"After wrong passphrases, the next one has to wait %lld seconds.\n",
				(long long)v->wait_s);
	} else {
		buffer_printf(
			&o.text, "The vault is open, with %zu secret%s", n, n == 1 ? "" : "s");
		if (until > 0 && localtime_r(&until, &tm) &&
			strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm) > 0)
			buffer_printf(&o.text, ", until %s", text);
		buffer_adds(&o.text, ".\n");
	}
	return output_write(&o, STDOUT_FILENO, e);
}

int vault_put_state(struct vault_session *s)
{
	auto_vault_state v = { .exists = false };
	int r = verb_status_read(s, &v);

	if (r < 0)
		return r;
	return s->json ? verb_status_print_json(&v, s->call->error)
		       : verb_status_print(&v, s->call->error);
}

static int verb_vault_status_run(struct call *c)
{
	auto_vault_session s = { 0 };
	const struct options_row rows[] = { OPTIONS_JSON(&s.json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = vault_session_begin(&s, c);
	if (r == 0)
		r = vault_put_state(&s);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

const struct verb verb_vault_status = {
	.name = "status",
	.synopsis = "[OPTION]...",
	.summary = "say whether there is a vault, and whether it is open",
	.description =
		"Asks for no passphrase. While the vault is open, --json lists its secrets, as "
		"`corral vault list` does.",
	.examples = "corral vault status\n",
	.run = verb_vault_status_run,
};
