/* SPDX-License-Identifier: Apache-2.0 */
/*
 * execute-command FOLDER LINE: the tool "execute_command" as a framework for agents would embed it.
 * The agent asks for a command line; the host runs it in one sandbox that lives as long as the
 * conversation, and gives the agent back what it needs to go on: the output, the status, and, where
 * something was refused, why and what would allow it. The answer is JSON, as such tools speak it.
 */
#include <stdio.h>
#include <string.h>

#include <corral/sandbox.h>

/* One string of the answer. What is no plain ASCII comes as it is: commands print UTF-8, mostly. */
static void print_string(const char *name, const char *text, size_t len)
{
	printf("\"%s\":\"", name);
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void print_error(const struct corral_error *e)
{
	const struct corral_denial *d = corral_error_denial(e);
	const char *message = corral_error_message(e);

	putchar('{');
	print_string("error", message, strlen(message));
	if (d) {
		putchar(',');
		print_string("remedy", d->remedy, strlen(d->remedy));
	}
	puts("}");
}

static void print_result(const struct corral_result *r)
{
	size_t out_len, err_len;
	const char *out = corral_result_stdout(r, &out_len);
	const char *err = corral_result_stderr(r, &err_len);

	printf("{\"status\":%d,", corral_result_exit_code(r));
	print_string("stdout", out, out_len);
	putchar(',');
	print_string("stderr", err, err_len);
	printf(",\"truncated\":%s,\"timed_out\":%s}\n",
		corral_result_stdout_truncated(r) || corral_result_stderr_truncated(r) ? "true"
										       : "false",
		corral_result_timed_out(r) ? "true" : "false");
}

/* What this agent may do: read the system, work in one folder, no network, half a minute. */
static int open_sandbox(
	const char *folder, struct corral_sandbox **sandbox, struct corral_error **e)
{
	struct corral_builder *b = NULL;
	int r = corral_builder_new(&b);

	if (r < 0)
		return r;
	/* Each of these remembers its failure; it is enough to look at the end. */
	corral_builder_work_dir(b, folder);
	corral_builder_allow_fs_read(b, "/usr/**");
	corral_builder_allow_fs_read(b, "/etc/alternatives/**");
	corral_builder_allow_fs_write(b, "$WORK_DIR/**");
	corral_builder_timeout(b, 30 * 1000);
	corral_builder_output_limit(b, 64 * 1024);
	r = corral_builder_build(b, sandbox, e);
	corral_builder_free(b);
	return r;
}

/* The tool itself: called for each request of the agent. */
static int execute_command(struct corral_sandbox *sandbox, const char *line)
{
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int r = corral_sandbox_execute(sandbox, line, NULL, &result, &e);

	if (r < 0)
		print_error(e);
	else
		print_result(result);
	corral_result_free(result);
	corral_error_free(e);
	return r;
}

int main(int argc, char **argv)
{
	struct corral_sandbox *sandbox = NULL;
	struct corral_error *e = NULL;
	int failed = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: execute-command FOLDER LINE…\n");
		return 2;
	}
	if (open_sandbox(argv[1], &sandbox, &e) < 0) {
		print_error(e);
		corral_error_free(e);
		return 1;
	}
	for (int i = 2; i < argc; i++)
		failed += execute_command(sandbox, argv[i]) < 0;
	corral_sandbox_free(sandbox);
	return failed > 0;
}
