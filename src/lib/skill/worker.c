/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/skill/worker.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "event/wait.h"
#include "lib/api/handles.h"
#include "lib/process/process.h"
#include "wire/skill-call.h"

/* GRACE_MS: beyond the time of a call, for a worker that is stopping its module. */
enum {
	READY_MS = 60000,
	END_MS = 5000,
	GRACE_MS = 500,
	PIECE = 16 << 10,
	TOLD_MAX = 400,
	MODULE_STATUS = 126
};

/* Bytes */

/* Until the descriptor can be used, or its other end is gone. */
static int worker_poll(int fd, short events, uint64_t end)
{
	const int n = wait_for_one(fd, events, end);

	return n > 0 ? 0 : n < 0 ? n : -ETIMEDOUT;
}

static int worker_write(int fd, const void *data, size_t len, uint64_t end)
{
	const char *at = data;

	while (len > 0) {
		ssize_t n = input_write_quietly(fd, at, len);
		int r = 0;

		if (n > 0) {
			at += n;
			len -= (size_t)n;
		} else if (n < 0 && errno == EAGAIN) {
			r = worker_poll(fd, POLLOUT, end);
		} else if (n < 0 && errno != EINTR) {
			r = errno == EPIPE ? -ECONNRESET : -errno;
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Reads until there are `want` bytes, or some more. -ECONNRESET: it ended. */
static int worker_read(int fd, size_t want, struct buffer *to, uint64_t end)
{
	char piece[PIECE];

	while (to->len < want) {
		int r = worker_poll(fd, POLLIN, end);
		ssize_t n = r < 0 ? 0 : read(fd, piece, sizeof(piece));

		if (r < 0)
			return r;
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		buffer_add(to, piece, n > 0 ? (size_t)n : 0);
		if (to->failed)
			return -ENOMEM;
	}
	return 0;
}

/* An answer with its bytes behind the head; -EPROTO: not what a worker says. */
static int worker_read_answer(int fd, struct buffer *to, struct skill_answer *ret, uint64_t end)
{
	size_t size;
	int r = worker_read(fd, sizeof(*ret), to, end);

	if (r < 0 || !to->data)
		return r;
	memcpy(ret, to->data, sizeof(*ret));
	if (!skill_answer_is_valid(ret))
		return -EPROTO;
	size = sizeof(*ret) + ret->answer_len + ret->printed_len;
	r = worker_read(fd, size, to, end);
	return r == 0 && to->len != size ? -EPROTO : r;
}

/* Life */

/* What it says on its standard error, if anything, without what a terminal would obey. */
static void worker_add_last_words(const struct skill_worker *w, struct buffer *to)
{
	char text[TOLD_MAX];
	ssize_t n = read(w->err, text, sizeof(text));

	while (n > 0 && text[n - 1] == '\n')
		n--;
	if (n > 0) {
		buffer_adds(to, ": ");
		buffer_add_visible(to, text, (size_t)n);
	}
}

/* It could not load the module, and says why. */
static int worker_refusal(
	const struct skill_answer *head, const struct buffer *answer, struct error *e)
{
	static const char name[] = "corral: ";
	const char *text = answer->data + sizeof(*head) + head->answer_len;
	size_t len = head->printed_len;
	auto_buffer shown = { 0 };

	if (len >= sizeof(name) - 1 && memcmp(text, name, sizeof(name) - 1) == 0) {
		text += sizeof(name) - 1;
		len -= sizeof(name) - 1;
	}
	while (len > 0 && text[len - 1] == '\n')
		len--;
	buffer_add_visible(&shown, text, len);
	return error_set(e, head->status == MODULE_STATUS ? -ENOEXEC : -EIO, NULL, "%s",
		buffer_text(&shown));
}

static int worker_await_module(struct skill_worker *w, struct error *e)
{
	auto_buffer answer = { 0 }, words = { 0 };
	struct skill_answer head = { 0 };
	int r = worker_read_answer(
		w->out, &answer, &head, (int64_t)clock_ms(CLOCK_MONOTONIC) + READY_MS);

	if (r == 0)
		return head.status == 0 ? 0 : worker_refusal(&head, &answer, e);
	worker_add_last_words(w, &words);
	return error_set(e, r, NULL, "the worker of the skill did not start: %s%s", strerror(-r),
		buffer_text(&words));
}

static int worker_start(struct skill_worker *w, struct corral_sandbox *s, struct corral_error **e)
{
	struct corral_call call = CORRAL_CALL;
	struct process_command command = { 0 };
	auto_arena a = { 0 };
	struct error error = { 0 };
	struct sandbox_setup *setup = sandbox_hold_setup(s);
	int r = process_worker_command(setup, NULL, NULL, true, &a, &command, &error);

	sandbox_setup_unref(setup);
	if (r < 0)
		return handles_error(e, &error, r);
	call.flags = CORRAL_CALL_INPUT | CORRAL_CALL_RAW;
	r = process_start(&w->process, s, &command, &call, e);
	if (r < 0)
		return r;
	w->in = corral_process_take_fd(w->process, CORRAL_STDIN);
	w->out = corral_process_take_fd(w->process, CORRAL_STDOUT);
	w->err = corral_process_take_fd(w->process, CORRAL_STDERR);
	if (w->in < 0 || w->out < 0 || w->err < 0)
		r = error_set(&error, -EBADF, NULL, "the worker of the skill has no pipes");
	else
		r = worker_await_module(w, &error);
	return r < 0 ? handles_error(e, &error, r) : 0;
}

int skill_worker_new(struct skill_worker **ret, struct corral_sandbox *s, struct corral_error **e)
{
	struct skill_worker *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	w->in = w->out = w->err = -1;
	r = worker_start(w, s, e);
	if (r < 0)
		skill_worker_free(w);
	else
		*ret = w;
	return r;
}

void skill_worker_free(struct skill_worker *w)
{
	if (!w)
		return;
	fd_close(&w->in);
	fd_close(&w->out);
	fd_close(&w->err);
	if (w->process) {
		(void)corral_process_kill(w->process);
		corral_process_free(w->process);
	}
	free(w);
}

bool skill_worker_is_idle(const struct skill_worker *w)
{
	struct pollfd p = { .fd = w->out, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

/* Calls */

/* For the worker; what is longer than it can say ends in the library alone. */
static uint32_t worker_time_ms(int64_t timeout_ms)
{
	if (timeout_ms < 0 || timeout_ms > UINT32_MAX)
		return 0;
	return timeout_ms > 0 ? (uint32_t)timeout_ms : 1;
}

static int worker_send(struct skill_worker *w, const struct corral_skill_request *request,
	int64_t timeout_ms, uint64_t end)
{
	struct skill_call head = { .input_len = (uint32_t)request->input_len,
		.time_ms = worker_time_ms(timeout_ms) };
	auto_buffer first = { 0 }, args = { 0 };
	int r;

	for (size_t i = 0; request->args && request->args[i]; i++)
		buffer_add(&args, request->args[i], strlen(request->args[i]) + 1);
	head.args_len = (uint32_t)args.len;
	if (args.len > SKILL_CALL_ARGS_MAX)
		return -E2BIG;
	buffer_add(&first, &head, sizeof(head));
	buffer_add(&first, args.data, args.len);
	/* A short one goes in one piece. */
	if (request->input_len <= PIECE)
		buffer_add(&first, request->input, request->input_len);
	if (first.failed || args.failed)
		return -ENOMEM;
	r = worker_write(w->in, first.data, first.len, end);
	return r == 0 && request->input_len > PIECE
		       ? worker_write(w->in, request->input, request->input_len, end)
		       : r;
}

static int worker_fill(
	struct corral_result *r, const struct skill_answer *head, const struct buffer *answer)
{
	const char *at = answer->data + sizeof(*head);

	r->report.exit_code = head->status;
	buffer_add(&r->out.kept, at, head->answer_len);
	buffer_add(&r->err.kept, at + head->answer_len, head->printed_len);
	r->out.bytes = head->answer_len;
	r->err.bytes = head->printed_len;
	r->out.truncated = head->flags & SKILL_ANSWER_CUT;
	r->err.truncated = head->flags & SKILL_ANSWER_PRINTED_CUT;
	if (head->flags & SKILL_ANSWER_TIMED_OUT)
		r->report.flags = REPORT_TIMED_OUT;
	return r->out.kept.failed || r->err.kept.failed ? -ENOMEM : 1;
}

/* It ended during the call: how is known by the warden. */
static int worker_fill_end(struct skill_worker *w, struct corral_result *r, struct error *e)
{
	struct corral_result *end = NULL;
	auto_buffer words = { 0 };

	if (corral_process_wait(w->process, END_MS, &end, NULL) < 0)
		return error_set(e, -ECONNRESET, NULL, "the worker of the skill ended");
	r->report = end->report;
	corral_result_free(end);
	worker_add_last_words(w, &words);
	buffer_printf(&r->err.kept, "corral: the worker of the skill ended in the call%s\n",
		buffer_text(&words));
	r->err.bytes = r->err.kept.len;
	return r->err.kept.failed ? -ENOMEM : 0;
}

static int worker_fill_time(struct skill_worker *w, struct corral_result *r)
{
	/* Before the caller hears of it, so that nothing runs on behind its back. */
	(void)corral_process_kill(w->process);
	(void)corral_process_wait(w->process, END_MS, NULL, NULL);
	r->report.flags = REPORT_TIMED_OUT;
	buffer_adds(&r->err.kept, "corral: the module was stopped: it timed out\n");
	r->err.bytes = r->err.kept.len;
	return r->err.kept.failed ? -ENOMEM : 0;
}

int skill_worker_call(struct skill_worker *w, const struct corral_skill_request *request,
	int64_t timeout_ms, struct corral_result **ret, struct error *e)
{
	const uint64_t begin = clock_ns(CLOCK_MONOTONIC);
	const uint64_t end =
		timeout_ms < 0 ? WAIT_FOR_EVER : begin / 1000000 + (uint64_t)timeout_ms + GRACE_MS;
	struct corral_result *result = result_new(w->process->setup->base->backend);
	auto_buffer answer = { 0 };
	struct skill_answer head = { 0 };
	int r = result ? worker_send(w, request, timeout_ms, end) : -ENOMEM;

	if (r == 0)
		r = worker_read_answer(w->out, &answer, &head, end);
	if (r == 0)
		r = worker_fill(result, &head, &answer);
	else if (r == -ECONNRESET)
		r = worker_fill_end(w, result, e);
	else if (r == -ETIMEDOUT)
		r = worker_fill_time(w, result);
	if (r < 0) {
		corral_result_free(result);
		if (!e->text[0])
			(void)error_set(e, r, NULL, "the call of the skill failed: %s",
				r == -EPROTO ? "its worker sent an invalid answer" : strerror(-r));
		return r;
	}
	result->report.wall_us = (clock_ns(CLOCK_MONOTONIC) - begin) / 1000;
	*ret = result;
	return r;
}
