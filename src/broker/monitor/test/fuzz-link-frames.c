/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a back end that was taken over, as the monitor reads them. An input is a list of
 * frames: type, id, two bytes of length, body; the first byte says whether the back end was ready.
 * Each call ends once at most, with values of its row or a refusal, and none after the link has
 * ended.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "broker/service/link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES_MAX = 32, BODY_MAX = 4096 };

/* Behind them comes a probe. */
static const enum method_id fuzz_methods[] = { METHOD_REMINDERS_LIST, METHOD_CALENDAR_GET,
	METHOD_NOTIFICATIONS_SEND, METHOD_BROWSER_TEXT, METHOD_BROWSER_CLOSE, METHOD_EMAIL_SEND };

struct fuzz_call {
	struct link_call call;
	unsigned n_ends;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_answered(struct link_call *c, const struct values *results)
{
	(void)results;
	require(((struct fuzz_call *)(void *)c)->n_ends++ == 0);
}

static void fuzz_refused(struct link_call *c, const struct rpc_refusal *why)
{
	require(why->message && why->message[0]);
	require(((struct fuzz_call *)(void *)c)->n_ends++ == 0);
}

/* A process that ends: it is killed and waited for all the same. */
static void fuzz_attach(struct service_link *l, int *ret_peer)
{
	static char program[] = "/bin/true";
	static char *const argv[] = { program, NULL };
	struct child child = CHILD_NONE;
	int pair[2];

	require(frame_pair(pair) == 0);
	child.socket = pair[0];
	require(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 &&
		fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
	*ret_peer = pair[1];
	/* Not fork(): copying what AddressSanitizer has mapped takes 30 ms. */
	require(posix_spawn(&child.pid, argv[0], NULL, NULL, argv, NULL) == 0);
	require(service_link_attach(l, &child) == 0);
}

static void fuzz_send(int peer, const uint8_t **data, size_t *size)
{
	const uint8_t *at = *data;
	size_t len = (size_t)at[2] << 8 | at[3];
	const enum frame_type type = (enum frame_type)(at[0] % FRAME_TYPE_COUNT);

	len = len < *size - 4 ? len : *size - 4;
	len = len < BODY_MAX ? len : BODY_MAX;
	if (type != FRAME_NONE)
		(void)frame_send(peer, type, at[1], at + 4, len, NULL, 0);
	*data += 4 + len;
	*size -= 4 + len;
}

static void fuzz_calls(struct service_link *l, struct fuzz_call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		calls[i].call.method =
			i < ROWS(fuzz_methods) ? &method_rows[fuzz_methods[i]] : NULL;
		calls[i].call.timeout_ms = 60000;
		calls[i].call.answered = fuzz_answered;
		calls[i].call.refused = fuzz_refused;
		require(service_link_call(l, &calls[i].call) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct service_backend backend = { .name = "fuzz", .program = "corral-fuzz" };
	struct fuzz_call calls[ROWS(fuzz_methods) + 1] = { 0 };
	struct service_link l;
	struct loop *loop = NULL;
	int peer = -1;

	if (size < 1 || loop_new(&loop) < 0)
		return 0;
	service_link_init(&l, &backend, loop);
	fuzz_attach(&l, &peer);
	if (*data & 1)
		(void)frame_send(peer, FRAME_READY, 0, NULL, 0, NULL, 0);
	data++, size--;
	fuzz_calls(&l, calls, ROWS(calls));
	(void)loop_turn(loop, 0);
	(void)loop_turn(loop, 0);
	for (int i = 0; i < FRAMES_MAX && size >= 4 && service_link_runs(&l); i++) {
		fuzz_send(peer, &data, &size);
		(void)loop_turn(loop, 0);
		/* One is given up while others are answered. */
		if (i == 2 && calls[0].n_ends == 0)
			service_link_cancel(&calls[0].call);
	}
	service_link_deinit(&l);
	fd_close(&peer);
	loop_free(loop);
	return 0;
}
