/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tools: a host with tools of its own. Each line of its input is a call, words between spaces; each
 * call has an answer, "ok" with what came of it, or "error" and why.
 *
 *     fs_read PATH                   shell_exec PROGRAM ARGUMENT…
 *     fs_write PATH TEXT             http_request METHOD URL
 *     fs_list PATH
 *     grant OPERATION PATTERN        get_audit_log COUNT
 *     revoke OPERATION PATTERN       export_audit_log FILE
 *
 * An operation is fs.read, fs.write, exec or net.
 *
 * Whoever sends grants here has the host's word for it: in a real one they come from a person, by
 * another way than the agent's calls, and only that way knows the token.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <corral/enclave.h>

#define LINE_BYTES 8192
#define WORDS_MAX 64

struct host {
	struct corral_enclave *enclave;
	char token[CORRAL_TOKEN_BYTES];
};

static const struct corral_by agent = { .size = sizeof(agent), .actor = "agent" };

/* Tools: what the agent may call */

static int fs_read(struct host *h, char **words, struct corral_error **e)
{
	char *data = NULL;
	size_t len = 0;
	int r = corral_enclave_fs_read(h->enclave, &agent, words[1], &data, &len, e);

	if (r == 0)
		printf("ok %.*s\n", (int)len, data);
	corral_free(data);
	return r;
}

static int fs_write(struct host *h, char **words, struct corral_error **e)
{
	int r = corral_enclave_fs_write(
		h->enclave, &agent, words[1], words[2], strlen(words[2]), e);

	if (r == 0)
		printf("ok\n");
	return r;
}

static int show_entry(void *context, const struct corral_file *file)
{
	(void)context;
	printf(" %s%s", file->name, file->kind == CORRAL_FOLDER ? "/" : "");
	return 0;
}

static int fs_list(struct host *h, char **words, struct corral_error **e)
{
	long r;

	printf("list");
	r = corral_enclave_fs_list(h->enclave, &agent, words[1], show_entry, NULL, e);
	printf("\n");
	if (r >= 0)
		printf("ok\n");
	return (int)r;
}

static int show_output(void *context, enum corral_stream stream, const void *data, size_t len)
{
	(void)context;
	(void)stream;
	return fwrite(data, 1, len, stdout) != len;
}

static int shell_exec(struct host *h, char **words, struct corral_error **e)
{
	struct corral_call call = CORRAL_CALL;
	struct corral_result *result = NULL;
	int r;

	call.output = show_output;
	call.timeout_ms = 60000;
	r = corral_enclave_shell_exec(
		h->enclave, &agent, (const char *const *)words + 1, &call, &result, e);
	if (r == 0)
		printf("ok %d\n", corral_result_exit_code(result));
	corral_result_free(result);
	return r;
}

static int http_request(struct host *h, char **words, struct corral_error **e)
{
	int r = corral_enclave_http_request(h->enclave, &agent, words[1], words[2], e);

	/* Here the host would make the request, and ask again for each redirect. */
	if (r == 0)
		printf("ok\n");
	return r;
}

/* What a person does */

/* -EINVAL: there is none of that name. Nothing is granted by a guess. */
static int operation(const char *word, enum corral_operation *ret)
{
	static const struct {
		const char *word;
		enum corral_operation op;
	} all[] = {
		{ "fs.read", CORRAL_FS_READ },
		{ "fs.write", CORRAL_FS_WRITE },
		{ "exec", CORRAL_EXEC },
		{ "net", CORRAL_NET_CONNECT },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(word, all[i].word) == 0) {
			*ret = all[i].op;
			return 0;
		}
	}
	return -EINVAL;
}

static int grant(struct host *h, char **words, struct corral_error **e)
{
	enum corral_operation op;
	int r = operation(words[1], &op);

	if (r == 0)
		r = corral_enclave_grant(h->enclave, h->token, op, words[2], NULL, e);
	if (r == 0)
		printf("ok\n");
	return r;
}

static int revoke(struct host *h, char **words, struct corral_error **e)
{
	enum corral_operation op;
	int r = operation(words[1], &op);

	if (r == 0)
		r = corral_enclave_revoke(h->enclave, h->token, op, words[2], NULL, e);
	if (r == 0)
		printf("ok\n");
	return r;
}

static int get_audit_log(struct host *h, char **words, struct corral_error **e)
{
	char *text = NULL;
	int r = corral_enclave_get_audit_log(h->enclave, strtoul(words[1], NULL, 10), &text, e);

	if (r == 0)
		printf("%sok\n", text);
	corral_free(text);
	return r;
}

static int export_audit_log(struct host *h, char **words, struct corral_error **e)
{
	int r = corral_enclave_export_audit_log(h->enclave, "json", words[1], e);

	if (r == 0)
		printf("ok\n");
	return r;
}

/* Calls */

static const struct {
	const char *name;
	int words; /* at least */
	int (*call)(struct host *h, char **words, struct corral_error **e);
} calls[] = {
	{ "fs_read", 2, fs_read },
	{ "fs_write", 3, fs_write },
	{ "fs_list", 2, fs_list },
	{ "shell_exec", 2, shell_exec },
	{ "http_request", 3, http_request },
	{ "grant", 3, grant },
	{ "revoke", 3, revoke },
	{ "get_audit_log", 2, get_audit_log },
	{ "export_audit_log", 2, export_audit_log },
};

static int split(char *line, char **words)
{
	int n = 0;

	for (char *word = strtok(line, " \n"); word && n < WORDS_MAX; word = strtok(NULL, " \n"))
		words[n++] = word;
	words[n] = NULL;
	return n;
}

static void answer(struct host *h, char *line)
{
	char *words[WORDS_MAX + 1];
	struct corral_error *e = NULL;
	int n = split(line, words), r;

	for (size_t i = 0; n && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strcmp(calls[i].name, words[0]) != 0 || n < calls[i].words)
			continue;
		/* The first line says why; the second, if there is one, what would allow it. */
		r = calls[i].call(h, words, &e);
		if (r < 0) {
			const char *why = e ? corral_error_message(e) : strerror(-r);

			printf("error %.*s\n", (int)strcspn(why, "\n"), why);
		}
		corral_error_free(e);
		return;
	}
	printf("error this is no call\n");
}

int main(void)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct host h = { 0 };
	struct corral_error *e = NULL;
	static char line[LINE_BYTES];

	if (corral_enclave_new(&h.enclave, &o, h.token, &e) < 0) {
		fprintf(stderr, "tools: %s\n", corral_error_message(e));
		corral_error_free(e);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		answer(&h, line);
		fflush(stdout);
	}
	corral_enclave_free(h.enclave);
	return 0;
}
