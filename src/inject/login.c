/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/login.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "codec/encoding.h"
#include "inject/answers.h"
#include "net/gate/http-requests.h"
#include "vault/secret.h"

enum { LOGIN_STATUS_GOOD = 200, LOGIN_STATUS_GOOD_END = 300 };

__attribute__((format(printf, 2, 3))) static int login_deny(
	struct login_ask *a, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vsnprintf(a->why, sizeof(a->why), format, args);
	va_end(args);
	a->state = LOGIN_DENIED;
	return -EACCES;
}

/* Turns */

static void login_wake(struct inject_login *l)
{
	if (l->first && !l->is_busy && loop_start(l->loop, &l->wake, 0) < 0)
		l->first->answered(l->first);
}

static void login_on_wake(struct timer *t)
{
	struct inject_login *l = container_of(t, struct inject_login, wake);

	if (l->first && !l->is_busy)
		l->first->answered(l->first);
}

/* Others wait for it. */
static void login_on_late(struct timer *t)
{
	struct inject_login *l = container_of(t, struct inject_login, late);
	struct login_ask *a = l->turn;

	if (!a || a->state != LOGIN_TURN)
		return;
	(void)login_deny(a, "the login %s has no answer after %d s, and others wait", l->name,
		LOGIN_TURN_MS / 1000);
	a->answered(a);
}

void login_init(struct inject_login *l)
{
	l->wake.expired = login_on_wake;
	l->late.expired = login_on_late;
}

/* The next request may go, of this run or of another. */
static void login_release(struct inject_login *l)
{
	loop_stop(l->loop, &l->late);
	l->turn = NULL;
	l->is_busy = false;
	if (l->give)
		l->give(l->context, l->turns);
	login_wake(l);
}

static void login_take_out(struct login_ask *a)
{
	struct login_ask **at = &a->login->first;

	while (*at && *at != a)
		at = &(*at)->next;
	if (*at)
		*at = a->next;
	a->next = NULL;
}

static int login_queue(struct login_ask *a)
{
	struct login_ask **at = &a->login->first;

	if (a->state == LOGIN_QUEUED)
		return HTTP_HOLD;
	while (*at)
		at = &(*at)->next;
	*at = a;
	a->next = NULL;
	a->state = LOGIN_QUEUED;
	return HTTP_HOLD;
}

static void login_clear(struct login_ask *a)
{
	if (a->body.data)
		secret_wipe(a->body.data, a->body.cap);
	buffer_deinit(&a->body);
	tokens_deinit(&a->tokens);
	for (size_t i = 0; i < LEND_TOKENS_MAX; i++)
		buffer_deinit(&a->stand_ins[i]);
	a->state = LOGIN_NONE;
}

void login_done(struct login_ask *a)
{
	struct inject_login *l = a->login;

	if (!l || (a->state != LOGIN_TURN && a->state != LOGIN_STORED))
		return;
	login_clear(a);
	login_release(l);
}

void login_leave(struct login_ask *a)
{
	struct inject_login *l = a->login;

	if (!l)
		return;
	login_take_out(a);
	/* What is being stored is stored: the next request goes with it. */
	if (l->turn == a && a->state == LOGIN_STORING)
		l->turn = NULL;
	else if (l->turn == a)
		login_release(l);
	else
		/* It may be the one that was told that its turn has come. */
		login_wake(l);
	login_clear(a);
}

/* Requests */

/* The path as a server may read it that is not strict: without case, escapes, doubled slashes,
 * parameters behind a semicolon, and slashes or dots at its end. */
static void login_flatten(const char *path, struct buffer *out)
{
	const size_t len = strlen(path);

	for (size_t i = 0; i < len; i++) {
		const int byte = encoding_percent_byte(path + i, len - i);
		char c = ascii_lower(byte >= 0 ? (char)byte : path[i]);

		i += byte >= 0 ? 2 : 0;
		c = c == '\\' ? '/' : c;
		if (c == ';' || c == '?' || c == '#' || c == '\0')
			break;
		if (c != '/' || out->len == 0 || out->data[out->len - 1] != '/')
			buffer_addc(out, c);
	}
	while (out->len > 0 && strchr("/. ", out->data[out->len - 1]))
		out->data[--out->len] = '\0';
}

/* Another way to write the path could have the same answer. */
static bool login_is_variant(const struct inject_login *l, const char *path)
{
	auto_buffer ours = { 0 }, theirs = { 0 };

	login_flatten(l->path, &ours);
	login_flatten(path, &theirs);
	return ours.failed || theirs.failed || strstr(path, "..") || strstr(path, "/./") ||
	       strcmp(buffer_text(&ours), buffer_text(&theirs)) == 0;
}

