/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent MODE FOLDER PROGRAM [ARGUMENT...]: a whole agent in one of the modes sandbox, rx and rwx,
 * on the terminal that this program has. The first line says what enforces the mode; in the
 * variable AGENT_PROMPT the agent finds what to add to its prompt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <corral/sandbox.h>

enum { FAILED = 125 };

static int run(struct corral_sandbox *sandbox, const char *prompt, const char *const *argv,
	struct corral_error **e)
{
	static const int stdio[] = { 0, 1, 2 };
	struct corral_call call = CORRAL_CALL;
	const char *env[2] = { NULL, NULL };
	struct corral_result *result = NULL;
	size_t size = strlen(prompt) + sizeof("AGENT_PROMPT=");
	char *variable = malloc(size);
	int status = FAILED;

	if (!variable)
		return status;
	snprintf(variable, size, "AGENT_PROMPT=%s", prompt);
	env[0] = variable;
	call.env = env;
	call.stdio = stdio;
	if (corral_sandbox_execute_argv(sandbox, argv, &call, &result, e) == 0)
		status = corral_result_exit_code(result);
	corral_result_free(result);
	free(variable);
	return status;
}

int main(int argc, char **argv)
{
	struct corral_builder *builder = NULL;
	struct corral_sandbox *sandbox = NULL;
	struct corral_error *e = NULL;
	enum corral_mode mode;
	char *prompt = NULL;
	int status = FAILED;

	if (argc < 4 || corral_mode_parse(argv[1], &mode) < 0) {
		fputs("usage: agent sandbox|rx|rwx FOLDER PROGRAM [ARGUMENT...]\n", stderr);
		return 2;
	}
	if (corral_mode_prompt(mode, argv[2], &prompt, &e) == 0 &&
		corral_builder_from_mode(&builder, mode, argv[2], NULL, &e) == 0 &&
		corral_builder_build(builder, &sandbox, &e) == 0) {
		fprintf(stderr, "agent: mode %s, enforced by %s\n", corral_mode_name(mode),
			corral_sandbox_backend(sandbox));
		status = run(sandbox, prompt, (const char *const *)argv + 3, &e);
	}
	if (e)
		fprintf(stderr, "agent: %s\n", corral_error_message(e));
	free(prompt);
	corral_error_free(e);
	corral_sandbox_free(sandbox);
	corral_builder_free(builder);
	return status;
}
