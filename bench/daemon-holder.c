/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon-holder.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

#include <corral/sandbox.h>

#include "measure.h"
#include "processes.h"

struct holding {
	bool joins;
	int null[3];
	struct processes with; /* while the sandbox stands */
};

static struct corral_sandbox *holder_build(const struct holding *h)
{
	struct corral_builder *b = NULL;
	struct corral_sandbox *sandbox = NULL;
	struct corral_error *error = NULL;

	if (corral_builder_new(&b) < 0)
		measure_die("out of memory");
	if (!h->joins)
		(void)corral_builder_without_daemon(b);
	(void)corral_builder_work_dir(b, "/usr");
	(void)corral_builder_allow_fs_read(b, "/usr/{,**}");
	(void)corral_builder_allow_fs_read(b, "/bin/{,**}");
	if (corral_builder_build(b, &sandbox, &error) < 0)
		measure_die(corral_error_message(error));
	corral_builder_free(b);
	return sandbox;
}

/* To the end of its first command. */
static double holder_run(void *context)
{
	static const char *const argv[] = { "/bin/true", NULL };
	struct holding *h = context;
	struct corral_call call = CORRAL_CALL;
	struct corral_result *result = NULL;
	struct corral_error *error = NULL;
	const double start = measure_now();
	struct corral_sandbox *sandbox = holder_build(h);
	double took;

	call.stdio = h->null;
	if (corral_sandbox_execute_argv(sandbox, argv, &call, &result, &error) < 0 ||
		corral_result_exit_code(result) != 0)
		measure_die(error ? corral_error_message(error) : "/bin/true failed");
	took = measure_now() - start;
	if (h->with.n == 0)
		processes_below(getpid(), &h->with);
	corral_result_free(result);
	corral_sandbox_free(sandbox);
	return took;
}

void daemon_holder_bench(size_t rounds)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct holding without = { false, { null, null, STDERR_FILENO }, { 0 } },
		       with = { true, { null, null, STDERR_FILENO }, { 0 } };
	struct measure kinds[] = {
		{ .name = "a sandbox and /bin/true", .run = holder_run, .context = &without },
		{ .name = "the same, joined", .run = holder_run, .context = &with },
	};
	struct processes daemon;

	processes_below(getpid(), &daemon);
	measure_all(kinds, sizeof(kinds) / sizeof(kinds[0]), rounds);
	measure_print(kinds, sizeof(kinds) / sizeof(kinds[0]));
	(void)measure_judge_value("a holder costs a sandbox and its first command",
		1e3 * (measure_median(&kinds[1]) - measure_median(&kinds[0])), " ms", 0);
	(void)printf("processes of a sandbox: %zu without a daemon, %zu joined\n",
		without.with.n - daemon.n, with.with.n - daemon.n);
	if (geteuid() == 0)
		(void)measure_judge_value("memory of a holder (Pss)",
			(double)with.with.pss_kb - (double)without.with.pss_kb, " kB", 0);
	else
		(void)puts("memory of a holder: skipped, only root may look into it");
	(void)close(null);
}
