/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that `corral` answers: it is run with --json, and what it prints is the answer. So the API
 * and the command line cannot disagree; policies of strangers and a log of any length are read by a
 * process of its own, which has a time and a bound, and the daemon never waits for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "codec/json-writer.h"
#include "daemon/api/api.h"
#include "daemon/api/tool-queue.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"
#include "process/starting.h"

enum { TOOL_WORDS_MAX = 24 };

struct tool {
	struct supervisor *s;
	pid_t pid;
	uint64_t id;
	size_t generation; /* of corrald-http: another one has other calls */
	tool_taker *take;  /* NULL: a call is answered */
	tool_teller *tell;
	tool_shaper *shape;
	bool is_lines, is_cut, is_late, refuses;
	struct watcher output, end;
	struct timer timer;
	struct buffer text;
	struct buffer record; /* a record of the log, once it is done; "": none */
	struct buffer subject;
};

static void tool_free(struct tool *t)
{
	struct supervisor *s = t->s;
	int output = t->output.fd, end = t->end.fd;

	loop_remove(s->loop, &t->output);
	loop_remove(s->loop, &t->end);
	loop_stop(s->loop, &t->timer);
	fd_close(&output);
	fd_close(&end);
	for (size_t i = 0; i < TOOLS_MAX; i++)
		if (s->api.tools[i] == t)
			s->api.tools[i] = NULL;
	buffer_deinit(&t->text);
	buffer_deinit(&t->record);
	buffer_deinit(&t->subject);
	free(t);
}

/* {"a":1}\n{"b":2}\n becomes {"records":[{"a":1},{"b":2}]}. */
static void tool_join_lines(struct buffer *text)
{
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };
	char *rest = text->data, *line;

	json_open_map(&w, NULL);
	json_open_list(&w, "records");
	while ((line = strsep(&rest, "\n")))
		if (*line)
			json_put_raw(&w, NULL, line);
	json_end_line(&w);
	buffer_deinit(text);
	*text = out;
	out = (struct buffer){ 0 };
}

/* What corral refused, {"status", "error": {"text" …}}, as an error of the API: {"error": text …}.
 */
static void tool_flatten_error(struct buffer *text)
{
	static const char *const texts[] = { "hint", "file" }, *const numbers[] = { "line",
		"column" };
	auto_buffer out = { 0 };
	struct json_writer w = { .out = &out };
	auto_document d = { 0 };
	const struct node *error;
	struct error e;

	if (json_read(&d, NULL, buffer_text(text), text->len, &e) < 0 ||
		!(error = node_get(d.root, "error")) || !node_get(error, "text"))
		return;
	json_open_map(&w, NULL);
	json_put_text(&w, "error", node_text(node_get(error, "text")));
	for (size_t i = 0; i < ROWS(texts); i++)
		json_put_text(&w, texts[i], node_text(node_get(error, texts[i])));
	for (size_t i = 0; i < ROWS(numbers); i++) {
		int64_t number = 0;

		(void)node_integer(node_get(error, numbers[i]), &number);
		json_put_number(&w, numbers[i], number);
	}
	json_end_line(&w);
	buffer_deinit(text);
	*text = out;
	out = (struct buffer){ 0 };
}

/* The whole lines that fit: more was thrown away. */
static void tool_cut_lines(struct buffer *text)
{
	size_t len = text->len < TOOL_OUTPUT_MAX ? text->len : TOOL_OUTPUT_MAX;

	while (len > 0 && text->data[len - 1] != '\n')
		len--;
	if (len < text->len)
		text->data[len] = '\0';
	text->len = len;
}

/* What an exit status is in HTTP; 0: corral could not answer. */
static unsigned tool_status(const struct tool *t, int status)
{
	static const unsigned refusals[] = { 200, 422, 400, 0, 409, 404 };
	static const unsigned answers[] = { 200, 200, 400, 200 };
	const size_t i = WIFEXITED(status) ? (size_t)WEXITSTATUS(status) : SIZE_MAX;

	if (t->refuses)
		return i < ROWS(refusals) ? refusals[i] : 0;
	return i < ROWS(answers) ? answers[i] : 0;
}

/* Whether the machine is the reason that corral did not do it, as {"error": {"cause": "ENOSPC"}}.
 */