static bool login_only_reads(const char *method)
{
	static const char *const methods[] = { "GET", "HEAD", "OPTIONS" };

	for (size_t i = 0; i < ROWS(methods); i++)
		if (strcmp(methods[i], method) == 0)
			return true;
	return false;
}

/* Parameters that are exchanged for tokens (RFC 6749, 7521, 8628, 8693). */
static bool login_is_exchange(const char *name, size_t len)
{
	static const char *const names[] = { "code", "grant_type", "refresh_token", "device_code",
		"assertion", "client_assertion", "subject_token", "password" };
	auto_buffer plain = { 0 };

	for (size_t i = 0; i < len; i++) {
		const int byte = encoding_percent_byte(name + i, len - i);

		buffer_addc(&plain, ascii_lower(byte >= 0 ? (char)byte : name[i]));
		i += byte >= 0 ? 2 : 0;
	}
	for (size_t i = 0; i < ROWS(names); i++)
		if (strcmp(buffer_text(&plain), names[i]) == 0)
			return true;
	return plain.failed;
}

static bool login_has_exchange(const char *query)
{
	while (*query) {
		const size_t len = strcspn(query, "&;");

		if (login_is_exchange(query, strcspn(query, "=&;")))
			return true;
		query += len + (query[len] != '\0');
	}
	return false;
}

/* It is this one's turn in this run. */
static int login_begin(struct login_ask *a)
{
	struct inject_login *l = a->login;

	login_take_out(a);
	l->is_busy = true;
	l->turn = a;
	l->turns++;
	if (!l->take) {
		a->state = LOGIN_CALLED;
	} else if (l->take(l->context, l->turns) < 0) {
		l->is_busy = false;
		l->turn = NULL;
		return login_deny(a,
			"requests of the login %s cannot be put in order with those "
			"of other runs",
			l->name);
	} else {
		a->state = LOGIN_WAITING;
	}
	return 0;
}

static int login_go(struct login_ask *a)
{
	struct inject_login *l = a->login;
	int r = 0;

	if (a->state != LOGIN_WAITING && a->state != LOGIN_CALLED)
		r = l->is_busy ? login_queue(a) : login_begin(a);
	if (r != 0 || a->state == LOGIN_WAITING)
		return r != 0 ? r : HTTP_HOLD;
	a->state = LOGIN_TURN;
	l->look(l->context);
	return loop_start(l->loop, &l->late, LOGIN_TURN_MS) < 0 ? -ENOMEM : 0;
}

void login_turn(struct inject_login *l, uint64_t number, const char *why)
{
	struct login_ask *a = l->turn;

	if (!a || number != l->turns || a->state != LOGIN_WAITING)
		return;
	if (*why)
		(void)login_deny(a, "%s", why);
	else
		a->state = LOGIN_CALLED;
	a->answered(a);
}

int login_judge(struct login_ask *a, const struct http_request *q)
{
	struct inject_login *l = a->login;

	if (!l || a->state == LOGIN_TURN)
		return 0;
	if (a->state == LOGIN_DENIED)
		return -EACCES;
	a->is_post = strcmp(q->method, "POST") == 0;
	a->is_read = login_only_reads(q->method) && !(q->query && login_has_exchange(q->query));
	a->has_query = q->query && *q->query;
	if (strcmp(q->path, l->path) != 0)
		return login_is_variant(l, q->path)
			       ? login_deny(a,
					 "%s is another way to write the path of --login %s, whose "
					 "answers are rewritten: use %s",
					 q->path, l->name, l->path)
			       : 0;
	if (q->upgrade)
		return login_deny(a, "no other protocol begins at the path of --login %s", l->name);
	if (!a->is_post)
		return login_deny(a,
			"tokens of --login %s are asked for by POST alone: a code in a URL, or by "
			"%s, is refused",
			l->name, q->method);
	return login_go(a);
}

void login_body(struct login_ask *a, const void *data, size_t len)
{
	/* One that is too long is no refresh. */
	if (a->state == LOGIN_TURN && a->body.len <= TOKENS_REQUEST_MAX)
		buffer_add(&a->body, data, len);
}

bool login_lends(const struct login_ask *a, const char *name)
{
	return a->login && a->state == LOGIN_TURN &&
	       lend_token_is(a->login->name, LEND_TOKEN_REFRESH, name);
}

/* Answers */

int login_hold(struct login_ask *a, unsigned status, const char *type, size_t len)
{
	a->form = tokens_form(type ? type : "", len);
	if (a->state != LOGIN_TURN)
		return !a->is_read && a->form != TOKENS_OTHER ? ANSWERS_TRY : ANSWERS_PASS;
	if (a->form != TOKENS_OTHER)
		return ANSWERS_HOLD;
	if (status < LOGIN_STATUS_GOOD || status >= LOGIN_STATUS_GOOD_END)
		return ANSWERS_PASS;
	return login_deny(a,
		"the answer to the login %s is neither JSON nor a form, so its tokens cannot be "
		"replaced (Accept: application/json may help)",
		a->login->name);
}

