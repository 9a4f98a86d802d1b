/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command in a session that stands, against posix_spawn() of the same, while more and more other
 * processes sleep on the host: what a command costs must not grow with what it has nothing to do
 * with.
 *
 * First, in turn: the same with all that is recorded of it in a log, and without.
 *
 *     bench-warm WARDEN [ROUNDS] [PROCESSES]
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <corral/audit.h>
#include <corral/sandbox.h>

#include "measure.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum { SLEEPERS_MAX = 30000 };

static const char *const true_argv[] = { "/bin/true", NULL };
static struct corral_sandbox *sandbox, *recorded;
static int null[3];
static pid_t sleepers[SLEEPERS_MAX];
static size_t n_sleepers;

static double bare(void *context)
{
	(void)context;
	return measure_command(true_argv, null);
}

static double execute(struct corral_sandbox *in, const struct corral_call *call)
{
	double start = measure_now();
	struct corral_result *result = NULL;
	struct corral_error *error = NULL;
	int r = corral_sandbox_execute_argv(in, true_argv, call, &result, &error);

	if (r < 0 || corral_result_exit_code(result) != 0)
		measure_die(error ? corral_error_message(error) : "/bin/true failed");
	corral_result_free(result);
	return measure_now() - start;
}

/* context: where the sandbox is. */
static double warm(void *context)
{
	struct corral_sandbox *const *in = context;
	struct corral_call call = CORRAL_CALL;

	call.stdio = null;
	return execute(*in, &call);
}

/* False: the machine does not let us have so many. */
static bool sleep_more(size_t n)
{
	while (n_sleepers < n) {
		pid_t pid = fork();

		if (pid < 0)
			return false;
		if (pid == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			for (;;)
				(void)pause();
		}
		sleepers[n_sleepers++] = pid;
	}
	return true;
}

static void wake_all(void)
{
	for (size_t i = 0; i < n_sleepers; i++)
		(void)kill(sleepers[i], SIGKILL);
	while (n_sleepers > 0)
		(void)waitpid(sleepers[--n_sleepers], NULL, 0);
}

static struct corral_sandbox *build(const char *warden, struct corral_audit *audit)
{
	struct corral_sandbox *ret = NULL;
	struct corral_builder *b = NULL;
	struct corral_error *error = NULL;

	if (corral_builder_new(&b) < 0)
		measure_die("out of memory");
	(void)corral_builder_warden(b, warden);
	(void)corral_builder_work_dir(b, "/usr");
	(void)corral_builder_allow_fs_read(b, "/usr/{,**}");
	(void)corral_builder_allow_fs_read(b, "/bin/{,**}");
	if (audit)
		(void)corral_builder_with_audit(b, corral_audit_sandbox, audit);
	if (corral_builder_build(b, &ret, &error) < 0)
		measure_die(corral_error_message(error));
	corral_builder_free(b);
	return ret;
}

/* What is always recorded, into a file. */
static bool judge_record(const char *warden, size_t rounds)
{
	struct measure kinds[] = {
		{ .name = "warm, not recorded", .run = warm, .context = &sandbox },
		{ .name = "warm, recorded", .run = warm, .context = &recorded },
	};
	const struct measure_ratio ratio = { "recorded : not recorded", &kinds[1], &kinds[0],
		1.02 };
	struct corral_audit_options options = CORRAL_AUDIT_OPTIONS;
	char folder[] = "/tmp/bench-warm-XXXXXX", path[64];
	const char *const clean[] = { "/bin/rm", "-r", folder, NULL };
	struct corral_audit *audit = NULL;
	struct corral_error *error = NULL;
	bool met;

	if (!mkdtemp(folder))
		measure_die("mkdtemp");
	(void)snprintf(path, sizeof(path), "%s/audit.db", folder);
	options.path = path;
	if (corral_audit_new(&audit, &options, &error) < 0)
		measure_die(corral_error_message(error));
	recorded = build(warden, audit);
	measure_all(kinds, N(kinds), rounds);
	measure_print(kinds, N(kinds));
	met = measure_judge(&ratio);
	corral_sandbox_free(recorded);
	if (corral_audit_free(audit, &error) < 0)
		measure_die(corral_error_message(error));
	(void)measure_command(clean, NULL);
	return met;
}

static bool judge(size_t others, size_t rounds)
{
	struct measure kinds[] = {
		{ .name = "posix_spawn /bin/true", .run = bare },
		{ .name = "warm session, /bin/true", .run = warm, .context = &sandbox },
	};
	char what[64];

	measure_all(kinds, N(kinds), rounds);
	(void)snprintf(what, sizeof(what), "warm : posix_spawn, %zu others", others);
	measure_print(kinds, N(kinds));
	return measure_judge(&(struct measure_ratio){ what, &kinds[1], &kinds[0], 1.15 });
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 500;
	size_t most = argc > 3 ? strtoul(argv[3], NULL, 10) : 10000;
	bool met = true, can = true;

	if (argc < 2 || rounds < 10 || rounds > MEASURE_ROUNDS_MAX || most > SLEEPERS_MAX)
		measure_die("usage: bench-warm WARDEN [ROUNDS] [PROCESSES]");
	for (size_t i = 0; i < 3; i++)
		null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	sandbox = build(measure_path(argv[1]), NULL);
	met = judge_record(measure_path(argv[1]), rounds);
	for (size_t n = 0; can && n <= most; n = n ? n * 10 : most / 100) {
		can = sleep_more(n);
		if (can)
			met &= judge(n, rounds);
		else
			(void)printf(
				"%zu others: skipped, the machine allows %zu\n", n, n_sleepers);
		if (most == 0)
			break;
	}
	wake_all();
	corral_sandbox_free(sandbox);
	return met ? 0 : 1;
}
