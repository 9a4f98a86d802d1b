/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames of a compromised daemon, as a run reads them. An input is a list of steps: type, id, two
 * bytes of length, body; a type from FUZZ_TELL on makes the run emit events instead. Its third
 * byte is their weight. No more than HOLDER_JOIN_KEPT events are kept, and each event is
 * acknowledged, forgotten, or kept.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "holder/join.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* So many events that some are forgotten, and no more: they take most of the time. */
enum { STEPS_MAX = 64, BODY_MAX = 4096, FUZZ_TELL = 0xf0, TOLD_MAX = HOLDER_JOIN_KEPT + 256 };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_order(
	void *context, enum frame_type type, uint64_t id, const void *body, size_t len)
{
	auto_buffer reply = { 0 };

	(void)type, (void)body, (void)len;
	holder_join_send(context, FRAME_JOIN_REPLY, id, &reply);
}

/* No daemon but this one is found, and nothing is left on disk. */
static void fuzz_begin(struct holder_join *j, int *ret_peer)
{
	int pair[2];

	require(setenv("XDG_RUNTIME_DIR", "/nonexistent", 1) == 0 && frame_pair(pair) == 0);
	require(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 &&
		fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
	*j = HOLDER_JOIN_NONE;
	j->fd = pair[0];
	j->is_on = j->is_written = true;
	j->kept = calloc(HOLDER_JOIN_KEPT, sizeof(*j->kept));
	j->frame = calloc(1, sizeof(*j->frame));
	j->handler = (struct holder_join_handler){ .order = fuzz_order, .context = j };
	require(j->kept && j->frame);
	*ret_peer = pair[1];
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

static uint64_t fuzz_tell(struct holder_join *j, uint64_t told, const uint8_t **data, size_t *size)
{
	static const enum audit_action actions[] = { AUDIT_COMMAND_START, AUDIT_FS_READ,
		AUDIT_FS_WRITE };
	const struct audit_event e = { .action = actions[(*data)[2] % ROWS(actions)],
		.session = "0123456789abcdef",
		.user = "x",
		.sandbox = "x",
		.program = "x",
		.target = "x",
		.rule = "",
		.reason = "",
		.count = 1 };
	uint64_t n = (uint64_t)(*data)[1] << ((*data)[0] & 3);

	n = n < TOLD_MAX - told ? n : TOLD_MAX - told;
	for (uint64_t i = 0; i < n; i++)
		holder_join_tell(j, &e);
	*data += 4;
	*size -= 4;
	return n;
}

static uint64_t fuzz_events(const struct holder_join *j)
{
	uint64_t n = 0;

	for (uint64_t i = j->first; i < j->next; i++)
		n += j->kept[i % HOLDER_JOIN_KEPT].type == FRAME_JOIN_EVENT;
	return n;
}

/* As the frames have it. */
static uint64_t fuzz_forgotten(const struct holder_join *j)
{
	uint64_t n = 0;

	for (uint64_t i = j->first; i < j->next; i++)
		n += holder_weights_sum(&j->kept[i % HOLDER_JOIN_KEPT].forgotten);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct holder_join j;
	struct frame f = { 0 };
	bool is_any_lost = false;
	uint64_t told = 0;
	int peer;

	fuzz_begin(&j, &peer);
	for (int i = 0; i < STEPS_MAX && size >= 4; i++) {
		if (data[0] >= FUZZ_TELL)
			told += fuzz_tell(&j, told, &data, &size);
		else
			fuzz_send(peer, &data, &size);
		(void)holder_join_dispatch(&j, true);
		while (frame_receive(peer, &f) == 1)
			;
		require(j.first <= j.sent && j.sent <= j.next &&
			j.next - j.first <= HOLDER_JOIN_KEPT);
		/* An event that says how many were lost is one more. */
		is_any_lost = is_any_lost || holder_weights_sum(&j.lost) > 0;
		require(j.fd < 0 || is_any_lost ||
			j.acked + holder_weights_sum(&j.forgotten) + fuzz_events(&j) == told);
		require(holder_weights_sum(&j.forgotten) == fuzz_forgotten(&j));
	}
	/* holder_join_close() would wait for JOINED. */
	if (!j.is_known)
		fd_close(&j.fd);
	(void)holder_join_close(&j, NULL);
	frame_deinit(&f);
	fd_close(&peer);
	return 0;
}
