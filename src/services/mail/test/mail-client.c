/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mail-client HOST PORT tls|starttls|plain AUTHORITIES USER PASSWORD MS [probe]: what corral-mail
 * does with a call, without a broker and not confined. stdin has the call as NUL-terminated words,
 * "from=…", "to=…", "cc=…", "bcc=…", "subject=…", "body=…", "file=PATH", any number of each list.
 * Prints one line: "sent ID", or the class of the failure and its text.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "jail/seccomp/seccomp.h"
#include "services/connector.h"
#include "services/mail/compose.h"
#include "services/mail/smtp.h"

enum { WORDS_MAX = 128, FILES_MAX = 8, INPUT_MAX = 16 << 20 };

struct client {
	struct mailbox from;
	struct value_item lists[COMPOSE_ATTACHMENTS + 1][WORDS_MAX];
	struct values params;
	struct message_file files[FILES_MAX];
	struct buffer contents[FILES_MAX];
};

static int client_connect(void *context, uint64_t timeout_ms)
{
	return connector_connect(context, timeout_ms);
}

static void client_take(struct client *c, const char *word)
{
	static const char *const names[] = { "to=", "cc=", "bcc=", "subject=", "body=", "file=" };
	const char *why;

	if (strncmp(word, "from=", 5) == 0 &&
		mailbox_parse(&c->from, word + 5, strlen(word + 5), &why) < 0)
		exit(2);
	for (size_t i = 0; i < ROWS(names); i++) {
		struct value *v = &c->params.v[i];
		const size_t n = strlen(names[i]);

		if (strncmp(word, names[i], n) != 0)
			continue;
		if (i == COMPOSE_SUBJECT || i == COMPOSE_BODY) {
			*v = value_text(word + n, strlen(word + n));
			continue;
		}
		if (i == COMPOSE_ATTACHMENTS &&
			file_read(word + n, INPUT_MAX, &c->contents[v->n]) < 0)
			exit(2);
		c->lists[i][v->n++].text = word + n;
		v->type = SCHEMA_WORDS;
		v->items = c->lists[i];
	}
}

static int client_fail(enum rpc_class class, const char *text)
{
	(void)printf("%s %s\n", rpc_class_name(class), text);
	return 1;
}

static int client_send(struct client *c, const struct smtp_server *s, uint64_t ms)
{
	auto_arena a = { 0 };
	struct smtp_failure f = { 0 };
	struct composed made = { 0 };
	struct smtp_mail m = { .from = c->from.address };
	const size_t n = c->params.v[COMPOSE_ATTACHMENTS].n;
	const char *why = NULL;
	int r;

	for (size_t i = 0; i < n; i++) {
		c->files[i].data = buffer_text(&c->contents[i]);
		c->files[i].len = c->contents[i].len;
	}
	r = compose_mail(&c->params, &c->from, c->files, n, &a, &made, &why);
	if (r < 0)
		return client_fail(RPC_PARAMS, why ? why : strerror(-r));
	m.to = made.to;
	m.n_to = made.n_to;
	m.text = made.text.data;
	m.len = made.text.len;
	r = smtp_send(s, &m, ms, &f);
	buffer_deinit(&made.text);
	if (r < 0)
		return client_fail(f.class, f.text);
	(void)printf("sent %s\n", made.id);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const ways[] = { "tls", "starttls", "plain" };
	static struct client c;
	struct connector connector;
	struct smtp_server s = {
		.hello = "client.example", .connect = client_connect, .context = &c
	};
	auto_buffer in = { 0 }, authorities = { 0 };
	struct smtp_failure f = { 0 };

	if (argc > 1 && strcmp(argv[1], CONNECTOR_WORD) == 0)
		return connector_main(argc, argv);
	if (argc < 8 || file_read("-", INPUT_MAX, &in) < 0 || smtp_begin() < 0)
		return 2;
	s.host = argv[1];
	s.port = (uint16_t)strtoul(argv[2], NULL, 10);
	s.context = &connector;
	if (connector_start(&connector, s.host, s.port) < 0 || seccomp_feign_connect() < 0)
		return 2;
	while (s.tls < SMTP_PLAIN && strcmp(argv[3], ways[s.tls]) != 0)
		s.tls++;
	if (argv[4][0] && file_read(argv[4], INPUT_MAX, &authorities) < 0)
		return 2;
	s.authorities = buffer_text(&authorities);
	s.authorities_len = authorities.len;
	s.user = argv[5][0] ? argv[5] : NULL;
	s.password = argv[6];
	for (size_t at = 0; at < in.len; at += strlen(in.data + at) + 1)
		client_take(&c, in.data + at);
	if (argc < 9)
		return client_send(&c, &s, strtoull(argv[7], NULL, 10));
	if (smtp_probe(&s, strtoull(argv[7], NULL, 10), &f) < 0)
		return client_fail(f.class, f.text);
	(void)puts("found");
	return 0;
}
