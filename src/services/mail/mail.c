/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-mail: sends mail for one sandbox, by the one server of services.yaml, from the one address
 * that stands there. The monitor has asked the policy for every recipient, and read attachments
 * with the sandbox's own rights; they come as sealed memfds.
 *
 * Once it is confined it has no file, no program and no socket but what the connector gives it
 * (services/connector.h). What is taken over here can send mail as the configured user, which is
 * what the password is for, and nothing else.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/words.h"
#include "jail/seccomp/seccomp.h"
#include "policy/network/host.h"
#include "policy/network/idna.h"
#include "process/confinement.h"
#include "services/backend.h"
#include "services/connector.h"
#include "services/mail/compose.h"
#include "services/mail/smtp.h"

enum {
	MAIL_AUTHORITIES_MAX = 8 << 20,
	MAIL_SLACK_MS = 1000, /* to answer before the monitor gives up */
};

struct mail {
	char host[HOST_NAME_BYTES];
	struct mailbox from;
	struct smtp_server server;
	struct buffer authorities;
	struct connector connector;
};

static int mail_connect(void *context, uint64_t timeout_ms)
{
	struct mail *m = context;

	return connector_connect(&m->connector, timeout_ms);
}

/* Setting up */

static bool mail_is_here(const char *host)
{
	struct in_addr four;
	struct in6_addr six;

	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &six) == 1)
		return IN6_IS_ADDR_LOOPBACK(&six);
	return strcmp(host, "localhost") == 0;
}

/* A name or an address, as it stands in a URL and in a certificate. */
static bool mail_read_host(struct mail *m, const char *host)
{
	struct in6_addr six;

	if (!host)
		return false;
	(void)snprintf(m->host, sizeof(m->host), "%s", host);
	return inet_pton(AF_INET6, host, &six) == 1 ||
	       idna_to_ascii(host, strlen(host), m->host, sizeof(m->host)) == 0;
}

static int mail_read_server(struct mail *m, const struct backend *b, struct error *why)
{
	static const char *const ways[] = { "tls", "starttls", "plain", NULL };
	static const uint16_t ports[] = { 465, 587, 25 };
	const char *way = backend_config(b, "tls"), *port = backend_config(b, "port");
	struct smtp_server *s = &m->server;
	const int at = way ? words_find(ways, way, strlen(way)) : SMTP_TLS;

	s->tls = (enum smtp_tls)at;
	s->host = m->host;
	s->user = backend_config(b, "user");
	s->password = backend_config(b, "password");
	if (at < 0 || !mail_read_host(m, backend_config(b, "server")))
		return error_set(why, -EINVAL, NULL,
			"`server` of email must be a host's name or address, without scheme or "
			"port");
	s->port = port ? (uint16_t)strtoul(port, NULL, 10) : ports[at];
	if (!s->user != !s->password)
		return error_set(why, -EINVAL, NULL,
			"`user` and `password_file` of email must be given together");
	if (s->user && s->tls == SMTP_PLAIN && !mail_is_here(s->host)) {
		(void)error_set(why, -EINVAL, NULL,
			"email would send its password to %s without TLS", s->host);
		error_hint(why, "set `tls: tls` or `tls: starttls`");
		return -EINVAL;
	}
	return 0;
}

static int mail_read_from(struct mail *m, const struct backend *b, struct error *why)
{
	const char *from = backend_config(b, "from"), *fault = "is missing";
	int r = from ? mailbox_parse(&m->from, from, strlen(from), &fault) : -EINVAL;

	if (r < 0)
		return error_set(why, r, NULL, "`from` of email: the address %s", fault);
	m->server.hello = mailbox_domain(&m->from);
	return 0;
}

/* Read once: the file is out of reach afterwards. */
static int mail_read_authorities(struct mail *m, const struct backend *b, struct error *why)
{
	const char *path = backend_config(b, "authorities");
	int r;

	if (m->server.tls == SMTP_PLAIN)
		return 0;
	if (!path)
		path = smtp_authorities();
	r = path ? file_read(path, MAIL_AUTHORITIES_MAX, &m->authorities) : -ENOENT;
	if (r < 0) {
		(void)error_set(why, r, NULL,
			"the certificates of authorities cannot be read: %s: %s",
			path ? path : "there are none", strerror(-r));
		error_hint(why, "install ca-certificates, or set `authorities` of email to a file");
		return r;
	}
	m->server.authorities = buffer_text(&m->authorities);
	m->server.authorities_len = m->authorities.len;
	return 0;
}

static int mail_confine(struct mail *m, struct error *why)
{
	int r = connector_start(&m->connector, m->server.host, m->server.port);

	if (r == 0)
		r = seccomp_feign_connect();
	if (r == 0)
		r = confinement_enter(PROCESS_BACKEND, NULL);
	if (r < 0)
		return error_set(
			why, r, NULL, "corral-mail cannot confine itself: %s", strerror(-r));
	return 0;
}

