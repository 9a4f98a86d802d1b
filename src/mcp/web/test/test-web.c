/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "mcp/web/internal.h"

#define TOKEN "0123456789abcdef0123456789abcdef"
#define INITIALIZE                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":" \
	"\"2025-11-25\",\"capabilities\":{}}}"

static size_t n_servers;

static void call(void *context, struct mcp_call *c)
{
	(void)context;
	(void)c;
}

static void cancel(void *context, struct mcp_call *c)
{
	(void)context;
	(void)c;
}

static int open_server(void *context, struct mcp_server *s, size_t principal,
	const struct mcp_message *m, struct buffer *why)
{
	(void)context;
	(void)principal;
	(void)m;
	(void)why;
	s->version = "0";
	s->backend = (struct mcp_backend){ .call = call, .cancel = cancel };
	n_servers++;
	return 0;
}

static void close_server(void *context, struct mcp_server *s)
{
	(void)context;
	(void)s;
	n_servers--;
}

static const struct web_host host = { open_server, close_server, NULL };
static const struct web_tokens tokens = { .items = { TOKEN }, .n = 1 };

struct side {
	struct loop *loop;
	struct web *web;
	int fd;
};

static struct side side_new(uint64_t idle_ms)
{
	struct side s = { 0 };
	int pair[2];

	n_servers = 0;
	assert_int_equal(loop_new(&s.loop), 0);
	assert_int_equal(web_new(&s.web, &(struct web_options){ .loop = s.loop,
						 .host = &host,
						 .tokens = &tokens,
						 .idle_ms = idle_ms }),
		0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(web_client_new(s.web, pair[1]), 0);
	s.fd = pair[0];
	return s;
}

static void side_free(struct side *s)
{
	web_free(s->web);
	assert_int_equal(n_servers, 0);
	loop_free(s->loop);
	fd_close(&s->fd);
}

static void side_turn(struct side *s, int ms)
{
	assert_int_equal(loop_turn(s->loop, ms), 0);
	(void)web_turn(s->web);
}

static void side_post(struct side *s, const char *body)
{
	auto_buffer text = { 0 };

	buffer_printf(&text,
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN
		"\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		strlen(body), body);
	assert_int_equal(send(s->fd, text.data, text.len, MSG_NOSIGNAL), text.len);
	side_turn(s, 0);
}

/* A session that is not used ends, and one whose call is under way does not. */
static void test_idle(void **state)
{
	struct side s = side_new(1);

	(void)state;
	side_post(&s, INITIALIZE);
	for (int i = 0; i < 1000 && n_servers > 0; i++)
		side_turn(&s, 1);
	assert_int_equal(n_servers, 0);
	side_free(&s);
}

/* Of a client that sends and does not read, no more is read than it has answers for. */
static void test_clogged(void **state)
{
	static const char ping[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
		"\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{}}}}";
	struct side s = side_new(0);
	auto_buffer text = { 0 };
	size_t sent = 0;

	(void)state;
	buffer_printf(&text,
		"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN
		"\r\nContent-Type: application/json\r\nMCP-Protocol-Version: 2026-07-28\r\n"
		"Mcp-Method: tools/list\r\nContent-Length: %zu\r\n\r\n%s",
		strlen(ping), ping);
	/* Until both directions are full. */
	for (int still = 0; still < 100 && sent < 64 << 20; still++) {
		const ssize_t n = send(s.fd, text.data, text.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n > 0) {
			sent += (size_t)n;
			still = 0;
		}
		/* Half a request would be another matter. */
		if (n > 0 && (size_t)n < text.len)
			break;
		side_turn(&s, 0);
	}
	assert_true(sent < 16 << 20);
	assert_true(s.web->room.bytes < 4 << 20);
	side_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_idle),
		cmocka_unit_test(test_clogged) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
