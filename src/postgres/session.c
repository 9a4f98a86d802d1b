/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres/session.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "codec/encoding.h"
#include "inject/side.h"
#include "postgres/exchange.h"
#include "postgres/startup.h"

enum {
	SESSION_LOGIN_MS = 60000, /* as PostgreSQL's authentication_timeout */
	SESSION_PASSES_MAX = 32,  /* before other connections have their turn */
	SESSION_REQUESTS_MAX = 2, /* for encryption: of TLS and of GSS */
	SESSION_NONCE_BYTES = 18,
	SESSION_TLS_RECORD = 0x16,
	SESSION_TEXT_MAX = 512,
	SESSION_USER_MAX = 63, /* bytes of a name, as PostgreSQL has it */
};

static const char session_protocol[] = "\x0apostgresql"; /* as ALPN has it */

/* Codes of SQL. */
static const char session_rejected[] = "08004", session_refused[] = "28000",
		  session_violated[] = "08P01";

enum pg_session_state {
	SESSION_FIRST,      /* of the client: what it begins with */
	SESSION_START,      /* what it asks for */
	SESSION_INNER,      /* TLS to the client */
	SESSION_ASKED,      /* the server: whether it has TLS */
	SESSION_OUTER,      /* TLS to the server */
	SESSION_EXCHANGE,   /* the login */
	SESSION_OPEN,       /* all passes */
	SESSION_LAST_WORDS, /* an error goes to the client, and what it sends goes nowhere */
};

enum pg_session_side { INNER, OUTER };

struct pg_session {
	struct pg_session_options o;
	struct pg_session *next, *previous;
	enum pg_session_state state;
	struct inject_side sides[2];
	unsigned requests;   /* for encryption */
	struct buffer start; /* for the server, once it is reached */
	struct buffer greeting;
	char *user; /* NULL: it is a cancellation */
	const void *password;
	size_t password_len;
	struct pg_exchange exchange;
	bool was_used;
	struct timer timer, again;
};

/* Ends */

static void pg_session_free(struct pg_session *x)
{
	loop_stop(x->o.loop, &x->timer);
	loop_stop(x->o.loop, &x->again);
	for (int i = 0; i < 2; i++)
		side_deinit(&x->sides[i], x->o.loop);
	exchange_deinit(&x->exchange);
	buffer_deinit(&x->start);
	buffer_deinit(&x->greeting);
	free(x->user);
	if (x->previous)
		x->previous->next = x->next;
	else if (x->o.all->first == x)
		x->o.all->first = x->next;
	if (x->next)
		x->next->previous = x->previous;
	free(x);
}

/* What the user and the client are told. 1: go on. */
static int pg_session_refuse(struct pg_session *x, const char *code, const char *text)
{
	struct buffer *out = &x->sides[INNER].out;
	char sentence[SESSION_TEXT_MAX + sizeof("corral: ")];

	x->o.failed(x->o.context, text);
	(void)snprintf(sentence, sizeof(sentence), "corral: %s", text);
	startup_print_error(code, sentence, out);
	x->state = SESSION_LAST_WORDS;
	return out->failed ? -ENOMEM : 1;
}

static int pg_session_refuse_outer_tls(struct pg_session *x)
{
	char text[SESSION_TEXT_MAX];

	side_explain(&x->sides[OUTER], x->o.host, text, sizeof(text));
	return pg_session_refuse(x, session_rejected, text);
}

static void pg_session_on_late(struct timer *t)
{
	struct pg_session *x = container_of(t, struct pg_session, timer);

	if (x->state != SESSION_LAST_WORDS)
		x->o.failed(x->o.context, x->state < SESSION_ASKED
						  ? "the client has not asked for a login in time"
						  : "the server has not let it in in time");
	pg_session_free(x);
}

/* The client */

/* 1: go on. 0: wait. */
static int pg_session_read_first(struct pg_session *x)
{
	struct inject_side *s = &x->sides[INNER];
	SSL_CTX *server;
	struct error e;
	uint8_t byte;
	ssize_t n = recv(s->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
		s->waits |= EPOLLIN;
		return 0;
	}
	if (n != 1)
		return -EPIPE;
	x->state = SESSION_START;
	if (byte != SESSION_TLS_RECORD)
		return 1;
	/* sslnegotiation=direct */
	x->requests = SESSION_REQUESTS_MAX;
	x->state = SESSION_INNER;
	return authority_server(x->o.authority, x->o.host, &server, &e) < 0 ||
			       side_accept(s, server) < 0
		       ? -ENOMEM
		       : 1;
}

