/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/link/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "event/wait.h"
#include "oauth/place.h"
#include "vault/source-text.h"

/* No sandbox has this name: those of files are paths, and no other has a blank in it. */
#define KEEP_PRINCIPAL "corral link"
#define KEEP_LOGIN "_LOGIN"

enum { KEEP_ANSWER_MS = 60 * 1000 };

int keep_check_name(const char *name, struct error *e)
{
	if (source_link_is_name(name))
		return 0;
	(void)error_set(e, -EINVAL, NULL, "`%s` is not a name of a login", name);
	error_hint(e, "small letters, digits and -, beginning with a letter, as in linear");
	return -EINVAL;
}

int keep_lock(const char *name, unsigned most_ms, int *ret, struct error *e)
{
	auto_buffer path = { 0 };
	auto_fd fd = -1;
	int r = vault_place(&path, e);

	if (r < 0)
		return r;
	buffer_printf(&path, "/link-%s.lock", name);
	if (path.failed)
		return error_no_memory(e);
	fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	r = fd < 0 ? -errno : file_lock(fd, most_ms);
	if (r == -EBUSY)
		return error_set(e, r, NULL, "another process is refreshing the login %s", name);
	if (r < 0)
		return error_set(e, r, NULL, "%s: %s", path.data, strerror(-r));
	*ret = fd_take(&fd);
	return 0;
}

/* What is there */

const struct node *keep_find(const struct node *secrets, const char *name, const char *suffix)
{
	char secret[SOURCE_LINK_SECRET_BYTES];

	if (source_link_secret(name, suffix, secret) < 0)
		return NULL;
	for (const struct node *x = secrets ? secrets->first : NULL; x; x = x->next)
		if (strcmp(node_get_text(x, "name"), secret) == 0)
			return x;
	return NULL;
}

static int keep_absent(const char *name, struct error *e)
{
	(void)error_set(e, -ENOENT, NULL, "there is no login `%s`", name);
	error_hint(e, "corral link auth %s URL", name);
	return -ENOENT;
}

static bool keep_is_ours(const struct node *secret, const char *name)
{
	const char *source = node_get_text(secret, "source");

	return strncmp(source, "link:", 5) == 0 && strcmp(source + 5, name) == 0;
}

int keep_check_free(struct vault_session *s, const char *name)
{
	auto_document list = { 0 };
	const struct node *token, *login;
	int r = vault_session_ask(s, VAULT_LIST, &list);

	if (r < 0)
		return r;
	token = keep_find(node_get(list.root, "secrets"), name, "");
	login = keep_find(node_get(list.root, "secrets"), name, KEEP_LOGIN);
	if (!token && !login)
		return 0;
	if (token ? keep_is_ours(token, name) : !*node_get_text(login, "source"))
		return 0;
	(void)error_set(s->call->error, -EEXIST, NULL,
		"the vault has a secret `%s` that is not of this login",
		node_get_text(token ? token : login, "name"));
	error_hint(s->call->error, "choose another name for the login");
	return -EEXIST;
}

int keep_expiry(struct vault_session *s, const char *name, uint64_t *ret)
{
	auto_document list = { 0 };
	int64_t seconds = 0;
	int r = vault_session_ask(s, VAULT_LIST, &list);

	if (r < 0)
		return r;
	(void)node_integer(
		node_get(keep_find(node_get(list.root, "secrets"), name, ""), "expires"), &seconds);
	*ret = seconds > 0 ? (uint64_t)seconds : 0;
	return 0;
}

/* Reading, by its grant */

