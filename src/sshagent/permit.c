/* SPDX-License-Identifier: Apache-2.0 */
#include "sshagent/permit.h"

#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "sshagent/host-key.h"

/* Grants */

static int permit_refuse_host(const struct permit_login *l, const char *name, struct error *e)
{
	if (l->known.has_authority)
		(void)error_set(e, -EOPNOTSUPP, NULL,
			"known_hosts has %s by @cert-authority alone, and certificates of hosts "
			"are "
			"not supported",
			name);
	else if (l->known.n > 0)
		(void)error_set(
			e, -EACCES, NULL, "every key of %s in known_hosts is revoked", name);
	else if (l->known.has_other)
		(void)error_set(e, -EOPNOTSUPP, NULL,
			"the key of %s in known_hosts is neither Ed25519, nor ECDSA, nor RSA",
			name);
	else
		(void)error_set(e, -ENOENT, NULL, "known_hosts has no key of %s", name);
	error_hint(e,
		"connect once outside, and compare its key with what its owner publishes: "
		"ssh -p %u %s@%s",
		l->is.port, l->is.user, l->is.host);
	return -ENOENT;
}

static int permit_read_host(
	struct permit_login *l, const struct ssh_setup *s, struct arena *a, struct error *e)
{
	char name[KNOWN_HOSTS_NAME];
	int r = 0;

	l->may_be_plain = ssh_setup_may_be_plain(&l->is);
	known_hosts_name(l->is.host, l->is.port, name);
	for (size_t i = 0; r == 0 && i < s->n_files; i++) {
		r = known_hosts_read(&l->known, name, s->files[i].data, s->files[i].len, a);
		if (r < 0)
			return error_set(e, r, NULL, "%s: %s", s->files[i].name,
				r == -ENOMEM
					? "out of memory"
					: "it has too many keys of one host, or a line that is "
					  "too long");
	}
	return known_hosts_count(&l->known) > 0 ? 0 : permit_refuse_host(l, name, e);
}

int permit_init(struct permit *p, const struct ssh_setup *s, struct arena *a, struct error *e)
{
	int r = 0;

	*p = (struct permit){ .n_logins = 0 };
	for (size_t i = 0; r == 0 && i < s->n_logins; i++) {
		struct permit_login *l = &p->logins[i];

		r = ssh_setup_login_parse(s->logins[i], &l->is);
		if (r == 0)
			r = permit_read_host(l, s, a, e);
		p->n_logins += r == 0;
	}
	for (size_t i = 0; i < s->n_namespaces; i++)
		p->namespaces[p->n_namespaces++] = s->namespaces[i];
	return r;
}

static bool permit_has_host(const struct permit_login *l, struct blob host_key)
{
	return known_hosts_has(&l->known, host_key);
}

static struct blob permit_bound_key(const struct permit_session *s)
{
	return (struct blob){ (const uint8_t *)s->host_key.data, s->host_key.len };
}

static struct blob permit_bound_id(const struct permit_session *s)
{
	return (struct blob){ s->id, s->id_len };
}

static int permit_end(struct permit_answer *a, const char *refusal)
{
	a->is_allowed = !refusal;
	if (refusal)
		buffer_adds(&a->reason, refusal);
	if (!a->target.failed && !a->reason.failed)
		return 0;
	a->is_allowed = false;
	return -ENOMEM;
}

/* Binding */

static const char *permit_check_host(const struct permit *p, struct blob key)
{
	const struct blob type = ssh_key_type(key);

	for (size_t i = 0; i < p->n_logins; i++)
		if (permit_has_host(&p->logins[i], key))
			return NULL;
	if (type.len > 20 && memmem(type.data, type.len, "-cert-v01@openssh.com", 21))
		return "the host has a certificate, which is not supported: known_hosts must have "
		       "its own key";
	return "its key is that of no granted host";
}

static int permit_keep(struct permit_session *s, const struct ssh_bind *b)
{
	buffer_clear(&s->host_key);
	buffer_add(&s->host_key, b->host_key.data, b->host_key.len);
	if (s->host_key.failed)
		return -ENOMEM;
	memcpy(s->id, b->session.data, b->session.len);
	s->id_len = b->session.len;
	s->is_bound = true;
	return 0;
}

int permit_bind(const struct permit *p, struct permit_session *s, struct blob body,
	struct permit_answer *ret)
{
	char fingerprint[HOST_KEY_FINGERPRINT];
	struct ssh_bind b;
	const char *refusal;
	int r;