static unsigned tool_failure(const struct buffer *text)
{
	auto_document d = { 0 };
	const char *cause = NULL;

	if (json_read(&d, NULL, buffer_text(text), text->len, NULL) == 0 &&
		node_get(d.root, "error"))
		cause = node_get_text(node_get(d.root, "error"), "cause");
	if (!cause || !*cause)
		return 0;
	return strcmp(cause, "ENOSPC") == 0 || strcmp(cause, "EDQUOT") == 0 ? 507 : 500;
}

static const char tool_unsure[] =
	"corral was ended before it answered: whether this was done is not known";

static void tool_answer(struct tool *t, int status)
{
	struct supervisor *s = t->s;
	const unsigned known = tool_status(t, status),
		       failed = known == 400 ? tool_failure(&t->text) : 0,
		       code = failed ? failed : known;

	if (t->take) {
		const bool is_whole = WIFEXITED(status) && !t->is_late && !t->text.failed &&
				      t->text.len <= TOOL_OUTPUT_MAX;

		t->take(s, is_whole ? WEXITSTATUS(status) : -EIO, &t->text);
		return;
	}
	/* Also if the client has gone. What was killed may have written before. */
	if ((code == 200 || !WIFEXITED(status)) && t->record.len)
		journal_record(s, &(struct audit_event){ .action = AUDIT_POLICY,
					  .program = "corrald",
					  .pid = (uint32_t)getpid(),
					  .target = buffer_text(&t->record),
					  .reason = code == 200 ? "" : tool_unsure,
					  .exact = true });
	if (t->is_cut && !t->text.failed && t->text.len > TOOL_OUTPUT_MAX)
		tool_cut_lines(&t->text);
	/* It was done, also if who asked does not hear of it. */
	if (t->tell && code && !t->is_late && !t->text.failed && t->text.len <= TOOL_OUTPUT_MAX)
		t->tell(s, code, buffer_text(&t->subject), &t->text);
	if (t->generation != s->http.n_started)
		return;
	if (t->is_late)
		api_fail(s, t->id, 504, "it took too long");
	else if (t->text.failed || t->text.len > TOOL_OUTPUT_MAX)
		api_fail(s, t->id, 500, "the answer is too long");
	else if (!code || (t->text.len == 0 && !t->is_lines))
		api_fail(s, t->id, 500, "corral could not answer");
	else {
		if (t->is_lines && code == 200)
			tool_join_lines(&t->text);
		if (code != 200)
			tool_flatten_error(&t->text);
		else if (t->shape)
			t->shape(s, buffer_text(&t->subject), &t->text);
		api_reply(s, t->id, code, buffer_text(&t->text), t->text.len);
	}
	http_link_flush(s);
}

/* What is there; the rest of a tool that prints too much is thrown away. */
static void tool_read(struct tool *t)
{
	char room[16 << 10];
	ssize_t n;

	while ((n = read(t->output.fd, room, sizeof(room))) > 0)
		if (t->text.len <= TOOL_OUTPUT_MAX)
			buffer_add(&t->text, room, (size_t)n);
	/* It has closed it: nothing more will come, and epoll would not cease to say so. */
	if (n == 0)
		(void)loop_change(t->s->loop, &t->output, 0);
}

static void tool_on_output(struct watcher *w, uint32_t events)
{
	struct tool *t = container_of(w, struct tool, output);

	(void)events;
	tool_read(t);
}

static void tool_on_end(struct watcher *w, uint32_t events)
{
	struct tool *t = container_of(w, struct tool, end);
	struct supervisor *s = t->s;
	int status = 0;

	(void)events;
	tool_read(t);
	while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
		;
	tool_answer(t, status);
	tool_free(t);
	tool_queue_serve(s);
	http_link_flush(s);
}

static void tool_on_timer(struct timer *timer)
{
	struct tool *t = container_of(timer, struct tool, timer);

	t->is_late = true;
	(void)kill(t->pid, SIGKILL);
}

static int tool_spawn(const struct tool_request *r, int input, int output, pid_t *ret)
{
	const char *named = secure_getenv("CORRAL_PROGRAM");
	const char *argv[TOOL_WORDS_MAX + 2] = { "corral" };
	const struct starting s = { .program = named && *named ? named : CORRAL_PROGRAM_PATH,
		.argv = argv,
		.env = (const char *const *)environ,
		.fds = (int[]){ input, output, -1 },
		.n = 3,
		.place = STARTING_SESSION };

	for (size_t i = 0; i < TOOL_WORDS_MAX && r->argv[i]; i++)
		argv[i + 1] = r->argv[i];
	return starting_program(&s, ret);
}

