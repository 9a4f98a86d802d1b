/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk over a file's tree, by the fields of the table. It makes the tree of what is shown, in
 * which secrets stand as they are (mask.text); mask_print() walks that one once more.
 */
#include "mask/mask.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "codec/encoding.h"
#include "mask/internal.h"

enum { DEPTH_MAX = 4 };

/* Where a walk stands. */
struct mask_way {
	const char *names[DEPTH_MAX];
	size_t n;
};

struct mask_walk;
typedef int mask_walk_secret(const struct mask_walk *walk, enum mask_kind kind,
	const struct mask_way *w, const char *text, const char **ret);

struct mask_walk {
	const struct mask_file *file;
	struct arena *arena;      /* of the tree that is made */
	mask_walk_secret *secret; /* what stands for it there */
	void *data;
	struct error *e;
};

/* Fields */

static bool mask_name_matches(const char *pattern, size_t len, const char *name)
{
	const size_t n = strlen(name);

	if (pattern[0] != '*')
		return n == len && strncmp(pattern, name, len) == 0;
	len--;
	return n > len && strncmp(name + n - len, pattern + 1, len) == 0;
}

static bool mask_field_matches(const char *path, const struct mask_way *w)
{
	for (size_t i = 0; i < w->n; i++) {
		const size_t len = strcspn(path, " ");

		if (!*path || !mask_name_matches(path, len, w->names[i]))
			return false;
		path += len + (path[len] == ' ');
	}
	return !*path;
}

static enum mask_kind mask_kind_of(const struct mask_file *file, const struct mask_way *w)
{
	for (const struct mask_field *f = file->fields; f->path; f++)
		if (mask_field_matches(f->path, w))
			return f->kind;
	return MASK_HIDDEN;
}

/* A name that may be shown is named in a message, another one is not. */
static int mask_refuse(const struct mask_walk *walk, const struct mask_way *w, const char *why)
{
	const char *name = w->names[w->n - 1];

	if (!mask_values_is_name(name))
		name = "an entry";
	return error_set(walk->e, -EINVAL, NULL, "%s %s", name, why);
}

/* Values */

static bool mask_is_shown(const struct mask_file *file, enum mask_kind kind, const char *text)
{
	return (file->form == MASK_SETTINGS && mask_values_is_variable(text)) ||
	       (kind == MASK_NAME           ? mask_values_is_name(text)
		       : kind == MASK_WORD  ? mask_values_is_word(text)
		       : kind == MASK_URL   ? mask_values_is_url(text)
		       : kind == MASK_NAMES ? mask_values_is_names(text)
					    : false);
}

static int mask_walk_value(const struct mask_walk *walk, enum mask_kind kind,
	const struct mask_way *w, const char *text, const char **ret)
{
	*ret = text;
	if (!*text || mask_is_shown(walk->file, kind, text))
		return 0;
	if (kind < MASK_SECRET)
		return mask_refuse(walk, w, "has a value that may be a secret");
	return walk->secret(walk, kind, w, text, ret);
}

static int mask_walk_map(
	const struct mask_walk *walk, const struct node *from, struct mask_way *w, struct node *to);

static int mask_walk_node(
	const struct mask_walk *walk, const struct node *x, struct mask_way *w, struct node *to)
{
	const enum mask_kind kind = mask_kind_of(walk->file, w);
	struct node *made = NULL;
	const char *text = node_text(x);
	int r = 0;

	if (kind == MASK_HIDDEN)
		return 0;
	if (!mask_values_is_name(x->key) &&
		(walk->file->form != MASK_INI || !mask_values_is_names(x->key)))
		return mask_refuse(walk, w, "has a name that may be a secret");
	if (kind == MASK_FOLDER && x->type != NODE_MAP && x->type != NODE_NULL)
		return mask_refuse(walk, w, "is not a map");
	if (kind == MASK_FOLDER) {
		made = node_new(walk->arena, NODE_MAP);
		if (!node_put(walk->arena, to, x->key, made))
			return error_no_memory(walk->e);
		return x->type == NODE_MAP ? mask_walk_map(walk, x, w, made) : 0;
	}
	if (x->type == NODE_NULL)
		return 0;
	if (!text)
		return mask_refuse(walk, w, "is not text");
	r = mask_walk_value(walk, kind, w, text, &text);
	if (r < 0)
		return r;
	made = node_new_text(walk->arena, text);
	return node_put(walk->arena, to, x->key, made) ? 0 : error_no_memory(walk->e);
}

static int mask_walk_map(
	const struct mask_walk *walk, const struct node *from, struct mask_way *w, struct node *to)
{
	int r = 0;

	if (w->n == DEPTH_MAX)
		return 0;
	node_for_each(x, from) {
		w->names[w->n++] = x->key;
		r = mask_walk_node(walk, x, w, to);
		w->n--;
		if (r < 0)
			return r;
	}
	return r;
}

/* Secrets in base64 */

