/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses, the rest is a body, or a whole packet. A body has one form only, so
 * whatever is accepted is written again as exactly the bytes it came from. What is not accepted
 * leaves the output untouched.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/buffer.h"
#include "wire/broker.h"
#include "wire/configure.h"
#include "wire/frame.h"
#include "wire/hold.h"
#include "wire/lend.h"
#include "wire/owner.h"
#include "wire/record.h"
#include "wire/report.h"
#include "wire/sockets.h"
#include "wire/start.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_untouched(const void *object, size_t size)
{
	const unsigned char *p = object;

	for (size_t i = 0; i < size; i++) {
		if (p[i] != 0x5a)
			return false;
	}
	return true;
}

/* What a decoder returned, and the object that it was given filled with 0x5a. */
static bool is_read(int r, const void *object, size_t size)
{
	require(r == 0 || (r == -EPROTO && is_untouched(object, size)));
	return r == 0;
}

static void require_same(const struct buffer *again, const uint8_t *data, size_t size)
{
	require(again->len == size && memcmp(again->data, data, size) == 0);
}

static void fuzz_start(const uint8_t *data, size_t size)
{
	auto_arena a = { 0 };
	auto_buffer again = { 0 };
	struct start s;

	memset(&s, 0x5a, sizeof(s));
	if (!is_read(start_decode(&s, data, size, &a), &s, sizeof(s)))
		return;
	require(s.n_argv > 0 && s.n_argv + s.n_env <= START_WORDS_MAX);
	require(!s.argv[s.n_argv] && !s.env[s.n_env]);
	require(start_encode(&s, &again) == 0);
	require_same(&again, data, size);
}

static void fuzz_configure(const uint8_t *data, size_t size)
{
	auto_buffer again = { 0 };
	struct configure c;

	memset(&c, 0x5a, sizeof(c));
	if (!is_read(configure_decode(&c, data, size), &c, sizeof(c)))
		return;
	require(configure_encode(&c, &again) == 0);
	require_same(&again, data, size);
}

static void fuzz_hold(const uint8_t *data, size_t size)
{
	auto_buffer again = { 0 };
	struct hold_declare d;

	memset(&d, 0x5a, sizeof(d));
	if (!is_read(hold_declare_decode(&d, data, size), &d, sizeof(d)))
		return;
	require(hold_declare_encode(&d, &again) == 0);
	require_same(&again, data, size);
}

static void fuzz_refusal(const uint8_t *data, size_t size)
{
	auto_buffer again = { 0 };
	struct refusal r;

	memset(&r, 0x5a, sizeof(r));
	if (!is_read(refusal_decode(&r, data, size), &r, sizeof(r)))
		return;
	require(r.error > 0);
	require(refusal_encode(&r, &again) == 0);
	require_same(&again, data, size);
}

static void fuzz_report(const uint8_t *data, size_t size)
{
	struct report r;

	memset(&r, 0x5a, sizeof(r));
	if (is_read(report_decode(&r, data, size), &r, sizeof(r)))
		require(size == sizeof(r) && memcmp(&r, data, size) == 0);
}

static void fuzz_ready(const uint8_t *data, size_t size)
{
	struct ready r;

	memset(&r, 0x5a, sizeof(r));
	if (is_read(ready_decode(&r, data, size), &r, sizeof(r)))
		require(r.tier > 0 && size == sizeof(r) && memcmp(&r, data, size) == 0);
}

static void fuzz_record(const uint8_t *data, size_t size)
{
	auto_buffer again = { 0 };
	struct record r;

	memset(&r, 0x5a, sizeof(r));
	if (!is_read(record_decode(&r, data, size), &r, sizeof(r)))
		return;
	require(r.kind <= RECORD_CLOSED && r.count > 0);
	require(record_encode(&r, &again) == 0);
	require_same(&again, data, size);
}