/* A file in memory with the input, or nothing. */
static int tool_open_input(const char *input, int *ret)
{
	if (input)
		return sealed_new(input, strlen(input), ret);
	*ret = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return *ret < 0 ? -errno : 0;
}

static int tool_begin(struct tool *t, const struct tool_request *r)
{
	auto_fd input = -1, output = -1, inner = -1, end = -1;
	int pipes[2] = { -1, -1 }, ret = tool_open_input(r->input, &input);

	if (ret == 0 && pipe2(pipes, O_CLOEXEC) < 0)
		ret = -errno;
	if (ret < 0)
		return ret;
	output = pipes[0];
	inner = pipes[1];
	if (fcntl(output, F_SETFL, O_NONBLOCK) < 0 || lseek(input, 0, SEEK_SET) < 0)
		return -errno;
	ret = tool_spawn(r, input, inner, &t->pid);
	if (ret < 0)
		return ret;
	end = (int)syscall(SYS_pidfd_open, t->pid, 0);
	ret = end < 0 ? -errno : loop_add(t->s->loop, &t->output, output, EPOLLIN);
	if (ret == 0)
		(void)fd_take(&output);
	if (ret == 0)
		ret = loop_add(t->s->loop, &t->end, end, EPOLLIN);
	if (ret == 0)
		(void)fd_take(&end);
	if (ret == 0)
		ret = loop_start(t->s->loop, &t->timer, r->ms ? r->ms : TOOL_MS);
	if (ret < 0) {
		(void)kill(t->pid, SIGKILL);
		(void)waitpid(t->pid, NULL, 0);
	}
	return ret;
}

int tool_start_own(struct supervisor *s, const struct tool_request *r)
{
	struct tool *t;
	size_t i = 0;
	int ret;

	/* Calls leave the last places to the daemon itself. */
	while (i < TOOLS_MAX && s->api.tools[i])
		i++;
	if (i >= (r->take ? TOOLS_MAX : TOOLS_CALLS_MAX))
		return -EBUSY;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct tool){ .s = s,
		.id = r->id,
		.take = r->take,
		.tell = r->tell,
		.shape = r->shape,
		.generation = s->http.n_started,
		.is_lines = r->is_lines,
		.is_cut = r->is_cut,
		.refuses = r->refuses,
		.output = { .ready = tool_on_output, .fd = -1 },
		.end = { .ready = tool_on_end, .fd = -1 },
		.timer = { .expired = tool_on_timer } };
	s->api.tools[i] = t;
	buffer_adds(&t->record, r->record ? r->record : "");
	buffer_adds(&t->subject, r->subject ? r->subject : "");
	ret = t->record.failed || t->subject.failed ? -ENOMEM : tool_begin(t, r);
	if (ret < 0)
		tool_free(t);
	return ret;
}

void tool_refuse(struct supervisor *s, uint64_t id, int error)
{
	if (error == -EBUSY)
		api_fail(s, id, 429, "too many requests are under way; try again");
	else
		api_fail(s, id, error == -ENOMEM ? 503 : 500, "cannot start corral");
}

void tool_start(struct supervisor *s, const struct route_call *c, const struct tool_request *r)
{
	int ret = tool_start_own(s, r);

	if (ret == -EBUSY)
		ret = tool_queue_add(s, c->flags & ROUTE_BY_UNIX, r);
	if (ret < 0)
		tool_refuse(s, r->id, ret);
}

void tool_end_all(struct supervisor *s)
{
	for (size_t i = 0; i < TOOLS_MAX; i++) {
		if (!s->api.tools[i])
			continue;
		(void)kill(s->api.tools[i]->pid, SIGKILL);
		while (waitpid(s->api.tools[i]->pid, NULL, 0) < 0 && errno == EINTR)
			;
		tool_free(s->api.tools[i]);
	}
}

/* A value may begin with "-": it stands in the same word as its option. */
const char *tool_option(struct arena *a, const char *option, const char *value)
{
	const char *word = arena_printf(a, "--%s=%s", option, value);

	/* A word that no verb takes. */
	return word ? word : "--";
}
