/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "wasm/deadline.h"
#include "wasm/input.h"
#include "wasm/skill.h"
#include "wire/skill-call.h"

/* All of it: 1; 0: the input ended before the first byte. */
static int serve_read(void *to, size_t len)
{
	size_t done = 0;

	while (done < len) {
		ssize_t n = read(STDIN_FILENO, (char *)to + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 && done == 0 ? 0 : -EPROTO;
		done += (size_t)n;
	}
	return 1;
}

/* In one piece where that is possible, so that whoever waits is woken once. */
static int serve_answer(int status, const struct streams *s, struct error *e)
{
	const struct skill_answer head = { .status = status,
		.flags = s->flags,
		.answer_len = (uint32_t)s->answer.len,
		.printed_len = (uint32_t)s->printed.len };
	auto_buffer all = { 0 };
	int r;

	buffer_add(&all, &head, sizeof(head));
	buffer_add(&all, s->answer.data, s->answer.len);
	buffer_add(&all, s->printed.data, s->printed.len);
	r = all.failed ? -ENOMEM : file_write_all(STDOUT_FILENO, all.data, all.len);
	return r < 0 ? error_set(e, r, NULL, "the answer cannot be written") : 0;
}

/* The sentence stands behind what the module printed, whatever that was. */
static void serve_add_error(struct streams *s, const struct error *e)
{
	auto_buffer text = { 0 };
	size_t room;

	if (!e->text[0])
		return;
	buffer_adds(&text, "corral: ");
	error_print(e, &text);
	buffer_addc(&text, '\n');
	room = SKILL_CALL_PRINTED_MAX - text.len;
	if (s->printed.len > room) {
		s->printed.len = room;
		s->flags |= SKILL_ANSWER_PRINTED_CUT;
	}
	buffer_add(&s->printed, buffer_text(&text), text.len);
}

int serve_announce(int status, const struct error *e)
{
	struct streams s = { .is_kept = true };
	struct error ignored = { 0 };
	int r;

	serve_add_error(&s, e);
	r = serve_answer(status, &s, &ignored);
	streams_deinit(&s);
	return r < 0 ? FAILURE_WORKER : status;
}

/* The words of a command, its name first. */
static int serve_set_args(
	struct streams *s, const struct loaded *l, const char *args, size_t len, struct arena *a)
{
	int n = skill_call_count_args(args, len);
	const char **words = n < 0 ? NULL : arena_calloc(a, (size_t)n + 1, sizeof(*words));
	size_t at = 0;

	if (!words)
		return n < 0 ? n : -ENOMEM;
	words[0] = l->options->n_args > 0 ? l->options->args[0] : "";
	for (int i = 1; i <= n; i++) {
		words[i] = args + at;
		at += strlen(args + at) + 1;
	}
	s->args = words;
	s->n_args = (size_t)n + 1;
	return 0;
}

static int serve_call(struct loaded *l, const char *input, size_t len, struct error *e)
{
	struct streams *s = l->streams;

	s->input = input;
	s->input_len = len;
	if (l->is_command)
		return instance_run_command(l, e);
	if (len == 0) {
		input = "{}";
		len = 2;
	}
	return input_check(input, len, "the input", e) < 0
		       ? FAILURE_WORKER
		       : skill_call_export(l, input, len, &s->answer, e);
}

/* 1: there may be more. */
static int serve_one(struct loaded *l)
{
	auto_arena a = { 0 };
	struct streams s = { .is_kept = true };
	struct skill_call head;
	struct error e = { 0 };
	char *bytes = NULL;
	int r = serve_read(&head, sizeof(head));

	if (r <= 0)
		return r;
	if (!skill_call_is_valid(&head))
		return -EPROTO;
	bytes = malloc((size_t)head.args_len + head.input_len + 1);
	if (!bytes)
		return -ENOMEM;
	r = serve_read(bytes, (size_t)head.args_len + head.input_len);
	r = r == 1 ? serve_set_args(&s, l, bytes, head.args_len, &a) : -EPROTO;
	if (r == 0) {
		int status;

		*l->streams = s;
		deadline_begin(head.time_ms);
		status = serve_call(l, bytes + head.args_len, head.input_len, &e);
		deadline_end();
		/* Without a sentence it is the status that a command chose. */
		if (status == FAILURE_TIME && e.text[0])
			l->streams->flags |= SKILL_ANSWER_TIMED_OUT;
		/* Without a broker there are no sockets, either. */
		(void)host_call_end(l->imports.host);
		serve_add_error(l->streams, &e);
		/* What a call that failed had to say is said by its sentence. */
		if (!l->is_command && status != 0 && status != FAILURE_REPORTED)
			buffer_clear(&l->streams->answer);
		r = serve_answer(status, l->streams, &e);
		streams_deinit(l->streams);
		*l->streams = (struct streams){ .is_kept = true };
	}
	free(bytes);
	return r < 0 ? r : 1;
}

int serve_calls(struct loaded *l)
{
	int r = deadline_open(l->engine);

	if (r < 0)
		return FAILURE_WORKER;
	do
		r = serve_one(l);
	while (r == 1);
	return r < 0 ? FAILURE_WORKER : 0;
}