static int keep_wait(struct vault_client *v, int socket, struct frame *f)
{
	const uint64_t until = wait_until(KEEP_ANSWER_MS);

	for (;;) {
		struct pollfd p[] = { { .fd = socket, .events = POLLIN },
			{ .fd = vault_client_service_fd(v), .events = POLLIN } };
		int r = wait_for(p, 2, until);

		if (r <= 0)
			return r < 0 ? r : -ETIMEDOUT;
		r = p[1].revents ? vault_client_serve(v) : 0;
		if (r < 0)
			return r;
		if (!p[0].revents)
			continue;
		r = frame_receive(socket, f);
		return r == 1 && f->type == FRAME_VAULT_ANSWER ? 0 : r < 0 ? r : -EPIPE;
	}
}

static int keep_get(struct vault_session *s, const char *secret, const char *host, struct frame *f,
	struct vault_message *ret)
{
	const struct vault_message m = {
		.op = VAULT_GET, .name = secret, .text = host, .places = VAULT_LOGIN
	};
	auto_buffer names = { 0 };
	struct secret room = { 0 };
	int pair[2] = { -1, -1 };
	int r = frame_pair(pair);
	auto_fd ours = pair[0], theirs = pair[1];

	buffer_printf(&names, "%s\n", secret);
	if (r == 0)
		r = names.failed ? -ENOMEM
				 : vault_client_add(s->vault, KEEP_PRINCIPAL, names.data, theirs);
	if (r == 0)
		r = vault_message_send(ours, FRAME_VAULT_GET, 1, &m, &room);
	if (r == 0)
		r = keep_wait(s->vault, ours, f);
	if (r == 0)
		r = vault_message_decode(ret, f->body, f->len);
	if (r < 0)
		return error_set(s->call->error, r, NULL, "corral-vault: %s", strerror(-r));
	if (ret->error < 0) {
		(void)error_set(s->call->error, ret->error, NULL, "%s", ret->text);
		error_hint(s->call->error, "%s", ret->principal);
	}
	return ret->error;
}

/* The host that the login may go to: the first one that is granted so. */
static const char *keep_host(const struct node *login)
{
	const struct node *grants = node_get(login, "grants");

	for (const struct node *g = grants ? grants->first : NULL; g; g = g->next)
		if (strcmp(node_get_text(g, "in"), vault_place_names[6]) == 0 &&
			strcmp(node_get_text(g, "to"), KEEP_PRINCIPAL) == 0)
			return node_get_text(g, "host");
	return NULL;
}

int keep_read(struct vault_session *s, const char *name, struct oauth_record *ret)
{
	static struct frame f;
	struct error *e = s->call->error;
	auto_document list = { 0 };
	const struct node *login;
	struct vault_message m = { 0 };
	struct oauth_place token;
	const char *host;
	int r = vault_session_ask(s, VAULT_LIST, &list);

	if (r < 0)
		return r;
	login = keep_find(node_get(list.root, "secrets"), name, KEEP_LOGIN);
	host = login ? keep_host(login) : NULL;
	if (!host)
		return keep_absent(name, e);
	r = secret_lock(&f, sizeof(f));
	if (r < 0)
		return secret_refuse(r, e);
	r = keep_get(s, node_get_text(login, "name"), host, &f, &m);
	if (r == 0)
		r = oauth_record_read(ret, m.secret, m.secret_len, e);
	secret_wipe(f.buffer, sizeof(f.buffer));
	frame_deinit(&f);
	if (r < 0)
		return r;
	if (oauth_place_read(&token, ret->token, "the token endpoint", e) < 0 ||
		strcmp(token.host, host) != 0) {
		oauth_record_deinit(ret);
		return error_set(e, -EACCES, NULL,
			"the login %s is refreshed at another host than %s, for which it is "
			"granted",
			name, host);
	}
	return 0;
}

/* Writing */

static int keep_call(struct vault_session *s, const struct vault_message *m)
{
	struct vault_message answer;

	return vault_session_call(s, m, &answer);
}

