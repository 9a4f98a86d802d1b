/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "base/formats.h"
#include "base/path.h"
#include "broker/service/table.h"
#include "codec/yaml.h"

enum { CONFIG_FILE_MAX = 64 << 10 };

/* One document that is being read. */
struct config_reader {
	struct service_config *config;
	const struct service_config_places *places;
	const struct document *document;
	struct error *error;
};

/* Keys */

static int config_fail(const struct config_reader *r, const struct node *n, const char *what)
{
	const struct location where = node_location(r->document, n);

	return error_set(r->error, -EINVAL, &where, "`%s` %s", n->key ? n->key : "", what);
}

static int config_unknown(const struct config_reader *r, const struct node *n, const char *kind,
	const struct schema_names *names)
{
	const struct location where = node_key_location(r->document, n);

	(void)error_set(r->error, -EINVAL, &where, "unknown %s `%s`", kind, n->key);
	error_hint(r->error, "see corral-services(5)");
	schema_names_hint(names, n->key, "", r->error);
	return -EINVAL;
}

static int config_unknown_key(
	const struct config_reader *r, const char *section, const struct node *n)
{
	struct schema_names names = { .n = 0 };

	for (size_t i = 0; i < service_backend_count; i++) {
		const struct service_backend *b = &service_backends[i];

		for (const struct schema_field *k = b->keys; k->name; k++)
			if (strcmp(b->section, section) == 0)
				schema_names_add(&names, k->name);
	}
	return config_unknown(r, n, "key", &names);
}

static bool config_is_section(const char *name)
{
	for (size_t i = 0; i < service_backend_count; i++)
		if (strcmp(service_backends[i].section, name) == 0)
			return true;
	return false;
}

/* Values */

static const char *config_path(const struct config_reader *r, const char *text)
{
	char normal[PATH_BYTES];
	size_t len;

	if (strncmp(text, "~/", 2) == 0 && r->places->home)
		text = arena_printf(&r->config->arena, "%s/%s", r->places->home, text + 2);
	if (!text || path_normalize(text, strlen(text), normal, &len) < 0)
		return NULL;
	return arena_strndup(&r->config->arena, normal, len);
}

/* NULL: it was refused. */
static const char *config_value(
	const struct config_reader *r, const struct schema_field *k, const struct node *n)
{
	const struct location where = node_location(r->document, n);
	const char *text = node_text(n), *value = NULL;
	char what[96];
	uint64_t number;

	(void)snprintf(what, sizeof(what), "`%s`", n->key);
	if (text && k->type == SCHEMA_FILE)
		value = config_path(r, text);
	else if (text && schema_parse(k, text, &number) == 0)
		value = arena_strdup(&r->config->arena, text);
	if (!value)
		(void)(text ? schema_refuse(k, what, text, &where, r->error)
			    : schema_refuse_node(k, what, n, &where, r->error));
	return value;
}

/* Sections */

static int config_require(
	const struct config_reader *r, const struct service_section *s, const struct node *n)
{
	for (size_t i = 0; i < service_backend_count; i++) {
		const struct service_backend *b = &service_backends[i];

		if (strcmp(b->section, s->name) != 0)
			continue;
		for (const struct schema_field *k = b->keys; k->name; k++) {
			const struct location where = node_location(r->document, n);

			if (k->required && !service_section_get(s, k->name))
				return error_set(r->error, -EINVAL, &where,
					"section `%s` has no `%s`: %s", s->name, k->name, k->help);
		}
	}
	return 0;
}

static int config_read_section(const struct config_reader *r, const struct node *n)
{
	struct value_item *items = arena_calloc(&r->config->arena, n->count + 1, sizeof(*items));
	struct service_section s = { .name = arena_strdup(&r->config->arena, n->key),
		.items = items,
		.where = node_key_location(r->document, n) };
	int code;

	s.where.file = s.where.file ? arena_strdup(&r->config->arena, s.where.file) : NULL;
	if (!items || !s.name)
		return error_no_memory(r->error);
	if (n->type != NODE_MAP && n->type != NODE_NULL)
		return config_fail(r, n, "must be a map of keys and values");
	node_for_each(child, n) {
		const struct schema_field *k = service_key_find(n->key, child->key);

		if (!k)
			return config_unknown_key(r, n->key, child);
		items[s.n].key = k->name;
		items[s.n].text = config_value(r, k, child);
		if (!items[s.n++].text)
			return -EINVAL;
	}
	code = config_require(r, &s, n);
	/* An earlier place has it. */
	if (code < 0 || service_config_find(r->config, n->key))
		return code;
	if (r->config->n_sections == CONFIG_SECTIONS_MAX)
		return config_fail(r, n, "is one section too many");
	r->config->sections[r->config->n_sections++] = s;
	return 0;
}

