/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-mcp-remote: a server of MCP over HTTP, for a client on standard input and output. Started
 * by `corral mcp remote`, in a sandbox that has one host and port, no files and, where a secret is
 * lent, its placeholder. It reads what servers send, so it gives up what even that sandbox has and
 * it does not need before it connects.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/fd.h"
#include "base/file.h"
#include "mcp/remote/http.h"
#include "process/confinement.h"

enum {
	BRIDGE_CHUNK = 64 << 10,
	BRIDGE_HEADERS_MAX = 64,
	BRIDGE_AUTHORITIES_MAX = 8 << 20,
	BRIDGE_GRACE_MS = 5 * 1000, /* for answers, when the client has nothing more to say */
};

struct remote_program {
	struct loop *loop;
	struct remote remote;
	struct http *http;
	struct mcp_lines lines;
	struct watcher in, out, signals;
	struct timer grace;
	size_t at; /* so much of remote.out is written */
	bool is_at_once, is_deaf;
};

/* What was asked for. */
struct bridge_words {
	const char *url, *secret, *authorities;
	const char *headers[BRIDGE_HEADERS_MAX];
	size_t n_headers;
};

/* The client */

/* It does not read any more: nothing is left to do for it. */
static void bridge_leave(struct remote_program *b)
{
	b->is_at_once = b->is_deaf = true;
	remote_close(&b->remote, true);
}

static void bridge_flush(struct remote_program *b)
{
	struct buffer *out = &b->remote.out;

	while (!b->is_deaf && b->at < out->len) {
		const ssize_t n = write(STDOUT_FILENO, out->data + b->at, out->len - b->at);

		if (n >= 0)
			b->at += (size_t)n;
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			bridge_leave(b);
	}
	if (b->is_deaf || b->at == out->len) {
		buffer_clear(out);
		b->at = 0;
	}
	(void)loop_change(b->loop, &b->out, out->len > 0 ? EPOLLOUT : 0);
	/* Nor is it heard while it does not read. */
	if (b->in.fd >= 0)
		(void)loop_change(b->loop, &b->in, out->len > HTTP_OUT_MAX ? 0 : EPOLLIN);
}

static void bridge_say(struct remote_program *b)
{
	struct buffer *said = &b->remote.said;

	for (size_t at = 0; at < said->len;) {
		const size_t len = strcspn(said->data + at, "\n");

		(void)fprintf(stderr, "corral-mcp-remote: %.*s\n", (int)len, said->data + at);
		at += len + 1;
	}
	buffer_clear(said);
}

static void bridge_writable(struct watcher *w, uint32_t events)
{
	struct remote_program *b = container_of(w, struct remote_program, out);

	if (events & (EPOLLERR | EPOLLHUP))
		bridge_leave(b);
	bridge_flush(b);
}

static void bridge_hurry(struct timer *t)
{
	struct remote_program *b = container_of(t, struct remote_program, grace);

	b->is_at_once = true;
}

static void bridge_end_input(struct remote_program *b)
{
	loop_remove(b->loop, &b->in);
	b->in.fd = -1;
	remote_close(&b->remote, false);
	b->grace.expired = bridge_hurry;
	if (loop_start(b->loop, &b->grace, BRIDGE_GRACE_MS) < 0)
		b->is_at_once = true;
}

static void bridge_readable(struct watcher *w, uint32_t events)
{
	static char bytes[BRIDGE_CHUNK];
	struct remote_program *b = container_of(w, struct remote_program, in);
	const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
	enum mcp_line what;
	const char *line;
	size_t len;

	(void)events;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		bridge_end_input(b);
		return;
	}
	mcp_lines_add(&b->lines, bytes, (size_t)n);
	while ((what = mcp_lines_next(&b->lines, &line, &len)) != MCP_LINE_NONE)
		remote_line(&b->remote, what == MCP_LINE_WHOLE ? line : NULL, len);
	if (b->lines.held.failed)
		bridge_leave(b);
}

static void bridge_signalled(struct watcher *w, uint32_t events)
{
	struct remote_program *b = container_of(w, struct remote_program, signals);

	(void)events;
	/* Once is enough; the next would be the same. */
	(void)loop_change(b->loop, w, 0);
	b->is_at_once = true;
}

/* Setting up */

