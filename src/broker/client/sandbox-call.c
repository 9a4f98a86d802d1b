/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox-call: calls a method of the broker from inside a sandbox. It needs the socket that
 * SANDBOX_SOCKET names and nothing else: no other file, no library, no /proc. What is wrong with a
 * call is found before it is sent, by the same rows and the same reader that the broker has.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "broker/client/answer.h"
#include "broker/client/arguments.h"
#include "broker/client/connection.h"
#include "broker/client/help.h"
#include "broker/client/opener.h"
#include "broker/client/show.h"
#include "codec/json-writer.h"

/* The id of the one call. */
#define CALL_ID "1"

struct call_session {
	bool json, stream, list, complete, help, is_quiet;
	uint64_t timeout_ms;
	const char *const *words; /* those that are no options */
	size_t n;
	/* The call; of a line that is sent as it is there is no method. */
	const struct method *method;
	bool by_shield;
	struct connection connection;
	bool has_progress; /* a line of the terminal is in use */
};

static const char usage[] =
	"usage: sandbox-call [OPTION]... METHOD [NAME=VALUE... | JSON | -]\n"
	"       sandbox-call [OPTION]... - | --json REQUEST\n"
	"\n"
	"Asks the sandbox's broker for what files and sockets do not give: what the\n"
	"policy grants is done, and the rest is refused with the reason.\n"
	"\n"
	"  --list             list the methods\n"
	"  --help [METHOD]    show this, or the parameters of a method\n"
	"  --json             print the result, or the error, as JSON\n"
	"  --stream           print output and progress while the call runs\n"
	"  --timeout SECONDS  give up after this time\n"
	"\n"
	"NAME=@FILE takes the value from a file, NAME=@- from standard input (@@ is a\n"
	"text that begins with @), NAME:=JSON is any value, NAME.KEY=VALUE an entry of a\n"
	"map; a list is given by repeating NAME=. JSON is a map of all parameters, - the same\n"
	"from standard input. Without a method, - and --json send JSON-RPC requests as\n"
	"they are.\n"
	"\n"
	"  sandbox-call fs.read path=/srv/data/report.csv\n"
	"  sandbox-call network.http url=https://api.example.com/v1 headers.Accept=text/plain\n"
	"  sandbox-call exec.run command=git args=log args=--oneline\n"
	"  sandbox-call fs.write path=out.bin content=@- <out.bin\n"
	"\n"
	"Exit status: 0 done, 1 failed, 2 bad usage, 3 permission, 4 scope, 5 rate,\n"
	"6 timeout, 7 no broker or service, 8 network, 9 path. exec.run: that of the\n"
	"program; 124 timeout, 125 the call failed, 126 not permitted, 127 no such program.\n";

/* Ends */

static int session_status(const struct call_session *s, enum rpc_class class)
{
	if (!s->method || s->method->id != METHOD_EXEC_RUN || s->json)
		return answer_status(class);
	switch (class) {
	case RPC_PERMISSION:
	case RPC_SCOPE:
	case RPC_CHANNEL:
		return 126;
	case RPC_PATH:
		return 127;
	case RPC_TIMEOUT:
		return 124;
	default:
		return 125;
	}
}

static int session_print(const struct buffer *out)
{
	if (!out->failed && file_write_all(STDOUT_FILENO, buffer_text(out), out->len) == 0)
		return 0;
	(void)fputs("sandbox-call: cannot write the output\n", stderr);
	return 1;
}

/* An error of the broker's, or of our own, in the form that is wanted. */
static int session_end(struct call_session *s, const struct client_answer *a)
{
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };

	if (!s->json) {
		show_error(a);
	} else {
		json_open_map(&w, NULL);
		json_put_node(&w, "error", a->body);
		json_end_line(&w);
		if (session_print(&out) != 0)
			return 1;
	}
	return session_status(s, answer_class(a));
}

static int session_fail(
	struct call_session *s, enum rpc_class class, const char *message, const char *hint)
{
	const struct rpc_refusal why = { .class = class, .message = message, .hint = hint };
	auto_answer a = { 0 };

	if (answer_make(&a, &why, s->by_shield) < 0) {
		(void)fputs("sandbox-call: out of memory\n", stderr);
		return 1;
	}
	return session_end(s, &a);
}

static int session_misused(struct call_session *s, const struct error *e)
{
	return session_fail(s, RPC_PARAMS, e->text, e->hint[0] ? e->hint : NULL);
}