/* A key beside the sections, which files need not have. */
static int config_check_version(
	const struct config_reader *r, const struct node *n, const char *file)
{
	int64_t version = 1;
	int code;

	if (n && (node_integer(n, &version) < 0 || version < 0))
		return config_fail(r, n, "must be a number");
	code = formats_check(
		FORMAT_SERVICES, (uint64_t)version, file ? file : "services", r->error);
	return code < 0 ? code : 0;
}

static int config_read_text(
	const struct config_reader *from, const char *file, const char *text, size_t len)
{
	struct schema_names names = { .n = 0 };
	auto_document d = { 0 };
	const struct config_reader r = { from->config, from->places, &d, from->error };
	int code = yaml_read(&d, file, 1, text, len, r.error);

	if (code == 0 && d.root->type != NODE_MAP && d.root->type != NODE_NULL)
		code = error_set(r.error, -EINVAL, &(struct location){ file, 1, 1 },
			"a map of services is expected");
	if (code < 0 || d.root->type == NODE_NULL)
		return code;
	/* Before its sections, which may be others in another version. */
	code = config_check_version(&r, node_get(d.root, "version"), file);
	if (code < 0)
		return code;
	for (size_t i = 0; i < service_backend_count; i++)
		schema_names_add(&names, service_backends[i].section);
	node_for_each(child, d.root) {
		if (strcmp(child->key, "version") == 0)
			continue;
		code = config_is_section(child->key) ? config_read_section(&r, child)
						     : config_unknown(&r, child, "service", &names);
		if (code < 0)
			return code;
	}
	return 0;
}

/* Files */

/* Opens one that none but its owner can change: the user, or root. -ENOENT: it is not there. */
static int config_open(
	const char *path, mode_t forbidden, const char *kind, int *ret, struct error *e)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(e, -errno, NULL, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return error_set(e, -EINVAL, NULL, "%s is not a regular file", path);
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return error_set(e, -EPERM, NULL, "%s belongs to another user", path);
	if (st.st_mode & forbidden) {
		(void)error_set(e, -EPERM, NULL, "%s: other users can %s it", path, kind);
		error_hint(e, "chmod %s %s", forbidden & S_IROTH ? "600" : "go-w", path);
		return -EPERM;
	}
	*ret = fd_take(&fd);
	return 0;
}

static int config_read_file(const struct config_reader *r, const char *path)
{
	auto_buffer text = { 0 };
	auto_fd fd = -1;
	int code;

	if (!path)
		return 0;
	code = config_open(path, S_IWGRP | S_IWOTH, "change", &fd, r->error);
	if (code == -ENOENT || code == -ENOTDIR)
		return 0;
	if (code < 0)
		return code;
	code = file_read_fd(fd, CONFIG_FILE_MAX, &text);
	if (code < 0)
		return error_set(r->error, code, NULL, "%s: %s", path, strerror(-code));
	return config_read_text(r, path, buffer_text(&text), text.len);
}

const char *service_config_user_file(struct arena *a, const char *config_home, const char *home)
{
	if (config_home && config_home[0] == '/')
		return arena_printf(a, "%s/corral/services.yaml", config_home);
	return home ? arena_printf(a, "%s/.config/corral/services.yaml", home) : NULL;
}

int service_config_read(
	struct service_config *ret, const struct service_config_places *p, struct error *e)
{
	struct error own = { 0 };
	const struct config_reader r = { .config = ret, .places = p, .error = e ? e : &own };
	int code = 0;

	*ret = (struct service_config){ 0 };
	if (p->text && p->text[0])
		code = config_read_text(&r, "services", p->text, strlen(p->text));
	if (code == 0)
		code = config_read_file(&r, p->user);
	if (code == 0)
		code = config_read_file(&r, p->system);
	if (code < 0)
		service_config_deinit(ret);
	return code;
}

void service_config_deinit(struct service_config *c)
{
	arena_deinit(&c->arena);
	*c = (struct service_config){ 0 };
}

const struct service_section *service_config_find(const struct service_config *c, const char *name)
{
	for (size_t i = 0; i < c->n_sections; i++)
		if (strcmp(c->sections[i].name, name) == 0)
			return &c->sections[i];
	return NULL;
}

const char *service_section_get(const struct service_section *s, const char *key)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->items[i].key, key) == 0)
			return s->items[i].text;
	return NULL;
}

int service_password_read(const char *path, struct buffer *out, struct error *e)
{
	const size_t before = out->len;
	auto_fd fd = -1;
	int r = config_open(path, S_IRWXG | S_IRWXO, "read", &fd, e);

	if (r < 0)
		return r;
	r = file_read_fd(fd, CONFIG_PASSWORD_MAX, out);
	if (r < 0)
		return error_set(e, r, NULL, "%s: %s", path, strerror(-r));
	while (out->len > before && strchr("\r\n", out->data[out->len - 1]))
		out->data[--out->len] = '\0';
	if (out->len == before || strlen(out->data + before) != out->len - before ||
		strpbrk(out->data + before, "\r\n"))
		return error_set(e, -EINVAL, NULL, "%s must hold one line: the password", path);
	return 0;
}