/* Of SSLRequest and GSSENCRequest: a letter; behind the request nothing may have come already. */
static int pg_session_agree(struct pg_session *x, bool is_tls)
{
	struct inject_side *s = &x->sides[INNER];
	SSL_CTX *server;
	struct error e;

	if (x->requests++ == SESSION_REQUESTS_MAX || s->in.len > 0 || s->ssl)
		return pg_session_refuse(x, session_violated,
			"the client goes on before it has an answer about encryption");
	buffer_addc(&s->out, is_tls ? 'S' : 'N');
	if (!is_tls)
		return s->out.failed ? -ENOMEM : 1;
	/* The letter leaves before TLS begins. */
	if (s->out.failed || side_write(s) < 0 || s->out.len > 0)
		return -EPIPE;
	x->state = SESSION_INNER;
	return authority_server(x->o.authority, x->o.host, &server, &e) < 0 ||
			       side_accept(s, server) < 0
		       ? -ENOMEM
		       : 1;
}

static bool pg_session_has_key(const struct pg_session *x, const struct startup *s)
{
	const struct pg_exchange *e = &x->exchange;

	return x->user && e->key_len > 0 && e->process == s->process && e->key_len == s->key_len &&
	       CRYPTO_memcmp(e->key, s->key, s->key_len) == 0;
}

static bool pg_session_may_cancel(const struct pg_session *x, const struct startup *s)
{
	for (const struct pg_session *one = x->o.all->first; one; one = one->next)
		if (pg_session_has_key(one, s))
			return true;
	return false;
}

/* 127.0.0.0/8, ::1, and names that are never asked for outside (RFC 6761). */
static bool pg_session_names_loopback(const char *host)
{
	static const char name[] = "localhost";
	const size_t n = strlen(host), len = strlen(name);
	struct in6_addr a6;
	struct in_addr a;

	if (inet_pton(AF_INET, host, &a) == 1)
		return ntohl(a.s_addr) >> 24 == 127;
	if (inet_pton(AF_INET6, host, &a6) == 1)
		return IN6_IS_ADDR_LOOPBACK(&a6);
	return n >= len && strcasecmp(host + n - len, name) == 0 &&
	       (n == len || host[n - len - 1] == '.');
}

/* Both: the grant says so, and the connection is one. The relay dials, and is not to be believed
 * that a host of a network is here: whoever took it over would be logged in to without TLS. */
static bool pg_session_is_near(const struct pg_session *x)
{
	struct sockaddr_storage a = { 0 };
	socklen_t len = sizeof(a);

	if (!pg_session_names_loopback(x->o.host))
		return false;
	if (getpeername(x->sides[OUTER].fd, (struct sockaddr *)&a, &len) < 0)
		return false;
	if (a.ss_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)&a)->sin_addr.s_addr) >>
			       24 ==
		       127;
	return a.ss_family == AF_INET6 &&
	       IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)&a)->sin6_addr);
}

static int pg_session_begin_exchange(struct pg_session *x);

/* The client's wish is known: the server is spoken to. */
static int pg_session_reach(struct pg_session *x)
{
	if (pg_session_is_near(x))
		return pg_session_begin_exchange(x);
	startup_print_tls(&x->sides[OUTER].out);
	x->state = SESSION_ASKED;
	return x->sides[OUTER].out.failed ? -ENOMEM : 1;
}

static int pg_session_take_login(struct pg_session *x, const struct startup *s)
{
	char text[SESSION_TEXT_MAX];
	auto_buffer user = { 0 };

	startup_print(s, &x->start);
	startup_print_negotiation(s, &x->greeting);
	x->user = strdup(s->user);
	if (!x->user || x->start.failed || x->greeting.failed)
		return -ENOMEM;
	if (!x->o.password(x->o.context, s->user, &x->password, &x->password_len)) {
		/* Longer names no server has. */
		buffer_add_name(&user, s->user, strnlen(s->user, SESSION_USER_MAX));
		(void)snprintf(text, sizeof(text), "no password is lent for the user %s",
			strlen(s->user) > SESSION_USER_MAX ? "that it names" : buffer_text(&user));
		return pg_session_refuse(x, session_refused, text);
	}
	return pg_session_reach(x);
}

