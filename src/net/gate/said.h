/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a client has said on a connection that passed, as far as it was judged (gate.h), so that it
 * can be judged once more when the policy changes: a hello of TLS, or the last request of HTTP.
 *
 * It is kept per connection, and the words are the command's: there is a bound for each, and one
 * for all of them. What is beyond it is forgotten, and does not pass a second time.
 */
#include "net/judge.h"

enum said_kind {
	SAID_NOTHING, /* or nothing that depends on the policy */
	SAID_NAMELESS,
	SAID_NAME,
	SAID_UNSEEN,
	SAID_REQUEST,
	SAID_FORGOTTEN,
};

enum { SAID_BYTES_MAX = 2048 /* no rule is about a longer path */, SAID_BYTES_ALL = 16 << 20 };

/* Zeroed: nothing was said. */
struct said {
	enum said_kind kind;
	char *words; /* the name; or method, host, path and protocol; each with its NUL */
	size_t len;
	uint16_t port;
	bool upgrade;
};

void said_hello(struct said *s, const struct destination *d, const struct tls_hello *hello);
/* HTTP/2 without TLS. */
void said_unseen(struct said *s);
void said_request(struct said *s, const struct http_request *r);
/* By the policy of now. */
bool said_judge(const struct said *s, const struct net_judge *j, const struct destination *d,
	struct net_judgement *ret);
void said_deinit(struct said *s);