static int session_lost(struct call_session *s, int r)
{
	if (r == -ETIMEDOUT)
		return session_fail(s, RPC_TIMEOUT, "the broker did not answer in time", NULL);
	if (r == -EMSGSIZE)
		return session_fail(s, RPC_INTERNAL, "the broker's answer is too long", NULL);
	if (r == -ENOMEM)
		return session_fail(s, RPC_INTERNAL, "out of memory", NULL);
	return session_fail(s, RPC_SERVICE, "the broker has ended, or closed the connection",
		"try again; if it stays so, the sandbox goes on without a broker");
}

/* Connecting */

static int session_connect(struct call_session *s)
{
	const char *path = getenv("SANDBOX_SOCKET");
	char text[256];
	int r;

	if (!path || !*path)
		return session_fail(s, RPC_SERVICE, "there is no broker: SANDBOX_SOCKET is not set",
			"run the command with `corral run --broker`, outside the sandbox");
	r = connection_open(&s->connection, path, s->timeout_ms);
	if (r == 0)
		return 0;
	(void)snprintf(
		text, sizeof(text), "the broker at %s cannot be reached: %s", path, strerror(-r));
	return session_fail(s, RPC_SERVICE, text,
		"it may have ended; run the command anew with `corral run --broker`");
}

/* Answers */

static int session_end_well(struct call_session *s, const struct client_answer *a)
{
	auto_buffer out = { 0 };
	int r;

	if (s->is_quiet)
		return 0;
	if (s->json) {
		json_print(&out, a->body, JSON_COMPACT);
		buffer_addc(&out, '\n');
		return session_print(&out);
	}
	r = show_result(s->method, s->by_shield, a);
	if (r >= 0)
		return r;
	if (r == -EPROTO)
		return session_fail(
			s, RPC_INTERNAL, "the broker's answer lacks what the method gives", NULL);
	return session_fail(s, RPC_INTERNAL, "cannot write the output", NULL);
}

static int session_note(struct call_session *s, const struct client_answer *a)
{
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };
	int r = 0;

	if (s->json && s->stream) {
		json_open_map(&w, NULL);
		json_put_text(&w, "method", a->note);
		json_put_node(&w, "params", a->body);
		json_end_line(&w);
		return session_print(&out) == 0 ? 0 : -EIO;
	}
	if (strcmp(a->note, "exec.output") == 0) {
		r = s->stream ? show_output(a) : 0;
	} else if (s->stream || isatty(STDERR_FILENO)) {
		show_progress(a);
		s->has_progress = true;
	}
	return r;
}

static int session_wait(struct call_session *s)
{
	for (;;) {
		auto_answer a = { 0 };
		struct error e = { 0 };
		const char *line;
		size_t len;
		int r = connection_receive(&s->connection, &line, &len);

		if (r <= 0)
			return session_lost(s, r);
		r = answer_read(&a, line, len, CALL_ID, &e);
		if (r < 0)
			return session_fail(s, RPC_INTERNAL, e.text, NULL);
		if (a.kind == ANSWER_NOTE) {
			if (session_note(s, &a) < 0)
				return session_fail(
					s, RPC_INTERNAL, "cannot write the output", NULL);
			continue;
		}
		if (s->has_progress)
			(void)fputc('\n', stderr);
		return a.kind == ANSWER_ERROR ? session_end(s, &a) : session_end_well(s, &a);
	}
}

/* A call by its method's row */

/* The map of parameters that words, or JSON, give. */
static int session_params(
	struct call_session *s, struct document *d, struct node **ret, struct error *e)
{
	static const struct node_bounds bounds = { RPC_LINE_MAX, 2 * METHOD_DATA_MAX };
	const char *word = s->n > 1 ? s->words[1] : "";
	auto_buffer text = { 0 };
	int r = 0;

	if (word[0] != '{' && strcmp(word, "-") != 0)
		return arguments_read(
			s->method, s->by_shield, s->words + 1, s->n - 1, &d->arena, ret, e);
	if (s->n > 2)
		return error_set(e, -EINVAL, NULL, "parameters are JSON, or NAME=VALUE; not both");
	if (word[0] == '{')
		buffer_adds(&text, word);
	else
		r = file_read("-", RPC_LINE_MAX, &text);
	if (r < 0)
		return error_set(e, r, NULL, "standard input cannot be read: %s", strerror(-r));
	r = json_read_within(d, NULL, buffer_text(&text), text.len, &bounds, e);
	if (r == 0)
		*ret = d->root;
	return r;
}

/* The request as the broker will read it. 0; 1: it is refused, and *why says so. */
static int session_check(
	const struct buffer *line, struct document *d, struct error *e, struct rpc_refusal *why)
{
	struct rpc_call call;
	int r = rpc_read(d, line->data, line->len, e, why);

	return r != 0 ? r : rpc_call_read(d, d->root, CHANNEL_SOCKET, &call, e, why);
}

