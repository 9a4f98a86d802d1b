/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "services/desktop/program.h"

enum { SOON_MS = 200, LATER_MS = 60 * 1000 };

static int run_shell(const char *script, const char *input, struct buffer *out, size_t max, int ms)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	char path[PATH_BYTES];

	assert_int_equal(program_find("sh", NULL, path), 0);
	return program_run(&(struct program_run){ .path = path,
		.argv = argv,
		.input = input,
		.input_len = input ? strlen(input) : 0,
		.output = out,
		.max = max,
		.until_ms = clock_ms(CLOCK_MONOTONIC) + (uint64_t)ms });
}

static void test_bytes_go_there_and_back(void **state)
{
	auto_buffer big = { 0 }, out = { 0 };

	(void)state;
	/* More than a pipe holds, in both directions at once. */
	for (int i = 0; i < 50000; i++)
		buffer_printf(&big, "line %d\n", i);
	assert_int_equal(run_shell("cat", buffer_text(&big), &out, 1 << 20, LATER_MS), 0);
	assert_string_equal(buffer_text(&out), buffer_text(&big));
}

static void test_ends(void **state)
{
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(run_shell("exit 3", NULL, NULL, 0, LATER_MS), 3);
	assert_int_equal(run_shell("kill -TERM $$", NULL, NULL, 0, LATER_MS), 128 + 15);
	assert_int_equal(run_shell("sleep 100", NULL, NULL, 0, SOON_MS), -ETIMEDOUT);
	assert_int_equal(run_shell("sleep 100", NULL, &out, 100, SOON_MS), -ETIMEDOUT);
	assert_int_equal(run_shell("yes", NULL, &out, 1000, LATER_MS), -EFBIG);
	/* One that does not read what it is given. */
	assert_int_equal(run_shell("exec <&-; exit 0", "x", NULL, 0, LATER_MS), 0);
	/* One that leaves a child behind is not waited for. */
	assert_int_equal(run_shell("sleep 2 &", "x", NULL, 0, LATER_MS), 0);
}

static bool ended(pid_t pid)
{
	char path[64], state = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	if (!file)
		return true;
	if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
		state = 'X';
	(void)fclose(file);
	return state == 'Z' || state == 'X';
}

/* What a program started ends with it, if it is given up. */
static void test_children_end(void **state)
{
	auto_buffer out = { 0 };
	pid_t pid = 0;

	(void)state;
	/* A shell on a busy machine may have printed nothing by then. */
	for (int ms = SOON_MS; pid <= 1 && ms <= 2 * LATER_MS; ms *= 2) {
		buffer_clear(&out);
		assert_int_equal(
			run_shell("sleep 100 & echo $!; wait", NULL, &out, 100, ms), -ETIMEDOUT);
		pid = (pid_t)strtol(buffer_text(&out), NULL, 10);
	}
	assert_true(pid > 1);
	for (int i = 0; i < LATER_MS / 10 && !ended(pid); i++)
		(void)usleep(10 * 1000);
	assert_true(ended(pid));
}

static void test_finding(void **state)
{
	char path[PATH_BYTES], folder[] = "/tmp/test-program-XXXXXX", file[64];
	int fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(file, sizeof(file), "%s/planted", folder);
	fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0700);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_int_equal(setenv("PATH", "relative:.::/nonexistent", 1), 0);
	assert_int_equal(program_find("sh", NULL, path), -ENOENT);
	/* What is configured was chosen by the user; what PATH leads to may be a command's. */
	assert_int_equal(program_find("planted", folder, path), 0);
	assert_int_equal(setenv("PATH", folder, 1), 0);
	assert_int_equal(program_find("planted", NULL, path), -ENOENT);
	assert_int_equal(program_find("sh", folder, path), -ENOENT);
	assert_int_equal(setenv("PATH", "", 1), 0);
	assert_int_equal(program_find("sh", "/nonexistent", path), 0);
	assert_int_equal(path[0], '/');
	assert_int_equal(program_find("no-such-program", NULL, path), -ENOENT);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_go_there_and_back),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_children_end),
		cmocka_unit_test(test_finding),
	};

	/* As in a back end: a program may end before it has read all. */
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
