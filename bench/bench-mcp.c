/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call of execute_command costs by `corral mcp serve` over its pipes, against the call of
 * the library that it makes, in this process: the same program in a sandbox of the same
 * permissions, one after the other.
 *
 *     bench-mcp CORRAL [ROUNDS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <corral/enclave.h>

#include "measure.h"

#define CALL                                                                            \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":" \
	"\"execute_command\",\"arguments\":{\"command\":\"/bin/true\",\"args\":[]}}}\n"
#define INITIALIZE                                                                         \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"             \
	"\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":" \
	"\"bench\",\"version\":\"0\"}}}\n"

enum { ROUNDS = 500, TARGET_MS_TENTHS = 3, LINE_BYTES = 8192 };

static int to_server = -1;
static FILE *from_server;

static void ask(const char *line)
{
	char answer[LINE_BYTES];

	if (write(to_server, line, strlen(line)) != (ssize_t)strlen(line) ||
		!fgets(answer, sizeof(answer), from_server) || strstr(answer, "\"error\""))
		measure_die("the server did not answer");
}

static double run_served(void *context)
{
	const double start = measure_now();

	(void)context;
	ask(CALL);
	return measure_now() - start;
}

static double run_library(void *context)
{
	const char *const argv[] = { "/bin/true", NULL };
	struct corral_call how = CORRAL_CALL;
	struct corral_result *result = NULL;
	const double start = measure_now();
	double end;
	int r;

	how.timeout_ms = 120 * 1000;
	r = corral_enclave_shell_exec(context, NULL, argv, &how, &result, NULL);
	end = measure_now();
	corral_result_free(result);
	return r < 0 ? -1 : end - start;
}

static pid_t start_server(const char *corral)
{
	const char *const argv[] = { corral, "mcp", "serve", "--no-project", NULL };
	int to[2], from[2];
	pid_t pid;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		measure_die("no pipe");
	pid = measure_spawn(argv, (const int[]){ to[0], from[1], STDERR_FILENO });
	(void)close(to[0]);
	(void)close(from[1]);
	to_server = to[1];
	from_server = fdopen(from[0], "r");
	if (pid < 0 || !from_server)
		measure_die("the server does not start");
	ask(INITIALIZE);
	return pid;
}

static struct corral_enclave *make_enclave(const char *folder)
{
	static const char policy[] =
		"{\"fs\":{\"read\":[\"/usr/**\",\"/lib/**\",\"/bin/**\",\"/etc/**\"],\"write\":["
		"\"$WORK_DIR/{,**}\"]}}";
	const struct corral_variable variables[] = { { "WORK_DIR", folder } };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_permissions *p = NULL;
	struct corral_enclave *enclave = NULL;
	char token[CORRAL_TOKEN_BYTES];

	if (corral_permissions_parse(&p, "policy", policy, strlen(policy), NULL) < 0)
		measure_die("no permissions");
	o.granted = p;
	o.variables = variables;
	o.n_variables = 1;
	o.work_dir = folder;
	o.exec_readable = 1;
	if (corral_enclave_new(&enclave, &o, token, NULL) < 0)
		measure_die("no enclave");
	corral_permissions_free(p);
	return enclave;
}

int main(int argc, char **argv)
{
	char folder[] = "/tmp/bench-mcp-XXXXXX";
	const size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : ROUNDS;
	const char *corral = argc > 1 ? measure_path(argv[1]) : NULL;
	struct corral_enclave *enclave;
	bool is_met;
	int status = -1;
	pid_t pid;

	if (!corral || !mkdtemp(folder) || chdir(folder) < 0)
		measure_die("usage: bench-mcp CORRAL [ROUNDS]");
	enclave = make_enclave(folder);
	pid = start_server(corral);
	{
		struct measure kinds[] = {
			{ .name = "the library", .run = run_library, .context = enclave },
			{ .name = "corral mcp serve", .run = run_served }
		};

		/* The first call makes the sandbox. */
		if (run_library(enclave) < 0 || run_served(NULL) < 0)
			measure_die("no command runs");
		measure_all(kinds, 2, rounds);
		measure_print(kinds, 2);
		is_met = measure_judge_value("a call of execute_command, above the library",
			(measure_median(&kinds[1]) - measure_median(&kinds[0])) * 1e3, "ms",
			TARGET_MS_TENTHS / 10.0);
	}
	(void)close(to_server);
	(void)waitpid(pid, &status, 0);
	(void)fclose(from_server);
	corral_enclave_free(enclave);
	(void)rmdir(folder);
	return is_met && status == 0 ? 0 : 1;
}
