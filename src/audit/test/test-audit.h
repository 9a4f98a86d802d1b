/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the tests of a log share: a folder with a log in it, gone when the test ends, and events
 * whose content depends on their number. Every failure ends the test.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/store/log.h"
#include "audit/store/store.h"
#include "audit/store/verify.h"
#include "base/buffer.h"
#include "base/file.h"
#include "test/scratch.h"

struct bench {
	char folder[64], path[96], head[96], key[96], public[96];
	struct audit_store_options options;
};

static inline struct bench *bench_new(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	/* In memory if there is such a place: a disk makes hundreds of logs slow. */
	snprintf(b->folder, sizeof(b->folder), "%s/corral-test-audit.XXXXXX",
		access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	assert_non_null(mkdtemp(b->folder));
	snprintf(b->path, sizeof(b->path), "%s/log", b->folder);
	snprintf(b->head, sizeof(b->head), "%s/log.head", b->folder);
	snprintf(b->key, sizeof(b->key), "%s/log.key", b->folder);
	snprintf(b->public, sizeof(b->public), "%s/log.key.pub", b->folder);
	b->options.path = b->path;
	/* Time does not decide anything unless a test asks for it. */
	b->options.batch_ms = 3600 * 1000;
	b->options.sign_seconds = 3600;
	return b;
}

static inline void bench_free(struct bench *b)
{
	if (!b)
		return;
	assert_int_equal(scratch_remove(b->folder), 0);
	free(b);
}

static inline struct audit_store *bench_open(struct bench *b)
{
	struct audit_store *s = NULL;
	struct error e = { 0 };

	if (audit_store_open(&s, &b->options, &e) < 0)
		fail_msg("%s", e.text);
	return s;
}

static inline void bench_close(struct audit_store *s)
{
	struct error e = { 0 };

	if (audit_store_close(s, &e) < 0)
		fail_msg("%s", e.text);
}

/* target: room for 64 bytes, which the event points into. */
static inline struct audit_event bench_event(uint64_t number, char target[64])
{
	snprintf(target, 64, "/srv/file-%llu", (unsigned long long)number);
	return (struct audit_event){
		.time_ns = UINT64_C(1700000000000000000) + number,
		.sequence = number,
		.session = number % 2 ? "odd" : "even",
		.user = "1000",
		.sandbox = "box",
		.pid = (uint32_t)number,
		.program = "/usr/bin/cat",
		.action = number % 3 ? AUDIT_FS_READ : AUDIT_NET_CONNECT,
		.target = target,
		.decision = number % 5 ? AUDIT_ALLOWED : AUDIT_DENIED,
		.rule = "read /srv/**",
		.reason = "",
		.exact = true,
		.count = 1,
	};
}

/* Adds n records with the numbers that come next. */
static inline void bench_add(struct audit_store *s, uint64_t first, uint64_t n)
{
	for (uint64_t i = first; i < first + n; i++) {
		char target[64];
		struct audit_event v = bench_event(i, target);

		assert_int_equal(audit_store_add(s, &v), 0);
	}
}

/* A log of n records, closed. */
static inline void bench_fill(struct bench *b, uint64_t first, uint64_t n)
{
	struct audit_store *s = bench_open(b);

	bench_add(s, first, n);
	bench_close(s);
}

static inline struct audit_verdict bench_verify(struct bench *b)
{
	struct audit_verdict verdict = { 0 };
	struct audit_log *l = NULL;
	struct error e = { 0 };

	if (audit_log_open(&l, b->path, &e) < 0 ||
		audit_log_verify(l, b->public, NULL, &verdict, &e) < 0)
		fail_msg("%s", e.text);
	audit_log_close(l);
	return verdict;
}

static inline void bench_fine(struct bench *b, uint64_t records)
{
	struct audit_verdict v = bench_verify(b);

	if (v.fault != AUDIT_FINE)
		fail_msg("%s: %s", audit_fault_name(v.fault), v.text);
	assert_int_equal(v.records, records);
}

static inline void bench_copy(const char *from, const char *to)
{
	auto_buffer b = { 0 };

	assert_int_equal(file_read(from, 1 << 30, &b), 0);
	assert_int_equal(file_replace(to, buffer_text(&b), b.len, 0600), 0);
}