static int pg_session_take_start(struct pg_session *x, const struct startup *s)
{
	if (s->kind == STARTUP_LOGIN)
		return pg_session_take_login(x, s);
	if (!pg_session_may_cancel(x, s))
		return pg_session_refuse(x, session_refused,
			"a query was to be cancelled that is not of this sandbox");
	startup_print_cancel(s, &x->start);
	return x->start.failed ? -ENOMEM : pg_session_reach(x);
}

static int pg_session_read_start(struct pg_session *x)
{
	struct inject_side *s = &x->sides[INNER];
	struct startup start;
	int n = startup_read(&start, buffer_text(&s->in), s->in.len), r;

	if (n == -EACCES)
		return pg_session_refuse(x, session_refused,
			"the client asks for replication, and a password is lent for queries");
	if (n < 0)
		return pg_session_refuse(x, session_violated,
			"what the client sends is not the protocol of PostgreSQL, version 3");
	if (n == 0)
		return s->ended ? -EPIPE : 0;
	/* What follows a login is of the session, and waits; what follows a cancellation is lost.
	 */
	if (start.kind == STARTUP_LOGIN || start.kind == STARTUP_CANCEL) {
		r = pg_session_take_start(x, &start);
		side_take(s, start.kind == STARTUP_LOGIN ? (size_t)n : s->in.len);
		return r;
	}
	side_take(s, (size_t)n);
	return pg_session_agree(x, start.kind == STARTUP_TLS);
}

/* The server */

/* What SCRAM can be bound to: the hash of the certificate, RFC 5929. 0: to nothing. */
static size_t pg_session_binding(const struct pg_session *x, uint8_t ret[SCRAM_BINDING_MAX])
{
	SSL *ssl = x->sides[OUTER].ssl;
	X509 *certificate = ssl ? SSL_get1_peer_certificate(ssl) : NULL;
	unsigned char hash[EVP_MAX_MD_SIZE];
	const EVP_MD *digest;
	unsigned int n = 0;
	int kind = NID_undef;

	if (certificate && X509_get_signature_info(certificate, &kind, NULL, NULL, NULL) != 1)
		kind = NID_undef;
	digest = EVP_get_digestbynid(kind == NID_md5 || kind == NID_sha1 ? NID_sha256 : kind);
	if (!certificate || !digest || X509_digest(certificate, digest, hash, &n) != 1 ||
		n > SCRAM_BINDING_MAX)
		n = 0;
	X509_free(certificate);
	ERR_clear_error();
	if (n > 0)
		memcpy(ret, hash, n);
	return n;
}

static int pg_session_make_nonce(char ret[SCRAM_NONCE + 1])
{
	uint8_t bytes[SESSION_NONCE_BYTES];
	auto_buffer text = { 0 };

	if (RAND_bytes(bytes, sizeof(bytes)) != 1)
		return -EIO;
	encoding_print(ENCODING_BASE64, bytes, sizeof(bytes), &text);
	if (text.failed || text.len != SCRAM_NONCE)
		return -ENOMEM;
	memcpy(ret, text.data, SCRAM_NONCE);
	ret[SCRAM_NONCE] = '\0';
	return 0;
}

/* A cancellation has no answer: the server ends the connection. */
static int pg_session_begin_cancel(struct pg_session *x)
{
	x->sides[INNER].ended = true;
	x->state = SESSION_OPEN;
	return 1;
}

