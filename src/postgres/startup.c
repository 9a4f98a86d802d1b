/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres/startup.h"

#include <endian.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "wire/reader.h"

/* Codes that no version has: 1234 in their upper half. */
enum {
	STARTUP_CODE_CANCEL = 80877102,
	STARTUP_CODE_TLS = 80877103,
	STARTUP_CODE_GSS = 80877104,
	STARTUP_MAJOR = 3,
	STARTUP_HEAD = 8,
	STARTUP_KEY_LEAST = 4,
};

static bool startup_take_u32(struct reader *r, uint32_t *ret)
{
	uint32_t n;

	if (!reader_bytes(r, &n, sizeof(n)))
		return false;
	*ret = be32toh(n);
	return true;
}

static void startup_add_u32(struct buffer *out, uint32_t n)
{
	n = htobe32(n);
	buffer_add(out, &n, sizeof(n));
}

static bool startup_has(const struct startup *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->parameters[i].name, name) == 0)
			return true;
	return false;
}

/* As PostgreSQL reads a boolean: a prefix of these words. */
static bool startup_is_off(const char *value)
{
	static const char *const words[] = { "false", "no", "off", "0" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcasecmp(value, words[i]) == 0)
			return true;
	return false;
}

/* Two readers could take different ones of two that have the same name. */
static int startup_add(struct startup *s, const char *name, const char *value)
{
	if (s->n == STARTUP_PARAMETERS_MAX || startup_has(s, name))
		return -EPROTO;
	if (strcmp(name, "replication") == 0)
		return startup_is_off(value) ? 0 : -EACCES;
	if (strcmp(name, "user") == 0)
		s->user = value;
	s->parameters[s->n++] = (struct startup_parameter){ name, value };
	return 0;
}

static int startup_read_login(struct startup *s, struct reader *r)
{
	static const char extension[] = "_pq_.";
	int result = 0;

	for (;;) {
		const char *name = reader_string(r), *value;

		if (!name)
			return -EPROTO;
		if (!*name)
			break;
		value = reader_string(r);
		if (!value)
			return -EPROTO;
		if (strncmp(name, extension, strlen(extension)) != 0)
			result = startup_add(s, name, value);
		else if (s->n_unknown == STARTUP_PARAMETERS_MAX)
			result = -EPROTO;
		else
			s->unknown[s->n_unknown++] = name;
		if (result < 0)
			return result;
	}
	if (r->left > 0 || !s->user || !*s->user)
		return -EPROTO;
	s->kind = STARTUP_LOGIN;
	return 0;
}

static int startup_read_cancel(struct startup *s, struct reader *r)
{
	if (!startup_take_u32(r, &s->process) || r->left < STARTUP_KEY_LEAST ||
		r->left > STARTUP_KEY_MAX)
		return -EPROTO;
	s->key = (const uint8_t *)r->data;
	s->key_len = r->left;
	s->kind = STARTUP_CANCEL;
	return 0;
}

static int startup_read_body(struct startup *s, uint32_t code, struct reader *r)
{
	switch (code) {
	case STARTUP_CODE_TLS:
	case STARTUP_CODE_GSS:
		s->kind = code == STARTUP_CODE_TLS ? STARTUP_TLS : STARTUP_GSS;
		return r->left == 0 ? 0 : -EPROTO;
	case STARTUP_CODE_CANCEL:
		return startup_read_cancel(s, r);
	default:
		s->minor = code & 0xffff;
		return code >> 16 == STARTUP_MAJOR ? startup_read_login(s, r) : -EPROTO;
	}
}

int startup_read(struct startup *ret, const void *data, size_t len)
{
	struct reader r = { data, len };
	uint32_t length = 0, code = 0;
	int result;

	*ret = (struct startup){ 0 };
	/* A length that is wrong is told before the rest comes. */
	if (!startup_take_u32(&r, &length))
		return 0;
	if (length < STARTUP_HEAD || length > STARTUP_MAX)
		return -EPROTO;
	if (len < length)
		return 0;
	r.left = length - sizeof(length);
	(void)startup_take_u32(&r, &code);
	result = startup_read_body(ret, code, &r);
	if (result < 0)
		ret->kind = STARTUP_BROKEN;
	return result < 0 ? result : (int)length;
}

static void startup_add_text(struct buffer *out, const char *text)
{
	buffer_add(out, text, strlen(text) + 1);
}

static void startup_print_packet(uint32_t code, const struct buffer *body, struct buffer *out)
{
	startup_add_u32(out, STARTUP_HEAD + (uint32_t)body->len);
	startup_add_u32(out, code);
	if (body->len > 0)
		buffer_add(out, body->data, body->len);
	out->failed = out->failed || body->failed;
}

void startup_print(const struct startup *s, struct buffer *out)
{
	auto_buffer body = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		startup_add_text(&body, s->parameters[i].name);
		startup_add_text(&body, s->parameters[i].value);
	}
	buffer_addc(&body, '\0');
	startup_print_packet(STARTUP_MAJOR << 16, &body, out);
}

void startup_print_cancel(const struct startup *s, struct buffer *out)
{
	auto_buffer body = { 0 };

	startup_add_u32(&body, s->process);
	buffer_add(&body, s->key, s->key_len);
	startup_print_packet(STARTUP_CODE_CANCEL, &body, out);
}

void startup_print_tls(struct buffer *out)
{
	startup_print_packet(STARTUP_CODE_TLS, &(struct buffer){ 0 }, out);
}

void startup_print_message(char type, const void *body, size_t len, struct buffer *out)
{
	buffer_addc(out, type);
	startup_add_u32(out, (uint32_t)(sizeof(uint32_t) + len));
	if (len > 0)
		buffer_add(out, body, len);
}

void startup_print_negotiation(const struct startup *s, struct buffer *out)
{
	auto_buffer body = { 0 };

	if (s->minor == 0 && s->n_unknown == 0)
		return;
	startup_add_u32(&body, STARTUP_MAJOR << 16);
	startup_add_u32(&body, (uint32_t)s->n_unknown);
	for (size_t i = 0; i < s->n_unknown; i++)
		startup_add_text(&body, s->unknown[i]);
	startup_print_message('v', body.data, body.len, out);
	out->failed = out->failed || body.failed;
}

void startup_print_error(const char *code, const char *text, struct buffer *out)
{
	auto_buffer body = { 0 };
	const struct {
		char field;
		const char *text;
	} fields[] = { { 'S', "FATAL" }, { 'V', "FATAL" }, { 'C', code }, { 'M', text } };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		buffer_addc(&body, fields[i].field);
		startup_add_text(&body, fields[i].text);
	}
	buffer_addc(&body, '\0');
	startup_print_message('E', body.data, body.len, out);
	out->failed = out->failed || body.failed;
}