static void fuzz_change(const uint8_t *data, size_t size)
{
	auto_buffer again = { 0 };
	struct change c;

	memset(&c, 0x5a, sizeof(c));
	if (!is_read(change_decode(&c, data, size), &c, sizeof(c)))
		return;
	require(c.n_ports <= CHANGE_PORTS_MAX && c.n_doors <= CHANGE_DOORS_MAX && c.text[0]);
	require(change_encode(&c, &again) == 0);
	require_same(&again, data, size);
}

static void fuzz_broker(const uint8_t *data, size_t size)
{
	auto_arena a = { 0 };
	auto_buffer again = { 0 };
	struct broker_setup s;

	memset(&s, 0x5a, sizeof(s));
	if (!is_read(broker_setup_decode(&s, data, size, &a), &s, sizeof(s)))
		return;
	require(!s.layers[s.n_layers] && !s.environment[s.n_environment] &&
		!s.private_places[s.n_private]);
	require(broker_setup_encode(&s, &again) == 0);
	require_same(&again, data, size);
}

/* The first byte is how many descriptors came along. */
static void fuzz_sockets(const uint8_t *data, size_t size)
{
	static struct frame f;
	struct sockets s;

	if (size == 0 || size - 1 > sizeof(f.buffer))
		return;
	f.type = FRAME_SOCKETS;
	f.n_fds = data[0] % (FRAME_FDS_MAX + 1);
	f.len = size - 1;
	f.body = memcpy(f.buffer, data + 1, size - 1);
	memset(&s, 0x5a, sizeof(s));
	if (!is_read(sockets_decode(&s, &f), &s, sizeof(s)))
		return;
	require(s.kind < SOCKETS_KIND_COUNT && s.n == f.n_fds && s.n > 0);
	require(memcmp(&s, f.body, f.len) == 0);
}

