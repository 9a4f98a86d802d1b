/* SPDX-License-Identifier: Apache-2.0 */
/* questions and grants: what sandboxes ask, and what they get while they run. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "cli/ask/elsewhere.h"
#include "cli/ask/notify.h"
#include "cli/daemon/client.h"
#include "cli/options.h"
#include "cli/output.h"
#include "codec/json-writer.h"
#include "codec/unit.h"
#include "policy/operation.h"
#include "wire/question.h"

enum { QUESTIONS_DAY_S = 24 * 3600 };

/* BEFORE 12 more seconds; nothing where there is no end. */
static void questions_print_left(struct output *o, const struct node *n, const char *before)
{
	const uint64_t now = clock_ms(CLOCK_REALTIME);
	int64_t end = 0;

	if (!n || node_integer(n, &end) < 0 || end <= 0)
		return;
	buffer_printf(&o->text, "%s %" PRIu64 " more seconds", before,
		(uint64_t)end > now ? ((uint64_t)end - now + 999) / 1000 : UINT64_C(0));
}

static int questions_take_time(struct call *c, const struct options_row *row, const char *value)
{
	uint64_t *seconds = row->target;
	uint64_t ms = 0;

	if (strcmp(value, "always") == 0) {
		*seconds = 0;
		return 0;
	}
	if (unit_parse_duration(value, &ms) < 0 || ms < 1000)
		return options_misused(
			c, "--for must be a time such as 30s, 5m or 2h, or always, not %s", value);
	*seconds = ms / 1000;
	return 0;
}

/* Sends a body, and prints the answer as it came with --json, or a sentence. */
static int questions_send(struct call *c, const char *method, const char *path, const char *body,
	bool json, const char *said)
{
	auto_output o = output_for(STDOUT_FILENO);
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	int r = daemon_client_send(c, method, path, body, &text, &d);

	if (r < 0)
		return r;
	if (json)
		return daemon_client_print(c, &text);
	buffer_adds(&o.text, said);
	if (node_get(d.root, "id")) {
		buffer_adds(&o.text, ": ");
		output_foreign(&o, node_get_text(d.root, "id"));
	}
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDOUT_FILENO, c->error);
}

/* An id is part of a path. */
static int questions_path(
	struct call *c, const char *before, const char *id, const char *behind, struct buffer *out)
{
	if (!id[0] || strspn(id, "0123456789abcdef.") != strlen(id))
		return options_misused(c,
			"%s is not an id; `corral ps`, `corral questions list` and "
			"`corral grants list` show them",
			id);
	buffer_printf(out, "%s%s%s", before, id, behind);
	return out->failed ? error_no_memory(c->error) : 0;
}

/* Lists what a path of the daemon has under a key. */
static int questions_list_at(struct call *c, const char *path, const char *key, const char *none,
	void (*show)(struct output *o, const struct node *item))
{
	bool json = false;
	const struct options_row rows[] = { OPTIONS_JSON(&json) };
	auto_output o = output_for(STDOUT_FILENO);
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	const struct node *list;
	int r = options_parse(c, rows, 1);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = daemon_client_ask(c, "GET", path, &text, &d);
	if (r == 0 && json)
		r = daemon_client_print(c, &text);
	list = r == 0 && !json ? node_get(d.root, key) : NULL;
	if (list)
		node_for_each(item, list)
			show(&o, item);
	if (r == 0 && !json && o.text.len == 0)
		output_line(&o, none);
	if (r == 0)
		r = output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : STATUS_YES;
}

/* questions list */

/* "\n  by python3, pid 12, with fs.read": what is known of it. */
static void questions_show_asker(struct output *o, const struct node *q)
{
	const char *program = node_get_text(q, "program"), *method = node_get_text(q, "method");
	int64_t pid = 0;

	buffer_printf(&o->text, "\n  by %s", program[0] ? "" : "a process");
	output_name(o, program);
	if (node_get(q, "pid") && node_integer(node_get(q, "pid"), &pid) == 0 && pid > 0)
		buffer_printf(&o->text, ", pid %" PRId64, pid);
	if (method[0]) {
		buffer_adds(&o->text, ", by the method ");
		output_foreign(o, method);
	}
}