static int mail_begin(struct backend *b, struct error *why)
{
	static struct mail m;
	int r;

	m.server.connect = mail_connect;
	m.server.context = &m;
	backend_set_state(b, &m);
	/* Domains with other letters are refused where it is missing. */
	(void)idna_library_load();
	if (smtp_begin() < 0)
		return error_set(why, -ELIBACC, NULL, "libcurl cannot be used");
	r = mail_read_from(&m, b, why);
	if (r == 0)
		r = mail_read_server(&m, b, why);
	if (r == 0)
		r = mail_read_authorities(&m, b, why);
	return r < 0 ? r : mail_confine(&m, why);
}

/* Calls */

static uint64_t mail_time(const struct backend_call *c)
{
	const uint64_t left = backend_left_ms(c);

	return left > 2 * (uint64_t)MAIL_SLACK_MS ? left - MAIL_SLACK_MS : left;
}

static void mail_fail(struct backend_call *c, const struct smtp_failure *why)
{
	struct backend *b = c->backend;
	const struct mail *m = backend_state(b);

	/* Without its connector it can reach nothing any more: the next call gets another. */
	if (m->connector.is_lost)
		backend_stop(b);
	backend_refuse(c, why->class, why->hint, "%s", why->text);
}

static void mail_unmap(struct message_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (files[i].len > 0)
			(void)munmap((void *)files[i].data, files[i].len);
}

/* The contents of attachments, each in a descriptor. */
static int mail_map(const struct backend_call *c, struct message_file *files, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct stat st;
		void *data = NULL;
		int r = i < FRAME_FDS_MAX && fstat(c->fds[i], &st) == 0 ? 0 : -EPROTO;

		if (r == 0 && st.st_size > 0)
			r = sealed_map(c->fds[i], (size_t)st.st_size, &data);
		if (r < 0) {
			mail_unmap(files, i);
			return r;
		}
		files[i] = (struct message_file){ .data = data, .len = (size_t)st.st_size };
	}
	return 0;
}

static void mail_answer(struct backend_call *c, const struct composed *made)
{
	enum { MESSAGE_ID, RECIPIENTS };
	struct values v = { 0 };

	v.v[MESSAGE_ID] = value_text(made->id, strlen(made->id));
	v.v[RECIPIENTS] = value_number(SCHEMA_NUMBER, made->n_to);
	backend_answer(c, &v);
}

static void mail_deliver(struct backend_call *c, const struct composed *made)
{
	struct mail *m = backend_state(c->backend);
	const struct smtp_mail mail = { .from = m->from.address,
		.to = made->to,
		.n_to = made->n_to,
		.text = made->text.data,
		.len = made->text.len };
	struct smtp_failure why;

	if (smtp_send(&m->server, &mail, mail_time(c), &why) < 0)
		mail_fail(c, &why);
	else
		mail_answer(c, made);
}

static void mail_send(struct backend_call *c)
{
	const struct mail *m = backend_state(c->backend);
	const size_t n = c->call.params.v[COMPOSE_ATTACHMENTS].n;
	struct message_file files[FRAME_FDS_MAX] = { 0 };
	struct composed made = { 0 };
	const char *why = NULL;
	int r = n > FRAME_FDS_MAX ? -EPROTO : mail_map(c, files, n);

	if (r == 0) {
		r = compose_mail(&c->call.params, &m->from, files, n, &c->arena, &made, &why);
		mail_unmap(files, n);
	}
	if (r == 0)
		mail_deliver(c, &made);
	else if (why)
		backend_refuse(c, RPC_PARAMS, NULL, "%s", why);
	else
		backend_refuse(
			c, RPC_INTERNAL, NULL, "the mail cannot be written: %s", strerror(-r));
	buffer_deinit(&made.text);
}

static void mail_probe(struct backend_call *c)
{
	static const char *const words[] = {
		[SMTP_TLS] = "TLS", [SMTP_STARTTLS] = "STARTTLS", [SMTP_PLAIN] = "without TLS"
	};
	struct mail *m = backend_state(c->backend);
	const struct smtp_server *s = &m->server;
	struct smtp_failure why;

	if (smtp_probe(s, mail_time(c), &why) < 0)
		mail_fail(c, &why);
	else
		backend_found(c, "%s port %u, %s%s%s, from %s", s->host, s->port, words[s->tls],
			s->user ? ", logged in as " : "", s->user ? s->user : "", m->from.address);
}

int main(int argc, char **argv)
{
	static const struct backend_method methods[] = { { METHOD_EMAIL_SEND, mail_send }, { 0 } };
	static const struct backend_service services[] = {
		{ .name = "email", .begin = mail_begin, .methods = methods, .probe = mail_probe },
		{ 0 },
	};

	if (argc > 1 && strcmp(argv[1], CONNECTOR_WORD) == 0)
		return connector_main(argc, argv);
	return backend_main(argc, argv, &(struct backend_program){ "corral-mail", services });
}
