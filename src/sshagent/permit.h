/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the user's keys may sign: logins as a granted user at a granted host, and messages in a
 * granted namespace.
 *
 * A request to sign does not say for which host it is. So a connection is bound to a session first:
 * ssh proves by the host's own signature that the host, by its key, has agreed on this session's
 * id. A login is signed only if its bytes have that id, so the signature is of use in that session
 * and in no other. The id is 32 bytes that whoever has the host's key can sign, so that one may be
 * of a session with another host: a login must name the key of its host, too, which the server
 * compares with its own, unless what is granted says that it may be plain. A connection has one
 * session for its life, and one that says it is forwarded from another machine is refused
 * everything from then on.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "sshagent/known-hosts.h"
#include "sshagent/ssh.h"
#include "sshagent/ssh-setup.h"

struct permit_login {
	struct ssh_login is;
	bool may_be_plain; /* ssh_setup_may_be_plain() */
	struct known_hosts known;
};

/* What is granted. */
struct permit {
	struct permit_login logins[SSH_GRANTS_MAX];
	const char *namespaces[SSH_GRANTS_MAX];
	size_t n_logins, n_namespaces;
};

/* A connection. Zero it; permit_session_deinit() frees what it keeps. */
struct permit_session {
	bool is_bound, is_closed;
	uint8_t id[SSH_MESSAGE_SESSION_MAX];
	size_t id_len;
	struct buffer host_key;
};

/* Why, for the log: what was asked for, and if it was refused, the reason. */
struct permit_answer {
	bool is_allowed;
	struct buffer target, reason;
};

/*
 * Reads the keys of the granted hosts. Negative, with a sentence: a host has none, or files are
 * beyond the bounds. Texts of s must outlive it; keys are in the arena.
 */
int permit_init(struct permit *p, const struct ssh_setup *s, struct arena *a, struct error *e);
/* 0: decided. -ENOMEM: it could not. Only what sets is_allowed allows. */
int permit_bind(const struct permit *p, struct permit_session *s, struct blob body,
	struct permit_answer *ret);
int permit_sign(const struct permit *p, const struct permit_session *s, struct blob body,
	struct permit_answer *ret);
/* Whether the agent's answer is a signature by the algorithm that the request's key has. */
bool permit_is_signature(struct blob question, struct blob answer);

void permit_session_deinit(struct permit_session *s);
void permit_answer_deinit(struct permit_answer *a);
#define auto_permit_answer __attribute__((cleanup(permit_answer_deinit))) struct permit_answer