static void questions_show(struct output *o, const struct node *q)
{
	size_t n = 0;

	output_styled(o, OUTPUT_BOLD, node_get_text(q, "id"));
	buffer_adds(&o->text, "  ");
	output_name(o, node_get_text(q, "name"));
	buffer_adds(&o->text, ": ");
	output_foreign(o, node_get_text(q, "action"));
	buffer_addc(&o->text, ' ');
	output_name(o, node_get_text(q, "target"));
	questions_show_asker(o, q);
	buffer_adds(&o->text, "\n  ");
	output_foreign(o, node_get_text(q, "reason"));
	questions_print_left(o, node_get(q, "expires_ms"), "; it waits for");
	if (node_get(q, "scopes"))
		node_for_each(scope, node_get(q, "scopes")) {
			buffer_adds(&o->text, n++ ? ", " : "\n  scopes: ");
			output_name(o, node_text(scope) ? node_text(scope) : "");
		}
	buffer_addc(&o->text, '\n');
}

static int questions_list_later(struct call *c)
{
	auto_output o = output_for(STDOUT_FILENO);
	size_t n = 0;
	const int r = ask_elsewhere_show(c, &o, &n);

	if (r == 0 && n == 0)
		output_line(&o, "no question is open");
	return r < 0 ? r : output_write(&o, STDOUT_FILENO, c->error);
}

/* What waits in sandboxes, and then what commands left behind that failed. Without a daemon there
 * are only these. */
static int questions_list_all(struct call *c)
{
	auto_output o = output_for(STDOUT_FILENO);
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	const int asked = daemon_client_ask(c, "GET", "/api/questions", &text, &d);
	const struct node *list = asked == 0 ? node_get(d.root, "questions") : NULL;
	struct error none = { 0 }, *said = c->error;
	size_t n = 0;
	int r;

	if (list)
		node_for_each(item, list)
			questions_show(&o, item);
	c->error = &none;
	r = ask_elsewhere_show(c, &o, &n);
	c->error = said;
	if (asked < 0 && (r < 0 || n == 0))
		return asked;
	*c->error = none;
	if (r == 0 && o.text.len == 0)
		output_line(&o, "no question is open");
	if (r == 0)
		r = output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : STATUS_YES;
}

static int questions_list(struct call *c)
{
	bool json = false, later = false;
	const struct options_row rows[] = {
		{ { "later", SCHEMA_FLAG,
			  .help = "only those about files and programs of commands that failed; "
				  "no\n"
				  "daemon is needed" },
			.target = &later },
		OPTIONS_JSON(&json),
	};
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	int r = options_parse(c, rows, 2);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (!json && !later)
		return questions_list_all(c);
	if (later && json)
		r = ask_elsewhere_print(c);
	else if (later)
		r = questions_list_later(c);
	else
		r = daemon_client_ask(c, "GET", "/api/questions", &text, &d);
	if (r == 0 && !later)
		r = daemon_client_print(c, &text);
	return r < 0 ? r : STATUS_YES;
}

static const struct verb verb_questions_list = {
	.name = "list",
	.synopsis = "[--later] [--json]",
	.summary = "list what sandboxes ask, and wait for",
	.description = "Lists the questions that wait for an answer: the id, the sandbox, what is "
		       "asked for, the rule that asks, and what could be allowed for longer.\n"
		       "Behind them are questions about files and programs of commands that "
		       "failed where there was no terminal to ask in (`corral run --ask-denied`). "
		       "They are kept for a day, and an answer holds from the next run in the same "
		       "folder. With --json they are listed by --later alone.\n"
		       "Exit status: 0 listed, also if there is none; 2 an error, such as no "
		       "daemon.",
	.examples = "corral questions list\n"
		    "corral questions list --later\n"
		    "corral questions list --json\n",
	.run = questions_list,
};

/* questions allow, deny */

struct questions_reply {
	bool json, once, always;
	uint64_t seconds;
	const char *scope;
};

static int questions_answer(struct call *c, const struct questions_reply *a, const char *word)
{
	auto_buffer path = { 0 }, body = { 0 };
	struct json_writer w = { .out = &body };
	int r;

	r = questions_path(c, "/api/questions/", c->words[0], "", &path);
	json_open_map(&w, NULL);
	json_put_text(&w, "answer", word);
	if (a->scope)
		json_put_text(&w, "scope", a->scope);
	json_put_count(&w, "seconds", a->seconds);
	json_close(&w);
	if (r == 0 && body.failed)
		r = error_no_memory(c->error);
	if (r == 0)
		r = questions_send(
			c, "POST", buffer_text(&path), buffer_text(&body), a->json, "answered");
	return r < 0 ? r : STATUS_YES;
}