/* "user:secret", or a secret alone; what is behind *ret_user bytes is the secret. */
static int mask_decode(
	enum mask_kind kind, const char *text, struct arena *a, const char **ret, size_t *ret_user)
{
	size_t len = 0;
	const char *colon;
	int r = encoding_decode(ENCODING_BASE64, text, strlen(text), a, ret, &len);

	*ret_user = 0;
	if (r < 0 || strlen(*ret) != len)
		return r == -ENOMEM ? r : -EINVAL;
	if (kind == MASK_BASE64)
		return 0;
	colon = strchr(*ret, ':');
	*ret_user = colon ? (size_t)(colon + 1 - *ret) : 0;
	return colon ? 0 : -EINVAL;
}

static int mask_encode(
	const char *user, size_t len, const char *secret, struct arena *a, const char **ret)
{
	auto_buffer plain = { 0 }, text = { 0 };

	buffer_add(&plain, user, len);
	buffer_adds(&plain, secret);
	if (!plain.failed)
		encoding_print(ENCODING_BASE64, plain.data, plain.len, &text);
	*ret = plain.failed || text.failed ? NULL : arena_strdup(a, buffer_text(&text));
	if (plain.data)
		explicit_bzero(plain.data, plain.len);
	return *ret ? 0 : -ENOMEM;
}

/* Reading */

static const char *mask_key(struct arena *a, const struct mask_way *w)
{
	auto_buffer b = { 0 };

	for (size_t i = 0; i < w->n; i++)
		buffer_printf(&b, "%s%s", i ? "/" : "", w->names[i]);
	return b.failed ? NULL : arena_strdup(a, buffer_text(&b));
}

/* Of a pair the user is shown, as a name. */
static bool mask_user_is_shown(struct arena *a, const char *user, size_t len)
{
	const char *name = len ? arena_strndup(a, user, len - 1) : "none";

	return name && mask_values_is_name(name);
}

static int mask_read_secret(const struct mask_walk *walk, enum mask_kind kind,
	const struct mask_way *w, const char *text, const char **ret)
{
	const bool is_encoded = kind != MASK_SECRET;
	struct mask *m = walk->data;
	struct mask_secret s = { .value = text };
	size_t user = 0;
	int r = is_encoded ? mask_decode(kind, text, walk->arena, &s.value, &user) : 0;

	*ret = text;
	if (r < 0)
		return mask_refuse(walk, w, "is not base64 of what it should be");
	if (!mask_user_is_shown(walk->arena, s.value, user))
		return mask_refuse(walk, w, "has a user that may be a secret");
	/* "user:", beside docker's identitytoken. */
	if (kind == MASK_PAIR && !s.value[user])
		return mask_encode(s.value, user, "", walk->arena, ret);
	s.value = is_encoded ? s.value + user : arena_strdup(walk->arena, text);
	s.key = mask_key(walk->arena, w);
	if (!s.key || !s.value)
		return error_no_memory(walk->e);
	/* What is encoded ends where its text does: it may be a key file. */
	if (!*s.value || !mask_values_is_secret(is_encoded ? MASK_JSON : walk->file->form, s.value))
		return mask_refuse(
			walk, w, "has a value that readers could understand differently");
	if (m->n == MASK_SECRETS_MAX)
		return mask_refuse(walk, w, "is one secret too many");
	m->secrets[m->n++] = s;
	return 0;
}

/* What was printed reads back as the tree that it was printed from. */
static int mask_check_round(
	const struct mask *m, const char *text, size_t len, const struct node *made)
{
	struct document again = { 0 };
	int r = mask_form_read(m->file->form, &again, text, len, NULL);

	if (r == 0 && !node_equal(again.root, made))
		r = -EINVAL;
	document_deinit(&again);
	return r;
}

static void mask_wipe(struct buffer *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buffer_deinit(b);
}

int mask_read(struct mask *ret, const struct mask_file *file, const char *text, size_t len,
	struct error *e)
{
	struct document d = { 0 };
	struct mask_way way = { .n = 0 };
	struct mask_walk walk = { .file = file, .secret = mask_read_secret, .e = e };
	struct buffer printed = { 0 };
	int r;

	*ret = (struct mask){ .file = file };
	r = mask_form_read(file->form, &d, text, len, e);
	if (r < 0)
		return r;
	walk.arena = &ret->text.arena;
	walk.data = ret;
	ret->text.root = node_new(walk.arena, NODE_MAP);
	r = ret->text.root ? mask_walk_map(&walk, d.root, &way, ret->text.root)
			   : error_no_memory(e);
	document_deinit(&d);
	/* The same check that the masked text gets, so that who reads a value knows that it can be
	 * masked. */
	if (r == 0)
		r = mask_form_print(file->form, ret->text.root, &printed);
	if (r == 0 && mask_check_round(ret, printed.data, printed.len, ret->text.root) < 0)
		r = error_set(e, -EINVAL, NULL, "it has nothing that Corral can show masked");
	mask_wipe(&printed);
	if (r < 0)
		mask_deinit(ret);
	return r;
}

