/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/lend.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "wire/reader.h"

enum { LEND_CERTIFICATE_MAX = 64 << 10, LEND_PLACEHOLDER_MAX = 16 << 10 };
enum { LEND_HAS_QUERY = 1, LEND_UPGRADES = 2 };

static bool lend_is_text(const char *text, size_t most)
{
	return text && *text && strlen(text) <= most;
}

/* It goes into records and questions: no byte of it starts another line. */
static bool lend_is_line(const char *text, size_t most)
{
	if (!text || strnlen(text, most + 1) > most)
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return false;
	return true;
}

static void lend_add(struct buffer *out, const char *text)
{
	buffer_add(out, text, strlen(text) + 1);
}

static const char *lend_text(const char *text)
{
	return text ? text : "";
}

/* One that is for inspection has no name. */
static bool lend_is_grant(const struct lend_grant *g)
{
	const bool is_named = g->name && *g->name;

	return g->name && strlen(g->name) <= LEND_TEXT_MAX &&
	       is_named == (g->places != LEND_INSPECT) && lend_is_text(g->host, LEND_TEXT_MAX) &&
	       (!g->fields || strlen(g->fields) <= LEND_TEXT_MAX) &&
	       lend_is_line(lend_text(g->programs), LEND_PROGRAMS_MAX);
}

int lend_setup_encode(const struct lend_grant *grants, size_t n, struct buffer *out)
{
	if (n > LEND_MAX)
		return -E2BIG;
	for (size_t i = 0; i < n; i++) {
		const struct lend_grant *g = &grants[i];

		if (!lend_is_grant(g))
			return -EINVAL;
		buffer_add(out, &g->places, sizeof(g->places));
		lend_add(out, g->name);
		lend_add(out, g->host);
		lend_add(out, lend_text(g->fields));
		lend_add(out, lend_text(g->programs));
	}
	return out->failed ? -ENOMEM : 0;
}

int lend_setup_decode(struct lend_grant ret[LEND_MAX], size_t *ret_n, const void *body, size_t len)
{
	struct reader r = { body, len };
	size_t n = 0;

	for (; r.left > 0; n++) {
		struct lend_grant g;

		if (n == LEND_MAX || !reader_bytes(&r, &g.places, sizeof(g.places)))
			return -EPROTO;
		g.name = reader_string(&r);
		g.host = g.name ? reader_string(&r) : NULL;
		g.fields = g.host ? reader_string(&r) : NULL;
		g.programs = g.fields ? reader_string(&r) : NULL;
		if (!g.programs || !lend_is_grant(&g))
			return -EPROTO;
		ret[n] = g;
	}
	*ret_n = n;
	return n > 0 ? 0 : -EPROTO;
}

size_t lend_hosts(const struct lend_grant *grants, size_t n, uint32_t places, bool is_others,
	const char **ret, bool *ret_by_program)
{
	size_t n_hosts = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		if ((grants[i].places != places) != is_others)
			continue;
		while (k < n_hosts && strcmp(ret[k], grants[i].host) != 0)
			k++;
		if (k == n_hosts) {
			ret[n_hosts] = grants[i].host;
			ret_by_program[n_hosts++] = false;
		}
		ret_by_program[k] =
			ret_by_program[k] || (grants[i].programs && *grants[i].programs);
	}
	return n_hosts;
}

int lend_ready_encode(const struct lend_ready *r, struct buffer *out)
{
	if (r->n > LEND_MAX)
		return -E2BIG;
	if (!lend_is_text(r->certificate, LEND_CERTIFICATE_MAX))
		return -EINVAL;
	lend_add(out, r->certificate);
	for (size_t i = 0; i < r->n; i++) {
		if (!lend_is_text(r->items[i].name, LEND_TEXT_MAX) ||
			!lend_is_text(r->items[i].text, LEND_PLACEHOLDER_MAX))
			return -EINVAL;
		lend_add(out, r->items[i].name);
		lend_add(out, r->items[i].text);
	}
	return out->failed ? -ENOMEM : 0;
}