/* Of a command that has failed. */
static int questions_allow_later(struct call *c, const struct questions_reply *a)
{
	const bool is_day = a->seconds == QUESTIONS_DAY_S;
	const enum ask_word word = a->always ? ASK_WORD_ALWAYS
				   : is_day  ? ASK_WORD_DAY
					     : ASK_WORD_ONCE;

	if (a->scope || (a->seconds != UINT64_MAX && !is_day))
		return options_misused(c,
			"a question of a command that failed is answered by --once, --for 24h or "
			"--always");
	return ask_elsewhere_answer(c, c->words[0], word, a->json);
}

static int questions_allow(struct call *c)
{
	struct questions_reply a = { 0 };
	const struct options_row rows[] = {
		{ { "once", SCHEMA_FLAG,
			  .help = "only the call that waits (the default without --for)" },
			.target = &a.once },
		{ { "for", SCHEMA_DURATION,
			  .help = "for 30s, 5m, 2h …; always: as long as the sandbox runs" },
			0, "TIME", .target = &a.seconds, .take = questions_take_time },
		{ { "scope", SCHEMA_TEXT,
			  .help = "with --for: one of the scopes that the list shows" },
			0, "PATTERN", .target = &a.scope },
		{ { "always", SCHEMA_FLAG,
			  .help = "of a command that failed: add the line to its project's "
				  "corral.yaml,\n"
				  "if that is as it was approved, and approve the result" },
			.target = &a.always },
		OPTIONS_JSON(&a.json),
	};
	int r;

	a.seconds = UINT64_MAX;
	r = options_parse(c, rows, ROWS(rows));
	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (a.seconds == UINT64_MAX && a.scope)
		return options_misused(c, "--scope requires --for");
	if (a.once && a.seconds != UINT64_MAX)
		return options_misused(c, "--once and --for cannot be used together");
	if (a.always && (a.once || a.seconds != UINT64_MAX))
		return options_misused(c, "--always cannot be used with --once or --for");
	if (ask_elsewhere_is_id(c->words[0]))
		return questions_allow_later(c, &a);
	if (a.always)
		return options_misused(c,
			"--always is for questions of commands that failed (`corral questions list "
			"--later`); of a sandbox that waits, use --for always: as long as it runs");
	if (a.seconds != UINT64_MAX)
		return questions_answer(c, &a, "allow");
	a.seconds = 0;
	return questions_answer(c, &a, "once");
}

static const struct verb verb_questions_allow = {
	.name = "allow",
	.synopsis = "ID [--once | --for TIME [--scope PATTERN] | --always] [--json]",
	.summary = "allow what a sandbox asks for",
	.description = "Answers a question with yes: for the call that waits and no other, or for "
		       "a time. What is allowed for a time is exactly what was asked for, or one "
		       "of the question's scopes; it is a grant, which `corral grants remove` "
		       "takes back.\n"
		       "A question of a command that failed is answered by --once, for the next "
		       "run in the same folder, by --for 24h, or by --always, with a line of the "
		       "project's corral.yaml.\n"
		       "Exit status: 0 answered; 2 an error: no such question, or above the "
		       "ceiling; of a command that failed: 4 what it asked for, or corral.yaml, is "
		       "not what it was, 5 the question is not open any more.",
	.examples =
		"corral questions allow 0123456789abcdef.1\n"
		"corral questions allow 0123456789abcdef.1 --for 10m\n"
		"corral questions allow 0123456789abcdef.1 --for always --scope '/srv/data/**'\n",
	.operand = "ID",
	.min = 1,
	.max = 1,
	.run = questions_allow,
};

static int questions_deny(struct call *c)
{
	struct questions_reply a = { 0 };
	const struct options_row rows[] = {
		{ { "for", SCHEMA_DURATION,
			  .help = "refuse the same without a question for so long: up to 5m, the "
				  "default" },
			0, "TIME", .target = &a.seconds, .take = questions_take_time },
		OPTIONS_JSON(&a.json),
	};
	int r;

	a.seconds = QUESTION_DENIED_MAX_S;
	r = options_parse(c, rows, 2);
	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (ask_elsewhere_is_id(c->words[0]))
		return ask_elsewhere_answer(c, c->words[0], ASK_WORD_NO, a.json);
	if (a.seconds == 0 || a.seconds > QUESTION_DENIED_MAX_S)
		return options_misused(c, "--for must be 5m or less: then the user is asked again; "
					  "to deny it for good, deny it in the policy");
	return questions_answer(c, &a, "deny");
}

