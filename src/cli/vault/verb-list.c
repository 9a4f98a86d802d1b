/* SPDX-License-Identifier: Apache-2.0 */
/* `corral vault list`, `uses` and `doctor`: what is there, what was done, what is missing. Never a
 * value. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/event.h"
#include "base/array.h"
#include "cli/audit/source.h"
#include "cli/audit/writer.h"
#include "cli/output.h"
#include "cli/vault/internal.h"
#include "cli/vault/stored-key.h"
#include "codec/json.h"
#include "vault/source.h"

enum { LIST_NAME = 2, LIST_KIND = 28, LIST_TEXT = 40, DOCTOR_NAME = 6, DOCTOR_TEXT = 24 };

/* list */

static int64_t verb_vault_number(const struct node *x, const char *key)
{
	int64_t n = 0;

	(void)node_integer(node_get(x, key), &n);
	return n;
}

static void verb_vault_put_time(struct output *o, const char *before, int64_t seconds)
{
	const time_t t = (time_t)seconds;
	char text[32];
	struct tm tm;

	if (seconds > 0 && localtime_r(&t, &tm) &&
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &tm) > 0)
		buffer_printf(&o->text, "%s%s", before, text);
}

static void verb_vault_put_secret(struct output *o, const struct node *x)
{
	const struct node *grants = node_get(x, "grants");

	buffer_printf(&o->text, "%*s", LIST_NAME, "");
	output_name(o, node_get_text(x, "name"));
	output_pad(o, LIST_KIND);
	buffer_printf(&o->text, "version %lld", (long long)verb_vault_number(x, "version"));
	output_pad(o, LIST_TEXT);
	verb_vault_put_time(o, "changed ", verb_vault_number(x, "changed"));
	verb_vault_put_time(o, ", expires ", verb_vault_number(x, "expires"));
	buffer_addc(&o->text, '\n');
	if (*node_get_text(x, "source")) {
		output_pad(o, LIST_KIND);
		buffer_adds(&o->text, "from ");
		output_foreign(o, node_get_text(x, "source"));
		buffer_addc(&o->text, '\n');
	}
	for (const struct node *g = grants ? grants->first : NULL; g; g = g->next) {
		output_pad(o, LIST_KIND);
		buffer_printf(
			&o->text, "to %s in %s", node_get_text(g, "host"), node_get_text(g, "in"));
		if (*node_get_text(g, "to")) {
			buffer_adds(&o->text, " for ");
			output_name(o, node_get_text(g, "to"));
		}
		if (*node_get_text(g, "programs")) {
			buffer_adds(&o->text, " by ");
			output_foreign(o, node_get_text(g, "programs"));
		}
		buffer_addc(&o->text, '\n');
	}
}

static int verb_vault_list_run(struct call *c)
{
	auto_output o = output_for(STDOUT_FILENO);
	auto_document list = { 0 };
	auto_vault_session s = { 0 };
	const struct options_row rows[] = { OPTIONS_JSON(&s.json), SESSION_PASSPHRASE(&s) };
	const struct node *secrets;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = vault_session_begin(&s, c);
	if (r == 0)
		r = vault_session_ask(&s, VAULT_LIST, &list);
	if (r < 0)
		return vault_session_refuse(&s, r);
	secrets = node_get(list.root, "secrets");
	if (s.json)
		json_print(&o.text, list.root, JSON_PRETTY);
	for (const struct node *x = secrets && !s.json ? secrets->first : NULL; x; x = x->next)
		verb_vault_put_secret(&o, x);
	if (s.json)
		buffer_addc(&o.text, '\n');
	else if (!secrets || !secrets->first)
		buffer_adds(&o.text, "The vault is empty.\n");
	return output_write(&o, STDOUT_FILENO, c->error);
}

/* uses */

