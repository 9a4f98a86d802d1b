/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the worker reads beside modules: its words, the arguments of a module, and lines of a broker
 * that may lie. The first byte chooses; for calls the next two are the length of what the module
 * passes, and the rest is what the broker sends.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "codec/json.h"
#include "wasm/host-call.h"
#include "wasm/input.h"
#include "wasm/options.h"

enum { WORDS_MAX = 64, ANSWER_MAX = 64 << 10 };

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_json(const char *text, size_t len)
{
	const struct node_bounds bounds = { 1 << 24, 1 << 24 };
	auto_document d = { 0 };

	check(json_read_within(&d, NULL, text, len, &bounds, NULL) == 0);
}

static void try_words(const char *data, size_t size)
{
	auto_arena a = { 0 };
	auto_buffer copy = { 0 }, out = { 0 };
	const char *words[WORDS_MAX];
	struct worker_options o;
	struct error e = { 0 };
	size_t n = 0;

	buffer_add(&copy, data, size);
	buffer_addc(&copy, '\0');
	for (size_t at = 0; at < copy.len && n < WORDS_MAX; at += strlen(copy.data + at) + 1)
		words[n++] = copy.data + at;
	if (worker_options_read(&o, words, n, &a, &e) < 0) {
		check(e.text[0]);
		return;
	}
	check(o.memory <= WORKER_MEMORY_MAX && o.n_folders <= WORKER_FOLDERS_MAX && o.n_args < n);
	for (size_t i = 0; i < o.n_folders; i++)
		check(o.folders[i].guest[0] == '/' && o.folders[i].host[0] == '/');
	if (o.n_args > 1 && input_read(&o, &out, &e) == 0)
		check_json(out.data, out.len);
}

/* One line went out, whatever the module passed; and what comes back is JSON. */
static void try_call(const char *data, size_t size)
{
	struct host_call h = { .number = 0 };
	static char sent[1 << 20];
	auto_buffer out = { 0 };
	int pair[2], r;
	size_t len;
	ssize_t n;

	if (size < 2)
		return;
	len = (unsigned char)data[0] | (size_t)(unsigned char)data[1] << 8;
	data += 2;
	size -= 2;
	len = len < size ? len : size;
	if (size - len > ANSWER_MAX || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return;
	check(write(pair[1], data + len, size - len) == (ssize_t)(size - len));
	(void)shutdown(pair[1], SHUT_WR);
	h.connection.fd = pair[0];
	r = host_call_make(&h, len % 2 ? "http_request" : NULL, data, len, &out);
	if (r == 0)
		check_json(out.data, out.len);
	n = recv(pair[1], sent, sizeof(sent), MSG_DONTWAIT);
	if (n > 0) {
		check(memchr(sent, '\n', (size_t)n) == sent + n - 1);
		check_json(sent, (size_t)n - 1);
	}
	host_call_close(&h);
	(void)close(pair[1]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	if (data[0] & 1)
		try_words((const char *)data + 1, size - 1);
	else
		try_call((const char *)data + 1, size - 1);
	return 0;
}
