/* SPDX-License-Identifier: Apache-2.0 */
/* ps, status and events: what the daemon knows, without a browser. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/daemon/client.h"
#include "cli/options.h"
#include "cli/output.h"
#include "codec/json-writer.h"

static uint64_t verb_daemon_number(const struct node *map, const char *key)
{
	int64_t value = 0;
	const struct node *n = node_get(map, key);

	return n && node_integer(n, &value) == 0 && value > 0 ? (uint64_t)value : 0;
}

/* A verb that shows what the daemon has at a path: for people by print(), or as it came. */
static int verb_daemon_show(
	struct call *c, const char *path, int (*print)(struct call *c, const struct node *answer))
{
	bool json = false;
	const struct options_row rows[] = { OPTIONS_JSON(&json) };
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	int r = options_parse(c, rows, 1);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = daemon_client_ask(c, "GET", path, &text, &d);
	if (r == 0)
		r = json ? daemon_client_print(c, &text) : print(c, d.root);
	return r < 0 ? r : STATUS_YES;
}

/* "5s", "3m", "2h", "4d". */
static void verb_daemon_age(struct output *o, uint64_t started_ms)
{
	const uint64_t now = clock_ms(CLOCK_REALTIME);
	const uint64_t s = now > started_ms ? (now - started_ms) / 1000 : 0;

	if (s < 60)
		buffer_printf(&o->text, "%" PRIu64 "s", s);
	else if (s < 3600)
		buffer_printf(&o->text, "%" PRIu64 "m", s / 60);
	else if (s < 86400)
		buffer_printf(&o->text, "%" PRIu64 "h", s / 3600);
	else
		buffer_printf(&o->text, "%" PRIu64 "d", s / 86400);
}

/* ps */

enum { PS_PID = 18, PS_AGE = 27, PS_DENIED = 33, PS_FILES = 41, PS_NAME = 54, PS_COMMAND = 75 };

static void ps_print_row(struct output *o, const struct node *b)
{
	output_foreign(o, node_get_text(b, "id"));
	output_pad(o, PS_PID);
	output_foreign(o, node_get_text(b, "pid"));
	output_pad(o, PS_AGE);
	verb_daemon_age(o, verb_daemon_number(b, "started_ms"));
	output_pad(o, PS_DENIED);
	output_foreign(o, node_get_text(b, "denied"));
	output_pad(o, PS_FILES);
	output_foreign(o, node_get_text(b, "files"));
	output_pad(o, PS_NAME);
	output_cut(o, OUTPUT_PLAIN, node_get_text(b, "name"), PS_COMMAND - PS_NAME - 1);
	output_pad(o, PS_COMMAND);
	output_foreign(o, node_get_text(b, "command"));
	buffer_addc(&o->text, '\n');
}

