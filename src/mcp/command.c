/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "codec/json-writer.h"
#include "mcp/backend.h"

enum {
	COMMAND_TIMEOUT_MS = 120 * 1000,
	COMMAND_OUTPUT_MAX = 1 << 20, /* of each stream */
	COMMAND_PROGRESS_MS = 100,    /* between two notes of progress */
	COMMAND_SILENT_MS = 2000,     /* after so long without output it is said that it runs */
	COMMAND_DENIALS_MAX = 32,
};

struct command_stream {
	struct buffer text;
	bool is_cut;
};

struct mcp_command {
	struct mcp_call *call;
	struct corral_shell *shell;
	struct loop *loop;
	struct watcher watcher;
	struct timer silence;
	struct command_stream out, err;
	uint64_t bytes, began_ms, told_ms;
	const struct mcp_backend_options *options;
};

static void command_free(struct mcp_command *x)
{
	loop_remove(x->loop, &x->watcher);
	loop_stop(x->loop, &x->silence);
	corral_shell_free(x->shell);
	buffer_deinit(&x->out.text);
	buffer_deinit(&x->err.text);
	x->call->state = NULL;
	free(x);
}

/* A client that hears of progress may wait longer. What is counted grows with each note. */
static void command_tell(struct mcp_command *x, uint64_t now)
{
	char message[64];

	if (!x->call->token)
		return;
	(void)snprintf(
		message, sizeof(message), "%llu bytes of output", (unsigned long long)x->bytes);
	mcp_server_progress(x->call, now - x->began_ms, message);
	x->told_ms = now;
	/* Without a timer it says less. */
	(void)loop_start(x->loop, &x->silence, COMMAND_SILENT_MS);
}

static void command_is_silent(struct timer *t)
{
	struct mcp_command *x = container_of(t, struct mcp_command, silence);
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);

	if (now > x->told_ms)
		command_tell(x, now);
}

static int command_on_output(void *context, enum corral_stream stream, const void *data, size_t len)
{
	struct mcp_command *x = context;
	struct command_stream *s = stream == CORRAL_STDERR ? &x->err : &x->out;
	const size_t room = COMMAND_OUTPUT_MAX - s->text.len, n = len < room ? len : room;
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);

	s->is_cut |= n < len;
	buffer_add(&s->text, data, n);
	x->bytes += len;
	if (now - x->told_ms >= COMMAND_PROGRESS_MS)
		command_tell(x, now);
	return s->text.failed ? -ENOMEM : 0;
}

/* In the arena, ending with NULL. */
static const char **command_words(const struct mcp_call *c, struct arena *a)
{
	const struct node *args = node_get(c->arguments, "args");
	const char *command = node_get_text(c->arguments, "command");
	const char **argv = arena_calloc(a, (args ? args->count : 2) + 2, sizeof(*argv));
	size_t n = 0;

	if (!argv)
		return NULL;
	if (!args) {
		argv[0] = "/bin/sh";
		argv[1] = "-c";
		argv[2] = command;
		return argv;
	}
	argv[n++] = command;
	node_for_each(item, args)
		argv[n++] = node_text(item);
	return argv;
}

static void command_put_outputs(struct json_writer *w, const struct mcp_command *x)
{
	json_put_buffer(w, "stdout", &x->out.text);
	json_put_buffer(w, "stderr", &x->err.text);
	json_put_flag(w, "truncated", x->out.is_cut || x->err.is_cut);
}

static void command_structure(
	const struct mcp_command *x, struct corral_result *r, struct buffer *out)
{
	const size_t denials = corral_result_denials(r);
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_number(&w, "exit_code", corral_result_exit_code(r));
	json_put_number(&w, "signal", corral_result_signal(r));
	json_put_flag(&w, "timed_out", corral_result_timed_out(r));
	json_put_flag(&w, "out_of_memory", corral_result_out_of_memory(r));
	json_put_count(&w, "duration_ms", corral_result_duration_us(r) / 1000);
	command_put_outputs(&w, x);
	json_open_list(&w, "denials");
	for (size_t i = 0; i < denials && i < COMMAND_DENIALS_MAX; i++)
		mcp_answer_put_denial(&w, NULL, corral_result_denial(r, i));
	json_close(&w);
	(void)json_end(&w);
}

