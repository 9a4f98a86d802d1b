/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/service/write.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/formats.h"
#include "broker/service/config.h"
#include "codec/node.h"
#include "codec/yaml.h"

enum { FILE_MAX = 64 << 10 };

/* The section as YAML. Values are read as YAML has them: 587 is a number. */
static int write_print(
	const char *section, char *const *words, size_t n, struct buffer *out, struct error *e)
{
	auto_arena a = { 0 };
	struct node *root = node_new(&a, NODE_MAP), *values = node_new(&a, NODE_MAP);

	if (!node_put(&a, root, section, values))
		return error_no_memory(e);
	for (size_t i = 0; i < n; i++) {
		const char *equals = strchr(words[i], '=');
		const char *key =
			equals ? arena_strndup(&a, words[i], (size_t)(equals - words[i])) : NULL;
		struct node *value = equals ? node_new_text(&a, equals + 1) : NULL;

		if (!equals)
			return error_set(e, -EINVAL, NULL, "`%s` is not KEY=VALUE", words[i]);
		if (node_get(values, key))
			return error_set(e, -EINVAL, NULL, "`%s` is given twice", key);
		if (value && equals[1] && strspn(equals + 1, "0123456789") == strlen(equals + 1))
			value->type = NODE_NUMBER;
		else if (value &&
			 (strcmp(value->text, "true") == 0 || strcmp(value->text, "false") == 0))
			value->type = NODE_BOOL;
		if (!node_put(&a, values, key, value))
			return error_no_memory(e);
	}
	yaml_print(out, root);
	return out->failed ? error_no_memory(e) : 0;
}

/* The folders above the file, for the user alone. */
static int write_make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int r;

		*slash = '\0';
		r = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
		*slash = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

static int write_check(const struct service_session *s, const char *path, const char *section,
	const struct buffer *text, struct error *e)
{
	const struct service_config_places before = { .user = path, .home = s->home };
	const struct service_config_places after = { .text = buffer_text(text), .home = s->home };
	auto_service_config old = { 0 }, new = { 0 };
	const struct service_section *there;
	int r = service_config_read(&old, &before, e);

	if (r < 0)
		return r;
	there = service_config_find(&old, section);
	if (there) {
		(void)error_set(e, -EEXIST, &there->where, "there is a section `%s`", section);
		error_hint(e, "edit %s", path);
		return -EEXIST;
	}
	return service_config_read(&new, &after, e);
}

int write_section(struct arena *a, const struct service_session *s, const char *section,
	char *const *words, size_t n, const char **ret_path, struct error *e)
{
	const char *path =
		service_config_user_file(a, service_variable(s, "XDG_CONFIG_HOME"), s->home);
	char *folders = path ? arena_strdup(a, path) : NULL;
	auto_buffer text = { 0 }, old = { 0 };
	int r;

	if (!folders)
		return error_set(e, -ENOENT, NULL, "there is no home: HOME is not set");
	r = write_print(section, words, n, &text, e);
	if (r == 0)
		r = write_check(s, path, section, &text, e);
	if (r < 0)
		return r;
	r = file_read(path, FILE_MAX, &old);
	if (r == -ENOENT || r == -ENOTDIR)
		r = 0;
	if (r == 0 && old.len == 0)
		buffer_printf(
			&old, "version: %" PRIu32 "\n", formats_rows[FORMAT_SERVICES].version);
	if (old.len > 0 && old.data[old.len - 1] != '\n')
		buffer_addc(&old, '\n');
	buffer_add(&old, buffer_text(&text), text.len);
	if (r == 0)
		r = write_make_folders(folders);
	if (r == 0)
		r = old.failed ? -ENOMEM : file_replace(path, old.data, old.len, 0600);
	if (r < 0)
		return error_set(e, r, NULL, "%s: %s", path, strerror(-r));
	*ret_path = path;
	return 0;
}
