/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files in which programs keep their credentials, as a sandbox sees them that is lent one of these:
 * with the placeholder where the lent value is, and for each other secret with one that stands for
 * nothing, has a mark of its own, and is known to nobody.
 *
 * A file is read here once more than for its value. Whatever it has become in between: what is
 * masked are the secrets of the bytes that are shown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/vault/lender.h"
#include "inject/placeholder.h"
#include "process/child.h"
#include "vault/login.h"
#include "vault/source-text.h"
#include "wire/frame.h"

/* One file, while it is printed. */
struct lender_file {
	const struct lender *lender;
	const struct mask *mask;
	const struct lend_ready *ready;
	struct placeholder_mark dead;
	/* For each secret what stands for it, once it is known. */
	const char *stand_ins[MASK_SECRETS_MAX];
};

int lender_add_login(struct lender *l, const char *name, const char *source)
{
	struct call *c = l->session->call;
	struct lender_login one = { .name = name };
	const char *rest = NULL, *key;

	if (!*source || source_text_check(source, &rest, NULL) != SOURCE_LOGIN)
		return 0;
	for (size_t i = 0; i < l->n_logins; i++)
		if (strcmp(l->logins[i].name, name) == 0)
			return 0;
	key = strchr(rest, '#');
	one.file = mask_file_find(rest, strcspn(rest, "#"));
	one.key = arena_strdup(c->arena, key ? key + 1 : "");
	if (!one.key)
		return error_no_memory(c->error);
	if (l->n_logins == LENDER_LOGINS_MAX)
		return error_set(c->error, -E2BIG, NULL,
			"at most %d secrets of files can be lent to one sandbox",
			LENDER_LOGINS_MAX);
	l->logins[l->n_logins++] = one;
	return 0;
}

/* The placeholder of a value that is lent; NULL: it is not. */
static const char *lender_file_lent(const struct lender_file *f, const struct mask_secret *s)
{
	for (size_t i = 0; i < f->lender->n_logins; i++) {
		const struct lender_login *login = &f->lender->logins[i];
		const struct mask_secret *meant = NULL;

		if (login->file != f->mask->file ||
			mask_find(f->mask, login->key, &meant, NULL) < 0 ||
			strcmp(meant->value, s->value) != 0)
			continue;
		for (size_t k = 0; k < f->ready->n; k++)
			if (strcmp(f->ready->items[k].name, login->name) == 0)
				return f->ready->items[k].text;
	}
	return NULL;
}

/* What is not lent keeps nothing of its value, but for the form of its kind: not a JWT's claims. */
static const char *lender_file_dead(struct lender_file *f, const struct mask_secret *s)
{
	const char *like = strncmp(s->value, "eyJ", 3) == 0 ? "a JWT" : s->value;
	auto_buffer text = { 0 };

	for (const struct mask_secret *other = f->mask->secrets; other < s; other++)
		if (strcmp(other->value, s->value) == 0)
			return f->stand_ins[other - f->mask->secrets];
	if (placeholder_make(&f->dead, like, strlen(like), &text) < 0)
		return NULL;
	return arena_strdup(f->lender->session->call->arena, buffer_text(&text));
}

static int lender_file_stand_in(void *data, const struct mask_secret *s, struct buffer *out)
{
	struct lender_file *f = data;
	const char *text = lender_file_lent(f, s);

	if (!text)
		text = lender_file_dead(f, s);
	f->stand_ins[s - f->mask->secrets] = text;
	if (text)
		buffer_adds(out, text);
	return text ? 0 : -EINVAL;
}

static int lender_file_print(struct lender_file *f, struct buffer *out, struct error *e)
{
	struct error why = { 0 };
	int r = placeholder_mark_make(&f->dead);

	if (r < 0)
		return error_set(e, r, NULL, "no random bytes: %s", strerror(-r));
	r = mask_print(f->mask, lender_file_stand_in, f, out, &why);
	if (r == 0)
		return 0;
	(void)error_set(e, r, NULL, "~/%s: %s", f->mask->file->path, why.text);
	error_hint(e, "Corral shows no file in which a secret may be left: use a value that stands "
		      "nowhere else in it, or keep the value by `corral vault set` instead");
	return r;
}

static int lender_send_file(
	const struct lender *l, const struct mask_file *file, const struct lend_ready *ready)
{
	struct error *e = l->session->call->error;
	auto_buffer path = { 0 }, text = { 0 }, body = { 0 };
	struct mask *mask = arena_alloc(l->session->call->arena, sizeof(*mask));
	struct lender_file *f = arena_alloc(l->session->call->arena, sizeof(*f));
	int r;

	if (!mask || !f)
		return error_no_memory(e);
	r = login_read(file, mask, e);
	if (r < 0)
		return r;
	*f = (struct lender_file){ .lender = l, .mask = mask, .ready = ready };
	r = lender_file_print(f, &text, e);
	mask_deinit(mask);
	if (r == 0)
		r = login_path(file, &path, e);
	if (r == 0)
		r = lend_file_encode(&(struct lend_file){ path.data, text.data }, &body);
	return r < 0 ? r
		     : frame_send(CHILD_SOCKET, FRAME_LEND_FILE, 0, body.data, body.len, NULL, 0);
}

int lender_send_files(const struct lender *l, const void *body, size_t len)
{
	static struct lend_ready ready;
	int r = l->n_logins ? lend_ready_decode(&ready, body, len) : 0;

	for (size_t i = 0; r == 0 && i < l->n_logins; i++) {
		bool is_sent = false;

		for (size_t k = 0; k < i; k++)
			is_sent = is_sent || l->logins[k].file == l->logins[i].file;
		if (!is_sent)
			r = lender_send_file(l, l->logins[i].file, &ready);
	}
	return r;
}