static int session_call(struct call_session *s)
{
	const char *name = s->words[0];
	auto_document params = { 0 }, checked = { 0 };
	struct node *map = NULL;
	struct rpc_refusal why;
	auto_buffer line = { 0 };
	struct json_writer w = { .out = &line };
	struct error e = { 0 };
	int r = 0;

	s->method = method_find(name, strlen(name), &s->by_shield);
	if (s->method)
		r = session_params(s, &params, &map, &e);
	if (r < 0)
		return session_misused(s, &e);
	if (map && s->stream && s->method->note &&
		method_param(s->method, "stream", s->by_shield) >= 0 && !node_get(map, "stream"))
		(void)node_put(&params.arena, map, "stream", node_new_boolean(&params.arena, true));
	json_open_map(&w, NULL);
	json_put_text(&w, "jsonrpc", "2.0");
	json_put_raw(&w, "id", CALL_ID);
	json_put_text(&w, "method", name);
	if (map)
		json_put_node(&w, "params", map);
	json_close(&w);
	r = line.failed ? -ENOMEM : session_check(&line, &checked, &e, &why);
	if (r == 1) {
		auto_answer a = { 0 };

		return answer_make(&a, &why, s->by_shield) < 0 ? 1 : session_end(s, &a);
	}
	if (r < 0)
		return session_lost(s, r);
	r = session_connect(s);
	if (r != 0)
		return r;
	r = connection_send(&s->connection, line.data, line.len);
	return r < 0 ? session_lost(s, r) : session_wait(s);
}

/* Requests as they are */

/* Whether a line is answered at all: it has an id, or one of a batch has. */
static bool request_is_answered(const char *line, size_t len)
{
	auto_document d = { 0 };
	struct rpc_refusal why;
	struct error e;

	if (rpc_read(&d, line, len, &e, &why) != 0 || d.root->type != NODE_LIST)
		return !d.root || d.root->type != NODE_MAP || node_get(d.root, "id") ||
		       !node_get(d.root, "method");
	node_for_each(child, d.root) {
		if (child->type != NODE_MAP || node_get(child, "id"))
			return true;
	}
	return false;
}

/* Prints an answer; gives its status. A batch has that of its first error. */
static int session_print_raw(struct call_session *s, const char *line, size_t len, bool *ret_note)
{
	static const struct node_bounds bounds = { CONNECTION_LINE_MAX, CONNECTION_LINE_MAX };
	auto_document d = { 0 };
	auto_buffer out = { 0 };
	struct error e;
	int status = 0;

	*ret_note = false;
	if (json_read_within(&d, NULL, line, len, &bounds, &e) < 0)
		return session_fail(s, RPC_INTERNAL, "the broker's answer is no JSON", NULL);
	json_print(&out, d.root, JSON_COMPACT);
	buffer_addc(&out, '\n');
	if (session_print(&out) != 0)
		return 1;
	*ret_note = node_get(d.root, "method");
	for (const struct node *n = d.root->type == NODE_LIST ? d.root->first : d.root; n;
		n = n->next) {
		const struct client_answer a = { .kind = ANSWER_ERROR,
			.body = node_get(n, "error") };

		if (a.body && status == 0)
			status = answer_status(answer_class(&a));
	}
	return status;
}

static int session_exchange_raw(struct call_session *s, const char *line, size_t len)
{
	bool is_note = true;
	int r = connection_send(&s->connection, line, len), status = 0;

	if (r < 0)
		return session_lost(s, r);
	if (!request_is_answered(line, len))
		return 0;
	while (is_note) {
		r = connection_receive(&s->connection, &line, &len);
		if (r <= 0)
			return session_lost(s, r);
		status = session_print_raw(s, line, len, &is_note);
	}
	return status;
}

static int session_raw(struct call_session *s, const char *word)
{
	auto_buffer text = { 0 };
	const char *at, *end;
	int r = 0, status = 0;

	s->json = true;
	if (strcmp(word, "-") == 0)
		r = file_read("-", CONNECTION_LINE_MAX, &text);
	else
		buffer_adds(&text, word);
	if (r < 0)
		return session_fail(s, RPC_REQUEST, "standard input cannot be read", NULL);
	r = session_connect(s);
	if (r != 0)
		return r;
	for (at = buffer_text(&text); *at; at = *end ? end + 1 : end) {
		int one;

		end = strchrnul(at, '\n');
		one = end > at ? session_exchange_raw(s, at, (size_t)(end - at)) : 0;
		status = status ? status : one;
	}
	/* What is not answered may still be under way; the broker closes when all is done. */
	r = connection_finish(&s->connection);
	return status || r == 0 ? status : session_lost(s, r);
}

