/* SPDX-License-Identifier: Apache-2.0 */
/* questions and grants: what sandboxes ask, and what they get while they run. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/daemon/client.h"
#include "cli/options.h"
#include "cli/output.h"
#include "codec/json-writer.h"
#include "codec/unit.h"
#include "policy/operation.h"
#include "wire/question.h"

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

static int questions_list(struct call *c)
{
	return questions_list_at(
		c, "/api/questions", "questions", "no question is open", questions_show);
}

static const struct verb verb_questions_list = {
	.name = "list",
	.synopsis = "[--json]",
	.summary = "list what sandboxes ask, and wait for",
	.description = "Lists the questions that wait for an answer: the id, the sandbox, what is "
		       "asked for, the rule that asks, and what could be allowed for longer.\n"
		       "Exit status: 0 listed, also if there is none; 2 an error, such as no "
		       "daemon.",
	.examples = "corral questions list\n"
		    "corral questions list --json\n",
	.run = questions_list,
};

/* questions allow, deny */

struct questions_reply {
	bool json, once;
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
		OPTIONS_JSON(&a.json),
	};
	int r;

	a.seconds = UINT64_MAX;
	r = options_parse(c, rows, 4);
	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (a.seconds == UINT64_MAX && a.scope)
		return options_misused(c, "--scope requires --for");
	if (a.once && a.seconds != UINT64_MAX)
		return options_misused(c, "--once and --for cannot be used together");
	if (a.seconds != UINT64_MAX)
		return questions_answer(c, &a, "allow");
	a.seconds = 0;
	return questions_answer(c, &a, "once");
}

static const struct verb verb_questions_allow = {
	.name = "allow",
	.synopsis = "ID [--once | --for TIME [--scope PATTERN]] [--json]",
	.summary = "allow what a sandbox asks for",
	.description = "Answers a question with yes: for the call that waits and no other, or for "
		       "a time. What is allowed for a time is exactly what was asked for, or one "
		       "of the question's scopes; it is a grant, which `corral grants remove` "
		       "takes back.\n"
		       "Exit status: 0 answered; 2 an error: no such question, or above the "
		       "ceiling.",
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
		       "good, deny it in the policy.\n"
		       "Exit status: 0 answered; 2 an error: no such question.",
	.examples = "corral questions deny 0123456789abcdef.1\n"
		    "corral questions deny 0123456789abcdef.1 --for 30s\n",
	.operand = "ID",
	.min = 1,
	.max = 1,
	.run = questions_deny,
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
		&verb_questions_deny, NULL },
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
