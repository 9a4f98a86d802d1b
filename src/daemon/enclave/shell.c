/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/enclave/shell.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "codec/json-writer.h"
#include "codec/json.h"

enum {
	SHELL_ARGS_MAX = 1024,
	SHELL_TIMEOUT_MS = 30 * 1000,
	SHELL_EVENT_MS = 50, /* between two events of a stream */
	SHELL_PIECE = 8 << 10,
	SHELL_DENIALS_MAX = 16,
};

struct shell_stream {
	const char *name;
	struct buffer text;
	bool is_cut;
	size_t told, skipped; /* bytes: up to where events said it; and left out since the last */
	uint64_t told_ms;
};

struct shell_run {
	struct bridge *bridge;
	const char *id; /* NULL: no events */
	struct shell_stream out, err;
};

/* One event, if there is something, and its time has come. */
static void shell_tell(struct shell_run *x, struct shell_stream *s, bool is_end)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	const size_t left = s->text.len - s->told, n = left < SHELL_PIECE ? left : SHELL_PIECE;
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	if (!x->id || left == 0 || (!is_end && s->told_ms && now - s->told_ms < SHELL_EVENT_MS))
		return;
	/* What a program printed faster than that: its end is of more use than its middle. */
	s->skipped += left - n;
	s->told += left - n;
	json_open_map(&w, NULL);
	json_put_text(&w, "call", x->id);
	json_put_text(&w, "stream", s->name);
	reply_data(&w, "data", s->text.data + s->told, n, false);
	json_put_count(&w, "skipped", s->skipped);
	json_close(&w);
	s->told += n;
	s->told_ms = now;
	s->skipped =
		json.failed || !x->bridge->tell(x->bridge, "output", &json) ? s->skipped + n : 0;
}

static int shell_on_output(void *context, enum corral_stream stream, const void *data, size_t len)
{
	struct shell_run *x = context;
	struct shell_stream *s = stream == CORRAL_STDERR ? &x->err : &x->out;
	const size_t room = BRIDGE_OUTPUT_MAX - s->text.len, n = len < room ? len : room;

	s->is_cut |= n < len;
	buffer_add(&s->text, data, n);
	shell_tell(x, s, false);
	return s->text.failed ? -ENOMEM : 0;
}

/* argv in the arena. -EINVAL: the list is none. */
static int shell_read_words(struct reply *c, struct arena *a, const char ***ret)
{
	const char *args = route_value(&c->call, "args");
	auto_document d = { 0 };
	struct error e = { 0 };
	const char **argv;
	size_t n = 0;
	int r = args ? json_read(&d, NULL, args, strlen(args), &e) : 0;

	if (r < 0 || (args && (d.root->type != NODE_LIST || d.root->count > SHELL_ARGS_MAX)))
		return r < 0 ? r : -EINVAL;
	argv = arena_calloc(a, (args ? d.root->count : 0) + 2, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	argv[n++] = route_value(&c->call, "cmd");
	for (const struct node *item = args ? d.root->first : NULL; item; item = item->next) {
		argv[n] = item->type == NODE_STRING ? arena_strdup(a, item->text) : NULL;
		if (!argv[n++])
			return item->type == NODE_STRING ? -ENOMEM : -EINVAL;
	}
	*ret = argv;
	return 0;
}

static void shell_print(struct reply *c, const struct shell_run *x, struct corral_result *r)
{
	const int signal = corral_result_signal(r);
	const size_t denials = corral_result_denials(r);
	struct json_writer w = { .out = &c->json };

	json_open_map(&w, NULL);
	json_put_number(&w, "exit_code", corral_result_exit_code(r));
	if (signal)
		json_put_number(&w, "signal", signal);
	else
		json_put_null(&w, "signal");
	json_put_flag(&w, "timed_out", corral_result_timed_out(r));
	json_put_flag(&w, "out_of_memory", corral_result_out_of_memory(r));
	json_put_count(&w, "duration_ms", corral_result_duration_us(r) / 1000);
	for (int i = 0; i < 2; i++) {
		const struct shell_stream *s = i == 0 ? &x->out : &x->err;

		json_open_map(&w, s->name);
		reply_data(&w, "data", buffer_text(&s->text), s->text.len, false);
		json_put_flag(&w, "truncated", s->is_cut);
		json_close(&w);
	}
	json_open_list(&w, "denials");
	for (size_t i = 0; i < denials && i < SHELL_DENIALS_MAX; i++)
		reply_denial(&w, NULL, corral_result_denial(r, i));
	json_end_line(&w);
}

static int shell_wait(struct shell_run *x, struct corral_shell *s, struct corral_result **ret,
	struct corral_error **e)
{
	int r;

	do {
		corral_error_free(*e);
		*e = NULL;
		r = corral_shell_wait(s, x->id ? SHELL_EVENT_MS : -1, ret, e);
		shell_tell(x, &x->out, r != -EAGAIN);
		shell_tell(x, &x->err, r != -EAGAIN);
	} while (r == -EAGAIN);
	return r;
}

void shell_exec(struct bridge *b, struct reply *c)
{
	const char *timeout = route_value(&c->call, "timeout_ms");
	struct shell_run x = { .bridge = b,
		.id = route_value(&c->call, "id"),
		.out = { .name = "stdout" },
		.err = { .name = "stderr" } };
	struct corral_call how = CORRAL_CALL;
	struct corral_result *result = NULL;
	struct corral_shell *shell = NULL;
	struct corral_error *e = NULL;
	const char **argv = NULL;
	char room[PATH_BYTES];
	auto_arena a = { 0 };
	int r = shell_read_words(c, &a, &argv);

	if (!reply_path(c, "cwd", room, &how.cwd))
		return;
	how.timeout_ms = timeout ? strtoull(timeout, NULL, 10) : 0;
	if (how.timeout_ms == 0)
		how.timeout_ms = SHELL_TIMEOUT_MS;
	how.input = route_value(&c->call, "stdin");
	how.input_len = how.input ? strlen(how.input) : 0;
	how.output = shell_on_output;
	how.context = &x;
	if (r == 0)
		r = corral_enclave_shell_start(&shell, b->enclave, BRIDGE_BY, argv, &how, &e);
	if (r == 0)
		r = shell_wait(&x, shell, &result, &e);
	if (r < 0)
		reply_refuse(c, r, e);
	else
		shell_print(c, &x, result);
	corral_result_free(result);
	corral_shell_free(shell);
	buffer_deinit(&x.out.text);
	buffer_deinit(&x.err.text);
}