/* The command line */

static int session_print_list(const struct call_session *s)
{
	auto_buffer out = { 0 };

	if (s->complete)
		help_complete(&out, s->n ? s->words[0] : NULL);
	else if (s->json)
		help_list_json(&out);
	else
		help_list(&out);
	return session_print(&out);
}

static int session_help(struct call_session *s)
{
	bool by_shield;
	const struct method *m =
		s->n ? method_find(s->words[0], strlen(s->words[0]), &by_shield) : NULL;
	auto_buffer out = { 0 };

	if (m)
		help_method(&out, m, by_shield);
	else if (s->n)
		return session_call(s);
	else
		buffer_adds(&out, usage);
	return session_print(&out);
}

static bool session_set_timeout(struct call_session *s, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*end || end == text || !(seconds > 0) || seconds > 1e9)
		return false;
	s->timeout_ms = (uint64_t)(seconds * 1000) + 1;
	return true;
}

/* 0, or the exit status. */
static int session_read_options(struct call_session *s, int argc, char **argv)
{
	static const struct option longs[] = { { "list", no_argument, NULL, 'l' },
		{ "json", no_argument, NULL, 'j' }, { "stream", no_argument, NULL, 's' },
		{ "timeout", required_argument, NULL, 't' }, { "help", no_argument, NULL, 'h' },
		{ "complete", no_argument, NULL, 'c' }, { NULL, 0, NULL, 0 } };

	/* Whatever is wrong is said in the form that is wanted. */
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		s->json = s->json || strcmp(argv[i], "--json") == 0;
	opterr = 0;
	for (int c; (c = getopt_long(argc, argv, "h", longs, NULL)) >= 0;) {
		s->list = s->list || c == 'l';
		s->stream = s->stream || c == 's';
		s->complete = s->complete || c == 'c';
		s->help = s->help || c == 'h';
		if (c == '?')
			return session_fail(s, RPC_PARAMS, "unknown option, or a value is missing",
				"see `sandbox-call --help`");
		if (c == 't' && !session_set_timeout(s, optarg))
			return session_fail(s, RPC_PARAMS, "--timeout takes a number of seconds",
				"for instance --timeout 10");
	}
	s->words = (const char *const *)argv + optind;
	s->n = (size_t)(argc - optind);
	return 0;
}

#if defined(__has_feature)
#define IS_SANITIZED __has_feature(address_sanitizer)
#else
#define IS_SANITIZED 0
#endif

/* The search for leaks needs a /proc in which a process sees its own threads; a sandbox hides it.
 */
#if IS_SANITIZED || defined(__SANITIZE_ADDRESS__)
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return 1;
}
#endif

/* As xdg-open has it: 1 bad usage, 4 it was not opened. */
static int session_open_page(struct call_session *s, int argc, char **argv)
{
	const char *words[] = { "browser.login", NULL };
	const char *address = argc == 2 ? argv[1] : "";
	auto_buffer url = { 0 };
	int status;

	if (strncmp(address, "https://", 8) != 0 && strncmp(address, "http://", 7) != 0) {
		(void)fputs("usage: xdg-open https://ADDRESS\n", stderr);
		return 1;
	}
	buffer_adds(&url, "url=");
	opener_put(address, getenv("SANDBOX_LOGIN_BACK"), &url);
	words[1] = buffer_text(&url);
	s->words = words;
	s->n = 2;
	s->is_quiet = true;
	status = url.failed ? 1 : session_call(s);
	if (status == 0)
		return 0;
	(void)fprintf(stderr, "xdg-open: open it yourself: %s\n", address);
	return 4;
}

int main(int argc, char **argv)
{
	struct call_session s = { .connection = { .fd = -1 } };
	int status = opener_is_name(argv[0]) ? 0 : session_read_options(&s, argc, argv);

	if (status != 0)
		return status;
	if (opener_is_name(argv[0])) {
		status = session_open_page(&s, argc, argv);
		connection_close(&s.connection);
		return status;
	}
	if (s.help)
		status = session_help(&s);
	else if (s.list || s.complete)
		status = session_print_list(&s);
	else if (s.n == 0)
		status = session_fail(&s, RPC_PARAMS, "no method is given",
			"sandbox-call --list shows all, --help METHOD explains one");
	else if (strcmp(s.words[0], "-") == 0 || s.words[0][0] == '{' || s.words[0][0] == '[')
		status = session_raw(&s, s.words[0]);
	else
		status = session_call(&s);
	connection_close(&s.connection);
	return status;
}
