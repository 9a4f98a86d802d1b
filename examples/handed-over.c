/* SPDX-License-Identifier: Apache-2.0 */
/*
 * handed-over FOLDER LINE: a worker that does not choose its policy. Whoever starts it hands one
 * over, by a descriptor (SANDBOX_POLICY_FD), a file (SANDBOX_POLICY_FILE) or a variable
 * (SANDBOX_POLICY); without one everything is denied. The variables are taken out of the
 * environment before there is a second thread, so that what this program starts by itself does not
 * get them either.
 */
/* For unsetenv(). */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200112L /* NOLINT(bugprone-reserved-identifier) */
#endif
#include <stdio.h>
#include <stdlib.h>

#include <corral/sandbox.h>

/* Says why, and frees it. */
static int fail(struct corral_error *e)
{
	fprintf(stderr, "handed-over: %s\n", corral_error_message(e));
	corral_error_free(e);
	return 125;
}

int main(int argc, char **argv)
{
	struct corral_builder *builder = NULL;
	struct corral_sandbox *sandbox = NULL;
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int status;

	if (argc != 3) {
		fprintf(stderr, "usage: handed-over FOLDER LINE\n");
		return 2;
	}
	if (corral_builder_from_environment(&builder, &e) < 0)
		return fail(e);
	unsetenv("SANDBOX_POLICY_FD");
	unsetenv("SANDBOX_POLICY_FILE");
	unsetenv("SANDBOX_POLICY");

	corral_builder_work_dir(builder, argv[1]);
	status = corral_builder_build(builder, &sandbox, &e);
	corral_builder_free(builder);
	if (status < 0)
		return fail(e);
	status = corral_sandbox_execute(sandbox, argv[2], NULL, &result, &e);
	if (status == 0) {
		size_t len;
		const char *out = corral_result_stdout(result, &len);

		fwrite(out, 1, len, stdout);
		status = corral_result_exit_code(result);
		corral_result_free(result);
	} else {
		status = fail(e);
	}
	corral_sandbox_free(sandbox);
	return status;
}
