/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames for a holder (holder/serve.h): of the program, of corrald, and of wardens that may be
 * compromised. An input is a list of steps: who sends, type, id, two bytes of length, body. What
 * comes with a descriptor gets one. A warden gets nothing but grants, answers and ends; no grant
 * before one was declared possible and ordered; the program gets one HOLD_NEWS until it pulls; and
 * no descriptor is left.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "holder/serve.h"
#include "wire/frame.h"
#include "wire/hold.h"
#include "wire/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEPS_MAX = 64, TURNS = 4, WARDENS = 4, STEP_HEAD = 5 };
enum { BY_PROGRAM, BY_CORRALD, BY_WARDEN, BY_COUNT = BY_WARDEN + WARDENS };

struct stage {
	struct holder_process *holder;
	int control;            /* our end of it */
	int ends[BY_COUNT];     /* ours, by who sends there */
	int last;               /* warden */
	bool is_open, is_order; /* something may be granted; corrald ordered something */
	bool has_news, is_over;
	struct frame f;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int fuzz_pair(int *ret_other)
{
	int pair[2];

	require(frame_pair(pair) == 0);
	require(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 &&
		fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
	*ret_other = pair[1];
	return pair[0];
}

/* The other end is for the holder. */
static int fuzz_end(struct stage *s, int who)
{
	int other;

	fd_close(&s->ends[who]);
	s->ends[who] = fuzz_pair(&other);
	return other;
}

static void fuzz_send(struct stage *s, int by, const uint8_t *head, size_t len)
{
	const enum frame_type type = (enum frame_type)(head[1] % FRAME_TYPE_COUNT);
	const uint64_t id = (uint64_t)(head[2] >> 4) << 32 | (head[2] & 15);
	struct hold_declare d;
	auto_fd fd = -1;

	if (type == FRAME_NONE || s->ends[by] < 0)
		return;
	if (by == BY_PROGRAM && type == FRAME_HOLD_SESSION)
		fd = fuzz_end(s, BY_WARDEN + s->last++ % WARDENS);
	else if (by == BY_PROGRAM && type == FRAME_HOLD_CONNECTION)
		fd = fuzz_end(s, BY_CORRALD);
	else if (head[0] & 0x80)
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void)frame_send(s->ends[by], type, id, head + STEP_HEAD, len, &fd, fd >= 0);
	if (by == BY_PROGRAM && type == FRAME_HOLD_DECLARE &&
		hold_declare_decode(&d, head + STEP_HEAD, len) == 0)
		s->is_open = s->is_open || d.text[0];
	s->is_order =
		s->is_order || (by == BY_CORRALD && (type == FRAME_GRANT || type == FRAME_ANSWER));
}

static void fuzz_hear_warden(struct stage *s, int by)
{
	static struct live_grant grants[QUESTION_GRANTS_MAX];
	struct answer a;
	int n = 0;

	while (s->ends[by] >= 0 && frame_receive(s->ends[by], &s->f) == 1) {
		require(s->f.n_fds == 0);
		if (s->f.type == FRAME_GRANTS)
			n = live_grants_decode(grants, s->f.body, s->f.len);
		else if (s->f.type == FRAME_ANSWER)
			require(answer_decode(&a, s->f.body, s->f.len) == 0);
		else
			require(s->f.type == FRAME_STOP && s->f.id == 0 && s->f.len == 0);
		require(n == 0 || (n > 0 && s->is_open && s->is_order));
	}
}

static void fuzz_hear(struct stage *s)
{
	while (frame_receive(s->control, &s->f) == 1) {
		require(s->f.type != FRAME_HOLD_NEWS || !s->has_news);
		if (s->f.type == FRAME_HOLD_NEWS)
			s->has_news = true;
		/* What is sent while it pulls is part of the pull, or follows it. */
		if (s->f.type == FRAME_HOLD_PULL)
			s->has_news = false;
	}
	for (int i = BY_WARDEN; i < BY_COUNT; i++)
		fuzz_hear_warden(s, i);
	while (s->ends[BY_CORRALD] >= 0 && frame_receive(s->ends[BY_CORRALD], &s->f) == 1)
		;
}

static void fuzz_run(struct stage *s, const uint8_t *data, size_t size)
{
	for (int i = 0; i < STEPS_MAX && size >= STEP_HEAD && !s->is_over; i++) {
		size_t len = (size_t)data[3] << 8 | data[4];

		len = len < size - STEP_HEAD ? len : size - STEP_HEAD;
		fuzz_send(s, (data[0] & 0x7f) % BY_COUNT, data, len);
		for (int k = 0; k < TURNS && !s->is_over; k++)
			s->is_over = serve_turn(s->holder, 0) != 1;
		fuzz_hear(s);
		data += STEP_HEAD + len;
		size -= STEP_HEAD + len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stage s;
	int before = dup(STDIN_FILENO), other, after;

	require(before >= 0 && close(before) == 0);
	s = (struct stage){ 0 };
	for (int i = 0; i < BY_COUNT; i++)
		s.ends[i] = -1;
	s.control = s.ends[BY_PROGRAM] = fuzz_pair(&other);
	require(serve_new(&s.holder, other, -1) == 0);
	fuzz_run(&s, data, size);
	serve_free(s.holder);
	frame_deinit(&s.f);
	fd_close(&other);
	for (int i = 0; i < BY_COUNT; i++)
		fd_close(&s.ends[i]);
	after = dup(STDIN_FILENO);
	require(after == before && close(after) == 0);
	return 0;
}