int login_too_long(struct login_ask *a)
{
	return login_deny(a, "the answer to the login %s is longer than 1 MiB", a->login->name);
}

/* Whether the request did nothing but refresh what is known by one of its placeholders. */
static enum tokens_request login_request(const struct login_ask *a)
{
	const struct inject_login *l = a->login;
	enum tokens_request kind = TOKENS_LOGIN;

	if (a->body.failed || a->body.len > TOKENS_REQUEST_MAX)
		return TOKENS_LOGIN;
	kind = tokens_request(buffer_text(&a->body), a->body.len, NULL);
	for (size_t i = 0; i < placeholders_count(l->placeholders) && kind == TOKENS_LOGIN; i++) {
		const struct placeholder *p = placeholders_at(l->placeholders, i);

		if (lend_token_is(l->name, LEND_TOKEN_REFRESH, p->name))
			kind = tokens_request(buffer_text(&a->body), a->body.len, p->text);
	}
	if (kind == TOKENS_REFRESH && (!a->is_post || a->has_query))
		return TOKENS_LOGIN;
	return kind;
}

static int login_send(struct login_ask *a, bool is_refresh)
{
	struct inject_login *l = a->login;
	struct lend_tokens t = {
		.number = ++l->number, .login = l->name, .is_refresh = is_refresh
	};
	char name[LEND_TEXT_MAX];
	int r = 0;

	for (size_t i = 0; i < LEND_TOKENS_MAX; i++) {
		const char *value = a->tokens.values[i];

		t.items[i] = (struct lend_token){ "", "" };
		if (!value)
			continue;
		(void)snprintf(name, sizeof(name), "%s%s", l->name, lend_token_suffixes[i]);
		r = placeholders_stand_in(
			l->placeholders, name, value, strlen(value), &a->stand_ins[i]);
		if (r < 0)
			return r;
		t.items[i] = (struct lend_token){ buffer_text(&a->stand_ins[i]), value };
	}
	return l->send(l->context, &t);
}

static int login_take_other(struct login_ask *a, int found)
{
	return found == 1 || found == -EINVAL
		       ? login_deny(a,
				 "the host answers with tokens at another path than that of "
				 "--login %s, which is %s",
				 a->login->name, a->login->path)
		       : 0;
}

int login_take(struct login_ask *a, const char *body, size_t len, bool is_framed)
{
	const char *name = a->login->name, *why = NULL;
	enum tokens_request kind;
	int found;

	if (len == 0)
		return 0;
	found = tokens_read(&a->tokens, a->form, body, len, &why);
	if (a->state != LOGIN_TURN) {
		tokens_deinit(&a->tokens);
		return login_take_other(a, found);
	}
	if (found == -ENOMEM)
		return login_deny(a, "there is no memory for the answer to the login %s", name);
	if (found < 0)
		return login_deny(a, "the answer to the login %s is refused: %s", name, why);
	if (found == 0)
		return 0;
	/* The end of a token could be missing. */
	if (!is_framed && a->form == TOKENS_FORM)
		return login_deny(a, "the answer to the login %s does not say where it ends", name);
	kind = login_request(a);
	if (kind == TOKENS_EXCHANGE)
		return login_deny(a,
			"a token is exchanged for another one: --login %s keeps those of the login "
			"itself",
			name);
	if (a->login->stored++ >= LOGIN_STORES_MAX)
		return login_deny(
			a, "at most %d answers with tokens are taken in one run", LOGIN_STORES_MAX);
	if (login_send(a, kind == TOKENS_REFRESH) < 0)
		return login_deny(a, "the tokens of the login %s cannot be handed on", name);
	a->state = LOGIN_STORING;
	return 1;
}

void login_stored(struct inject_login *l, uint64_t number, const char *why)
{
	struct login_ask *a = l->turn;

	if (number != l->number || !l->is_busy)
		return;
	if (!a) {
		login_release(l);
		return;
	}
	if (a->state != LOGIN_STORING)
		return;
	if (*why)
		(void)login_deny(a, "%s", why);
	else
		a->state = LOGIN_STORED;
	a->answered(a);
}

int login_print(struct login_ask *a, struct buffer *out)
{
	const char *texts[LEND_TOKENS_MAX] = { NULL };

	for (size_t i = 0; i < LEND_TOKENS_MAX; i++)
		if (a->stand_ins[i].len > PLACEHOLDER_MARK)
			texts[i] = buffer_text(&a->stand_ins[i]) + PLACEHOLDER_MARK;
	return tokens_print(&a->tokens, texts, out);
}

const char *login_why(const struct login_ask *a)
{
	return a->state == LOGIN_DENIED ? a->why : NULL;
}
