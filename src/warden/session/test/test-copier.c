/* SPDX-License-Identifier: Apache-2.0 */
/* Both sides of a copier: what a command gets of the host's descriptors, and what is left there. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "test/fds.h"
#include "warden/session/copier.h"

enum { LARGE = 700000, EVENTS_MAX = 100000 };

struct bench {
	struct copier copier;
	struct loop *loop;
	int theirs; /* the command's end */
	int host;   /* the descriptor that was given */
	size_t n_events;
	int other; /* its other side; -1: it is a file */
};

static void bench_ready(void *bench)
{
	struct bench *b = bench;

	b->n_events++;
	copier_run(&b->copier);
}

static void bench_open(struct bench *b, int host, int other, bool is_input, uint64_t limit)
{
	*b = (struct bench){ .copier = COPIER_NONE, .theirs = -1, .host = host, .other = other };
	assert_int_equal(loop_new(&b->loop), 0);
	assert_int_equal(copier_open(&b->copier, host, is_input, limit, &b->theirs), 0);
	assert_int_equal(copier_watch(&b->copier, b->loop, bench_ready, b), 0);
	assert_int_equal(fcntl(b->theirs, F_SETFL, O_NONBLOCK), 0);
}

static void bench_pipe(struct bench *b, bool is_input)
{
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(ends[is_input], F_SETFL, O_NONBLOCK), 0);
	bench_open(b, ends[!is_input], ends[is_input], is_input, 0);
}

static void bench_file(struct bench *b, int flags, bool is_input, uint64_t limit, const char *text)
{
	char path[64];
	auto_fd memory = memfd_create("test-copier", MFD_CLOEXEC);

	assert_true(memory >= 0);
	assert_int_equal(write(memory, text, strlen(text)), strlen(text));
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", memory);
	bench_open(b, open(path, flags | O_CLOEXEC), -1, is_input, limit);
}

static void bench_close(struct bench *b)
{
	copier_close(&b->copier);
	fd_close(&b->theirs);
	fd_close(&b->host);
	fd_close(&b->other);
	loop_free(b->loop);
}

/* All that has happened; as a session does. */
static void bench_turn(struct bench *b)
{
	size_t before;
	int i = 0;

	do {
		before = b->n_events;
		assert_int_equal(loop_turn(b->loop, 0), 0);
	} while (b->n_events > before && ++i < EVENTS_MAX);
}

static size_t bench_queued(int fd)
{
	char bytes[1 << 16];
	size_t n = 0;
	ssize_t r;

	while ((r = read(fd, bytes, sizeof(bytes))) > 0)
		n += (size_t)r;
	return n;
}

/* Sends LARGE bytes and compares; in steps that fit nothing. */
static void bench_pass(struct bench *b, int in, int out, size_t step)
{
	char *sent = malloc(LARGE), *got = malloc(LARGE + 1);
	size_t at = 0, n = 0;

	assert_non_null(sent);
	assert_non_null(got);
	for (size_t i = 0; i < LARGE; i++)
		sent[i] = (char)(i * 7 + i / 251);
	for (int i = 0; i < EVENTS_MAX && n < LARGE; i++) {
		size_t len = LARGE - at < step ? LARGE - at : step;
		ssize_t w = len ? write(in, sent + at, len) : 0, r;

		at += w > 0 ? (size_t)w : 0;
		bench_turn(b);
		r = read(out, got + n, LARGE + 1 - n);
		n += r > 0 ? (size_t)r : 0;
		bench_turn(b);
	}
	assert_int_equal(n, LARGE);
	assert_memory_equal(got, sent, LARGE);
	free(sent);
	free(got);
}

static void passes_all(void **state)
{
	static const size_t steps[] = { 3333, 4096, 100000, LARGE };
	struct bench b;

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		bench_pipe(&b, true);
		bench_pass(&b, b.other, b.theirs, steps[i]);
		fd_close(&b.other);
		bench_turn(&b);
		assert_int_equal(read(b.theirs, &(char){ 0 }, 1), 0);
		bench_close(&b);
		bench_pipe(&b, false);
		bench_pass(&b, b.theirs, b.other, steps[i]);
		fd_close(&b.theirs);
		bench_turn(&b);
		assert_int_equal(b.copier.from, -1);
		fd_close(&b.host);
		assert_int_equal(read(b.other, &(char){ 0 }, 1), 0);
		bench_close(&b);
	}
}