static const struct verb verb_questions_deny = {
	.name = "deny",
	.synopsis = "ID [--for TIME] [--json]",
	.summary = "deny what a sandbox asks for",
	.description = "Answers a question with no. The sandbox is refused the same without a "
		       "question for the next five minutes, or for less: --for. To deny it for "
		       "good, deny it in the policy. What a command that failed was denied is not "
		       "asked about for a day.\n"
		       "Exit status: 0 answered; 2 an error: no such question; 5 the question of a "
		       "command that failed is not open any more.",
	.examples = "corral questions deny 0123456789abcdef.1\n"
		    "corral questions deny 0123456789abcdef.1 --for 30s\n",
	.operand = "ID",
	.min = 1,
	.max = 1,
	.run = questions_deny,
};

static void questions_offer_actions(struct call *c, struct buffer *out)
{
	(void)c;
	for (size_t i = 0; i < OPERATION_COUNT; i++)
		buffer_printf(out, "%s\t\n", operation_name((enum operation)i));
}

/* questions notify */

static int questions_notify(struct call *c)
{
	bool later = false;
	const struct options_row rows[] = {
		{ { "later", SCHEMA_FLAG, .help = "it is of a command that has failed" },
			.target = &later },
	};
	enum operation op;
	int r = options_parse(c, rows, 1);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (operation_parse(c->words[0], &op) < 0)
		return options_misused(
			c, "%s is not an action: fs.read, fs.write, net.connect …", c->words[0]);
	r = ask_notify_show(c, op, c->words[1], later);
	return r < 0 ? r : r ? STATUS_NO : STATUS_YES;
}

static const struct verb verb_questions_notify = {
	.name = "notify",
	.synopsis = "[--later] ACTION TARGET",
	.summary = "show on the desktop that something is asked",
	.description =
		"Shows a notification that a command asks for this, with Corral's own words. "
		"`corral run` starts it for a question where there is no terminal to ask in, a "
		"session bus is there, and CI is not set. At most four are shown in a minute, of "
		"all runs together.\n"
		"Exit status: 0 shown; 1 too many of late; 2 an error, such as no desktop.",
	.examples = "corral questions notify net.connect api.example.com:443\n",
	.operand = "ACTION TARGET",
	.offer = questions_offer_actions,
	.min = 2,
	.max = 2,
	.run = questions_notify,
};

const struct verb verb_questions = {
	.name = "questions",
	.synopsis = "COMMAND [OPTION]... [ID]",
	.summary = "answer what sandboxes ask",
	.description =
		"Where a policy says ask and the daemon, corrald(8), runs, a call, a connection "
		"or a datagram of a sandbox waits for an answer: `corral run --ask` says how long. "
		"Processes inside a sandbox cannot answer.\n"
		"Exit status: 0 done, 2 an error, such as no daemon.",
	.examples = "corral questions list\n"
		    "corral questions allow 0123456789abcdef.1 --for 10m\n"
		    "corral questions deny 0123456789abcdef.1\n",
	.verbs = (const struct verb *const[]){ &verb_questions_list, &verb_questions_allow,
		&verb_questions_deny, &verb_questions_notify, NULL },
};

/* grants list */

static void grants_show(struct output *o, const struct node *g)
{
	output_styled(o, OUTPUT_BOLD, node_get_text(g, "id"));
	buffer_adds(&o->text, "  ");
	output_foreign(o, node_get_text(g, "action"));
	buffer_addc(&o->text, ' ');
	output_name(o, node_get_text(g, "target"));
	questions_print_left(o, node_get(g, "expires_ms"), ", for");
	buffer_adds(&o->text, ", by ");
	output_foreign(o, node_get_text(g, "by"));
	buffer_addc(&o->text, '\n');
}

static int grants_list_run(struct call *c)
{
	return questions_list_at(c, "/api/grants", "grants",
		"nothing was granted while a sandbox runs", grants_show);
}

static const struct verb verb_grants_list = {
	.name = "list",
	.synopsis = "[--json]",
	.summary = "list what sandboxes were granted while they run",
	.description = "Lists the grants that were made while a sandbox runs, by an answer or by "
		       "`corral grants add`, and until when they last. What its policy grants is "
		       "not among them.\n"
		       "Exit status: 0 listed, also if there is none; 2 an error, such as no "
		       "daemon.",
	.examples = "corral grants list\n"
		    "corral grants list --json\n",
	.run = grants_list_run,
};