	buffer_adds(&ret->target, "ssh.bind:");
	if (s->is_closed)
		return permit_end(ret, "the connection is forwarded from another machine");
	if (!ssh_bind_parse(body, &b)) {
		buffer_addc(&ret->target, '?');
		return permit_end(ret, "the request has another form");
	}
	host_key_fingerprint(b.host_key, fingerprint);
	buffer_adds(&ret->target, fingerprint);
	if (b.is_forwarding) {
		s->is_closed = true;
		return permit_end(ret, "the agent is not forwarded to other machines");
	}
	if (s->is_bound)
		return permit_end(ret, blob_equal(b.session, permit_bound_id(s)) &&
						       blob_equal(b.host_key, permit_bound_key(s))
					       ? NULL
					       : "the connection is bound to another session");
	refusal = permit_check_host(p, b.host_key);
	/* Only keys that were granted get this far. */
	if (!refusal && !host_key_verify(b.host_key, b.signature, b.session))
		refusal = "the host has not signed this session";
	if (refusal)
		return permit_end(ret, refusal);
	r = permit_keep(s, &b);
	return r < 0 ? r : permit_end(ret, NULL);
}

/* Signing */

static bool permit_is_user(struct blob user, const char *granted)
{
	return blob_is(user, granted);
}

static void permit_name_login(const struct permit *p, const struct permit_session *s,
	const struct ssh_data *d, struct buffer *out)
{
	const char *host = NULL;
	unsigned port = 0;

	buffer_adds(out, "ssh.login:");
	buffer_add_name(out, (const char *)d->user.data, d->user.len);
	for (size_t i = 0; s->is_bound && i < p->n_logins; i++) {
		const struct permit_login *l = &p->logins[i];

		/* Of several with this key, the one that is meant. */
		if (permit_has_host(l, permit_bound_key(s)) &&
			(!host || permit_is_user(d->user, l->is.user))) {
			host = l->is.host;
			port = l->is.port;
		}
	}
	if (host)
		buffer_printf(out, "@%s:%u", host, port);
	else
		buffer_adds(out, "@?");
}

/* What to do is for the user to decide: a server that is old, or a command that lies. */
static const char *permit_refuse_plain(const struct permit_login *l, struct buffer *reason)
{
	char name[SSH_LOGIN_BYTES];

	ssh_setup_login_print(&l->is, name);
	buffer_printf(reason,
		"the server, or the client, does not name the host in its request "
		"(publickey-hostbound, OpenSSH 8.9); if the host is too old for that, and you "
		"trust whoever has its key: --ssh-agent plain:%s",
		name);
	return "";
}

/* The reason of a refusal; "": it stands in reason. */
static const char *permit_check_login(const struct permit *p, const struct permit_session *s,
	const struct ssh_sign *m, const struct ssh_data *d, struct buffer *reason)
{
	const struct permit_login *granted = NULL;

	if (!s->is_bound)
		return "ssh has not bound its connection to a host (OpenSSH does since 8.9), or "
		       "was "
		       "refused";
	if (!blob_equal(d->session, permit_bound_id(s)))
		return "it is for another session than the one of its connection";
	if (!blob_equal(d->key, m->key))
		return "it names another key than the one that is to sign";
	if (d->is_hostbound && !blob_equal(d->host_key, permit_bound_key(s)))
		return "it is for another host than the one of its connection";
	for (size_t i = 0; i < p->n_logins; i++) {
		if (!permit_has_host(&p->logins[i], permit_bound_key(s)) ||
			!permit_is_user(d->user, p->logins[i].is.user))
			continue;
		if (d->is_hostbound || p->logins[i].may_be_plain)
			return NULL;
		granted = &p->logins[i];
	}
	return granted ? permit_refuse_plain(granted, reason) : "this user is not granted";
}

static const char *permit_check_namespace(const struct permit *p, struct blob namespace)
{
	for (size_t i = 0; i < p->n_namespaces; i++)
		if (blob_is(namespace, p->namespaces[i]))
			return NULL;
	return "this namespace is not granted";
}

/*
 * Keys, by the exact names of their types: agents read `RSA` as ssh-rsa, too. Without flags: any.
 * Other flags of an RSA key mean SHA-1.
 */
