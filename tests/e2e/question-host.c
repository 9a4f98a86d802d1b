/* SPDX-License-Identifier: Apache-2.0 */
/*
 * question-host POLICY FOLDER broker|plain MS WORD…: a host program that runs one command in a
 * sandbox of the library and waits for it. What comes by standard input goes to the command, but
 * for lines that begin with "!": "!update POLICY" gives the sandbox other permissions, "!run LINE"
 * runs a line in it beside the command; each prints what came of it, as JSON. MS: how long a
 * question waits.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int main(int argc, char **argv)
{
	struct corral_call call = CORRAL_CALL;
	struct corral_permissions *p;
	struct corral_builder *b = NULL;
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;
	pthread_t reader;

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
