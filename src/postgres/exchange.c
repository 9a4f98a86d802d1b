/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres/exchange.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include "postgres/startup.h"
#include "vault/secret.h"
#include "wire/reader.h"

enum { EXCHANGE_HEAD = 5 };

/* Of AuthenticationRequest. */
enum exchange_request {
	EXCHANGE_OK = 0,
	EXCHANGE_PASSWORD = 3,
	EXCHANGE_MD5 = 5,
	EXCHANGE_SASL = 10,
	EXCHANGE_SASL_CONTINUE = 11,
	EXCHANGE_SASL_FINAL = 12,
};

static const char exchange_plain[] = "SCRAM-SHA-256", exchange_bound[] = "SCRAM-SHA-256-PLUS";

static const char exchange_broken[] =
	"what the server sends is not the protocol of PostgreSQL, or not in its order";

static const struct {
	uint32_t request;
	const char *why;
} exchange_refusals[] = {
	{ EXCHANGE_OK, "the server asks for no password and so does not show that it knows it "
		       "(trust, peer or cert in its pg_hba.conf): connect without the secret" },
	{ EXCHANGE_PASSWORD,
		"the server asks for the password itself (password, ldap, pam or radius in its "
		"pg_hba.conf), and it is never sent: use scram-sha-256 there" },
	{ EXCHANGE_MD5,
		"the server asks for an MD5 of the password, which is as good as the password: set "
		"password_encryption = 'scram-sha-256' there, and then the password anew" },
};

int exchange_init(struct pg_exchange *x, const struct pg_exchange_options *o)
{
	*x = (struct pg_exchange){ .o = *o };
	if (o->binding_len > SCRAM_BINDING_MAX || strlen(o->nonce) != SCRAM_NONCE)
		return -EINVAL;
	if (o->binding_len > 0)
		memcpy(x->binding, o->binding, o->binding_len);
	memcpy(x->nonce, o->nonce, SCRAM_NONCE + 1);
	if (o->greeting_len > 0)
		buffer_add(&x->greeting, o->greeting, o->greeting_len);
	return x->greeting.failed ? -ENOMEM : 0;
}

void exchange_deinit(struct pg_exchange *x)
{
	scram_deinit(&x->scram);
	buffer_deinit(&x->greeting);
	secret_wipe(x, sizeof(*x));
}

static int exchange_refuse(struct pg_exchange *x, const char *why)
{
	x->why = why;
	return -EACCES;
}

static int exchange_explain(struct pg_exchange *x, int r)
{
	switch (r) {
	case -ERANGE:
		return exchange_refuse(x, "the server asks for fewer rounds of SCRAM than 4096, or "
					  "for more than 600000: set scram_iterations there, and "
					  "then the password anew");
	case -EKEYREJECTED:
		return exchange_refuse(x, "the server does not know the password, although it "
					  "takes it: it is not the one that the secret is for");
	case -EPROTO:
		return exchange_refuse(x, exchange_broken);
	default:
		return r;
	}
}

static void exchange_add_u32(struct buffer *out, uint32_t n)
{
	n = htobe32(n);
	buffer_add(out, &n, sizeof(n));
}

static int exchange_send_first(struct pg_exchange *x, bool has_bound, struct buffer *to_server)
{
	const bool is_bound = has_bound && x->o.binding_len > 0;
	const enum scram_channel channel = is_bound               ? SCRAM_BOUND
					   : x->o.binding_len > 0 ? SCRAM_UNBOUND
								  : SCRAM_PLAIN;
	auto_buffer first = { 0 }, body = { 0 };
	int r = scram_begin(&x->scram, channel, x->binding, is_bound ? x->o.binding_len : 0, "",
		x->nonce, &first);

	if (r < 0)
		return r;
	buffer_adds(&body, is_bound ? exchange_bound : exchange_plain);
	buffer_addc(&body, '\0');
	exchange_add_u32(&body, (uint32_t)first.len);
	buffer_add(&body, first.data, first.len);
	startup_print_message('p', body.data, body.len, to_server);
	return body.failed ? -ENOMEM : 0;
}

/* Names of mechanisms, and an empty one. */
static int exchange_take_mechanisms(
	struct pg_exchange *x, struct reader *r, struct buffer *to_server)
{
	bool has_plain = false, has_bound = false;

	if (x->scram.stage != SCRAM_NOTHING || x->is_proved)
		return exchange_refuse(x, exchange_broken);
	for (;;) {
		const char *name = reader_string(r);

		if (!name)
			return exchange_refuse(x, exchange_broken);
		if (!*name)
			break;
		has_plain = has_plain || strcmp(name, exchange_plain) == 0;
		has_bound = has_bound || strcmp(name, exchange_bound) == 0;
	}
	if (r->left > 0 || (has_bound && !x->o.is_tls))
		return exchange_refuse(x, exchange_broken);
	if (!has_plain && !has_bound)
		return exchange_refuse(x, "the server offers no login by SCRAM-SHA-256");
	/* The server's certificate is of a kind that has no binding. */
	if (!has_plain && x->o.binding_len == 0)
		return exchange_refuse(x, "the server offers no login without channel binding, and "
					  "its certificate allows none");
	return exchange_send_first(x, has_bound, to_server);
}

