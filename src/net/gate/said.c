/* SPDX-License-Identifier: Apache-2.0 */
#include "net/gate/said.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 4 };

/* Of all connections. One loop, one thread. */
static size_t all_bytes;

static void said_forget(struct said *s)
{
	free(s->words);
	all_bytes -= s->len;
	*s = (struct said){ 0 };
}

void said_deinit(struct said *s)
{
	said_forget(s);
}

static void said_keep(struct said *s, enum said_kind kind, const char *const *words, size_t n)
{
	size_t len = 0;
	char *to;

	said_forget(s);
	s->kind = SAID_FORGOTTEN;
	for (size_t i = 0; i < n; i++)
		len += strlen(words[i]) + 1;
	if (len > SAID_BYTES_MAX || len > SAID_BYTES_ALL - all_bytes)
		return;
	s->words = to = malloc(len);
	if (!to)
		return;
	for (size_t i = 0; i < n; i++)
		to = stpcpy(to, words[i]) + 1;
	all_bytes += len;
	s->len = len;
	s->kind = kind;
}

/* The name that it is connected to is judged anyway. */
void said_hello(struct said *s, const struct destination *d, const struct tls_hello *hello)
{
	const char *const name = hello->name;

	said_forget(s);
	if (!hello->has_name)
		s->kind = SAID_NAMELESS;
	else if (!d->name || strcmp(d->name, name) != 0)
		said_keep(s, SAID_NAME, &name, 1);
}

void said_unseen(struct said *s)
{
	said_forget(s);
	s->kind = SAID_UNSEEN;
}

void said_request(struct said *s, const struct http_request *r)
{
	const char *const words[WORDS] = { r->method, r->host, r->path, r->upgrade_to };

	said_keep(s, SAID_REQUEST, words, r->upgrade ? WORDS : WORDS - 1);
	s->port = r->port;
	s->upgrade = r->upgrade;
}

static bool said_judge_request(const struct said *s, const struct net_judge *j,
	const struct destination *d, struct net_judgement *ret)
{
	const char *words[WORDS] = { s->words, "", "", "" };

	for (size_t i = 1; i < (s->upgrade ? WORDS : WORDS - 1); i++)
		words[i] = words[i - 1] + strlen(words[i - 1]) + 1;
	return judge_http(j, d,
		&(struct http_request){ .method = words[0],
			.host = words[1],
			.port = s->port,
			.path = words[2],
			.upgrade = s->upgrade,
			.upgrade_to = words[3] },
		ret);
}

static bool said_judge_name(const struct said *s, const struct net_judge *j,
	const struct destination *d, struct net_judgement *ret)
{
	struct tls_hello hello = { .has_name = s->kind == SAID_NAME };

	if (hello.has_name)
		(void)snprintf(hello.name, sizeof(hello.name), "%s", s->words);
	return judge_hello(j, d, &hello, ret);
}

bool said_judge(const struct said *s, const struct net_judge *j, const struct destination *d,
	struct net_judgement *ret)
{
	switch (s->kind) {
	case SAID_NOTHING:
		return true;
	case SAID_NAMELESS:
	case SAID_NAME:
		return said_judge_name(s, j, d, ret);
	case SAID_UNSEEN:
		return judge_unseen(j, d, "HTTP/2 without TLS", ret);
	case SAID_REQUEST:
		return said_judge_request(s, j, d, ret);
	case SAID_FORGOTTEN:
		break;
	}
	return judge_refuse(d, ret, "what was said on it cannot be judged once more");
}
