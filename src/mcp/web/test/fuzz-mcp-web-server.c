/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What clients do to a server over HTTP, as bytes: each step has a client and a deed (bytes, a
 * close, reading, an answer to the call that waits longest). In bytes, \1 is the token and \2 the
 * session that was made last. Nothing is called by a connection that never sent the token, a call
 * is answered or cancelled once, and nothing is left at the end.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "mcp/web/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TOKEN "0123456789abcdef0123456789abcdef"

enum { STEPS_MAX = 128, CLIENTS = 4, CALLS_MAX = 2 * WEB_EXCHANGES_MAX };
enum deed { SEND, CLOSE, RECEIVE, ANSWER, DEED_COUNT };

static struct {
	struct loop *loop;
	struct web *web;
	struct mcp_call *calls[CALLS_MAX];
	size_t n_calls, n_servers;
	int sides[CLIENTS];
	char session[WEB_ID + 1];
	bool has_token; /* some connection showed it */
} fuzz;

static void fuzz_require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_call(void *context, struct mcp_call *c)
{
	struct mcp_result r = { 0 };

	(void)context;
	fuzz_require(fuzz.has_token);
	if (c->tool == &mcp_tools[MCP_EXECUTE_COMMAND] && fuzz.n_calls < CALLS_MAX) {
		fuzz.calls[fuzz.n_calls++] = c;
		mcp_server_progress(c, 1, "begins");
		return;
	}
	buffer_adds(&r.text, "text");
	mcp_server_answer(c, &r);
}

static void fuzz_forget(const struct mcp_call *c)
{
	for (size_t i = 0; i < fuzz.n_calls; i++) {
		if (fuzz.calls[i] != c)
			continue;
		memmove(fuzz.calls + i, fuzz.calls + i + 1,
			(fuzz.n_calls - i - 1) * sizeof(fuzz.calls[0]));
		fuzz.n_calls--;
		return;
	}
	abort();
}

static void fuzz_cancel(void *context, struct mcp_call *c)
{
	(void)context;
	fuzz_forget(c);
}

static int fuzz_open(void *context, struct mcp_server *s, size_t principal,
	const struct mcp_message *m, struct buffer *why)
{
	(void)context;
	(void)m;
	(void)why;
	fuzz_require(fuzz.has_token && principal == 0);
	s->version = "0";
	s->backend = (struct mcp_backend){ .call = fuzz_call, .cancel = fuzz_cancel };
	fuzz.n_servers++;
	return 0;
}

static void fuzz_close(void *context, struct mcp_server *s)
{
	(void)context;
	(void)s;
	fuzz_require(fuzz.n_servers > 0);
	fuzz.n_servers--;
}

static void fuzz_turn(void)
{
	fuzz_require(loop_turn(fuzz.loop, 0) == 0);
	(void)web_turn(fuzz.web);
	fuzz_require(fuzz.n_calls <= WEB_EXCHANGES_MAX);
}

static int fuzz_side(size_t client)
{
	int pair[2];

	if (fuzz.sides[client] >= 0)
		return fuzz.sides[client];
	fuzz_require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0);
	if (web_client_new(fuzz.web, pair[1]) < 0)
		(void)close(pair[1]);
	fuzz.sides[client] = pair[0];
	return pair[0];
}

static void fuzz_send(size_t client, const uint8_t *data, size_t len)
{
	const int fd = fuzz_side(client);
	auto_buffer text = { 0 };

	for (size_t i = 0; i < len; i++) {
		if (data[i] == 1)
			buffer_adds(&text, TOKEN);
		else if (data[i] == 2)
			buffer_adds(&text, fuzz.session);
		else
			buffer_addc(&text, (char)data[i]);
	}
	fuzz.has_token =
		fuzz.has_token || memmem(buffer_text(&text), text.len, TOKEN, strlen(TOKEN));
	(void)send(fd, buffer_text(&text), text.len, MSG_NOSIGNAL);
	fuzz_turn();
}

static void fuzz_receive(size_t client)
{
	static const char field[] = "Mcp-Session-Id: ";
	static char room[64 << 10];
	const ssize_t n = fuzz.sides[client] < 0
				  ? 0
				  : recv(fuzz.sides[client], room, sizeof(room) - 1, MSG_DONTWAIT);
	const char *at;

	if (n <= 0)
		return;
	room[n] = '\0';
	at = strstr(room, field);
	if (at && strlen(at) > strlen(field) + WEB_ID)
		memcpy(fuzz.session, at + strlen(field), WEB_ID);
}

static void fuzz_answer(void)
{
	struct mcp_result r = { 0 };
	struct mcp_call *c = fuzz.n_calls ? fuzz.calls[0] : NULL;

	if (!c)
		return;
	fuzz_forget(c);
	buffer_adds(&r.text, "done");
	mcp_server_answer(c, &r);
	fuzz_turn();
}

/* Steps: a byte for the deed and the client; of SEND two more for the length, and the bytes. */
static void fuzz_steps(const uint8_t *data, size_t size)
{
	for (int i = 0; i < STEPS_MAX && size > 0; i++) {
		const size_t client = data[0] / DEED_COUNT % CLIENTS;
		const enum deed deed = (enum deed)(data[0] % DEED_COUNT);
		size_t len = 0;

		data++;
		size--;
		if (deed == SEND && size >= 2) {
			len = (size_t)(data[0] | data[1] << 8);
			data += 2;
			size -= 2;
			len = len < size ? len : size;
			fuzz_send(client, data, len);
		} else if (deed == CLOSE) {
			fd_close(&fuzz.sides[client]);
			fuzz_turn();
		} else if (deed == RECEIVE) {
			fuzz_receive(client);
		} else if (deed == ANSWER) {
			fuzz_answer();
		}
		data += len;
		size -= len;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct web_host host = { fuzz_open, fuzz_close, NULL };
	static const struct web_tokens tokens = { .items = { TOKEN }, .n = 1 };

	memset(&fuzz, 0, sizeof(fuzz));
	for (size_t i = 0; i < CLIENTS; i++)
		fuzz.sides[i] = -1;
	fuzz_require(loop_new(&fuzz.loop) == 0);
	fuzz_require(web_new(&fuzz.web,
			     &(struct web_options){
				     .loop = fuzz.loop, .host = &host, .tokens = &tokens }) == 0);
	fuzz_steps(data, size);
	web_free(fuzz.web);
	fuzz_require(fuzz.n_calls == 0 && fuzz.n_servers == 0);
	for (size_t i = 0; i < CLIENTS; i++)
		fd_close(&fuzz.sides[i]);
	loop_free(fuzz.loop);
	return 0;
}
