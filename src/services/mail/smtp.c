/* SPDX-License-Identifier: Apache-2.0 */
#include "services/mail/smtp.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "broker/service/mailbox.h"

enum {
	SMTP_REPLIES_MAX = 64 << 10, /* bytes of all replies to one mail */
	SMTP_REPLY_SHOWN = 200,
};

/* The last command that was sent. */
enum smtp_stage {
	STAGE_CONNECT,
	STAGE_HELLO,
	STAGE_STARTTLS,
	STAGE_AUTH,
	STAGE_FROM,
	STAGE_TO,
	STAGE_DATA,
	STAGE_TEXT, /* all of the mail was sent */
	STAGE_OTHER,
};

struct smtp_transfer {
	const struct smtp_server *server;
	const struct smtp_mail *mail; /* NULL: a probe */
	uint64_t timeout_ms;
	size_t at; /* of the text */
	enum smtp_stage stage;
	char recipient[MAILBOX_ADDRESS_MAX + 1]; /* the last one that was named */
	bool has_login;
	size_t reply_bytes;
	char reply[SMTP_REPLY_SHOWN + 1]; /* the last one */
	bool is_flooded, lacks_login;
	int connect_code;
	int socket;      /* the library's */
	bool is_leaving; /* QUIT was sent: no reply counts any more */
	char message[CURL_ERROR_SIZE];
};

/* What the library calls */

static size_t smtp_on_read(char *out, size_t size, size_t n, void *context)
{
	struct smtp_transfer *t = context;
	const size_t left = t->mail->len - t->at;

	n = size * n < left ? size * n : left;
	memcpy(out, t->mail->text + t->at, n);
	t->at += n;
	if (t->at == t->mail->len)
		t->stage = STAGE_TEXT;
	return n;
}

/* One line of a reply. */
static size_t smtp_on_reply(char *line, size_t size, size_t n, void *context)
{
	struct smtp_transfer *t = context;
	size_t len = 0;

	n *= size;
	if (t->is_leaving)
		return n;
	t->reply_bytes += n;
	t->is_flooded = t->reply_bytes > SMTP_REPLIES_MAX;
	/* The library goes on without logging in where a server offers no way to. */
	t->lacks_login = t->server->user && !t->has_login && t->stage > STAGE_AUTH;
	for (; len < n && len < SMTP_REPLY_SHOWN && line[len] != '\r' && line[len] != '\n'; len++)
		t->reply[len] = ascii_is_control(line[len]) || (unsigned char)line[len] > 0x7e
					? '?'
					: line[len];
	t->reply[len] = '\0';
	return t->is_flooded || t->lacks_login ? 0 : n;
}

