/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject-proxy HOST PORT TARGET-PORT AUTHORITIES CERTIFICATE NAME=VALUE…: what stands between a
 * client and a host with secrets, without a sandbox around it, for tests and benchmarks. Prints the
 * port that it listens on, and a placeholder for each secret. It writes the certificate of its
 * authority, and ends with its standard input. PROXY_ROOM: how many bytes wait in the socket of a
 * client. A request with the secret LOCKED is denied.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "inject/injection.h"
#include "inject/side.h"
#include "inject/masking.h"
#include "vault/format.h"

struct proxy {
	struct injection_options o;
	struct watcher listener, input;
	struct sockaddr_in target;
	bool ended, is_used, is_denied;
};

static bool proxy_may(void *context, const struct placeholder *p, uint32_t place, const char *field,
	size_t field_len)
{
	(void)field;
	(void)field_len;
	((struct proxy *)context)->is_denied = strcmp(p->name, "LOCKED") == 0;
	return place == VAULT_HEADER && strcmp(p->name, "LOCKED") != 0;
}

static const char *proxy_denied(void *context)
{
	struct proxy *p = context;
	const bool is_denied = p->is_denied;

	p->is_denied = false;
	return is_denied ? "the vault is locked" : NULL;
}

static void proxy_done(void *context, struct injection *x, const char *text)
{
	(void)context;
	(void)x;
	if (text)
		(void)fprintf(stderr, "%s\n", text);
}

static void proxy_note(void *context, const char *text)
{
	(void)context;
	(void)fprintf(stderr, "%s\n", text);
}

static void proxy_accept(struct watcher *w, uint32_t events)
{
	struct proxy *p = container_of(w, struct proxy, listener);
	const char *said = getenv("PROXY_ROOM");
	const int on = 1, room = said ? (int)strtoul(said, NULL, 10) : 0;
	int inner = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int outer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct injection *x;

	(void)events;
	if (inner < 0 || outer < 0 || connect(outer, (void *)&p->target, sizeof(p->target)) < 0 ||
		fcntl(outer, F_SETFL, O_NONBLOCK) < 0) {
		fd_close(&inner);
		fd_close(&outer);
		return;
	}
	if (room > 0)
		(void)setsockopt(inner, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	(void)setsockopt(inner, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(outer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)injection_new(&x, &p->o, inner, outer);
}

static void proxy_on_input(struct watcher *w, uint32_t events)
{
	(void)events;
	container_of(w, struct proxy, input)->ended = true;
}

static int proxy_listen(void)
{
	struct sockaddr_in here = { .sin_family = AF_INET };
	socklen_t len = sizeof(here);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (void *)&here, len) < 0 || listen(fd, 128) < 0 ||
		getsockname(fd, (void *)&here, &len) < 0)
		return -1;
	(void)printf("%u\n", ntohs(here.sin_port));
	return fd;
}

static int proxy_add(struct placeholders *all, struct masking *m, char *word)
{
	char *value = strchr(word, '=');
	const struct placeholder *p;

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (placeholders_add(all, word, value, strlen(value), &p) < 0 ||
		masking_add(m, word, value, strlen(value)) < 0)
		return -ENOMEM;
	(void)printf("%s\n", p->text);
	return 0;
}

static int proxy_write(const struct authority *a, const char *path)
{
	auto_buffer text = { 0 };
	FILE *f = authority_print(a, &text, NULL) == 0 ? fopen(path, "we") : NULL;

	if (!f)
		return -EIO;
	(void)fputs(text.data, f);
	return fclose(f) == 0 ? 0 : -EIO;
}

int main(int argc, char **argv)
{
	/* They live as long as the program. */
	static struct proxy p = { .listener = { proxy_accept, -1, 0 },
		.input = { proxy_on_input, -1, 0 } };
	static struct placeholders *all;
	static struct masking *m;
	struct error e = { 0 };
	int listener;

	(void)signal(SIGPIPE, SIG_IGN);
	if (argc < 6 || secret_begin() < 0 || placeholders_new(&all) < 0 || masking_new(&m) < 0 ||
		loop_new(&p.o.loop) < 0)
		return 2;
	p.o = (struct injection_options){ .loop = p.o.loop,
		.placeholders = all,
		.masking = m,
		.host = argv[1],
		.port = (uint16_t)strtoul(argv[2], NULL, 10),
		.may = proxy_may,
		.denied = proxy_denied,
		.context = &p,
		.is_used = &p.is_used,
		.note = proxy_note,
		.done = proxy_done };
	p.target = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(argv[3], NULL, 10)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	if (authority_new(&p.o.authority, (const char *const *)&argv[1], 1, &e) < 0 ||
		side_client_new(&p.o.client, (const char *const[]){ argv[4], NULL }, &e) < 0) {
		(void)fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	listener = proxy_listen();
	if (listener < 0 || proxy_write(p.o.authority, argv[5]) < 0)
		return 1;
	for (int i = 6; i < argc; i++)
		if (proxy_add(all, m, argv[i]) < 0)
			return 1;
	(void)fflush(stdout);
	if (loop_add(p.o.loop, &p.listener, listener, EPOLLIN) < 0 ||
		loop_add(p.o.loop, &p.input, 0, EPOLLIN) < 0)
		return 1;
	while (!p.ended && loop_turn(p.o.loop, -1) >= 0)
		;
	return 0;
}
