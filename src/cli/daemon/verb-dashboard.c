/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dashboard: the daemon's page, in the browser. The link has a code that works once
 * (daemon/login.h). It is not a word of a command line, which other processes can read: the browser
 * is given a file of the daemon's folder, which no other user can enter, and that leads on to the
 * link.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "cli/browser.h"
#include "cli/daemon/client.h"
#include "cli/options.h"
#include "cli/output.h"
#include "host/lookup.h"
#include "process/starting.h"

enum { DASHBOARD_START_MS = 20 * 1000, DASHBOARD_LOOK_MS = 20, DASHBOARD_SAID = 2048 };

/* In a session of its own, so that it stays when the terminal goes. error: for its messages. */
static int dashboard_spawn(const char *const *argv, const char *const *env, int error, pid_t *ret)
{
	const struct starting s = { .program = argv[0],
		.argv = argv,
		.env = env,
		.fds = (int[]){ -1, -1, error },
		.n = 3,
		.folder = argv[0][0] == '/' ? "/" : NULL,
		.place = STARTING_SESSION };

	return starting_program(&s, ret);
}

/* The daemon */

/* Until it answers, has ended, or the time is over; 1: it answers. said: what it complained of. */
static int dashboard_wait(struct call *c, pid_t pid, int said, struct buffer *ret)
{
	const uint64_t end = clock_ms(CLOCK_MONOTONIC) + DASHBOARD_START_MS;
	char room[512];
	ssize_t n;

	while (clock_ms(CLOCK_MONOTONIC) < end) {
		auto_buffer text = { 0 };
		auto_document d = { 0 };

		if (waitpid(pid, NULL, WNOHANG) == pid) {
			while (ret->len < DASHBOARD_SAID &&
				(n = read(said, room, sizeof(room))) > 0)
				buffer_add(ret, room, (size_t)n);
			return 0;
		}
		if (daemon_client_ask(c, "GET", "/api/status", &text, &d) == 0)
			return 1;
		(void)poll(NULL, 0, DASHBOARD_LOOK_MS);
	}
	(void)kill(pid, SIGTERM);
	buffer_adds(ret, "it did not answer in time");
	return 0;
}

/* 1: it runs; 0: it does not, and *ret says why. */
static int dashboard_start_with(
	struct call *c, const char *program, const char *port, struct buffer *ret)
{
	const char *const argv[] = { program, port ? "--port" : NULL, port, NULL };
	const char *const *env = NULL;
	int ends[2] = { -1, -1 };
	int r = pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0 ? -errno : 0;
	auto_fd said = ends[0];
	auto_fd error = ends[1];
	pid_t pid = 0;

	if (r == 0)
		r = lookup_environment(c->arena, (const char *const *)environ, &env);
	if (r == 0)
		r = dashboard_spawn(argv, env, error, &pid);
	fd_close(&error);
	if (r == 0)
		return dashboard_wait(c, pid, said, ret);
	buffer_printf(ret, "cannot start %s: %s", argv[0], strerror(-r));
	return 0;
}

/* What it printed: "corrald: " and a sentence; perhaps two spaces and a hint in the next line. */
static void dashboard_explain(struct error *e, const struct buffer *said)
{
	static const char before[] = "corrald: ";
	const char *text = buffer_text(said), *hint;
	size_t n;

	if (strncmp(text, before, strlen(before)) == 0)
		text += strlen(before);
	n = strcspn(text, "\n");
	hint = text[n] ? text + n + 1 : "";
	(void)error_set(e, -ECONNREFUSED, NULL, "the daemon does not start: %.*s", (int)n, text);
	if (strncmp(hint, "  ", 2) == 0)
		error_hint(e, "%.*s", (int)strcspn(hint, "\n") - 2, hint + 2);
	else
		error_hint(e, "run `corrald` to see what it says");
}

static int dashboard_start(struct call *c, const char *program)
{
	auto_buffer first = { 0 }, second = { 0 };
	char path[PATH_BYTES];

	if (!strchr(program, '/')) {
		if (lookup_find(getenv("PATH"), program, path) < 0)
			return error_set(c->error, -ENOENT, NULL,
				"%s is not in the folders of PATH that no sandbox may write",
				program);
		program = path;
	}
	/* Another user's may have the port. */
	if (dashboard_start_with(c, program, NULL, &first) ||
		dashboard_start_with(c, program, "0", &second)) {
		*c->error = (struct error){ 0 };
		return 0;
	}
	dashboard_explain(c->error, &first);
	return -ECONNREFUSED;
}

static int dashboard_ask(struct call *c, struct buffer *json, struct document *d)
{
	const char *program = daemon_client_program();
	int r = daemon_client_ask(c, "POST", "/api/login/code", json, d);

	/* "": built without, which the error says. */
	if ((r != -ECONNREFUSED && r != -ENOENT) || !*program)
		return r;
	r = dashboard_start(c, program);
	return r < 0 ? r : daemon_client_ask(c, "POST", "/api/login/code", json, d);
}

static int dashboard_print(struct call *c, const char *url, bool is_open)
{
	auto_output o = output_for(STDOUT_FILENO);

	if (is_open)
		buffer_adds(&o.text, "The browser opens the dashboard. If it does not: ");
	output_foreign(&o, url);
	buffer_addc(&o.text, '\n');
	if (!is_open && isatty(STDOUT_FILENO)) {
		output_note(&o);
		buffer_adds(&o.text, "the link works once, for a minute\n");
	}
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int dashboard_print_json(
	struct call *c, const char *url, const struct node *expires, bool is_open)
{
	struct json_tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);
	int64_t ms = 0;

	(void)node_integer(expires, &ms);
	tree_put_text(&t, root, "url", url);
	tree_put_number(&t, root, "expires_ms", ms);
	tree_put_flag(&t, root, "opened", is_open);
	return tree_print(&t, root, c->error);
}

static int dashboard_run(struct call *c)
{
	bool json = false, print = false;
	const struct options_row rows[] = {
		{ { "print", SCHEMA_FLAG, .help = "print the link, and open no browser" }, 'p',
			.target = &print },
		OPTIONS_JSON(&json),
	};
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	const char *url;
	int r = options_parse(c, rows, ROWS(rows)), opened = 0;

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = dashboard_ask(c, &text, &d);
	if (r < 0)
		return r;
	url = node_text(node_get(d.root, "url"));
	if (!url || strncmp(url, "http://", 7) != 0 || strpbrk(url, "\"<>& \t\r\n"))
		return error_set(c->error, -EPROTO, NULL, "the daemon gave no link");
	if (!print)
		opened = browser_open(c, "dashboard.html", url);
	if (opened < 0)
		return opened;
	r = json ? dashboard_print_json(c, url, node_get(d.root, "expires_ms"), opened)
		 : dashboard_print(c, url, opened);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_dashboard = {
	.name = "dashboard",
	.synopsis = "[--print] [--json]",
	.summary = "open the daemon's page in the browser",
	.description =
		"Opens the page of the daemon, corrald(8): what runs, what it may do, what it was "
		"denied. Starts the daemon if there is none. Where no browser can be opened, it "
		"prints the link.\n"
		"The link works once, for a minute. Whoever opens it can do what you can: do not "
		"pass it on.\n"
		"Exit status: 0 opened or printed, 2 an error.",
	.examples = "corral dashboard\n"
		    "corral dashboard --print\n",
	.run = dashboard_run,
};