static int smtp_on_socket_made(void *context, curl_socket_t fd, curlsocktype purpose)
{
	(void)context;
	(void)fd;
	(void)purpose;
	return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static curl_socket_t smtp_on_open(
	void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct smtp_transfer *t = context;
	int fd = t->server->connect(t->server->context, t->timeout_ms);

	(void)purpose;
	(void)address;
	t->connect_code = fd < 0 ? fd : 0;
	t->socket = fd;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static bool smtp_starts(const char *line, size_t len, const char *word)
{
	return len >= strlen(word) && memcmp(line, word, strlen(word)) == 0;
}

static void smtp_note_recipient(struct smtp_transfer *t, const char *text, size_t len)
{
	const char *end = memchr(text, '>', len);

	(void)snprintf(t->recipient, sizeof(t->recipient), "%.*s",
		(int)(end ? end - text : (ptrdiff_t)len), text);
}

/* Commands as they are sent. What stands behind AUTH is not looked at. */
static int smtp_on_trace(CURL *curl, curl_infotype type, char *line, size_t len, void *context)
{
	static const struct {
		const char *word;
		enum smtp_stage stage;
	} commands[] = { { "EHLO ", STAGE_HELLO }, { "HELO ", STAGE_HELLO },
		{ "STARTTLS", STAGE_STARTTLS }, { "AUTH ", STAGE_AUTH }, { "MAIL ", STAGE_FROM },
		{ "RCPT TO:<", STAGE_TO }, { "DATA", STAGE_DATA }, { "NOOP", STAGE_OTHER } };
	struct smtp_transfer *t = context;

	(void)curl;
	if (type != CURLINFO_HEADER_OUT)
		return 0;
	/* The library waits for a farewell, however long a server takes. */
	if (smtp_starts(line, len, "QUIT")) {
		t->is_leaving = true;
		(void)shutdown(t->socket, SHUT_RD);
	}
	for (size_t i = 0; i < ROWS(commands); i++) {
		if (!smtp_starts(line, len, commands[i].word))
			continue;
		t->stage = commands[i].stage;
		t->has_login = t->has_login || t->stage == STAGE_AUTH;
		if (t->stage == STAGE_TO)
			smtp_note_recipient(t, line + 9, len - 9);
	}
	return 0;
}

/* Setting up */

#define SET(option, value)                                                   \
	do {                                                                 \
		if (r == CURLE_OK)                                           \
			r = curl_easy_setopt(curl, CURLOPT_##option, value); \
	} while (0)

static CURLcode smtp_set_callbacks(CURL *curl, struct smtp_transfer *t)
{
	CURLcode r = CURLE_OK;

	SET(ERRORBUFFER, t->message);
	SET(HEADERFUNCTION, smtp_on_reply);
	SET(HEADERDATA, t);
	SET(WRITEFUNCTION, smtp_on_reply);
	SET(WRITEDATA, t);
	SET(OPENSOCKETFUNCTION, smtp_on_open);
	SET(OPENSOCKETDATA, t);
	SET(SOCKOPTFUNCTION, smtp_on_socket_made);
	SET(DEBUGFUNCTION, smtp_on_trace);
	SET(DEBUGDATA, t);
	SET(VERBOSE, 1L);
	return r;
}

static CURLcode smtp_set_server(CURL *curl, const struct smtp_server *s)
{
	struct curl_blob authorities = {
		.data = (void *)s->authorities, .len = s->authorities_len, .flags = CURL_BLOB_NOCOPY
	};
	const bool is_v6 = strchr(s->host, ':') != NULL;
	auto_buffer url = { 0 };
	CURLcode r = CURLE_OK;

	buffer_printf(&url, "%s://%s%s%s:%u/%s", s->tls == SMTP_TLS ? "smtps" : "smtp",
		is_v6 ? "[" : "", s->host, is_v6 ? "]" : "", s->port, s->hello);
	if (url.failed)
		return CURLE_OUT_OF_MEMORY;
	SET(PROTOCOLS_STR, "smtp,smtps");
	SET(URL, url.data);
	SET(PROXY, "");
	SET(NOPROXY, "*");
	SET(NETRC, (long)CURL_NETRC_IGNORED);
	SET(SSL_VERIFYPEER, 1L);
	SET(SSL_VERIFYHOST, 2L);
	SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CAINFO, NULL);
	SET(CAPATH, NULL);
	if (s->tls != SMTP_PLAIN)
		SET(CAINFO_BLOB, &authorities);
	/* All of it, or nothing is said but EHLO and STARTTLS. */
	SET(USE_SSL, s->tls == SMTP_PLAIN ? (long)CURLUSESSL_NONE : (long)CURLUSESSL_ALL);
	if (s->user) {
		SET(USERNAME, s->user);
		SET(PASSWORD, s->password);
		SET(LOGIN_OPTIONS, "AUTH=PLAIN;AUTH=LOGIN;AUTH=CRAM-MD5");
	}
	return r;
}

/* The connector resolves the name: the library gets an address that leads nowhere. */
static int smtp_resolve(const struct smtp_server *s, struct curl_slist **ret)
{
	auto_buffer row = { 0 };

	/* An address of IPv6 needs nothing, and has no form here. */
	if (strchr(s->host, ':'))
		return 0;
	buffer_printf(&row, "%s:%u:192.0.2.1", s->host, s->port);
	*ret = row.failed ? NULL : curl_slist_append(NULL, row.data);
	return *ret ? 0 : -ENOMEM;
}

static int smtp_recipients(const struct smtp_mail *m, struct curl_slist **ret)
{
	for (size_t i = 0; i < m->n_to; i++) {
		struct curl_slist *longer = curl_slist_append(*ret, m->to[i]);

		if (!longer)
			return -ENOMEM;
		*ret = longer;
	}
	return 0;
}

static CURLcode smtp_set_mail(CURL *curl, struct smtp_transfer *t, struct curl_slist *to)
{
	CURLcode r = CURLE_OK;

	if (!t->mail) {
		SET(CUSTOMREQUEST, "NOOP");
		return r;
	}
	SET(MAIL_FROM, t->mail->from);
	SET(MAIL_RCPT, to);
	SET(READFUNCTION, smtp_on_read);
	SET(READDATA, t);
	SET(INFILESIZE_LARGE, (curl_off_t)t->mail->len);
	SET(UPLOAD, 1L);
	return r;
}

static CURLcode smtp_set_up(
	CURL *curl, struct smtp_transfer *t, struct curl_slist *resolve, struct curl_slist *to)
{
	CURLcode r = smtp_set_callbacks(curl, t);

	SET(NOSIGNAL, 1L);
	SET(FRESH_CONNECT, 1L);
	SET(FORBID_REUSE, 1L);
	SET(RESOLVE, resolve);
	SET(TIMEOUT_MS, (long)t->timeout_ms);
	SET(CONNECTTIMEOUT_MS, (long)t->timeout_ms);
	if (r == CURLE_OK)
		r = smtp_set_server(curl, t->server);
	return r == CURLE_OK ? smtp_set_mail(curl, t, to) : r;
}

/* How it failed */

__attribute__((format(printf, 4, 5))) static void smtp_blame(
	struct smtp_failure *why, enum rpc_class class, const char *hint, const char *format, ...)
{
	va_list args;

	why->class = class;
	why->hint = hint;
	va_start(args, format);
	(void)vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	/* It may hold words of the server. */
	for (char *c = why->text; *c; c++) {
		if (ascii_is_control(*c) || (unsigned char)*c > 0x7e)
			*c = '?';
	}
}

#define HINT_SERVER "check `server` and `port` of email in services.yaml"

static void smtp_blame_connection(const struct smtp_transfer *t, struct smtp_failure *why)
{
	const struct smtp_server *s = t->server;

	if (t->connect_code == -ENOENT)
		smtp_blame(why, RPC_SERVICE, HINT_SERVER,
			"there is no host %s: the mail server cannot be found", s->host);
	else
		smtp_blame(why, t->connect_code == -ETIMEDOUT ? RPC_TIMEOUT : RPC_SERVICE,
			HINT_SERVER, "the mail server %s port %u cannot be reached: %s", s->host,
			s->port, strerror(-t->connect_code));
}

/* The server's reply to the last command is a refusal. */
static void smtp_blame_reply(const struct smtp_transfer *t, struct smtp_failure *why)
{
	switch (t->stage) {
	case STAGE_AUTH:
		smtp_blame(why, RPC_SERVICE,
			"check `user` and `password_file` of email in "
			"services.yaml",
			"the mail server refused the login: %s", t->reply);
		break;
	case STAGE_FROM:
		smtp_blame(why, RPC_SERVICE, "check `from` of email in services.yaml",
			"the mail server refused the sender %s: %s", t->mail ? t->mail->from : "",
			t->reply);
		break;
	case STAGE_TO:
		smtp_blame(why, RPC_NETWORK, NULL,
			"the mail server refused the recipient %s, so nothing was sent: %s",
			t->recipient, t->reply);
		break;
	default:
		smtp_blame(
			why, RPC_NETWORK, NULL, "the mail server refused the mail: %s", t->reply);
	}
}

static bool smtp_is_tls_fault(CURLcode code)
{
	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_ISSUER_ERROR:
		return true;
	default:
		return false;
	}
}

static void smtp_blame_code(const struct smtp_transfer *t, CURLcode code, struct smtp_failure *why)
{
	const char *text = t->message[0] ? t->message : curl_easy_strerror(code);
	const char *unsure = t->stage == STAGE_TEXT
				     ? "; all of the mail was sent, and it may arrive all the same"
				     : "";

	if (code == CURLE_OPERATION_TIMEDOUT)
		smtp_blame(
			why, RPC_TIMEOUT, NULL, "the mail server did not answer in time%s", unsure);
	else if (code == CURLE_USE_SSL_FAILED)
		smtp_blame(why, RPC_SERVICE,
			"set `tls: tls` if the server speaks TLS from the "
			"first byte",
			"the mail server does not start TLS, so nothing was sent: %s", t->reply);
	else if (smtp_is_tls_fault(code))
		smtp_blame(why, RPC_SERVICE,
			"check `server`, `port`, `tls` and `authorities` of "
			"email in services.yaml",
			"no verified TLS with the mail server, so nothing was sent: %s", text);
	else if (code == CURLE_OUT_OF_MEMORY)
		smtp_blame(why, RPC_INTERNAL, NULL, "out of memory");
	else if (code == CURLE_LOGIN_DENIED || t->reply[0] == '4' || t->reply[0] == '5')
		smtp_blame_reply(t, why);
	else
		smtp_blame(why, RPC_NETWORK, NULL, "the connection to the mail server failed: %s%s",
			text, unsure);
}

static void smtp_explain(const struct smtp_transfer *t, CURLcode code, struct smtp_failure *why)
{
	if (t->connect_code < 0)
		smtp_blame_connection(t, why);
	else if (t->is_flooded)
		smtp_blame(why, RPC_NETWORK, HINT_SERVER,
			"the mail server's replies have more than %d bytes", SMTP_REPLIES_MAX);
	else if (t->lacks_login)
		smtp_blame(why, RPC_SERVICE,
			"leave out `user` of email in services.yaml, or "
			"set `tls`",
			"the mail server offers no login by PLAIN, LOGIN or CRAM-MD5");
	else
		smtp_blame_code(t, code, why);
}

/* All of it */

int smtp_begin(void)
{
	return curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? 0 : -ELIBACC;
}

const char *smtp_authorities(void)
{
	return curl_version_info(CURLVERSION_NOW)->cainfo;
}

static int smtp_perform(struct smtp_transfer *t, struct smtp_failure *why)
{
	struct curl_slist *resolve = NULL, *to = NULL;
	CURL *curl = curl_easy_init();
	CURLcode code = CURLE_OUT_OF_MEMORY;

	if (curl && smtp_resolve(t->server, &resolve) == 0 &&
		(!t->mail || smtp_recipients(t->mail, &to) == 0))
		code = smtp_set_up(curl, t, resolve, to);
	if (code == CURLE_OK)
		code = curl_easy_perform(curl);
	if (code != CURLE_OK)
		smtp_explain(t, code, why);
	curl_easy_cleanup(curl);
	curl_slist_free_all(resolve);
	curl_slist_free_all(to);
	return code == CURLE_OK ? 0 : -EIO;
}

int smtp_send(const struct smtp_server *s, const struct smtp_mail *m, uint64_t timeout_ms,
	struct smtp_failure *why)
{
	struct smtp_transfer t = { .server = s, .mail = m, .timeout_ms = timeout_ms };

	return smtp_perform(&t, why);
}

int smtp_probe(const struct smtp_server *s, uint64_t timeout_ms, struct smtp_failure *why)
{
	struct smtp_transfer t = { .server = s, .timeout_ms = timeout_ms };

	return smtp_perform(&t, why);
}
