/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Messages of the agent protocol (draft-ietf-sshm-ssh-agent, OpenSSH's PROTOCOL.agent), and what a
 * client wants to have signed: the request of a login (RFC 4252, section 7; OpenSSH's
 * publickey-hostbound-v00), or a message in a namespace (SSHSIG). Nothing else has a form here. All
 * fields are bounded, and nothing may be left behind the last one.
 */
#include "sshagent/blob.h"

enum {
	SSH_MESSAGE_MAX = 256 << 10, /* as OpenSSH has it */
	SSH_MESSAGE_FAILURE = 5,
	SSH_MESSAGE_SUCCESS = 6,
	SSH_MESSAGE_REQUEST_IDENTITIES = 11,
	SSH_MESSAGE_IDENTITIES = 12,
	SSH_MESSAGE_SIGN_REQUEST = 13,
	SSH_MESSAGE_SIGNATURE = 14,
	SSH_MESSAGE_EXTENSION = 27,
	/* Flags of SIGN_REQUEST. */
	SSH_MESSAGE_RSA_SHA2_256 = 2,
	SSH_MESSAGE_RSA_SHA2_512 = 4,
	SSH_MESSAGE_SESSION_MAX = 64, /* of a session's id: the hash of its first key exchange */
	SSH_MESSAGE_KEY_MAX = 16 << 10,
	SSH_MESSAGE_USER_MAX = 255,
	SSH_MESSAGE_IDENTITIES_MAX = 2048,
};

/* The extension session-bind@openssh.com. */
struct ssh_bind {
	struct blob host_key, session, signature;
	bool is_forwarding;
};

struct ssh_sign {
	struct blob key, data;
	uint32_t flags;
};

/* What is to be signed. */
enum ssh_kind { SSH_MESSAGE_OF_NOTHING, SSH_MESSAGE_OF_LOGIN, SSH_MESSAGE_OF_NAMESPACE };
struct ssh_data {
	enum ssh_kind kind;
	struct blob session, user, algorithm, key;
	bool is_hostbound;
	struct blob host_key; /* if it is */
	struct blob namespace;
};

/* They take the body of a message, without its type. false: it has another form. */
bool ssh_bind_parse(struct blob body, struct ssh_bind *ret);
bool ssh_is_bind(struct blob body);
bool ssh_sign_parse(struct blob body, struct ssh_sign *ret);
bool ssh_data_parse(struct blob data, struct ssh_data *ret);
/* Answers of an agent. */
bool ssh_identities_check(struct blob body);
bool ssh_signature_check(struct blob body);
/* The type of a key, its first string; empty: it has none. */
struct blob ssh_key_type(struct blob key);
