/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server sends that does not know the password, whatever it is: the client is never let in,
 * and the password is not in what the server gets. "@@" stands for our nonce, so that a challenge
 * can be an answer. The first byte says whether there is TLS, and something to bind.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "postgres/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char password[] = "a-password-that-is-nowhere-else",
		  nonce[] = "abcdefghijklmnopqrstuvwx";

static void require(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pg_exchange x;
	auto_buffer in = { 0 }, to_server = { 0 }, to_client = { 0 };
	size_t at = 0;
	int n = 1;

	if (size < 1)
		return 0;
	for (size_t i = 1; i < size; i++) {
		if (i + 1 < size && data[i] == '@' && data[i + 1] == '@') {
			buffer_adds(&in, nonce);
			i++;
		} else {
			buffer_addc(&in, (char)data[i]);
		}
	}
	require(exchange_init(&x, &(struct pg_exchange_options){ .is_tls = data[0] & 1,
					  .binding = "0123456789abcdef",
					  .binding_len = (data[0] & 3) == 3 ? 16 : 0,
					  .password = password,
					  .password_len = strlen(password),
					  .nonce = nonce }) == 0);
	while (x.state == EXCHANGE_LOGIN && n > 0) {
		n = exchange_take(&x, buffer_text(&in) + at, in.len - at, &to_server, &to_client);
		require(n != -EACCES || x.why);
		at += n > 0 ? (size_t)n : 0;
		require(at <= in.len);
	}
	/* An error of the server's is all that a client can be told. */
	require(x.state == EXCHANGE_LOGIN
			? to_client.len == 0
			: x.state == EXCHANGE_REFUSED && buffer_text(&to_client)[0] == 'E');
	require(!to_server.len ||
		!memmem(to_server.data, to_server.len, password, strlen(password)));
	exchange_deinit(&x);
	return 0;
}