static void command_describe(
	const struct mcp_command *x, struct corral_result *r, struct buffer *out)
{
	const size_t denials = corral_result_denials(r);
	const int signal = corral_result_signal(r);

	buffer_add(out, buffer_text(&x->out.text), x->out.text.len);
	if (x->out.is_cut)
		buffer_adds(out, "\n[the rest of the output was left out]\n");
	if (x->err.text.len) {
		buffer_adds(out, "\n[standard error]\n");
		buffer_add(out, x->err.text.data, x->err.text.len);
	}
	if (x->err.is_cut)
		buffer_adds(out, "\n[the rest of it was left out]\n");
	if (corral_result_timed_out(r))
		buffer_adds(out, "\n[it timed out and was killed]\n");
	else if (corral_result_out_of_memory(r))
		buffer_adds(out, "\n[it was killed: it used all memory of its limit]\n");
	else if (signal)
		buffer_printf(out, "\n[it was killed by signal %d]\n", signal);
	else
		buffer_printf(out, "\n[exit status %d]\n", corral_result_exit_code(r));
	for (size_t i = 0; i < denials && i < COMMAND_DENIALS_MAX; i++)
		mcp_answer_denial(out, corral_result_denial(r, i));
}

static void command_ready(struct watcher *w, uint32_t events)
{
	struct mcp_command *x = container_of(w, struct mcp_command, watcher);
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	struct mcp_result answer = { 0 };
	struct mcp_call *c = x->call;
	int r = corral_shell_wait(x->shell, 0, &result, &e);

	(void)events;
	if (r == -EAGAIN) {
		corral_error_free(e);
		return;
	}
	if (r < 0) {
		mcp_answer_refuse(x->options, &answer, r, e);
	} else {
		answer.is_error = corral_result_timed_out(result) ||
				  corral_result_out_of_memory(result) ||
				  corral_result_signal(result);
		command_describe(x, result, &answer.text);
		command_structure(x, result, &answer.structured);
	}
	corral_result_free(result);
	command_free(x);
	mcp_server_answer(c, &answer);
}

static int command_begin(struct mcp_command *x, struct corral_error **e)
{
	const struct node *in = node_get(x->call->arguments, "stdin");
	const struct node *cwd = node_get(x->call->arguments, "cwd");
	const struct corral_by by = { .size = sizeof(by), .actor = "mcp" };
	struct corral_call how = CORRAL_CALL;
	auto_arena a = { 0 };
	const char **argv = command_words(x->call, &a);
	int r = argv ? 0 : -ENOMEM;

	how.cwd = cwd ? cwd->text : NULL;
	how.input = in ? in->text : NULL;
	how.input_len = in ? strlen(in->text) : 0;
	how.timeout_ms = mcp_tool_number(
		x->call->tool, x->call->arguments, "timeout_ms", COMMAND_TIMEOUT_MS);
	how.output = command_on_output;
	how.context = x;
	if (r == 0)
		r = corral_enclave_shell_start(&x->shell, x->options->enclave, &by, argv, &how, e);
	if (r < 0)
		return r;
	r = corral_shell_fd(x->shell);
	return r < 0 ? r : loop_add(x->loop, &x->watcher, r, EPOLLIN);
}

void mcp_command_start(struct mcp_tools *t, const struct mcp_backend_options *o, struct mcp_call *c)
{
	struct mcp_command *x = calloc(1, sizeof(*x));
	struct mcp_result answer = { 0 };
	struct corral_error *e = NULL;
	int r = -ENOMEM;

	(void)t;
	if (x) {
		*x = (struct mcp_command){ .call = c,
			.loop = o->loop,
			.watcher = { .ready = command_ready, .fd = -1 },
			.silence.expired = command_is_silent,
			.began_ms = clock_ms(CLOCK_MONOTONIC),
			.options = o };
		c->state = x;
		r = command_begin(x, &e);
	}
	if (r >= 0) {
		if (c->token)
			(void)loop_start(o->loop, &x->silence, COMMAND_SILENT_MS);
		return;
	}
	if (x)
		command_free(x);
	mcp_answer_refuse(o, &answer, r, e);
	mcp_answer_end(o, c, &answer);
}

void mcp_command_cancel(struct mcp_call *c)
{
	if (c->state)
		command_free(c->state);
}