int lend_ready_decode(struct lend_ready *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	const char *certificate = reader_string(&r);
	size_t n = 0;

	if (!lend_is_text(certificate, LEND_CERTIFICATE_MAX))
		return -EPROTO;
	for (; r.left > 0; n++) {
		const char *name = reader_string(&r), *text = name ? reader_string(&r) : NULL;

		if (n == LEND_MAX || !lend_is_text(name, LEND_TEXT_MAX) ||
			!lend_is_text(text, LEND_PLACEHOLDER_MAX))
			return -EPROTO;
		ret->items[n] = (struct lend_item){ name, text };
	}
	ret->certificate = certificate;
	ret->n = n;
	return 0;
}

int lend_note_encode(const struct lend_note *n, struct buffer *out)
{
	if (!lend_is_text(n->host, LEND_TEXT_MAX) || !lend_is_text(n->text, LEND_TEXT_MAX))
		return -EINVAL;
	lend_add(out, n->host);
	lend_add(out, n->text);
	return out->failed ? -ENOMEM : 0;
}

int lend_note_decode(struct lend_note *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	const char *host = reader_string(&r), *text = host ? reader_string(&r) : NULL;

	if (!lend_is_text(host, LEND_TEXT_MAX) || !lend_is_text(text, LEND_TEXT_MAX) || r.left > 0)
		return -EPROTO;
	*ret = (struct lend_note){ host, text };
	return 0;
}

static bool lend_file_is_valid(const struct lend_file *f)
{
	return lend_is_text(f->path, LEND_PATH_MAX) && f->path[0] == '/' &&
	       lend_is_text(f->text, LEND_FILE_MAX);
}

int lend_file_encode(const struct lend_file *file, struct buffer *out)
{
	if (!lend_file_is_valid(file))
		return -EINVAL;
	lend_add(out, file->path);
	lend_add(out, file->text);
	return out->failed ? -ENOMEM : 0;
}

int lend_file_decode(struct lend_file *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct lend_file f = { .path = reader_string(&r) };

	f.text = f.path ? reader_string(&r) : NULL;
	if (!lend_file_is_valid(&f) || r.left > 0)
		return -EPROTO;
	*ret = f;
	return 0;
}

static bool lend_use_is_valid(const struct lend_use *u)
{
	return lend_is_text(u->name, LEND_TEXT_MAX) && lend_is_text(u->host, LEND_TEXT_MAX) &&
	       (u->place & (u->place - 1)) == 0 && u->is_sent <= 1 && u->count > 0 &&
	       lend_is_line(lend_text(u->program), LEND_TEXT_MAX) &&
	       (!u->is_sent || !*lend_text(u->program));
}

int lend_use_encode(const struct lend_use *u, struct buffer *out)
{
	if (!lend_use_is_valid(u))
		return -EINVAL;
	buffer_add(out, &u->place, sizeof(u->place));
	buffer_add(out, &u->is_sent, sizeof(u->is_sent));
	buffer_add(out, &u->count, sizeof(u->count));
	lend_add(out, u->name);
	lend_add(out, u->host);
	lend_add(out, lend_text(u->program));
	return out->failed ? -ENOMEM : 0;
}

int lend_use_decode(struct lend_use *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct lend_use u;

	if (!reader_bytes(&r, &u.place, sizeof(u.place)) ||
		!reader_bytes(&r, &u.is_sent, sizeof(u.is_sent)) ||
		!reader_bytes(&r, &u.count, sizeof(u.count)))
		return -EPROTO;
	u.name = reader_string(&r);
	u.host = u.name ? reader_string(&r) : NULL;
	u.program = u.host ? reader_string(&r) : NULL;
	if (!u.program || !lend_use_is_valid(&u) || r.left > 0)
		return -EPROTO;
	*ret = u;
	return 0;
}

/* A program is known, or there may be a reason why not. */
static bool lend_open_is_valid(const struct lend_open *o)
{
	const char *program = lend_text(o->program), *why = lend_text(o->why);

	return lend_is_text(o->host, LEND_TEXT_MAX) && lend_is_line(program, LEND_TEXT_MAX) &&
	       lend_is_line(why, LEND_TEXT_MAX) && (!*program || (*program == '/' && !*why));
}