/* What the command does not read stays where it was, to the byte. */
static void leaves_input(void **state)
{
	static const size_t read_by_command[] = { 0, 1, 4095, 4096, 4097, 10000, 40000 };
	static char bytes[40000];

	(void)state;
	for (size_t i = 0; i < sizeof(read_by_command) / sizeof(*read_by_command); i++) {
		struct bench b;
		size_t n = 0;

		bench_pipe(&b, true);
		assert_int_equal(write(b.other, bytes, sizeof(bytes)), sizeof(bytes));
		fd_close(&b.other);
		while (n < read_by_command[i]) {
			ssize_t r;

			bench_turn(&b);
			r = read(b.theirs, bytes, read_by_command[i] - n);
			assert_true(r > 0);
			n += (size_t)r;
		}
		bench_turn(&b);
		assert_true(copier_finish(&b.copier));
		assert_int_equal(bench_queued(b.host), sizeof(bytes) - read_by_command[i]);
		bench_close(&b);
	}
}

/* A command that reads much may leave less, but no more than a pipe holds is missing. */
static void takes_much(void **state)
{
	struct bench b;
	char *bytes = calloc(1, LARGE);
	size_t n = 0, at = 0, left;

	(void)state;
	assert_non_null(bytes);
	bench_pipe(&b, true);
	while (n < LARGE / 2) {
		ssize_t w = write(b.other, bytes, LARGE - at), r;

		at += w > 0 ? (size_t)w : 0;
		bench_turn(&b);
		r = read(b.theirs, bytes, 4096);
		n += r > 0 ? (size_t)r : 0;
	}
	assert_true(copier_finish(&b.copier));
	fd_close(&b.other);
	left = bench_queued(b.host);
	assert_in_range(at - n - left, 0, 256 << 10);
	free(bytes);
	bench_close(&b);
}

static void gives_back_a_file(void **state)
{
	struct bench b;
	char text[8] = "";

	(void)state;
	bench_file(&b, O_RDWR, true, 0, "0123456789");
	bench_turn(&b);
	assert_int_equal(read(b.theirs, text, 4), 4);
	assert_string_equal(text, "0123");
	/* It is a pipe, and nothing leads from it to the file. */
	assert_int_equal(ftruncate(b.theirs, 0), -1);
	assert_true(copier_finish(&b.copier));
	assert_int_equal(lseek(b.host, 0, SEEK_CUR), 4);
	bench_close(&b);
}

/* The command can write into its own input; what it put there is not given back. */
static void gives_back_no_more_than_it_took(void **state)
{
	struct bench b;
	char path[64];
	auto_fd into = -1;

	(void)state;
	bench_file(&b, O_RDWR, true, 0, "0123456789");
	assert_int_equal(lseek(b.host, 8, SEEK_SET), 8);
	bench_turn(&b);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", b.theirs);
	into = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(into >= 0);
	assert_int_equal(write(into, "AAAAAA", 6), 6);
	assert_true(copier_finish(&b.copier));
	assert_int_equal(lseek(b.host, 0, SEEK_CUR), 8);
	bench_close(&b);
}

static void appends(void **state)
{
	struct bench b;
	char text[16] = "";

	(void)state;
	bench_file(&b, O_RDWR | O_APPEND, false, 0, "kept");
	assert_int_equal(write(b.theirs, " more", 5), 5);
	bench_turn(&b);
	assert_int_equal(pread(b.host, text, sizeof(text), 0), 9);
	assert_string_equal(text, "kept more");
	bench_close(&b);
}

/* As RLIMIT_FSIZE would: up to the limit, and the command hears of it. */
static void limits_a_file(void **state)
{
	static char bytes[50000];
	struct bench b;
	struct stat st;

	(void)state;
	for (int append = 0; append < 2; append++) {
		bench_file(&b, O_RDWR | (append ? O_APPEND : 0), false, 40000, "kept");
		assert_int_equal(write(b.theirs, bytes, sizeof(bytes)), sizeof(bytes));
		bench_turn(&b);
		assert_int_equal(fstat(b.host, &st), 0);
		assert_int_equal(st.st_size, 40000);
		assert_int_equal(b.copier.error, -EFBIG);
		assert_int_equal(write(b.theirs, bytes, 1), -1);
		assert_int_equal(errno, EPIPE);
		bench_close(&b);
	}
}

