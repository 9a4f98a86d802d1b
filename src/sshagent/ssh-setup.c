/* SPDX-License-Identifier: Apache-2.0 */
#include "sshagent/ssh-setup.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "wire/reader.h"

#define SETUP_PLAIN "plain:"

enum { SETUP_LOGIN = 1, SETUP_NAMESPACE, SETUP_FILE, SETUP_NAME_MAX = 4096 };

/* Logins */

static int ssh_setup_parse_port(const char *text, uint16_t *ret)
{
	unsigned port = 0;
	const size_t len = strlen(text);

	if (len == 0 || len > 5 || text[0] == '0')
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (!ascii_is_digit(text[i]))
			return -EINVAL;
		port = port * 10 + (unsigned)(text[i] - '0');
	}
	if (port > UINT16_MAX)
		return -EINVAL;
	*ret = (uint16_t)port;
	return 0;
}

/* A name, or an address of IPv4. */
static bool ssh_setup_is_name(const char *text, size_t len)
{
	if (len == 0 || text[0] == '.' || text[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!ascii_is_alnum(text[i]) && !strchr(".-_", text[i]))
			return false;
	return true;
}

static bool ssh_setup_is_address_6(const char *text, size_t len)
{
	char copy[INET6_ADDRSTRLEN];
	struct in6_addr address;

	if (len == 0 || len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return inet_pton(AF_INET6, copy, &address) == 1;
}

/* HOST, HOST:PORT, [ADDRESS], [ADDRESS]:PORT. */
static int ssh_setup_parse_place(const char *text, struct ssh_login *l)
{
	const bool is_bracketed = text[0] == '[';
	const char *host = text + is_bracketed;
	const size_t len = strcspn(host, is_bracketed ? "]" : ":");
	const char *rest = host + len;

	if (len >= sizeof(l->host) || (is_bracketed && *rest++ != ']'))
		return -EINVAL;
	if (!(is_bracketed ? ssh_setup_is_address_6(host, len) : ssh_setup_is_name(host, len)))
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		l->host[i] = ascii_lower(host[i]);
	l->port = SSH_PORT;
	if (!*rest)
		return 0;
	return *rest == ':' ? ssh_setup_parse_port(rest + 1, &l->port) : -EINVAL;
}

int ssh_setup_login_parse(const char *text, struct ssh_login *ret)
{
	const size_t skipped = strlen(SETUP_PLAIN);
	struct ssh_login l = { .is_plain = strncmp(text, SETUP_PLAIN, skipped) == 0 };
	const char *at;
	size_t len;
	int r;

	text += l.is_plain ? skipped : 0;
	at = strrchr(text, '@');
	len = at ? (size_t)(at - text) : 0;
	if (len == 0 || len >= sizeof(l.user) || text[0] == '-')
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		/* No pattern, and nothing that looks like another user in a message. */
		if (text[i] <= ' ' || text[i] >= 0x7f || strchr("*?@:/\"'", text[i]))
			return -EINVAL;
		l.user[i] = text[i];
	}
	r = ssh_setup_parse_place(at + 1, &l);
	if (r == 0)
		*ret = l;
	return r;
}

/* Their own servers, some without publickey-hostbound; no user of theirs has their keys. */
bool ssh_setup_may_be_plain(const struct ssh_login *l)
{
	static const struct {
		const char *host;
		uint16_t port;
	} forges[] = {
		{ "github.com", SSH_PORT },
		{ "ssh.github.com", 443 },
		{ "gitlab.com", SSH_PORT },
		{ "altssh.gitlab.com", 443 },
		{ "bitbucket.org", SSH_PORT },
		{ "altssh.bitbucket.org", 443 },
		{ "codeberg.org", SSH_PORT },
		{ "git.sr.ht", SSH_PORT },
		{ "ssh.dev.azure.com", SSH_PORT },
		{ "vs-ssh.visualstudio.com", SSH_PORT },
	};

	for (size_t i = 0; !l->is_plain && i < ROWS(forges); i++)
		if (strcmp(l->user, "git") == 0 && strcmp(l->host, forges[i].host) == 0 &&
			l->port == forges[i].port)
			return true;
	return l->is_plain;
}

void ssh_setup_login_print(const struct ssh_login *l, char *out)
{
	const bool is_6 = strchr(l->host, ':');

	(void)snprintf(out, SSH_LOGIN_BYTES, "%s%s@%s%s%s:%u", l->is_plain ? SETUP_PLAIN : "",
		l->user, is_6 ? "[" : "", l->host, is_6 ? "]" : "", l->port);
}

bool ssh_setup_namespace_is_valid(const char *text)
{
	const size_t len = strnlen(text, SSH_NAMESPACE_MAX + 1);

	if (len == 0 || len > SSH_NAMESPACE_MAX || text[0] == '-')
		return false;
	for (size_t i = 0; i < len; i++)
		if (!ascii_is_alnum(text[i]) && !strchr("@._-", text[i]))
			return false;
	return true;
}

/* Bodies: a kind and a text each; behind the name of a file its length and its bytes. */

static void ssh_setup_add(struct buffer *out, char kind, const char *text)
{
	buffer_addc(out, kind);
	buffer_add(out, text, strlen(text) + 1);
}

int ssh_setup_encode(const struct ssh_setup *s, struct buffer *out)
{
	struct ssh_login login;
	size_t bytes = 0;

	if (s->n_logins > SSH_GRANTS_MAX || s->n_namespaces > SSH_GRANTS_MAX ||
		s->n_files > SSH_FILES_MAX)
		return -E2BIG;
	for (size_t i = 0; i < s->n_logins; i++) {
		if (ssh_setup_login_parse(s->logins[i], &login) < 0)
			return -EINVAL;
		ssh_setup_add(out, SETUP_LOGIN, s->logins[i]);
	}
	for (size_t i = 0; i < s->n_namespaces; i++) {
		if (!ssh_setup_namespace_is_valid(s->namespaces[i]))
			return -EINVAL;
		ssh_setup_add(out, SETUP_NAMESPACE, s->namespaces[i]);
	}
	for (size_t i = 0; i < s->n_files; i++) {
		const struct ssh_file *f = &s->files[i];
		const uint32_t len = (uint32_t)f->len;

		bytes += f->len;
		if (f->len > SSH_FILES_BYTES_MAX || bytes > SSH_FILES_BYTES_MAX)
			return -E2BIG;
		ssh_setup_add(out, SETUP_FILE, f->name);
		buffer_add(out, &len, sizeof(len));
		buffer_add(out, f->data, f->len);
	}
	return out->failed ? -ENOMEM : 0;
}

static bool ssh_setup_take_file(struct ssh_setup *s, const char *name, struct reader *r)
{
	uint32_t len;

	if (s->n_files == SSH_FILES_MAX || strlen(name) > SETUP_NAME_MAX ||
		!reader_bytes(r, &len, sizeof(len)) || len > r->left || len > SSH_FILES_BYTES_MAX)
		return false;
	s->files[s->n_files++] = (struct ssh_file){ name, r->data, len };
	r->data += len;
	r->left -= len;
	return true;
}

int ssh_setup_decode(struct ssh_setup *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct ssh_setup s = { .n_logins = 0 };
	struct ssh_login login;

	while (r.left > 0) {
		char kind;
		const char *text = reader_bytes(&r, &kind, 1) ? reader_string(&r) : NULL;

		if (text && kind == SETUP_LOGIN && s.n_logins < SSH_GRANTS_MAX &&
			ssh_setup_login_parse(text, &login) == 0)
			s.logins[s.n_logins++] = text;
		else if (text && kind == SETUP_NAMESPACE && s.n_namespaces < SSH_GRANTS_MAX &&
			 ssh_setup_namespace_is_valid(text))
			s.namespaces[s.n_namespaces++] = text;
		else if (!text || kind != SETUP_FILE || !ssh_setup_take_file(&s, text, &r))
			return -EPROTO;
	}
	if (s.n_logins + s.n_namespaces == 0)
		return -EPROTO;
	*ret = s;
	return 0;
}
