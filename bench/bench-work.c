/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command pays while it runs inside: programs that do little but open, read and stat,
 * against the same ones bare, in the same rounds. The tree they work on is made here: 100 folders
 * with 100 files of 2 kB each, under git if there is one.
 *
 * Counted is the time of the processor: nothing here waits for anything, and what else the machine
 * does disturbs it less. What starting a command costs is bench-jail's business.
 *
 *     bench-work WARDEN LOOP [ROUNDS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <corral/sandbox.h>

#include "measure.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum { FOLDERS = 100, FILES = 100 }; /* the loop is told so */

static struct corral_sandbox *sandbox;
static int null[3];

static void file_name(char *path, size_t size, const char *root, int folder, int file)
{
	(void)snprintf(path, size, "%s/d%02d/f%02d.txt", root, folder, file);
}

struct work {
	const char *argv[12];
	bool own_time; /* it prints its seconds */
};

/* By a pipe for its output. */
static double run_bare(void *context)
{
	const struct work *w = context;
	char text[64] = "";
	int ends[2];

	if (!w->own_time)
		return measure_processor(w->argv, null);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	double r = measure_command(w->argv, (int[]){ null[0], ends[1], null[2] });
	(void)close(ends[1]);
	ssize_t n = read(ends[0], text, sizeof(text) - 1);
	(void)close(ends[0]);
	return r < 0 || n <= 0 ? -1 : strtod(text, NULL);
}

static double run_inside(void *context)
{
	const struct work *w = context;
	struct corral_call call = CORRAL_CALL;
	struct corral_result *result = NULL;
	struct corral_error *error = NULL;
	double seconds = -1;

	if (!w->own_time)
		call.stdio = null;
	if (corral_sandbox_execute_argv(sandbox, w->argv, &call, &result, &error) < 0)
		(void)fprintf(stderr, "bench: %s\n", corral_error_message(error));
	else if (corral_result_exit_code(result) == 0)
		seconds = w->own_time ? strtod(corral_result_stdout(result, NULL), NULL)
				      : (double)(corral_result_user_us(result) +
						 corral_result_system_us(result)) /
						1e6;
	else
		(void)fputs(corral_result_stderr(result, NULL), stderr);
	corral_result_free(result);
	corral_error_free(error);
	return seconds;
}

static void make_tree(const char *root)
{
	static char bytes[2048];
	char path[4096];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = i % 64 == 63 ? '\n' : (char)('a' + i % 23);
	for (int d = 0; d < FOLDERS; d++) {
		(void)snprintf(path, sizeof(path), "%s/d%02d", root, d);
		if (mkdir(path, 0755) < 0)
			measure_die("cannot make the tree");
		for (int f = 0; f < FILES; f++) {
			file_name(path, sizeof(path), root, d, f);
			int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

			if (fd < 0 || write(fd, bytes, sizeof(bytes)) != sizeof(bytes))
				measure_die("cannot make the tree");
			(void)close(fd);
		}
	}
}

static bool make_git(const char *root)
{
	const char *const steps[][10] = {
		{ "git", "-C", root, "init", "-q" },
		{ "git", "-C", root, "add", "." },
		{ "git", "-C", root, "-c", "user.name=b", "-c", "user.email=b@b", "commit", "-qm",
			"x" },
	};

	for (size_t i = 0; i < N(steps); i++) {
		const char *argv[N(steps[i]) + 1] = { NULL };

		memcpy(argv, steps[i], sizeof(steps[i]));
		if (measure_command(argv, null) < 0)
			return false;
	}
	return true;
}

static void make_sandbox(const char *warden, const char *root, const char *loop)
{
	struct corral_error *error = NULL;
	struct corral_builder *b;

	if (corral_builder_new(&b) < 0)
		measure_die("out of memory");
	(void)corral_builder_warden(b, warden);
	(void)corral_builder_work_dir(b, root);
	(void)corral_builder_allow_fs_read(b, "/usr/{,**}");
	(void)corral_builder_allow_fs_read(b, "/bin/{,**}");
	(void)corral_builder_allow_fs_read(b, loop);
	(void)corral_builder_allow_fs_write(b, "$WORK_DIR/{,**}");
	if (corral_builder_build(b, &sandbox, &error) < 0)
		measure_die(corral_error_message(error));
	corral_builder_free(b);
}

static void remove_tree(const char *root)
{
	const char *const argv[] = { "rm", "-rf", root, NULL };

	(void)measure_command(argv, null);
}

static bool run_all(const char *root, const char *loop, bool git, size_t rounds)
{
	static struct work works[] = {
		{ .argv = { NULL, "open", NULL, "100", "100", "4" }, .own_time = true },
		{ .argv = { NULL, "stat", NULL, "100", "100", "4" }, .own_time = true },
		{ .argv = { "/usr/bin/grep", "-r", "abcdefgh", NULL } },
		{ .argv = { "/usr/bin/find", NULL, "-size", "+1" } },
		{ .argv = { "/usr/bin/git", "-C", NULL, "status", "--short" } },
	};
	static const char *const names[] = { "open, read, close", "stat", "grep -r", "find",
		"git status" };
	static const double targets[] = { 1.10, 1.05, 1.08, 1.05, 1.05 };
	struct measure kinds[2 * N(works)] = { 0 };
	char labels[2 * N(works)][64];
	size_t n = N(works) - !git;
	bool met = true;

	works[0].argv[0] = works[1].argv[0] = loop;
	works[0].argv[2] = works[1].argv[2] = root;
	works[2].argv[3] = works[3].argv[1] = works[4].argv[2] = root;
	for (size_t i = 0; i < 2 * n; i++) {
		(void)snprintf(labels[i], sizeof(labels[i]), "%s, %s", names[i / 2],
			i % 2 ? "inside" : "bare");
		kinds[i] = (struct measure){ .name = labels[i],
			.run = i % 2 ? run_inside : run_bare,
			.context = &works[i / 2] };
	}
	measure_all(kinds, 2 * n, rounds);
	measure_print(kinds, 2 * n);
	for (size_t i = 0; i < n; i++) {
		char what[64];

		(void)snprintf(what, sizeof(what), "%s, inside : bare", names[i]);
		met &= measure_judge(&(struct measure_ratio){
			what, &kinds[2 * i + 1], &kinds[2 * i], targets[i] });
	}
	if (!git)
		(void)puts("git status: skipped, git does not work here");
	return met;
}

int main(int argc, char **argv)
{
	char root[] = "/tmp/bench-work-XXXXXX";
	size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 60;

	if (argc < 3 || rounds < 5 || rounds > MEASURE_ROUNDS_MAX)
		measure_die("usage: bench-work WARDEN LOOP [ROUNDS]");
	for (size_t i = 0; i < 3; i++)
		null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null[2] < 0 || !mkdtemp(root))
		measure_die("no folder in /tmp");
	const char *warden = measure_path(argv[1]), *loop = measure_path(argv[2]);
	make_tree(root);
	bool git = make_git(root);
	make_sandbox(warden, root, loop);
	bool met = run_all(root, loop, git, rounds);
	corral_sandbox_free(sandbox);
	remove_tree(root);
	return met ? 0 : 1;
}
