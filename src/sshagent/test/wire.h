/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Writes what the tests read: bytes, numbers and strings of SSH. */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "codec/encoding.h"
#include "sshagent/blob.h"

static inline struct blob wire_blob(const struct buffer *b)
{
	return (struct blob){ (const uint8_t *)b->data, b->len };
}

static inline void wire_u32(struct buffer *b, uint32_t n)
{
	const uint8_t bytes[4] = { (uint8_t)(n >> 24), (uint8_t)(n >> 16), (uint8_t)(n >> 8),
		(uint8_t)n };

	buffer_add(b, bytes, sizeof(bytes));
}

static inline void wire_string(struct buffer *b, const void *data, size_t len)
{
	wire_u32(b, (uint32_t)len);
	buffer_add(b, data, len);
}

static inline void wire_text(struct buffer *b, const char *text)
{
	wire_string(b, text, strlen(text));
}

/* The request of a login; host_key: of publickey-hostbound, or NULL. */
static inline void wire_login(struct buffer *b, struct blob session, const char *user,
	struct blob key, const struct blob *host_key)
{
	wire_string(b, session.data, session.len);
	buffer_addc(b, 50);
	wire_text(b, user);
	wire_text(b, "ssh-connection");
	wire_text(b, host_key ? "publickey-hostbound-v00@openssh.com" : "publickey");
	buffer_addc(b, 1);
	wire_text(b, "ssh-ed25519");
	wire_string(b, key.data, key.len);
	if (host_key)
		wire_string(b, host_key->data, host_key->len);
}

static inline void wire_namespace(
	struct buffer *b, const char *namespace, const char *hash, size_t len)
{
	static const char zeros[128];

	buffer_adds(b, "SSHSIG");
	wire_text(b, namespace);
	wire_text(b, "");
	wire_text(b, hash);
	wire_string(b, zeros, len);
}

static inline void wire_sign(struct buffer *b, struct blob key, struct blob data, uint32_t flags)
{
	wire_string(b, key.data, key.len);
	wire_string(b, data.data, data.len);
	wire_u32(b, flags);
}

static inline void wire_bind(struct buffer *b, struct blob key, struct blob session,
	struct blob signature, char forwarded)
{
	wire_text(b, "session-bind@openssh.com");
	wire_string(b, key.data, key.len);
	wire_string(b, session.data, session.len);
	wire_string(b, signature.data, signature.len);
	buffer_addc(b, forwarded);
}

/* Of base64, in the arena; empty: it is none. */
static inline struct blob wire_decode(const char *text, struct arena *a)
{
	const char *bytes = "";
	size_t len = 0;

	if (encoding_decode(ENCODING_BASE64, text, strlen(text), a, &bytes, &len) < 0)
		len = 0;
	return (struct blob){ (const uint8_t *)bytes, len };
}