static int exchange_take_challenge(
	struct pg_exchange *x, struct reader *r, struct buffer *to_server)
{
	auto_buffer last = { 0 };
	int n = scram_continue(
		&x->scram, r->data, r->left, x->o.password, x->o.password_len, &last);

	if (n < 0)
		return exchange_explain(x, n);
	startup_print_message('p', last.data, last.len, to_server);
	x->is_proved = true;
	return 0;
}

static int exchange_let_in(struct pg_exchange *x, struct buffer *to_client)
{
	const uint32_t ok = EXCHANGE_OK;

	if (x->greeting.len > 0)
		buffer_add(to_client, x->greeting.data, x->greeting.len);
	startup_print_message('R', &ok, sizeof(ok), to_client);
	x->state = EXCHANGE_STARTING;
	return 0;
}

static int exchange_take_request(
	struct pg_exchange *x, struct reader *r, struct buffer *to_server, struct buffer *to_client)
{
	uint32_t request;

	if (!reader_bytes(r, &request, sizeof(request)))
		return exchange_refuse(x, exchange_broken);
	request = be32toh(request);
	if (request == EXCHANGE_SASL)
		return exchange_take_mechanisms(x, r, to_server);
	if (request == EXCHANGE_SASL_CONTINUE)
		return exchange_take_challenge(x, r, to_server);
	if (request == EXCHANGE_SASL_FINAL)
		return exchange_explain(x, scram_finish(&x->scram, r->data, r->left));
	if (request == EXCHANGE_OK && x->scram.stage == SCRAM_DONE && r->left == 0)
		return exchange_let_in(x, to_client);
	/* Once it has begun, it ends. */
	if (x->scram.stage != SCRAM_NOTHING || x->is_proved)
		return exchange_refuse(x, exchange_broken);
	for (size_t i = 0; i < sizeof(exchange_refusals) / sizeof(exchange_refusals[0]); i++)
		if (exchange_refusals[i].request == request)
			return exchange_refuse(x, exchange_refusals[i].why);
	return exchange_refuse(x, "the server asks for a login that is not by a password");
}

static int exchange_take_key(struct pg_exchange *x, struct reader *r)
{
	uint32_t process;

	if (x->key_len > 0 || !reader_bytes(r, &process, sizeof(process)) || r->left == 0 ||
		r->left > EXCHANGE_KEY_MAX)
		return exchange_refuse(x, exchange_broken);
	x->process = be32toh(process);
	memcpy(x->key, r->data, r->left);
	x->key_len = r->left;
	return 0;
}

static int exchange_take_login(struct pg_exchange *x, char type, struct reader *r,
	const struct buffer *whole, struct buffer *to_server, struct buffer *to_client)
{
	if (type == 'R')
		return exchange_take_request(x, r, to_server, to_client);
	if (type == 'N')
		return 0;
	if (type != 'E')
		return exchange_refuse(x, exchange_broken);
	buffer_add(to_client, whole->data, whole->len);
	x->state = EXCHANGE_REFUSED;
	return 0;
}

/* Of a session that starts, and of one that ends while it does. */
static int exchange_take_start(struct pg_exchange *x, char type, struct reader *r,
	const struct buffer *whole, struct buffer *to_client)
{
	int result = type == 'K'            ? exchange_take_key(x, r)
		     : strchr("SNEZ", type) ? 0
					    : exchange_refuse(x, exchange_broken);

	if (result < 0)
		return result;
	buffer_add(to_client, whole->data, whole->len);
	if (type == 'Z')
		x->state = EXCHANGE_READY;
	else if (type == 'E')
		x->state = EXCHANGE_REFUSED;
	return 0;
}

int exchange_take(struct pg_exchange *x, const void *data, size_t len, struct buffer *to_server,
	struct buffer *to_client)
{
	struct reader r = { data, len };
	char type = '\0';
	uint32_t length = 0;
	struct buffer whole;
	int result;

	if (!reader_bytes(&r, &type, sizeof(type)))
		return 0;
	if (!type || !strchr(x->state == EXCHANGE_LOGIN ? "RNE" : "SKNEZ", type))
		return exchange_refuse(x, exchange_broken);
	if (!reader_bytes(&r, &length, sizeof(length)))
		return 0;
	length = be32toh(length);
	if (length < sizeof(length) || length > EXCHANGE_MESSAGE_MAX)
		return exchange_refuse(x, exchange_broken);
	if (len - 1 < length)
		return 0;
	r.left = length - sizeof(length);
	whole = (struct buffer){ .data = (char *)data, .len = (size_t)length + 1 };
	result = x->state == EXCHANGE_LOGIN
			 ? exchange_take_login(x, type, &r, &whole, to_server, to_client)
			 : exchange_take_start(x, type, &r, &whole, to_client);
	if (result == 0 && (to_server->failed || to_client->failed))
		return -ENOMEM;
	return result < 0 ? result : (int)length + 1;
}