static int verb_vault_uses_run(struct call *c)
{
	struct audit_filter filter = { .actions = 1U << AUDIT_SERVICE };
	auto_audit_writer writer = { 0 };
	auto_audit_log *log = NULL;
	const char *path = NULL;
	bool json = false;
	const struct options_row rows[] = {
		AUDIT_FILTER_AMOUNT(&filter),
		{ { "since", SCHEMA_OTHER,
			  .help = "since: 10m, 2h, 3d, 14:30, 2026-01-31, 2026-01-31T14:30:00Z" },
			0, "TIME", .target = &filter, .take = audit_filter_time },
		{ { "json", SCHEMA_FLAG, .help = "print JSON Lines" }, .target = &json },
	};
	int r = options_parse(c, rows, ROWS(rows));

	audit_writer_init(&writer, STDOUT_FILENO, json ? AUDIT_JSONL : AUDIT_WRITER_LINES);
	writer.line.reasons = true; /* the host and the place */
	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (c->n == 1 && !vault_name_is_valid(c->words[0]))
		return error_set(
			c->error, -EINVAL, NULL, "`%s` is not a name of a secret", c->words[0]);
	filter.target = arena_printf(
		c->arena, c->n == 1 ? "vault.*:%s" : "vault.*", c->n == 1 ? c->words[0] : "");
	if (!filter.target)
		return error_no_memory(c->error);
	r = audit_source_find(c, c->n, &path);
	if (r == 0)
		r = audit_source_open(c, path, &log);
	if (r == 0)
		r = audit_writer_copy_all(&writer, log, &filter, c->error);
	if (r == 0 && writer.n == 0 && !json)
		vault_session_note(c->n == 1 ? "the log has nothing about %s%s"
					     : "the log has nothing about the vault%s%s",
			c->n == 1 ? c->words[0] : "", filter.since_ns ? " since then" : "");
	return r < 0 ? r : STATUS_YES;
}

/* doctor */

struct doctor_finding {
	const char *name;
	bool is_good, is_needed;
	const char *text, *hint;
};

static void verb_vault_put_finding(struct output *o, const struct doctor_finding *f)
{
	buffer_printf(&o->text, "%*s", LIST_NAME, "");
	output_styled(o,
		f->is_good     ? OUTPUT_GREEN
		: f->is_needed ? OUTPUT_RED
			       : OUTPUT_YELLOW,
		f->is_good ? "yes" : "no ");
	output_pad(o, DOCTOR_NAME);
	buffer_adds(&o->text, f->name);
	output_pad(o, DOCTOR_TEXT);
	output_line(o, f->text);
	if (f->is_good || !f->hint || !*f->hint)
		return;
	buffer_printf(&o->text, "%*s", DOCTOR_TEXT - 3, "");
	output_styled(o, OUTPUT_BOLD, "-> ");
	output_line(o, f->hint);
}

static bool verb_vault_flag(const struct node *status, const char *key)
{
	bool is_set = false;

	(void)node_boolean(node_get(status, key), &is_set);
	return is_set;
}

/* Tries it with a key that is thrown away. */
static struct doctor_finding verb_vault_try_systemd(struct error *why)
{
	auto_secret key = { 0 }, blob = { 0 };
	int r = secret_copy(&key, "corral vault doctor tries this.", 32);

	if (r == 0)
		r = stored_key_keep(VAULT_SLOT_SYSTEMD, "doctor", &key, &blob, why);
	return (struct doctor_finding){ "systemd-creds", r == 0, false,
		r == 0 ? "can keep a key of the vault" : why->text, why->hint };
}

/* Opens a session, and keeps nothing. */
static struct doctor_finding verb_vault_try_service(struct error *why)
{
	auto_secret got = { 0 };
	int r = source_run_service((const char *const[]){ "probe", NULL }, NULL, &got, why);

	return (struct doctor_finding){ "secret-service", r == 0, false,
		r == 0 ? "can keep a key of the vault, and values" : why->text, why->hint };
}