static int pg_session_begin_exchange(struct pg_session *x)
{
	struct buffer *out = &x->sides[OUTER].out;
	uint8_t binding[SCRAM_BINDING_MAX];
	char nonce[SCRAM_NONCE + 1];
	const size_t n = pg_session_binding(x, binding);
	int r = pg_session_make_nonce(nonce);

	buffer_add(out, x->start.data, x->start.len);
	if (r < 0 || out->failed)
		return r < 0 ? r : -ENOMEM;
	if (!x->user)
		return pg_session_begin_cancel(x);
	r = exchange_init(
		&x->exchange, &(struct pg_exchange_options){ .is_tls = x->sides[OUTER].ssl,
				      .binding = binding,
				      .binding_len = n,
				      .password = x->password,
				      .password_len = x->password_len,
				      .nonce = nonce,
				      .greeting = x->greeting.data,
				      .greeting_len = x->greeting.len });
	x->state = SESSION_EXCHANGE;
	return r < 0 ? r : 1;
}

/* One letter, and nothing behind it: that would come from who cannot speak TLS as the server. */
static int pg_session_read_asked(struct pg_session *x)
{
	struct inject_side *s = &x->sides[OUTER];
	char text[SESSION_TEXT_MAX];

	if (s->in.len == 0)
		return s->ended ? pg_session_refuse(
					  x, session_rejected, "the server ended the connection")
				: 0;
	if (s->in.len == 1 && s->in.data[0] == 'S') {
		side_take(s, 1);
		x->state = SESSION_OUTER;
		return side_connect(s, x->o.client, x->o.host, session_protocol) < 0 ? -ENOMEM : 1;
	}
	if (s->in.len == 1 && s->in.data[0] == 'N') {
		(void)snprintf(text, sizeof(text),
			"%.256s has no TLS, and a login over a network needs it: set "
			"ssl = on there",
			x->o.host);
		return pg_session_refuse(x, session_rejected, text);
	}
	return pg_session_refuse(x, session_rejected,
		"what the server says about TLS is not the protocol of PostgreSQL");
}

static int pg_session_read_exchange(struct pg_session *x)
{
	struct inject_side *s = &x->sides[OUTER], *inner = &x->sides[INNER];
	int n;

	/* A client that does not read: what is for it waits at the server. */
	if (inner->out.len - inner->written >= SIDE_OUT_MAX)
		return 0;
	n = exchange_take(
		&x->exchange, buffer_text(&s->in), s->in.len, &x->sides[OUTER].out, &inner->out);

	if (x->exchange.is_proved && !x->was_used) {
		x->was_used = true;
		x->o.used(x->o.context, x->user);
	}
	if (n == -EACCES)
		return pg_session_refuse(x, session_refused, x->exchange.why);
	if (n < 0)
		return n;
	s->wants_more = n == 0;
	if (n == 0 && s->ended)
		return pg_session_refuse(x, session_rejected, "the server ended the connection");
	if (n == 0)
		return 0;
	side_take(s, (size_t)n);
	if (x->exchange.state == EXCHANGE_READY) {
		loop_stop(x->o.loop, &x->timer);
		x->state = SESSION_OPEN;
	} else if (x->exchange.state == EXCHANGE_REFUSED) {
		x->state = SESSION_LAST_WORDS;
	}
	return 1;
}

/* Steps */

static int pg_session_move(struct inject_side *from, struct inject_side *to)
{
	const size_t n = from->in.len;

	if (n == 0 || to->out.len - to->written >= SIDE_OUT_MAX)
		return 0;
	buffer_add(&to->out, from->in.data, n);
	side_take(from, n);
	return to->out.failed ? -ENOMEM : 1;
}

/* One pass over what may be read and written. 1: something moved. */
static int pg_session_pass(struct pg_session *x, bool reads_inner, bool reads_outer)
{
	const bool reads[2] = { reads_inner, reads_outer };
	int moved = 0;

	for (int i = INNER; i <= OUTER; i++) {
		struct inject_side *s = &x->sides[i];
		int put = side_write(s), got = reads[i] ? side_read(s) : 0;

		if (put < 0 && i == INNER)
			return put;
		/* A server that has gone may have said something before. */
		if (got == -EPIPE || (got == -EIO && i == OUTER))
			s->ended = s->cut = true;
		else if (got < 0)
			return got;
		moved |= put > 0 || got > 0;
	}
	return moved;
}