/* Sends a packet; sends what came of it again, and compares the two packets. */
static void fuzz_frame(const uint8_t *data, size_t size)
{
	static uint8_t again[2 * FRAME_BODY_MAX];
	static struct frame f;
	static int pair[2] = { -1, -1 };
	int r;

	if (pair[0] < 0) {
		require(frame_pair(pair) == 0);
		require(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0);
		require(fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
	}
	if (size > sizeof(again))
		return;
	require(send(pair[0], data, size, 0) == (ssize_t)size);
	r = frame_receive(pair[1], &f);
	require(size > 0 ? r == 1 || r == -EPROTO || r == -EPROTONOSUPPORT : r == 0);
	if (r == -EPROTONOSUPPORT) {
		/* All but an answer are answered. */
		require(f.peer_protocol != FRAME_PROTOCOL &&
			strlen(f.peer_build) < FRAME_BUILD_MAX);
		require((recv(pair[0], again, sizeof(again), 0) < 0) ==
			(data[4] == 0 && data[5] == 0));
	}
	if (r != 1) {
		require(f.type == FRAME_NONE && !f.body && f.n_fds == 0);
		return;
	}
	require(frame_send(pair[1], f.type, f.id, f.body, f.len, NULL, 0) == 0);
	require(recv(pair[0], again, sizeof(again), 0) == (ssize_t)size);
	require(memcmp(again, data, size) == 0);
}

/* Who has a socket: a question, an answer of an init, and the name alone. */
static void fuzz_owner_question(const uint8_t *data, size_t size)
{
	struct owner_question q;

	memset(&q, 0x5a, sizeof(q));
	if (!is_read(owner_question_decode(&q, data, size), &q, sizeof(q)))
		return;
	require(q.id != 0 && q.port > 0 && q.port <= UINT16_MAX && q.is_udp <= 1);
	require(q.wants_program <= 1 && !q.wants_program == !q.peer_port);
	require(size == sizeof(q) && memcmp(&q, data, size) == 0);
}

static void require_name(const char name[OWNER_NAME_BYTES], size_t len)
{
	require(strnlen(name, OWNER_NAME_BYTES) == len && len < OWNER_NAME_BYTES);
	for (size_t i = 0; i < len; i++)
		require(name[i] > ' ' && name[i] < 127);
}

static void fuzz_owner_answer(const uint8_t *data, size_t size)
{
	struct owner_answer a;

	memset(&a, 0x5a, sizeof(a));
	if (!is_read(owner_answer_decode(&a, data, size), &a, sizeof(a)))
		return;
	require_name(a.name, strnlen(a.name, sizeof(a.name)));
	require(a.id != 0 && size == sizeof(a) && memcmp(&a, data, size) == 0);
}

static void fuzz_owner_program(const uint8_t *data, size_t size)
{
	struct owner_program p;

	memset(&p, 0x5a, sizeof(p));
	if (!is_read(owner_program_decode(&p, data, size), &p, sizeof(p)))
		return;
	require_name(p.name, strnlen(p.name, sizeof(p.name)));
	require(strnlen(p.text, sizeof(p.text)) < sizeof(p.text));
	require(p.found != OWNER_FOUND || p.text[0] == '/');
	require(p.id != 0 && size == sizeof(p) && memcmp(&p, data, size) == 0);
}

static void fuzz_owner_name(const uint8_t *data, size_t size)
{
	char name[OWNER_NAME_BYTES];

	memset(name, 0x5a, sizeof(name));
	if (!is_read(owner_name_decode(name, data, size), name, sizeof(name)))
		return;
	require_name(name, size);
	require(size == 0 || memcmp(name, data, size) == 0);
}

/* Secrets that are lent. */
static void fuzz_lend_login(const uint8_t *data, size_t size)
{
	auto_buffer again = { 0 };
	struct lend_tokens tokens;
	struct lend_consent consent;

	if (lend_tokens_decode(&tokens, data, size) == 0) {
		require(*tokens.login && lend_tokens_encode(&tokens, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
	if (lend_consent_decode(&consent, data, size) == 0) {
		require(*consent.place && lend_consent_encode(&consent, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
}

static void fuzz_lend(const uint8_t *data, size_t size)
{
	static struct lend_grant grants[LEND_MAX];
	static struct lend_ready ready;
	auto_buffer again = { 0 };
	struct lend_request request;
	struct lend_answer answer;
	struct lend_note note;
	struct lend_file file;
	struct lend_use use;
	struct lend_open open;
	size_t n = 0;

	fuzz_lend_login(data, size);
	if (lend_setup_decode(grants, &n, data, size) == 0) {
		require(n > 0 && n <= LEND_MAX && lend_setup_encode(grants, n, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
	if (lend_ready_decode(&ready, data, size) == 0) {
		require(lend_ready_encode(&ready, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
	if (lend_note_decode(&note, data, size) == 0) {
		require(lend_note_encode(&note, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
	if (lend_file_decode(&file, data, size) == 0) {
		require(file.path[0] == '/' && lend_file_encode(&file, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
	if (lend_use_decode(&use, data, size) == 0) {
		require(lend_use_encode(&use, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
	if (lend_request_decode(&request, data, size) == 0) {
		require(*request.method && lend_request_encode(&request, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
	if (lend_answer_decode(&answer, data, size) == 0) {
		require(answer.is_allowed == !*answer.text &&
			lend_answer_encode(&answer, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
	if (lend_open_decode(&open, data, size) == 0) {
		require(lend_open_encode(&open, &again) == 0);
		require(again.len == size && memcmp(again.data, data, size) == 0);
		buffer_clear(&again);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const fuzz[])(const uint8_t *data, size_t size) = { fuzz_start,
		fuzz_configure, fuzz_refusal, fuzz_report, fuzz_ready, fuzz_frame, fuzz_record,
		fuzz_sockets, fuzz_change, fuzz_broker, fuzz_hold, fuzz_owner_question,
		fuzz_owner_answer, fuzz_owner_name, fuzz_lend, fuzz_owner_program };

	if (size > 0 && data[0] < ROWS(fuzz))
		fuzz[data[0]](data + 1, size - 1);
	return 0;
}