static int verb_vault_print_findings(
	struct vault_session *s, const struct doctor_finding *f, size_t n)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_tree t = { .arena = s->call->arena };
	struct node *root = tree_map(&t), *list = tree_put_list(&t, root, "checks");
	bool is_good = true;
	int r;

	for (size_t i = 0; i < n; i++) {
		struct node *one = tree_append_map(&t, list);

		is_good = is_good && (f[i].is_good || !f[i].is_needed);
		verb_vault_put_finding(&o, &f[i]);
		tree_put_text(&t, one, "name", f[i].name);
		tree_put_flag(&t, one, "held", f[i].is_good);
		tree_put_flag(&t, one, "needed", f[i].is_needed);
		tree_put_text(&t, one, "text", f[i].text);
		tree_put_text(&t, one, "hint", f[i].hint);
	}
	r = s->json ? tree_print(&t, root, s->call->error)
		    : output_write(&o, STDOUT_FILENO, s->call->error);
	return r < 0 ? r : is_good ? STATUS_YES : STATUS_NO;
}

static int verb_vault_doctor_run(struct call *c)
{
	struct error why = { 0 }, no_service = { 0 };
	auto_document status = { 0 };
	auto_vault_session s = { 0 };
	const struct options_row rows[] = { OPTIONS_JSON(&s.json) };
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	/* Memory that can be locked, a folder that is the user's: without them it does not start.
	 */
	r = vault_session_begin(&s, c);
	if (r == 0)
		r = vault_session_ask(&s, VAULT_STATUS, &status);
	if (r < 0)
		return r;
	const bool exists = verb_vault_flag(status.root, "exists");
	const bool is_open = verb_vault_flag(status.root, "unlocked");
	const bool has_backup = verb_vault_flag(status.root, "backup");
	const bool has_keyring = verb_vault_flag(status.root, "keyring");
	const struct doctor_finding findings[] = {
		{ "corral-vault", true, true, "runs confined, with locked memory", "" },
		{ "vault", exists, true, exists ? "is there" : "there is none",
			"corral vault init" },
		{ "unlocked", is_open, false,
			is_open ? "its key is in the kernel's keyring" : "commands ask for its key",
			"corral vault unlock" },
		{ "backup", has_backup, false,
			has_backup ? "the file before the last change is there"
				   : "there was no change yet, or another passphrase since",
			"" },
		{ "keyring", has_keyring, false,
			has_keyring
				? "keeps the key of an unlocked vault"
				: "the kernel gives this process no keys, as in many containers",
			"every command asks for the passphrase" },
		verb_vault_try_systemd(&why),
		verb_vault_try_service(&no_service),
	};

	return verb_vault_print_findings(&s, findings, ROWS(findings));
}

const struct verb verb_vault_list = {
	.name = "list",
	.synopsis = "[OPTION]...",
	.summary = "list secrets and their grants, never values",
	.description = "Lists names, versions, times, sources and grants. No command but `corral "
		       "vault export` prints values.",
	.examples = "corral vault list\n"
		    "corral vault list --json\n",
	.run = verb_vault_list_run,
};

const struct verb verb_vault_uses = {
	.name = "uses",
	.synopsis = "[OPTION]... [NAME]",
	.summary = "list what was done with secrets, from the log",
	.description = "Prints the records of the user's log about the vault, or about one secret: "
		       "who used it, for which host, "
		       "what was changed, what was denied. A record has no value.",
	.examples = "corral vault uses\n"
		    "corral vault uses GITHUB_TOKEN --since 2h\n",
	.operand = "NAME",
	.max = 1,
	.run = verb_vault_uses_run,
};

const struct verb verb_vault_doctor = {
	.name = "doctor",
	.synopsis = "[OPTION]...",
	.summary = "check the vault and what can keep its key here",
	.description = "Starts corral-vault, looks at the vault, and tries what can keep its key "
		       "on this machine.\n"
		       "Exit status: 0 all that is needed is there, 1 not all, 2 an error.",
	.examples = "corral vault doctor\n",
	.run = verb_vault_doctor_run,
};