int lend_open_encode(const struct lend_open *o, struct buffer *out)
{
	if (!lend_open_is_valid(o))
		return -EINVAL;
	lend_add(out, o->host);
	lend_add(out, lend_text(o->program));
	lend_add(out, lend_text(o->why));
	return out->failed ? -ENOMEM : 0;
}

int lend_open_decode(struct lend_open *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct lend_open o = { .host = reader_string(&r) };

	o.program = o.host ? reader_string(&r) : NULL;
	o.why = o.program ? reader_string(&r) : NULL;
	if (!o.why || !lend_open_is_valid(&o) || r.left > 0)
		return -EPROTO;
	*ret = o;
	return 0;
}

/* Requests */

static bool lend_request_is_valid(const struct lend_request *q)
{
	return lend_is_line(q->method, LEND_METHOD_MAX) && *q->method &&
	       lend_is_line(q->host, LEND_TEXT_MAX) && lend_is_line(q->path, LEND_PATH_MAX) &&
	       lend_is_line(q->query, LEND_QUERY_MAX) &&
	       lend_is_line(q->upgrade_to, LEND_TEXT_MAX) && q->port <= UINT16_MAX;
}

int lend_request_encode(const struct lend_request *q, struct buffer *out)
{
	const uint32_t flags =
		(q->has_query ? LEND_HAS_QUERY : 0U) | (q->upgrades ? LEND_UPGRADES : 0U);
	const char *const texts[] = { q->method, q->host, q->path, q->query, q->upgrade_to };

	if (!lend_request_is_valid(q))
		return -EINVAL;
	buffer_add(out, &q->number, sizeof(q->number));
	buffer_add(out, &q->port, sizeof(q->port));
	buffer_add(out, &flags, sizeof(flags));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		lend_add(out, texts[i]);
	return out->failed ? -ENOMEM : 0;
}

int lend_request_decode(struct lend_request *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct lend_request q = { 0 };
	const char **const texts[] = { &q.method, &q.host, &q.path, &q.query, &q.upgrade_to };
	uint32_t flags;

	if (!reader_bytes(&r, &q.number, sizeof(q.number)) ||
		!reader_bytes(&r, &q.port, sizeof(q.port)) ||
		!reader_bytes(&r, &flags, sizeof(flags)))
		return -EPROTO;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		*texts[i] = reader_string(&r);
		if (!*texts[i])
			return -EPROTO;
	}
	q.has_query = flags & LEND_HAS_QUERY;
	q.upgrades = flags & LEND_UPGRADES;
	if (flags > (LEND_HAS_QUERY | LEND_UPGRADES) || !lend_request_is_valid(&q) || r.left > 0)
		return -EPROTO;
	*ret = q;
	return 0;
}

int lend_answer_encode(const struct lend_answer *a, struct buffer *out)
{
	const uint32_t is_allowed = a->is_allowed;

	if (!a->text || strlen(a->text) > LEND_ANSWER_MAX || a->is_allowed != !*a->text)
		return -EINVAL;
	buffer_add(out, &a->number, sizeof(a->number));
	buffer_add(out, &is_allowed, sizeof(is_allowed));
	lend_add(out, a->text);
	return out->failed ? -ENOMEM : 0;
}

int lend_answer_decode(struct lend_answer *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct lend_answer a;
	uint32_t is_allowed;

	if (!reader_bytes(&r, &a.number, sizeof(a.number)) ||
		!reader_bytes(&r, &is_allowed, sizeof(is_allowed)))
		return -EPROTO;
	a.text = reader_string(&r);
	if (!a.text || strlen(a.text) > LEND_ANSWER_MAX || is_allowed > 1 ||
		is_allowed != !*a.text || r.left > 0)
		return -EPROTO;
	a.is_allowed = is_allowed;
	*ret = a;
	return 0;
}

/* Logins */

const char *const lend_token_suffixes[LEND_TOKENS_MAX] = {
	[LEND_TOKEN_ACCESS] = "",
	[LEND_TOKEN_REFRESH] = "_REFRESH",
	[LEND_TOKEN_ID] = "_ID",
};

