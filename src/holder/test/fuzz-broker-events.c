/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames FRAME_EVENT of a compromised broker, as the holder of its session records them. An input
 * is a list of frames: descriptors, id, two bytes of length, body. A frame that says nothing is
 * refused. What is recorded has the session of the holder's log and a number of that log, whatever
 * the broker wrote, and each frame adds one record for an event and one for missing ones at most.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "holder/record.h"
#include "wire/event.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES_MAX = 32, HEAD_BYTES = 4, RING_BYTES = 64 << 10 };
#define SESSION "0123456789abcdef"

struct fuzz_log {
	unsigned n;
	uint64_t missing, last;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_tell(void *context, const struct audit_event *e)
{
	struct fuzz_log *log = context;
	auto_buffer body = { 0 };
	struct audit_event again;
	const bool is_missing = e->action == AUDIT_STORE && strcmp(e->program, "corral") == 0 &&
				strcmp(e->target, "broker") == 0;

	require(strcmp(e->session, SESSION) == 0 && strcmp(e->user, "u") == 0 &&
		strcmp(e->sandbox, "s") == 0);
	require(e->sequence == log->last + 1 && e->count > 0);
	log->last = e->sequence;
	log->n++;
	log->missing += is_missing ? e->count : 0;
	audit_event_encode(e, &body);
	require(!body.failed && audit_event_decode(&again, body.data, body.len) == 0);
}

/* What a holder does with it. */
static void fuzz_take(struct audit_trail *t, const struct frame *f, struct fuzz_log *log)
{
	const struct holder_record to = { .trail = t, .program = "x" };
	const struct fuzz_log before = *log;
	int r = event_check(f);

	require(r == 0 || r == -EPROTO);
	require(r < 0 || f->len > 0 || f->id > 0);
	if (r < 0)
		return;
	r = holder_record_call(&to, f->body, f->len, f->id);
	require(r == 0 || (r == -EBADMSG && f->len > 0));
	require(log->n == before.n + (f->id > 0) + (f->len > 0 && r == 0));
	require(log->missing - before.missing >= f->id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frame f;
	struct fuzz_log log = { 0 };
	const struct audit_trail_options o = { .ring_bytes = RING_BYTES,
		.session = SESSION,
		.user = "u",
		.sandbox = "s",
		.tell = fuzz_tell,
		.context = &log };
	struct audit_trail *t = NULL;

	require(audit_trail_new(&t, &o, NULL) == 0);
	for (int i = 0; i < FRAMES_MAX && size >= HEAD_BYTES; i++) {
		size_t len = (size_t)data[2] << 8 | data[3];

		len = len < size - HEAD_BYTES ? len : size - HEAD_BYTES;
		len = len < sizeof(f.buffer) ? len : sizeof(f.buffer);
		f.type = FRAME_EVENT;
		f.n_fds = data[0] % (FRAME_FDS_MAX + 1);
		f.id = data[1];
		f.len = len;
		f.body = memcpy(f.buffer, data + HEAD_BYTES, len);
		fuzz_take(t, &f, &log);
		data += HEAD_BYTES + len;
		size -= HEAD_BYTES + len;
	}
	require(audit_trail_close(t, NULL) == 0);
	return 0;
}
