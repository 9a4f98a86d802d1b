/* SPDX-License-Identifier: Apache-2.0 */
/*
 * question-host POLICY FOLDER broker|plain MS WORD…: a host program that runs one command in a
 * sandbox of the library and waits for it. What comes by standard input goes to the command, but
 * for lines that begin with "!": "!update POLICY" gives the sandbox other permissions, "!run LINE"
 * runs a line in it beside the command; each prints what came of it, as JSON. MS: how long a
 * question waits.
 *
 * question-host POLICY FOLDER enclave: the same by an enclave, which has the policy and calls it
 * all the time. Lines: "read PATH", "get URL", "start WORD…" (a command that runs from then on),
 * "update POLICY". What is refused prints "denied", or "asked".
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <corral/enclave.h>
#include <corral/sandbox.h>

static struct corral_sandbox *sandbox;
static struct corral_process *process;

static void fail(const char *what, struct corral_error *e)
{
	(void)fprintf(stderr, "question-host: %s: %s\n", what, corral_error_message(e));
	exit(1);
}

static struct corral_permissions *load(const char *path)
{
	static char text[64 << 10];
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;
	FILE *f = fopen(path, "re");
	size_t len = f ? fread(text, 1, sizeof(text), f) : 0;

	if (f)
		(void)fclose(f);
	if (corral_permissions_parse(&p, path, text, len, &e) < 0)
		fail(path, e);
	return p;
}

static int hear(void *context, enum corral_stream stream, const void *data, size_t len)
{
	FILE *to = stream == CORRAL_STDOUT ? stdout : stderr;

	(void)context;
	(void)fwrite(data, 1, len, to);
	(void)fflush(to);
	return 0;
}

static void update(const char *path)
{
	struct corral_permissions *p = load(path);
	struct corral_error *e = NULL;

	if (corral_sandbox_update(
		    sandbox, (const struct corral_permissions *const *)&p, 1, NULL, &e) < 0)
		fail("update", e);
	corral_permissions_free(p);
	(void)printf("\"updated\"\n");
	(void)fflush(stdout);
}

static void run(const char *line)
{
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	if (corral_sandbox_execute(sandbox, line, NULL, &r, &e) < 0)
		fail(line, e);
	(void)fputs(corral_result_stdout(r, NULL), stdout);
	(void)fflush(stdout);
	corral_result_free(r);
}

static void *read_input(void *context)
{
	char line[8192];

	while (fgets(line, sizeof(line), stdin)) {
		if (line[0] != '!') {
			(void)corral_process_write(process, line, strlen(line));
			continue;
		}
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "!update ", 8) == 0)
			update(line + 8);
		else if (strncmp(line, "!run ", 5) == 0)
			run(line + 5);
	}
	(void)corral_process_close_stdin(process);
	return context;
}

static struct corral_enclave *enclave;
static struct corral_shell *shell;
static char token[CORRAL_TOKEN_BYTES];

static void enclave_say(int r, const char *text, struct corral_error *e)
{
	const bool is_unasked =
		r == -EINPROGRESS && strstr(corral_error_message(e), "; the user is not asked: ");

	if (r < 0 && r != -EACCES && r != -EINPROGRESS)
		(void)fprintf(stderr, "question-host: %s\n", corral_error_message(e));
	(void)printf("\"%s\"\n", r == -EACCES        ? "denied"
				 : is_unasked        ? "not asked"
				 : r == -EINPROGRESS ? "asked"
				 : r < 0             ? "failed"
						     : text);
	(void)fflush(stdout);
	corral_error_free(e);
}

static int enclave_start(char *line, struct corral_error **e)
{
	const char *words[16] = { NULL };
	char *rest = NULL;
	size_t n = 0;

	for (char *word = strtok_r(line, " ", &rest); word && n < 15;
		word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	corral_shell_free(shell);
	shell = NULL;
	return corral_enclave_shell_start(&shell, enclave, NULL, words, NULL, e);
}

static void enclave_do(char *line)
{
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;
	char *data = NULL;
	size_t len = 0;
	int r = -EINVAL;

	line[strcspn(line, "\n")] = '\0';
	if (strncmp(line, "read ", 5) == 0) {
		r = corral_enclave_fs_read(enclave, NULL, line + 5, &data, &len, &e);
	} else if (strncmp(line, "get ", 4) == 0) {
		r = corral_enclave_http_request(enclave, NULL, "GET", line + 4, &e);
	} else if (strncmp(line, "start ", 6) == 0) {
		r = enclave_start(line + 6, &e);
	} else if (strncmp(line, "update ", 7) == 0) {
		p = load(line + 7);
		r = corral_enclave_set_policy(enclave, token, p, NULL, &e);
	}
	enclave_say(r, data ? data : "done", e);
	corral_permissions_free(p);
	free(data);
}

static int enclave_main(char **argv)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct pollfd in = { .events = POLLIN };
	struct corral_permissions *p = load(argv[1]);
	struct corral_error *e = NULL;
	char line[8192];

	o.granted = p;
	if (corral_enclave_new(&enclave, &o, token, &e) < 0)
		fail("enclave", e);
	corral_permissions_free(p);
	for (;;) {
		/* The library hears the daemon in calls. */
		if (shell)
			(void)corral_shell_wait(shell, 20, NULL, NULL);
		else
			(void)corral_enclave_check(enclave, NULL, CORRAL_ENV, "NOTHING", NULL);
		if (poll(&in, 1, 20) != 1)
			continue;
		if (!fgets(line, sizeof(line), stdin))
			break;
		enclave_do(line);
	}
	corral_shell_free(shell);
	corral_enclave_free(enclave);
	return 0;
}

int main(int argc, char **argv)
{
	struct corral_call call = CORRAL_CALL;
	struct corral_permissions *p;
	struct corral_builder *b = NULL;
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;
	pthread_t reader;

	if (argc == 4 && strcmp(argv[3], "enclave") == 0)
		return enclave_main(argv);
	if (argc < 6)
		return 2;
	p = load(argv[1]);
	if (corral_builder_from_permissions(&b, p) < 0)
		return 1;
	corral_permissions_free(p);
	(void)corral_builder_work_dir(b, argv[2]);
	(void)corral_builder_ask_ms(b, strtoull(argv[4], NULL, 10));
	if (strcmp(argv[3], "broker") == 0)
		(void)corral_builder_with_broker(b, NULL);
	if (corral_builder_build(b, &sandbox, &e) < 0)
		fail("build", e);
	corral_builder_free(b);
	call.flags = CORRAL_CALL_INPUT;
	call.output = hear;
	if (corral_process_start(&process, sandbox, (const char *const *)argv + 5, &call, &e) < 0)
		fail("start", e);
	if (pthread_create(&reader, NULL, read_input, NULL) != 0)
		return 1;
	if (corral_process_wait(process, -1, &r, &e) < 0)
		fail("wait", e);
	(void)pthread_join(reader, NULL);
	corral_result_free(r);
	corral_process_free(process);
	corral_sandbox_free(sandbox);
	return 0;
}
