/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that starts corral-vault, and others that ask it by sockets which they were handed, as
 * the processes of a sandbox will be.
 *
 * Started in place of corral-inject and corral-postgres, it is one that was taken over: it asks for
 * the secrets LENT, OPEN, BOUND and DATABASE, and says what it got in place of that it is ready.
 *
 *     vault-client get N PRINCIPAL NAME HOST:PORT PLACE   each of N processes prints a line: the
 * value, or ! and the error vault-client bad PRINCIPAL                          a client that
 * breaks the protocol: prints what it gets vault-client hold prints "up", and waits for the end of
 * its input
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "process/child.h"
#include "vault/client.h"
#include "wire/report.h"

enum { CHILDREN_MAX = 32 };

static int fail(const char *what, const struct error *e)
{
	(void)fprintf(stderr, "%s: %s\n", what, e->text);
	return 1;
}

/* It is lent all that it asks for. */
static int add(struct vault_client *c, const char *principal, const char *name, int socket)
{
	char names[VAULT_NAME_MAX + 2];

	(void)snprintf(names, sizeof(names), "%s\n", name);
	return vault_client_add(c, principal, names, socket);
}

/* words: NAME HOST:PORT PLACE. */
static int ask(int socket, const char *const *words, struct buffer *out)
{
	static struct frame f;
	struct secret room = { 0 };
	struct vault_message m = { .op = VAULT_GET, .name = words[0], .text = words[1] }, answer;
	auto_buffer fields = { 0 };

	if (vault_places_parse(words[2], &m.places) < 0 ||
		vault_fields_parse(words[2], &fields) < 0)
		return -EINVAL;
	m.fields = buffer_text(&fields);
	if (vault_message_send(socket, FRAME_VAULT_GET, 7, &m, &room) < 0 ||
		frame_receive(socket, &f) != 1 || f.type != FRAME_VAULT_ANSWER || f.id != 7 ||
		vault_message_decode(&answer, f.body, f.len) < 0)
		buffer_adds(out, "! gone\n");
	else if (answer.error < 0)
		buffer_printf(out, "! %s\n", answer.text);
	else
		buffer_printf(out, "%.*s\n", (int)answer.secret_len, (const char *)answer.secret);
	return out->failed ? -ENOMEM : 0;
}

static int get(int socket, const char *const *words)
{
	auto_buffer out = { 0 };

	return ask(socket, words, &out) < 0 ||
	       write(STDOUT_FILENO, out.data, out.len) != (ssize_t)out.len;
}

/* Of an injector: its lender by 3, the vault by 4. */
static int taken(void)
{
	static const char *const wanted[][3] = {
		{ "LENT", "lent.example.com:443", "header" },
		{ "OPEN", "open.example.com:443", "header" },
		{ "BOUND", "bound.example.com:443", "header" },
		{ "DATABASE", "db.example.com:5432", "postgresql" },
	};
	auto_buffer out = { 0 };
	struct error e = { 0 };

	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		buffer_printf(&out, "%s=", wanted[i][0]);
		if (ask(CHILD_FDS, wanted[i], &out) < 0)
			return 1;
		out.data[out.len - 1] = ' ';
	}
	(void)error_set(&e, -EPERM, NULL, "%s", buffer_text(&out));
	return refusal_send(CHILD_SOCKET, FRAME_FAILED, -EPERM, &e) < 0;
}

/* A frame that only the starter may send. */
static int bad(int socket)
{
	static struct frame f;
	struct secret room = { 0 };
	const struct vault_message m = { .op = VAULT_LIST };

	if (vault_message_send(socket, FRAME_VAULT_CALL, 1, &m, &room) < 0)
		return 1;
	return printf("%s\n", frame_receive(socket, &f) == 1 ? "answered" : "hung up") < 0;
}

/* Serves the vault until all children have ended. */
static int serve(struct vault_client *c, long n)
{
	int status, failed = 0;

	while (n > 0) {
		struct pollfd p = { .fd = vault_client_service_fd(c), .events = POLLIN };

		if (poll(&p, 1, 20) == 1 && vault_client_serve(c) < 0)
			return 1;
		while (n > 0 && waitpid(-1, &status, WNOHANG) > 0) {
			failed |= status != 0;
			n--;
		}
		if (n > 0 && waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD)
			return 1;
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct vault_client *c = NULL;
	struct error e = { 0 };
	const bool gets = argc == 7 && strcmp(argv[1], "get") == 0;
	const long n = gets ? strtol(argv[2], NULL, 10) : argc == 3 ? 1 : 0;
	char byte;
	int r = 0;

	if (strncmp(argv[0], "corral-", 7) == 0)
		return taken();
	if (vault_client_start(&c, &e) < 0)
		return fail("start", &e);
	for (int i = 0; i < n && i < CHILDREN_MAX; i++) {
		int pair[2];
		pid_t pid;

		if (frame_pair(pair) < 0 ||
			add(c, gets ? argv[3] : argv[2], gets ? argv[4] : "NONE", pair[0]) < 0)
			return fail("add", &e);
		pid = fork();
		if (pid == 0) {
			(void)close(pair[0]);
			_exit(gets ? get(pair[1], (const char *const *)argv + 4)
				   : (bad(pair[1]) | fflush(stdout)));
		}
		(void)close(pair[0]);
		(void)close(pair[1]);
	}
	if (n == 0)
		r = puts("up") < 0 || fflush(stdout) != 0 || read(STDIN_FILENO, &byte, 1) < 0;
	else
		r = serve(c, n);
	vault_client_end(c);
	return r;
}
