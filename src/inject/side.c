/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/fd.h"
#include "inject/revocation.h"
#include "vault/secret.h"

enum { SECURITY_LEVEL = 2 }; /* keys and digests of 112 bits, whatever openssl.cnf says */

/* TLS */

void side_prepare(struct ssl_ctx_st *c)
{
	(void)SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE |
					  SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					  SSL_MODE_RELEASE_BUFFERS);
	/* Several records by one call of the kernel, not two calls for each. */
	SSL_CTX_set_read_ahead(c, 1);
	SSL_CTX_set_default_read_buffer_len(c, 2 * SIDE_RECORD_MAX + SIDE_RECORD_MAX / 8);
}

int side_client_new(struct ssl_ctx_st **ret, const char *const *authorities, struct error *e)
{
	SSL_CTX *c = SSL_CTX_new(TLS_client_method());
	size_t n = 0;

	for (const char *const *file = authorities; c && *file; file++)
		n += SSL_CTX_load_verify_file(c, *file) == 1;
	ERR_clear_error();
	if (!c || n == 0 || SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION) != 1) {
		SSL_CTX_free(c);
		return error_set(e, -EIO, NULL,
			"%s has no certificates of authorities: install ca-certificates",
			authorities[0]);
	}
	SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
	SSL_CTX_set_security_level(c, SECURITY_LEVEL);
	side_prepare(c);
	(void)SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION);
	*ret = c;
	return 0;
}

void side_client_free(struct ssl_ctx_st *c)
{
	SSL_CTX_free(c);
}

static bool side_is_address(const char *host)
{
	unsigned char bytes[16];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

int side_connect(
	struct inject_side *s, struct ssl_ctx_st *client, const char *host, const char *protocol)
{
	const bool is_address = side_is_address(host);

	s->ssl = SSL_new(client);
	if (!s->ssl || SSL_set_fd(s->ssl, s->fd) != 1 || revocation_ask(s->ssl) < 0 ||
		SSL_set_alpn_protos(
			s->ssl, (const unsigned char *)protocol, (unsigned)strlen(protocol)) != 0 ||
		(is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s->ssl), host) != 1
			    : SSL_set1_host(s->ssl, host) != 1 ||
					SSL_set_tlsext_host_name(s->ssl, host) != 1))
		return -ENOMEM;
	/* The subject is a text for people, and f*.example.com a mistake. */
	SSL_set_hostflags(
		s->ssl, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
	SSL_set_connect_state(s->ssl);
	return 0;
}

int side_accept(struct inject_side *s, struct ssl_ctx_st *server)
{
	s->ssl = SSL_new(server);
	if (!s->ssl || SSL_set_fd(s->ssl, s->fd) != 1)
		return -ENOMEM;
	SSL_set_accept_state(s->ssl);
	return 0;
}

/* What is spoken */

static const struct {
	unsigned protocol;
	const char *name; /* as ALPN has it, with its length */
} side_protocols[] = { { SIDE_HTTP_2, "\x02h2" }, { SIDE_HTTP_1, "\x08http/1.1" } };

/* The protocol of ours that this is; 0: none. */
static unsigned side_find_protocol(const unsigned char *name, size_t len)
{
	for (size_t i = 0; i < ROWS(side_protocols); i++)
		if (strlen(side_protocols[i].name) == len &&
			memcmp(side_protocols[i].name, name, len) == 0)
			return side_protocols[i].protocol;
	return 0;
}

/* A list of names, each behind its length. Calls are for those that lie in it as a whole. */
static unsigned side_read_offer(const unsigned char *list, size_t len)
{
	unsigned found = 0;

	while (len > 0 && (size_t)list[0] + 1 <= len) {
		const size_t n = (size_t)list[0] + 1;

		found |= side_find_protocol(list, n);
		list += n;
		len -= n;
	}
	return found;
}

/* The client's hello is here. */
static int side_on_hello(SSL *ssl, int *alert, void *context)
{
	struct inject_side *s = SSL_get_app_data(ssl);
	const unsigned char *list;
	size_t len;

	(void)alert;
	(void)context;
	if (!s || !s->listens)
		return SSL_CLIENT_HELLO_SUCCESS;
	if (SSL_client_hello_get0_ext(
		    ssl, TLSEXT_TYPE_application_layer_protocol_negotiation, &list, &len) == 1 &&
		len > 2)
		s->offered = side_read_offer(list + 2, len - 2);
	return SSL_CLIENT_HELLO_RETRY;
}