static int ps_print(struct call *c, const struct node *answer)
{
	const struct node *list = node_get(answer, "sandboxes");
	auto_output o = output_for(STDOUT_FILENO);

	if (!list || !list->first) {
		output_line(&o, "no sandbox runs");
		return output_write(&o, STDOUT_FILENO, c->error);
	}
	output_styled(&o, OUTPUT_BOLD,
		"ID                PID      AGE   DENIED  FILES        NAME                 "
		"COMMAND");
	buffer_addc(&o.text, '\n');
	node_for_each(b, list)
		ps_print_row(&o, b);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int ps_run(struct call *c)
{
	return verb_daemon_show(c, "/api/sandboxes", ps_print);
}

const struct verb verb_ps = {
	.name = "ps",
	.synopsis = "[--json]",
	.summary = "list the sandboxes that run",
	.description =
		"Lists the sandboxes that joined the daemon, corrald(8): id, pid, age, how "
		"much they were denied, whether files are watched (--explain; else only hosts and "
		"calls count as denied), what their policy is mostly about, and the program. "
		"The id is the session in the audit log.\n"
		"Exit status: 0 listed, also if there is none; 2 an error, such as no daemon.",
	.examples = "corral ps\n"
		    "corral ps --json\n",
	.run = ps_run,
};

/* status */

static int status_print(struct call *c, const struct node *s)
{
	const struct node *log = node_get(s, "log"), *http = node_get(s, "http");
	auto_output o = output_for(STDOUT_FILENO);
	const char *fault = node_text(node_get(log, "error"));
	const char *unwatched = node_text(node_get(node_get(s, "watch"), "error"));

	output_styled(&o, OUTPUT_GREEN, "corrald runs");
	buffer_adds(&o.text, ", pid ");
	output_foreign(&o, node_get_text(s, "pid"));
	buffer_adds(&o.text, ", for ");
	verb_daemon_age(&o, verb_daemon_number(s, "started_ms"));
	buffer_adds(&o.text, "\n  sandboxes  ");
	output_foreign(&o, node_get_text(s, "sandboxes"));
	buffer_adds(&o.text, "\n  port       ");
	output_foreign(&o, verb_daemon_number(s, "port") ? node_get_text(s, "port") : "none");
	buffer_adds(&o.text, "\n  runtime    ");
	output_foreign(&o, node_get_text(s, "runtime"));
	buffer_adds(&o.text, "\n  log        ");
	output_foreign(&o, node_get_text(log, "path"));
	if (fault) {
		buffer_addc(&o.text, ' ');
		output_styled(&o, OUTPUT_RED, fault);
	}
	buffer_adds(&o.text, "\n  http       pid ");
	output_foreign(&o, node_get_text(http, "pid"));
	buffer_adds(&o.text, ", restarts ");
	output_foreign(&o, node_get_text(http, "restarts"));
	if (unwatched) {
		buffer_adds(&o.text, "\n  watch      not all changes of files are seen at once: ");
		output_styled(&o, OUTPUT_RED, unwatched);
		buffer_adds(&o.text, "; raise it");
	}
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int status_run(struct call *c)
{
	return verb_daemon_show(c, "/api/status", status_print);
}

const struct verb verb_status = {
	.name = "status",
	.synopsis = "[--json]",
	.summary = "show the daemon",
	.description = "Shows whether the daemon, corrald(8), runs: its processes, its port and "
		       "folders, its log, and how many sandboxes joined it.\n"
		       "Exit status: 0 it runs, 2 it does not, or another error.",
	.examples = "corral status\n"
		    "corral status --json\n",
	.run = status_run,
};

/* events */

struct daemon_events {
	struct call *call;
	bool json, follow;
	char type[64];
	uint64_t id, last; /* of this event; of the newest when we began */
	bool is_over;
};

/* What people read of an event: its `state`, then these of the object `inner`, or of itself. */
static const struct events_row {
	const char *type, *inner, *keys[6];
} events_rows[] = {
	{ "sandbox", "sandbox", { "id", "action", "target", "command", "folder", "reason" } },
	{ "decision", NULL, { "id", "decision", "action", "target", "reason" } },
	{ "question", "question", { "id", "action", "target", "reason" } },
	{ "grant", "grant", { "id", "action", "target" } },
	{ "policy", NULL, { "id", "name", "target", "reason", "error" } },
	{ "skill", NULL, { "name", "path" } },
	{ "finding", "finding", { "severity", "text" } },
	{ "api_request", NULL, { "status", "request", "reason" } },
};

/* The rest is few values: {"findings":1,"high":0} is "findings 1  high 0". */
static void events_print_all(struct output *o, const struct node *data)
{
	node_for_each(n, data) {
		buffer_adds(&o->text, n == data->first ? "" : "  ");
		output_foreign(o, n->key);
		buffer_addc(&o->text, ' ');
		output_foreign(o, node_text(n) ? node_text(n) : "null");
	}
}

/* Behind what stands there already; nothing if there is no text. An error has its place, too. */
static void events_print_word(struct output *o, const struct node *n, bool *is_next)
{
	const bool is_error = n && n->type == NODE_MAP;
	const char *text = is_error ? node_get_text(n, "text") : node_text(n);

	if (!text || !*text)
		return;
	buffer_adds(&o->text, *is_next ? "  " : "");
	*is_next = true;
	if (is_error && verb_daemon_number(n, "line"))
		buffer_printf(&o->text, "line %" PRIu64 ": ", verb_daemon_number(n, "line"));
	output_foreign(o, text);
}

static void events_print_row(
	struct output *o, const struct events_row *row, const struct node *data)
{
	const struct node *inner = row->inner ? node_get(data, row->inner) : NULL;
	bool is_next = false;

	events_print_word(o, node_get(data, "state"), &is_next);
	for (size_t i = 0; i < ROWS(row->keys) && row->keys[i]; i++)
		events_print_word(o, node_get(inner ? inner : data, row->keys[i]), &is_next);
}

static void events_print_text(struct output *o, const char *type, const struct node *data)
{
	output_styled(o, strcmp(type, "finding") == 0 ? OUTPUT_RED : OUTPUT_BOLD, type);
	output_pad(o, 16);
	for (size_t i = 0; i < ROWS(events_rows); i++) {
		if (strcmp(events_rows[i].type, type) == 0) {
			events_print_row(o, &events_rows[i], data);
			buffer_addc(&o->text, '\n');
			return;
		}
	}
	events_print_all(o, data);
	buffer_addc(&o->text, '\n');
}

static int events_print(struct daemon_events *e, const char *data)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text };
	auto_document d = { 0 };

	if (e->json) {
		json_open_map(&w, NULL);
		json_put_count(&w, "id", e->id);
		json_put_text(&w, "event", e->type);
		json_put_raw(&w, "data", data);
		json_end_line(&w);
	} else {
		int r = json_read(&d, "an event", data, strlen(data), e->call->error);

		if (r < 0)
			return r;
		events_print_text(&o, e->type, d.root);
	}
	return output_write(&o, STDOUT_FILENO, e->call->error);
}