static int bridge_watch(struct remote_program *b)
{
	sigset_t set;
	int fd, r;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	b->in = (struct watcher){ .ready = bridge_readable, .fd = -1 };
	b->out = (struct watcher){ .ready = bridge_writable, .fd = -1 };
	b->signals = (struct watcher){ .ready = bridge_signalled, .fd = -1 };
	r = loop_add(b->loop, &b->signals, fd, EPOLLIN);
	if (r == 0)
		r = loop_add(b->loop, &b->in, STDIN_FILENO, EPOLLIN);
	return r < 0 ? r : loop_add(b->loop, &b->out, STDOUT_FILENO, 0);
}

static int bridge_fail(const char *what, int r)
{
	(void)fprintf(stderr, "corral-mcp-remote: %s: %s\n", what, strerror(-r));
	return 1;
}

static int bridge_run(struct remote_program *b)
{
	int r = 0;

	while (r >= 0) {
		http_turn(b->http);
		if (b->is_at_once || b->in.fd < 0)
			remote_close(&b->remote, b->is_at_once);
		http_turn(b->http);
		bridge_say(b);
		bridge_flush(b);
		if (b->remote.is_over && (b->remote.out.len == 0 || b->is_at_once))
			return 0;
		if (b->remote.out.failed)
			return -ENOMEM;
		r = loop_turn(b->loop, -1);
	}
	return r;
}

/* What it needs of files is read before it may read none. */
static int bridge_authorities(const struct bridge_words *words, struct buffer *out)
{
	const char *named = getenv("SSL_CERT_FILE");
	const char *path = named && *named ? named : words->authorities;

	if (!path || strncmp(words->url, "https:", 6) != 0)
		return 0;
	return file_read(path, BRIDGE_AUTHORITIES_MAX, out);
}

static int bridge_serve(const struct bridge_words *words)
{
	static struct remote_program b;
	auto_buffer authorities = { 0 };
	const char *bearer = words->secret ? getenv(words->secret) : NULL;
	const struct http_options o = { .url = words->url,
		.bearer = bearer,
		.headers = words->headers,
		.n_headers = words->n_headers,
		.authorities = &authorities };
	int r = bridge_authorities(words, &authorities);

	if (r < 0)
		return bridge_fail("the certificates of authorities cannot be read", r);
	if (words->secret && (!bearer || !*bearer))
		return bridge_fail("the secret was not lent", -ENOENT);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return bridge_fail("libcurl cannot be used", -ELIBACC);
	r = confinement_enter(PROCESS_MCP_REMOTE, NULL);
	if (r < 0)
		return bridge_fail("this kernel cannot confine it (`corral doctor`)", r);
	b.remote.o = (struct remote_server){ .url = words->url, .secret = words->secret };
	r = loop_new(&b.loop);
	if (r == 0)
		r = bridge_watch(&b);
	if (r == -EPERM)
		return bridge_fail("standard input and output are not those of a client", r);
	if (r == 0)
		r = http_new(&b.http, b.loop, &b.remote, &o);
	if (r == 0)
		r = bridge_run(&b);
	http_free(b.http);
	remote_deinit(&b.remote);
	mcp_lines_deinit(&b.lines);
	return r < 0 ? bridge_fail("it has failed", r) : 0;
}

static int bridge_explain(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("corral-mcp-remote %s\n", CORRAL_VERSION) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return printf("corral-mcp-remote: speaks HTTP to one MCP server, for a client on "
			      "standard input and\noutput.\n"
			      "It is started by corral, in a sandbox; there is nothing to start by "
			      "hand. See\ncorral-mcp-remote(8) and `corral mcp remote --help`.\n") <
		       0;
	(void)fputs("corral-mcp-remote: started by `corral mcp remote`; see corral-mcp-remote(8)\n",
		stderr);
	return 2;
}

int main(int argc, char **argv)
{
	struct bridge_words words = { 0 };
	int at = 1;

	if (argc < 2 || argv[1][0] == '-')
		return bridge_explain(argc, argv);
	words.url = argv[at++];
	for (; at + 1 < argc; at += 2) {
		if (strcmp(argv[at], "--secret") == 0)
			words.secret = argv[at + 1];
		else if (strcmp(argv[at], "--authorities") == 0)
			words.authorities = argv[at + 1];
		else if (strcmp(argv[at], "--header") == 0 && words.n_headers < BRIDGE_HEADERS_MAX)
			words.headers[words.n_headers++] = argv[at + 1];
		else
			break;
	}
	return at < argc ? bridge_explain(0, NULL) : bridge_serve(&words);
}