static int side_on_offer(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
	const unsigned char *list, unsigned len, void *context)
{
	const struct inject_side *s = SSL_get_app_data(ssl);

	(void)context;
	if (!s || s->offered == 0)
		return SSL_TLSEXT_ERR_NOACK;
	while (len > 0 && (unsigned)list[0] + 1 <= len) {
		const unsigned n = (unsigned)list[0] + 1;

		if (side_find_protocol(list, n) == s->chosen) {
			*ret = list + 1;
			*ret_len = list[0];
			return SSL_TLSEXT_ERR_OK;
		}
		list += n;
		len -= n;
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* The name that the client's TLS asks for; a dot at its end says no more. Each hello comes here. */
static int side_on_name(SSL *ssl, int *alert, void *context)
{
	const struct inject_side *s = SSL_get_app_data(ssl);
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	size_t len = name ? strlen(name) : 0;

	(void)context;
	if (!name)
		return SSL_TLSEXT_ERR_OK;
	if (len > 0 && name[len - 1] == '.')
		len--;
	if (s && strlen(s->host) == len && strncasecmp(s->host, name, len) == 0)
		return SSL_TLSEXT_ERR_OK;
	*alert = SSL_AD_UNRECOGNIZED_NAME;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

int side_listen(struct inject_side *s, struct ssl_ctx_st *server, const char *host)
{
	s->host = host;
	SSL_CTX_set_client_hello_cb(server, side_on_hello, NULL);
	(void)SSL_CTX_set_tlsext_servername_callback(server, side_on_name);
	SSL_CTX_set_alpn_select_cb(server, side_on_offer, NULL);
	if (side_accept(s, server) < 0 || SSL_set_app_data(s->ssl, s) != 1)
		return -ENOMEM;
	s->listens = true;
	return 0;
}

void side_choose(struct inject_side *s, unsigned protocol)
{
	s->chosen = protocol;
	s->listens = false;
}

unsigned side_protocol(const struct inject_side *s)
{
	const unsigned char *name;
	unsigned len;

	SSL_get0_alpn_selected(s->ssl, &name, &len);
	return len == 2 && memcmp(name, "h2", len) == 0 ? SIDE_HTTP_2 : SIDE_HTTP_1;
}

static int side_result(struct inject_side *s, int result)
{
	int error = SSL_get_error(s->ssl, result);

	switch (error) {
	case SSL_ERROR_NONE:
	case SSL_ERROR_WANT_CLIENT_HELLO_CB:
		return 1;
	case SSL_ERROR_WANT_READ:
		s->waits |= EPOLLIN;
		return 0;
	case SSL_ERROR_WANT_WRITE:
		s->waits |= EPOLLOUT;
		return 0;
	case SSL_ERROR_ZERO_RETURN:
		s->ended = true;
		return 0;
	case SSL_ERROR_SYSCALL:
		return -EPIPE;
	default:
		switch (ERR_GET_REASON(ERR_peek_error())) {
		case SSL_R_UNEXPECTED_EOF_WHILE_READING:
			return -EPIPE;
		case SSL_R_CALLBACK_FAILED: /* side_on_name() */
			return -EXDEV;
		default:
			return -EIO;
		}
	}
}

/* What the library's verification leaves out. */
static int side_look(struct inject_side *s)
{
	const long why = revocation_look(s->ssl);

	SSL_set_verify_result(s->ssl, why);
	return why == X509_V_OK ? 1 : -EIO;
}

int side_handshake(struct inject_side *s)
{
	int r;

	ERR_clear_error();
	r = side_result(s, SSL_do_handshake(s->ssl));
	return r == 1 && !SSL_is_server(s->ssl) ? side_look(s) : r;
}

void side_explain(const struct inject_side *s, const char *host, char *text, size_t size)
{
	const long verified = SSL_get_verify_result(s->ssl);
	const char *reason = ERR_reason_error_string(ERR_peek_error());

	if (verified != X509_V_OK) {
		(void)snprintf(text, size, "the certificate of %s is not accepted: %s", host,
			X509_verify_cert_error_string(verified));
		return;
	}
	(void)snprintf(
		text, size, "TLS with %s failed: %s", host, reason ? reason : "the host hung up");
}

/* Bytes */

static ssize_t side_read_raw(struct inject_side *s, void *data, size_t len)
{
	ssize_t n = recv(s->fd, data, len, MSG_DONTWAIT);

	if (n > 0)
		return n;
	if (n == 0)
		s->ended = true;
	else if (errno == EAGAIN || errno == EINTR)
		s->waits |= EPOLLIN;
	else
		return -EPIPE;
	return 0;
}

/* As much as one call gives. */
static ssize_t side_read_some(struct inject_side *s)
{
	char *room = buffer_room(&s->in, SIDE_RECORD_MAX);
	ssize_t n;

	if (!room)
		return -ENOMEM;
	if (!s->ssl) {
		n = side_read_raw(s, room, SIDE_RECORD_MAX);
	} else {
		int got;

		ERR_clear_error();
		got = SSL_read(s->ssl, room, SIDE_RECORD_MAX);
		n = got > 0 ? got : side_result(s, got);
	}
	if (n > 0)
		buffer_filled(&s->in, (size_t)n);
	return n;
}

int side_read(struct inject_side *s)
{
	const size_t most = s->wants_more ? SIDE_OUT_MAX : SIDE_READ_MAX, before = s->in.len;
	ssize_t n = s->failed < 0 ? s->failed : !s->ended;

	while (n > 0 && s->in.len < most)
		n = side_read_some(s);
	if (n < 0 && s->in.len > before) {
		s->failed = (int)n;
		n = 1;
	}
	return n < 0 ? (int)n : s->in.len > before;
}

bool side_has_part(const struct inject_side *s)
{
	return s->ssl && SSL_has_pending(s->ssl);
}

/* Where the other side is faster it is never empty: what was written goes all the same, or a long
 * answer would stay here as a whole. */
static void side_forget_written(struct inject_side *s)
{
	const size_t left = s->out.len - s->written;

	if (left > 0 && s->written < SIDE_OUT_MAX)
		return;
	memmove(s->out.data, s->out.data + s->written, left);
	secret_wipe(s->out.data + left, s->written);
	s->out.len = left;
	s->written = 0;
}

int side_write(struct inject_side *s)
{
	size_t len = s->out.len - s->written;
	ssize_t n;

	if (len == 0)
		return 0;
	if (!s->ssl) {
		n = send(s->fd, s->out.data + s->written, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			s->waits |= EPOLLOUT;
			return 0;
		}
		if (n < 0)
			return -EPIPE;
	} else {
		int put;

		ERR_clear_error();
		put = SSL_write(
			s->ssl, s->out.data + s->written, len < INT32_MAX ? (int)len : INT32_MAX);
		n = put > 0 ? put : side_result(s, put);
		if (n <= 0)
			return (int)n;
	}
	s->written += (size_t)n;
	side_forget_written(s);
	return 1;
}

void side_close(struct inject_side *s, bool is_cut)
{
	if (s->closed)
		return;
	s->closed = true;
	if (s->ssl && !is_cut)
		(void)SSL_shutdown(s->ssl);
	(void)shutdown(s->fd, SHUT_WR);
}

void side_take(struct inject_side *s, size_t n)
{
	memmove(s->in.data, s->in.data + n, s->in.len - n);
	s->in.len -= n;
}

int side_wait(struct inject_side *s, struct loop *loop)
{
	if (s->waits == 0)
		loop_remove(loop, &s->watcher);
	else if (s->watcher.fd < 0)
		return loop_add(loop, &s->watcher, s->fd, s->waits);
	else
		return loop_change(loop, &s->watcher, s->waits);
	return 0;
}

void side_deinit(struct inject_side *s, struct loop *loop)
{
	loop_remove(loop, &s->watcher);
	SSL_free(s->ssl);
	fd_close(&s->fd);
	if (s->in.data)
		secret_wipe(s->in.data, s->in.cap);
	if (s->out.data)
		secret_wipe(s->out.data, s->out.cap);
	buffer_deinit(&s->in);
	buffer_deinit(&s->out);
}