/* A line of the stream; corrald writes id, event, data, in this order. */
static int events_take(struct daemon_events *e, const char *line)
{
	int r = 0;

	if (strncmp(line, "id: ", 4) == 0)
		e->id = strtoull(line + 4, NULL, 10);
	if (strncmp(line, "event: ", 7) == 0)
		(void)snprintf(e->type, sizeof(e->type), "%s", line + 7);
	if (strncmp(line, "data: ", 6) != 0)
		return 0;
	if (strcmp(e->type, "connected") == 0) {
		auto_document d = { 0 };
		int64_t last = 0;

		if (json_read(&d, NULL, line + 6, strlen(line + 6), NULL) == 0)
			(void)node_integer(node_get(d.root, "last"), &last);
		e->last = (uint64_t)last;
		e->is_over = !e->follow && e->last == 0;
		return 0;
	}
	/* What was dropped before the first event was not asked for. */
	if (strcmp(e->type, "dropped") != 0 || e->id)
		r = events_print(e, line + 6);
	e->is_over = e->is_over || (!e->follow && e->id >= e->last);
	return r;
}

static int events_read(struct daemon_events *e, FILE *from)
{
	char *line = NULL;
	size_t cap = 0;
	int r = 0;

	while (r == 0 && !e->is_over && getline(&line, &cap, from) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (strncmp(line, "HTTP/1.1 ", 9) == 0 && strncmp(line + 9, "200 ", 4) != 0)
			r = error_set(
				e->call->error, -EPERM, NULL, "the daemon says: %s", line + 9);
		else
			r = events_take(e, line);
	}
	free(line);
	if (r == 0 && !e->is_over)
		r = error_set(e->call->error, -EPIPE, NULL, "the daemon has ended");
	return r;
}

static int events_run(struct call *c)
{
	struct daemon_events e = { .call = c };
	const struct options_row rows[] = {
		{ { "follow", SCHEMA_FLAG, .help = "go on with those that come, until Ctrl-C" },
			'f', .target = &e.follow },
		{ { "json", SCHEMA_FLAG, .help = "print JSON Lines" }, .target = &e.json },
	};
	FILE *from;
	int fd = -1, r = options_parse(c, rows, 2);

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = daemon_client_open(
		c, "GET", "/sse/events", e.follow ? NULL : "Last-Event-ID: 1\r\n", &fd);
	if (r < 0)
		return r;
	from = fdopen(fd, "r");
	if (!from) {
		fd_close(&fd);
		return error_no_memory(c->error);
	}
	r = events_read(&e, from);
	(void)fclose(from);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_events = {
	.name = "events",
	.synopsis = "[-f] [--json]",
	.summary = "show what happens, as the daemon hears of it",
	.description = "Prints the latest events of the daemon, corrald(8), and ends; with -f it "
		       "prints those that come from now on. An event is its type, which "
		       "corrald(8) lists, and what people want to know of it; with --json all "
		       "of it.\n"
		       "Exit status: 0 printed, 2 an error, such as no daemon.",
	.examples = "corral events\n"
		    "corral events -f\n"
		    "corral events -f --json\n",
	.run = events_run,
};