bool lend_token_is(const char *login, enum lend_token_kind kind, const char *name)
{
	const size_t len = strlen(login);

	return strncmp(name, login, len) == 0 && strcmp(name + len, lend_token_suffixes[kind]) == 0;
}

static bool lend_is_visible(const char *text, size_t most)
{
	if (!text || strnlen(text, most + 1) > most)
		return false;
	for (; *text; text++)
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	return true;
}

static bool lend_tokens_are_valid(const struct lend_tokens *t)
{
	size_t n = 0;

	for (size_t i = 0; i < LEND_TOKENS_MAX; i++) {
		const struct lend_token *one = &t->items[i];

		if (!lend_is_visible(one->stand_in, LEND_STAND_IN_MAX) ||
			!lend_is_visible(one->value, LEND_VALUE_MAX) ||
			!*one->stand_in != !*one->value)
			return false;
		n += *one->value != '\0';
	}
	return n > 0 && lend_is_line(t->login, LEND_TEXT_MAX) && *t->login;
}

int lend_tokens_encode(const struct lend_tokens *t, struct buffer *out)
{
	const uint32_t is_refresh = t->is_refresh;

	if (!lend_tokens_are_valid(t))
		return -EINVAL;
	buffer_add(out, &t->number, sizeof(t->number));
	buffer_add(out, &is_refresh, sizeof(is_refresh));
	lend_add(out, t->login);
	for (size_t i = 0; i < LEND_TOKENS_MAX; i++) {
		lend_add(out, t->items[i].stand_in);
		lend_add(out, t->items[i].value);
	}
	return out->failed ? -ENOMEM : 0;
}

int lend_tokens_decode(struct lend_tokens *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct lend_tokens t = { 0 };
	uint32_t is_refresh;

	if (!reader_bytes(&r, &t.number, sizeof(t.number)) ||
		!reader_bytes(&r, &is_refresh, sizeof(is_refresh)))
		return -EPROTO;
	t.login = reader_string(&r);
	for (size_t i = 0; i < LEND_TOKENS_MAX; i++) {
		t.items[i].stand_in = t.login ? reader_string(&r) : NULL;
		t.items[i].value = t.items[i].stand_in ? reader_string(&r) : NULL;
		if (!t.items[i].value)
			return -EPROTO;
	}
	if (is_refresh > 1 || !lend_tokens_are_valid(&t) || r.left > 0)
		return -EPROTO;
	t.is_refresh = is_refresh;
	*ret = t;
	return 0;
}

static bool lend_consent_is_valid(const struct lend_consent *c)
{
	return lend_is_line(c->login, LEND_TEXT_MAX) && *c->login &&
	       lend_is_line(c->place, 2 * LEND_TEXT_MAX) && *c->place &&
	       lend_is_line(c->hosts, LEND_ANSWER_MAX) && *c->hosts &&
	       lend_is_line(c->principal, LEND_TEXT_MAX) && *c->principal;
}

int lend_consent_encode(const struct lend_consent *c, struct buffer *out)
{
	const uint32_t replaces = c->replaces;

	if (!lend_consent_is_valid(c))
		return -EINVAL;
	buffer_add(out, &c->number, sizeof(c->number));
	buffer_add(out, &replaces, sizeof(replaces));
	lend_add(out, c->login);
	lend_add(out, c->place);
	lend_add(out, c->hosts);
	lend_add(out, c->principal);
	return out->failed ? -ENOMEM : 0;
}

int lend_consent_decode(struct lend_consent *ret, const void *body, size_t len)
{
	struct reader r = { body, len };
	struct lend_consent c = { 0 };
	uint32_t replaces;

	if (!reader_bytes(&r, &c.number, sizeof(c.number)) ||
		!reader_bytes(&r, &replaces, sizeof(replaces)))
		return -EPROTO;
	c.login = reader_string(&r);
	c.place = c.login ? reader_string(&r) : NULL;
	c.hosts = c.place ? reader_string(&r) : NULL;
	c.principal = c.hosts ? reader_string(&r) : NULL;
	if (!c.principal || replaces > 1 || !lend_consent_is_valid(&c) || r.left > 0)
		return -EPROTO;
	c.replaces = replaces;
	*ret = c;
	return 0;
}