static int pg_session_pass_open(struct pg_session *x)
{
	int moved = pg_session_pass(x, true, true);

	for (int i = INNER; moved >= 0 && i <= OUTER; i++) {
		int r = pg_session_move(&x->sides[i], &x->sides[!i]);

		moved = r < 0 ? r : moved | r;
	}
	for (int i = INNER; moved == 0 && i <= OUTER; i++) {
		struct inject_side *s = &x->sides[i], *to = &x->sides[!i];

		if (s->ended && s->in.len == 0 && to->out.len == to->written)
			side_close(to, s->cut);
	}
	return moved == 0 && x->sides[INNER].closed ? -EPIPE : moved;
}

static int pg_session_pass_last_words(struct pg_session *x)
{
	struct inject_side *s = &x->sides[INNER];
	int moved = pg_session_pass(x, true, false);

	s->in.len = 0;
	if (s->out.len == 0)
		side_close(s, false);
	return s->ended ? -EPIPE : moved;
}

static int pg_session_handshake(struct pg_session *x, enum pg_session_side side)
{
	int r = side_handshake(&x->sides[side]);

	if (r == -EIO && side == OUTER)
		return pg_session_refuse_outer_tls(x);
	if (r == -EIO)
		x->o.failed(x->o.context,
			"the client does not accept the sandbox's certificate: "
			"it trusts a list of its own, or pins the host's. " SIDE_TRUST);
	if (r != 1)
		return r;
	if (side == OUTER)
		return pg_session_begin_exchange(x);
	x->state = SESSION_START;
	return 1;
}

/* 1: it is worth another one. 0: it waits. Negative: it is over. */
static int pg_session_one(struct pg_session *x)
{
	int moved, r = 0;

	switch (x->state) {
	case SESSION_FIRST:
		return pg_session_read_first(x);
	case SESSION_START:
		moved = pg_session_pass(x, true, false);
		r = moved < 0 ? moved : pg_session_read_start(x);
		break;
	case SESSION_INNER:
		return pg_session_handshake(x, INNER);
	case SESSION_ASKED:
		moved = pg_session_pass(x, false, true);
		r = moved < 0 ? moved : pg_session_read_asked(x);
		break;
	case SESSION_OUTER:
		return pg_session_handshake(x, OUTER);
	case SESSION_EXCHANGE:
		moved = pg_session_pass(x, false, true);
		r = moved < 0 ? moved : pg_session_read_exchange(x);
		break;
	case SESSION_OPEN:
		return pg_session_pass_open(x);
	default:
		return pg_session_pass_last_words(x);
	}
	return r < 0 ? r : r | moved;
}

static void pg_session_step(struct pg_session *x)
{
	int r = 1;

	for (int i = 0; r > 0 && i < SESSION_PASSES_MAX; i++) {
		x->sides[INNER].waits = x->sides[OUTER].waits = 0;
		r = pg_session_one(x);
	}
	if (r > 0)
		r = loop_start(x->o.loop, &x->again, 0);
	for (int i = INNER; r >= 0 && i <= OUTER; i++)
		r = side_wait(&x->sides[i], x->o.loop);
	if (r < 0)
		pg_session_free(x);
}

static void pg_session_on_again(struct timer *t)
{
	pg_session_step(container_of(t, struct pg_session, again));
}

static void pg_session_on_ready(struct watcher *w, uint32_t events)
{
	(void)events;
	pg_session_step(container_of(w, struct inject_side, watcher)->owner);
}

int pg_session_new(const struct pg_session_options *o, int inner, int outer)
{
	struct pg_session *x = calloc(1, sizeof(*x));
	const int fds[2] = { inner, outer };
	int r;

	if (!x) {
		fd_close(&inner);
		fd_close(&outer);
		return -ENOMEM;
	}
	x->o = *o;
	x->timer.expired = pg_session_on_late;
	x->again.expired = pg_session_on_again;
	for (int i = 0; i < 2; i++) {
		x->sides[i] = (struct inject_side){ .owner = x, .fd = fds[i] };
		x->sides[i].watcher = (struct watcher){ .ready = pg_session_on_ready, .fd = -1 };
	}
	x->next = o->all->first;
	if (x->next)
		x->next->previous = x;
	o->all->first = x;
	r = loop_add(o->loop, &x->sides[INNER].watcher, inner, EPOLLIN);
	if (r == 0)
		r = loop_start(o->loop, &x->timer, SESSION_LOGIN_MS);
	if (r < 0)
		pg_session_free(x);
	return r;
}