static const struct permit_key {
	const char *type;
	uint32_t flags;
	const char *login, *signature; /* the algorithm in a login, and that of the signature */
} permit_keys[] = {
	{ "ssh-ed25519", 0, "ssh-ed25519", "ssh-ed25519" },
	{ "ssh-ed25519-cert-v01@openssh.com", 0, "ssh-ed25519-cert-v01@openssh.com",
		"ssh-ed25519" },
	{ "ecdsa-sha2-nistp256", 0, "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp256" },
	{ "ecdsa-sha2-nistp384", 0, "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp384" },
	{ "ecdsa-sha2-nistp521", 0, "ecdsa-sha2-nistp521", "ecdsa-sha2-nistp521" },
	{ "ecdsa-sha2-nistp256-cert-v01@openssh.com", 0, "ecdsa-sha2-nistp256-cert-v01@openssh.com",
		"ecdsa-sha2-nistp256" },
	{ "ecdsa-sha2-nistp384-cert-v01@openssh.com", 0, "ecdsa-sha2-nistp384-cert-v01@openssh.com",
		"ecdsa-sha2-nistp384" },
	{ "ecdsa-sha2-nistp521-cert-v01@openssh.com", 0, "ecdsa-sha2-nistp521-cert-v01@openssh.com",
		"ecdsa-sha2-nistp521" },
	{ "sk-ssh-ed25519@openssh.com", 0, "sk-ssh-ed25519@openssh.com",
		"sk-ssh-ed25519@openssh.com" },
	{ "sk-ssh-ed25519-cert-v01@openssh.com", 0, "sk-ssh-ed25519-cert-v01@openssh.com",
		"sk-ssh-ed25519@openssh.com" },
	{ "sk-ecdsa-sha2-nistp256@openssh.com", 0, "sk-ecdsa-sha2-nistp256@openssh.com",
		"sk-ecdsa-sha2-nistp256@openssh.com" },
	{ "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com", 0,
		"sk-ecdsa-sha2-nistp256-cert-v01@openssh.com",
		"sk-ecdsa-sha2-nistp256@openssh.com" },
	{ "ssh-rsa", SSH_MESSAGE_RSA_SHA2_256, "rsa-sha2-256", "rsa-sha2-256" },
	{ "ssh-rsa", SSH_MESSAGE_RSA_SHA2_512, "rsa-sha2-512", "rsa-sha2-512" },
	{ "ssh-rsa-cert-v01@openssh.com", SSH_MESSAGE_RSA_SHA2_256,
		"rsa-sha2-256-cert-v01@openssh.com", "rsa-sha2-256" },
	{ "ssh-rsa-cert-v01@openssh.com", SSH_MESSAGE_RSA_SHA2_512,
		"rsa-sha2-512-cert-v01@openssh.com", "rsa-sha2-512" },
};

/* The row of the key and its flags, or NULL; *is_known: there are rows with other flags. */
static const struct permit_key *permit_find_key(const struct ssh_sign *m, bool *is_known)
{
	const struct blob type = ssh_key_type(m->key);

	*is_known = false;
	for (size_t i = 0; i < ROWS(permit_keys); i++) {
		const struct permit_key *k = &permit_keys[i];

		if (!blob_is(type, k->type))
			continue;
		*is_known = true;
		if (k->flags == 0 || k->flags == m->flags)
			return k;
	}
	return NULL;
}

static const char *permit_check_key(const struct ssh_sign *m, const struct ssh_data *d)
{
	bool is_known;
	const struct permit_key *k = permit_find_key(m, &is_known);

	if (!k)
		return is_known ? "signatures with SHA-1 are not made"
				: "keys of this type do not sign";
	if (d->kind == SSH_MESSAGE_OF_LOGIN && !blob_is(d->algorithm, k->login))
		return "its algorithm is not the one of the key";
	return NULL;
}

bool permit_is_signature(struct blob question, struct blob answer)
{
	struct blob signature, algorithm;
	struct ssh_sign m;
	const struct permit_key *k;
	bool is_known;

	if (!ssh_sign_parse(question, &m) || !ssh_signature_check(answer))
		return false;
	k = permit_find_key(&m, &is_known);
	return k && blob_take_string(&answer, &signature) &&
	       blob_take_string(&signature, &algorithm) && blob_is(algorithm, k->signature);
}

int permit_sign(const struct permit *p, const struct permit_session *s, struct blob body,
	struct permit_answer *ret)
{
	struct ssh_sign m = { .flags = 0 };
	struct ssh_data d = { .kind = SSH_MESSAGE_OF_NOTHING };
	const char *refusal = NULL;

	if (!ssh_sign_parse(body, &m) || !ssh_data_parse(m.data, &d)) {
		buffer_adds(&ret->target, "ssh.sign:?");
		return permit_end(ret, "it is neither a login nor a message in a namespace");
	}
	if (d.kind == SSH_MESSAGE_OF_LOGIN) {
		permit_name_login(p, s, &d, &ret->target);
		refusal = permit_check_login(p, s, &m, &d, &ret->reason);
	} else {
		buffer_adds(&ret->target, "ssh.sign:");
		buffer_add_name(&ret->target, (const char *)d.namespace.data, d.namespace.len);
		refusal = permit_check_namespace(p, d.namespace);
	}
	if (!refusal && s->is_closed)
		refusal = "the connection is forwarded from another machine";
	if (!refusal)
		refusal = permit_check_key(&m, &d);
	return permit_end(ret, refusal);
}

void permit_session_deinit(struct permit_session *s)
{
	buffer_deinit(&s->host_key);
	*s = (struct permit_session){ .is_bound = false };
}

void permit_answer_deinit(struct permit_answer *a)
{
	buffer_deinit(&a->target);
	buffer_deinit(&a->reason);
}