void mask_deinit(struct mask *m)
{
	document_deinit(&m->text);
	*m = (struct mask){ 0 };
}

/* Finding */

/* All of a key, or whole names of it. */
static bool mask_key_has(const char *all, const char *key)
{
	const size_t len = strlen(key);

	for (const char *at = all; (at = strstr(at, key)); at++)
		if ((at == all || at[-1] == '/' || at[-1] == '@') &&
			(!at[len] || at[len] == '/' || at[len] == ':'))
			return true;
	return false;
}

static int mask_refuse_key(const struct mask *m, const char *key, int r, struct error *e)
{
	auto_buffer keys = { 0 };

	for (size_t i = 0; i < m->n; i++)
		buffer_printf(
			&keys, "%slogin:%s#%s", i ? ", " : "", m->file->name, m->secrets[i].key);
	(void)error_set(e, r, NULL, "~/%s has %s%s%s%s", m->file->path,
		r == -EEXIST ? "several secrets" : "no secret", *key ? " `" : "", key,
		*key ? "`" : "");
	if (m->n > 0)
		error_hint(e, "name one of it: %s", buffer_text(&keys));
	return r;
}

int mask_find(
	const struct mask *m, const char *key, const struct mask_secret **ret, struct error *e)
{
	const struct mask_secret *found = NULL;

	for (size_t i = 0; *key && i < m->n; i++)
		if (strcmp(m->secrets[i].key, key) == 0) {
			*ret = &m->secrets[i];
			return 0;
		}
	for (size_t i = 0; i < m->n; i++) {
		const struct mask_secret *s = &m->secrets[i];

		if (*key && !mask_key_has(s->key, key))
			continue;
		if (found && strcmp(found->value, s->value) != 0)
			return mask_refuse_key(m, key, -EEXIST, e);
		found = found ? found : s;
	}
	if (!found)
		return mask_refuse_key(m, key, -ENOENT, e);
	*ret = found;
	return 0;
}

/* Printing */

struct mask_printing {
	const struct mask *mask;
	size_t n; /* secrets that were replaced */
	mask_stand_in *stand_in;
	void *data;
};

static int mask_print_secret(const struct mask_walk *walk, enum mask_kind kind,
	const struct mask_way *w, const char *text, const char **ret)
{
	struct mask_printing *p = walk->data;
	const struct mask_secret *s = &p->mask->secrets[p->n];
	const char *plain = text;
	auto_buffer b = { 0 };
	size_t user = 0;
	int r = kind == MASK_SECRET ? 0 : mask_decode(kind, text, walk->arena, &plain, &user);

	*ret = text;
	if (r == 0 && kind == MASK_PAIR && !plain[user])
		return 0;
	if (r == 0)
		r = p->n++ == p->mask->n ? -EINVAL : p->stand_in(p->data, s, &b);
	if (r == 0 && (b.failed || !b.len || strcmp(b.data, s->value) == 0 ||
			      strcmp(plain + user, s->value) != 0 ||
			      !mask_values_is_secret(walk->file->form, b.data)))
		r = -EINVAL;
	if (r < 0)
		return mask_refuse(walk, w, "cannot be replaced");
	if (kind != MASK_SECRET)
		return mask_encode(plain, user, b.data, walk->arena, ret);
	*ret = arena_strdup(walk->arena, b.data);
	return *ret ? 0 : error_no_memory(walk->e);
}

static int mask_check_secrets(const struct mask *m, const char *text, size_t len, struct error *e)
{
	for (size_t i = 0; i < m->n; i++) {
		bool is_in = true;
		int r = mask_values_are_in(m->secrets[i].value, text, len, &is_in);

		if (r < 0)
			return error_no_memory(e);
		if (is_in)
			return error_set(e, -EINVAL, NULL,
				"the value of %s stands in another place of it, too",
				m->secrets[i].key);
	}
	return 0;
}

int mask_print(const struct mask *m, mask_stand_in *stand_in, void *data, struct buffer *out,
	struct error *e)
{
	auto_document d = { 0 };
	auto_buffer text = { 0 };
	struct mask_way way = { .n = 0 };
	struct mask_printing printing = { m, 0, stand_in, data };
	struct mask_walk walk = { m->file, &d.arena, mask_print_secret, &printing, e };
	int r;

	d.root = node_new(&d.arena, NODE_MAP);
	r = d.root ? mask_walk_map(&walk, m->text.root, &way, d.root) : error_no_memory(e);
	if (r == 0)
		r = mask_form_print(m->file->form, d.root, &text);
	if (r == -ENOMEM)
		return error_no_memory(e);
	if (r == 0 &&
		(text.len > MASK_FILE_MAX || mask_check_round(m, text.data, text.len, d.root) < 0))
		r = error_set(e, -EINVAL, NULL, "it would not be read as it was meant");
	if (r == 0)
		r = mask_check_secrets(m, text.data, text.len, e);
	if (r == 0)
		buffer_add(out, text.data, text.len);
	return r;
}
