/* SPDX-License-Identifier: Apache-2.0 */
#include "sshagent/ssh.h"

enum {
	SSH_MESSAGE_USERAUTH = 50,
	SSH_MESSAGE_NAME_MAX = 64, /* of an algorithm */
	SSH_MESSAGE_SIGNATURE_MAX = 16 << 10,
	SSH_MESSAGE_COMMENT_MAX = 4096,
	SSH_MESSAGE_SHA256 = 32,
	SSH_MESSAGE_SHA512 = 64,
};

static bool ssh_take(struct blob *b, size_t least, size_t most, struct blob *ret)
{
	return blob_take_string(b, ret) && ret->len >= least && ret->len <= most;
}

static bool ssh_take_word(struct blob *b, const char *word)
{
	struct blob got;

	return blob_take_string(b, &got) && blob_is(got, word);
}

/* A hash: SHA-1, SHA-256, SHA-384, SHA-512. */
static bool ssh_take_session(struct blob *b, struct blob *ret)
{
	return ssh_take(b, 20, SSH_MESSAGE_SESSION_MAX, ret) &&
	       (ret->len == 20 || ret->len == 32 || ret->len == 48 || ret->len == 64);
}

bool ssh_is_bind(struct blob body)
{
	return ssh_take_word(&body, "session-bind@openssh.com");
}

bool ssh_bind_parse(struct blob body, struct ssh_bind *ret)
{
	struct ssh_bind b;
	uint8_t flag;

	if (!ssh_take_word(&body, "session-bind@openssh.com") ||
		!ssh_take(&body, 1, SSH_MESSAGE_KEY_MAX, &b.host_key) ||
		!ssh_take_session(&body, &b.session) ||
		!ssh_take(&body, 1, SSH_MESSAGE_SIGNATURE_MAX, &b.signature) ||
		!blob_take_u8(&body, &flag) || body.len > 0)
		return false;
	b.is_forwarding = flag != 0;
	*ret = b;
	return true;
}

bool ssh_sign_parse(struct blob body, struct ssh_sign *ret)
{
	struct ssh_sign s;

	if (!ssh_take(&body, 1, SSH_MESSAGE_KEY_MAX, &s.key) || !blob_take_string(&body, &s.data) ||
		!blob_take_u32(&body, &s.flags) || body.len > 0)
		return false;
	*ret = s;
	return true;
}

static bool ssh_login_parse(struct blob data, struct ssh_data *ret)
{
	struct ssh_data d = { .kind = SSH_MESSAGE_OF_LOGIN };
	struct blob method;
	uint8_t type, has_signature;

	if (!ssh_take_session(&data, &d.session) || !blob_take_u8(&data, &type) ||
		type != SSH_MESSAGE_USERAUTH ||
		!ssh_take(&data, 1, SSH_MESSAGE_USER_MAX, &d.user) ||
		!ssh_take_word(&data, "ssh-connection") ||
		!ssh_take(&data, 1, SSH_MESSAGE_NAME_MAX, &method))
		return false;
	d.is_hostbound = blob_is(method, "publickey-hostbound-v00@openssh.com");
	if ((!d.is_hostbound && !blob_is(method, "publickey")) ||
		!blob_take_u8(&data, &has_signature) || has_signature != 1 ||
		!ssh_take(&data, 1, SSH_MESSAGE_NAME_MAX, &d.algorithm) ||
		!ssh_take(&data, 1, SSH_MESSAGE_KEY_MAX, &d.key))
		return false;
	if (d.is_hostbound && !ssh_take(&data, 1, SSH_MESSAGE_KEY_MAX, &d.host_key))
		return false;
	if (data.len > 0)
		return false;
	*ret = d;
	return true;
}

/* OpenSSH's PROTOCOL.sshsig: magic, namespace, reserved, the hash and its name. */
static bool ssh_namespace_parse(struct blob data, struct ssh_data *ret)
{
	struct ssh_data d = { .kind = SSH_MESSAGE_OF_NAMESPACE };
	struct blob reserved, name, hash;

	data.data += 6;
	data.len -= 6;
	if (!ssh_take(&data, 1, SSH_MESSAGE_NAME_MAX, &d.namespace) ||
		!ssh_take(&data, 0, 0, &reserved) ||
		!ssh_take(&data, 1, SSH_MESSAGE_NAME_MAX, &name) ||
		!blob_take_string(&data, &hash) || data.len > 0)
		return false;
	if (!(blob_is(name, "sha512") && hash.len == SSH_MESSAGE_SHA512) &&
		!(blob_is(name, "sha256") && hash.len == SSH_MESSAGE_SHA256))
		return false;
	*ret = d;
	return true;
}

/* The magic, read as the length of a session's id, is beyond all bounds: no bytes are both. */
bool ssh_data_parse(struct blob data, struct ssh_data *ret)
{
	if (data.len >= 6 && memcmp(data.data, "SSHSIG", 6) == 0)
		return ssh_namespace_parse(data, ret);
	return ssh_login_parse(data, ret);
}

bool ssh_identities_check(struct blob body)
{
	struct blob key, comment;
	uint32_t n;

	if (!blob_take_u32(&body, &n) || n > SSH_MESSAGE_IDENTITIES_MAX)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!ssh_take(&body, 1, SSH_MESSAGE_KEY_MAX, &key) ||
			!ssh_take(&body, 0, SSH_MESSAGE_COMMENT_MAX, &comment))
			return false;
	return body.len == 0;
}

bool ssh_signature_check(struct blob body)
{
	struct blob signature;

	return ssh_take(&body, 1, SSH_MESSAGE_SIGNATURE_MAX, &signature) && body.len == 0;
}

struct blob ssh_key_type(struct blob key)
{
	struct blob type;

	return ssh_take(&key, 1, SSH_MESSAGE_NAME_MAX, &type) ? type : (struct blob){ NULL, 0 };
}