static int keep_put(struct vault_session *s, enum vault_op op, const char *secret,
	const struct oauth_record *record)
{
	struct vault_message m = { .op = op, .name = secret };
	struct buffer text = { 0 };
	int r = oauth_record_print(record, &text);

	if (r < 0)
		r = error_set(s->call->error, r, NULL, "the login is too long to be kept");
	m.secret = text.data;
	m.secret_len = (uint32_t)text.len;
	if (r == 0)
		r = keep_call(s, &m);
	if (text.data)
		secret_wipe(text.data, text.cap);
	buffer_deinit(&text);
	return r;
}

/* Its only grant of this kind; others, of an earlier login elsewhere, go. */
static int keep_grant(struct vault_session *s, const struct node *known, const char *secret,
	const char *url, uint32_t place, const char *principal)
{
	const struct node *grants = node_get(known, "grants");
	struct vault_message m = {
		.op = VAULT_GRANT, .name = secret, .places = place, .principal = principal
	};
	struct oauth_place to;
	bool has = false;
	int r = oauth_place_read(&to, url, "the host", s->call->error);

	for (const struct node *g = grants ? grants->first : NULL; r == 0 && g; g = g->next) {
		const struct vault_message old = { .op = VAULT_REVOKE,
			.name = secret,
			.text = node_get_text(g, "host"),
			.principal = node_get_text(g, "to") };

		if (strcmp(node_get_text(g, "host"), to.host) == 0)
			has = true;
		else
			r = keep_call(s, &old);
	}
	m.text = to.host;
	return r < 0 || has ? r : keep_call(s, &m);
}

int keep_replace(struct vault_session *s, const char *name, const struct oauth_record *record)
{
	char secret[SOURCE_LINK_SECRET_BYTES];

	(void)source_link_secret(name, KEEP_LOGIN, secret);
	return keep_put(s, VAULT_ROTATE, secret, record);
}

int keep_write(struct vault_session *s, const char *name, const struct oauth_record *record)
{
	char login[SOURCE_LINK_SECRET_BYTES], token[SOURCE_LINK_SECRET_BYTES], source[64];
	auto_document list = { 0 };
	const struct node *secrets, *known;
	struct vault_message m = { .op = VAULT_SET, .name = token, .text = source };
	int r = vault_session_ask(s, VAULT_LIST, &list);

	if (r < 0)
		return r;
	(void)source_link_secret(name, KEEP_LOGIN, login);
	(void)source_link_secret(name, "", token);
	(void)stpcpy(stpcpy(source, "link:"), name);
	secrets = node_get(list.root, "secrets");
	known = keep_find(secrets, name, KEEP_LOGIN);
	r = keep_put(s, known ? VAULT_ROTATE : VAULT_SET, login, record);
	if (r == 0)
		r = keep_grant(s, known, login, record->token, VAULT_LOGIN, KEEP_PRINCIPAL);
	known = keep_find(secrets, name, "");
	if (r == 0 && !known)
		r = keep_call(s, &m);
	return r < 0 ? r : keep_grant(s, known, token, record->url, VAULT_HEADER, "");
}

int keep_token(struct vault_session *s, const char *name, const char *token, uint64_t expires_s)
{
	char secret[SOURCE_LINK_SECRET_BYTES];
	const struct vault_message m = { .op = VAULT_KEEP,
		.name = secret,
		.secret = token,
		.secret_len = token ? (uint32_t)strlen(token) : 0,
		.number = token ? expires_s : 0 };

	(void)source_link_secret(name, "", secret);
	return keep_call(s, &m);
}

int keep_remove(struct vault_session *s, const char *name)
{
	static const char *const suffixes[] = { "", KEEP_LOGIN };
	auto_document list = { 0 };
	int r = vault_session_ask(s, VAULT_LIST, &list);

	for (size_t i = 0; r == 0 && i < 2; i++) {
		const struct node *x = keep_find(node_get(list.root, "secrets"), name, suffixes[i]);
		const struct vault_message m = { .op = VAULT_REMOVE,
			.name = node_get_text(x, "name") };

		if (x)
			r = keep_call(s, &m);
	}
	return r;
}