/* grants add, remove */

static int grants_add_run(struct call *c)
{
	uint64_t seconds = 0;
	enum operation op;
	bool json = false;
	const struct options_row rows[] = {
		{ { "for", SCHEMA_DURATION,
			  .help = "for 30s, 5m, 2h …; always, the default: as long as it runs" },
			0, "TIME", .target = &seconds, .take = questions_take_time },
		OPTIONS_JSON(&json),
	};
	auto_buffer path = { 0 }, body = { 0 };
	struct json_writer w = { .out = &body };
	int r = options_parse(c, rows, 2);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (operation_parse(c->words[1], &op) < 0)
		return options_misused(c,
			"%s is not an action: fs.read, fs.write, net.connect, exec, env or service",
			c->words[1]);
	r = questions_path(c, "/api/sandboxes/", c->words[0], "/grants", &path);
	json_open_map(&w, NULL);
	json_put_text(&w, "action", c->words[1]);
	json_put_text(&w, "target", c->words[2]);
	json_put_count(&w, "seconds", seconds);
	json_close(&w);
	if (r == 0 && body.failed)
		r = error_no_memory(c->error);
	if (r == 0)
		r = questions_send(
			c, "POST", buffer_text(&path), buffer_text(&body), json, "granted");
	return r < 0 ? r : STATUS_YES;
}

static const struct verb verb_grants_add = {
	.name = "add",
	.synopsis = "SANDBOX ACTION PATTERN [--for TIME] [--json]",
	.summary = "grant something to a sandbox that runs",
	.description =
		"Grants files, hosts, programs or services to a sandbox that runs, at once: "
		"fs.read, fs.write, net.connect, exec, env or service, and a pattern as in a "
		"policy. Hosts are for its commands and its broker; everything else is for calls "
		"of its broker (sandbox-call), because a command keeps the files that it "
		"started with. The grant must lie below the ceiling: what the sandbox's policies "
		"allow or ask about, or what `corral run --ceiling` declared.\n"
		"Exit status: 0 granted, and in force; 2 an error, such as above the ceiling.",
	.examples = "corral grants add 0123456789abcdef net.connect api.example.com:443\n"
		    "corral grants add 0123456789abcdef fs.read '/srv/data/**' --for 10m\n",
	.operand = "SANDBOX ACTION PATTERN",
	.offer = questions_offer_actions,
	.min = 3,
	.max = 3,
	.run = grants_add_run,
};

static int grants_remove_run(struct call *c)
{
	bool json = false;
	const struct options_row rows[] = { OPTIONS_JSON(&json) };
	auto_buffer path = { 0 };
	int r = options_parse(c, rows, 1);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = questions_path(c, "/api/grants/", c->words[0], "", &path);
	if (r == 0)
		r = questions_send(c, "DELETE", buffer_text(&path), NULL, json, "removed");
	return r < 0 ? r : STATUS_YES;
}

static const struct verb verb_grants_remove = {
	.name = "remove",
	.synopsis = "ID [--json]",
	.summary = "take a grant back",
	.description = "Takes a grant back that was made while the sandbox runs. It is not in "
		       "force any more when this command ends: the next call is refused, and "
		       "connections that it allowed are closed.\n"
		       "Exit status: 0 removed; 2 an error: there is no such grant.",
	.examples = "corral grants remove 0123456789abcdef.2\n",
	.operand = "ID",
	.min = 1,
	.max = 1,
	.run = grants_remove_run,
};

const struct verb verb_grants = {
	.name = "grants",
	.synopsis = "COMMAND [OPTION]... [WORD]...",
	.summary = "grant and revoke while sandboxes run",
	.description =
		"Changes what a sandbox may do while it runs, below the ceiling that `corral run "
		"--ceiling` declared: without that, what its policies allow or ask about. Grants "
		"end with the sandbox, or by their time.\n"
		"Exit status: 0 done, 2 an error, such as above the ceiling.",
	.examples = "corral grants list\n"
		    "corral grants add 0123456789abcdef net.connect api.example.com:443 --for 10m\n"
		    "corral grants remove 0123456789abcdef.2\n",
	.verbs = (const struct verb *const[]){ &verb_grants_list, &verb_grants_add,
		&verb_grants_remove, NULL },
};