static void hears_of_a_full_disk(void **state)
{
	struct bench b;

	(void)state;
	bench_open(&b, open("/dev/full", O_WRONLY | O_CLOEXEC), -1, false, 0);
	assert_int_equal(write(b.theirs, "x", 1), 1);
	bench_turn(&b);
	assert_int_equal(b.copier.error, -ENOSPC);
	bench_close(&b);
}

/* Also before it writes: some look for it. */
static void hears_that_nobody_reads(void **state)
{
	struct bench b;

	(void)state;
	bench_pipe(&b, false);
	bench_turn(&b);
	assert_true(b.copier.from >= 0);
	fd_close(&b.other);
	bench_turn(&b);
	assert_int_equal(b.copier.from, -1);
	assert_int_equal(b.copier.error, 0);
	assert_int_equal(write(b.theirs, "x", 1), -1);
	bench_close(&b);
	bench_pipe(&b, true);
	bench_turn(&b);
	fd_close(&b.theirs);
	bench_turn(&b);
	assert_int_equal(b.copier.from, -1);
	bench_close(&b);
}

/* A reader that does not read is not waited for; later it gets all of it. */
static void waits_for_the_reader(void **state)
{
	static char bytes[100000];
	struct bench b;
	size_t n = 0;

	(void)state;
	bench_pipe(&b, false);
	for (size_t i = 0; i < sizeof(bytes); i += 1000) {
		assert_int_equal(write(b.theirs, bytes, 1000), 1000);
		bench_turn(&b);
	}
	fd_close(&b.theirs);
	bench_turn(&b);
	assert_false(copier_finish(&b.copier));
	for (int i = 0; i < EVENTS_MAX && b.copier.from >= 0; i++) {
		n += bench_queued(b.other);
		bench_turn(&b);
	}
	n += bench_queued(b.other);
	assert_int_equal(n, sizeof(bytes));
	bench_close(&b);
}

/* Line by line: as much as without a copier must fit before anybody reads. */
static void joins_small_pieces(void **state)
{
	static const char line[] = "a line\n";
	struct bench b;
	size_t n = 0;

	(void)state;
	bench_pipe(&b, false);
	for (; n < 60000; n += sizeof(line)) {
		assert_int_equal(write(b.theirs, line, sizeof(line)), sizeof(line));
		bench_turn(&b);
	}
	fd_close(&b.theirs);
	assert_true(copier_finish(&b.copier));
	assert_int_equal(bench_queued(b.other), n);
	bench_close(&b);
}

static void keeps_flags(void **state)
{
	struct bench b;
	int flags;

	(void)state;
	for (int is_input = 0; is_input < 2; is_input++) {
		bench_pipe(&b, is_input);
		flags = fcntl(b.host, F_GETFL);
		bench_turn(&b);
		assert_false(flags & O_NONBLOCK);
		assert_int_equal(fcntl(b.host, F_GETFL), flags);
		bench_close(&b);
	}
}

static void passes_a_connection(void **state)
{
	struct bench b;
	int ends[2];

	(void)state;
	for (int is_input = 0; is_input < 2; is_input++) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
		assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
		bench_open(&b, ends[0], ends[1], is_input, 0);
		bench_pass(&b, is_input ? b.other : b.theirs, is_input ? b.theirs : b.other, 5000);
		bench_close(&b);
	}
}

static void closes_all(void **state)
{
	size_t before = count_fds();
	struct bench b;

	(void)state;
	for (int is_input = 0; is_input < 2; is_input++) {
		bench_pipe(&b, is_input);
		bench_close(&b);
	}
	assert_int_equal(count_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_all),
		cmocka_unit_test(leaves_input),
		cmocka_unit_test(takes_much),
		cmocka_unit_test(gives_back_a_file),
		cmocka_unit_test(gives_back_no_more_than_it_took),
		cmocka_unit_test(appends),
		cmocka_unit_test(limits_a_file),
		cmocka_unit_test(hears_of_a_full_disk),
		cmocka_unit_test(hears_that_nobody_reads),
		cmocka_unit_test(waits_for_the_reader),
		cmocka_unit_test(joins_small_pieces),
		cmocka_unit_test(keeps_flags),
		cmocka_unit_test(passes_a_connection),
		cmocka_unit_test(closes_all),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("session-copier", tests, NULL, NULL);
}
