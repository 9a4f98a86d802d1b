/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of a form into a tree of maps with texts, and back. Whatever the form: no byte order mark,
 * no control characters, UTF-8, and not empty.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"
#include "codec/encoding.h"
#include "codec/json.h"
#include "codec/toml.h"
#include "codec/yaml.h"
#include "mask/internal.h"

/* Reading */

static bool form_is_text(const char *text, size_t len)
{
	if (len == 0 || len > MASK_FILE_MAX || !utf8_valid(text, len, NULL) ||
		(len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0))
		return false;
	for (size_t i = 0; i < len; i++) {
		const bool is_end = text[i] == '\r' && i + 1 < len && text[i + 1] == '\n';

		if (ascii_is_control(text[i]) && text[i] != '\n' && text[i] != '\t' && !is_end)
			return false;
	}
	return true;
}

static int form_read_lines(
	enum mask_form form, struct document *d, const char *text, size_t len, struct error *e)
{
	char *copy = arena_strndup(&d->arena, text, len);

	d->root = node_new(&d->arena, NODE_MAP);
	if (!copy || !d->root)
		return error_no_memory(e);
	return form == MASK_INI        ? mask_lines_ini(d, copy, e)
	       : form == MASK_SETTINGS ? mask_lines_settings(d, copy, e)
	       : form == MASK_NETRC    ? mask_lines_netrc(d, copy, e)
				       : mask_lines_urls(d, copy, e);
}

int mask_form_read(
	enum mask_form form, struct document *ret, const char *text, size_t len, struct error *e)
{
	struct document d = { 0 };
	struct error why = { 0 };
	int r;

	if (!form_is_text(text, len))
		return error_set(e, -EINVAL, NULL,
			"it is empty, longer than %d KiB, or has bytes that are no text",
			MASK_FILE_MAX >> 10);
	if (form >= MASK_INI) {
		r = form_read_lines(form, &d, text, len, e);
	} else {
		r = form == MASK_JSON   ? json_read(&d, NULL, text, len, &why)
		    : form == MASK_YAML ? yaml_read(&d, NULL, 1, text, len, &why)
					: toml_read(&d, NULL, text, len, &why);
		/* Its sentence may quote the file. */
		if (r < 0)
			(void)mask_lines_refuse(e, why.line,
				form == MASK_JSON   ? "is not the JSON that Corral reads"
				: form == MASK_YAML ? "is not the YAML that Corral reads"
						    : "is not the TOML that Corral reads");
	}
	if (r == 0 && d.root->type != NODE_MAP)
		r = error_set(e, -EINVAL, NULL, "it has no names and values");
	if (r < 0) {
		document_deinit(&d);
		return r == -ENOMEM ? r : -EINVAL;
	}
	*ret = d;
	return 0;
}

/* Printing */

static void form_print_toml_string(const char *text, struct buffer *out)
{
	/* What JSON escapes is escaped so in TOML, too. */
	json_print_string(out, text, strlen(text));
}

static void form_print_toml(
	const struct node *map, const char *const *names, size_t n, struct buffer *out)
{
	enum { TABLES_MAX = 4 };
	const char *below[TABLES_MAX];

	for (size_t i = 0; i < n; i++) {
		buffer_adds(out, i ? "." : "[");
		form_print_toml_string(names[i], out);
		below[i] = names[i];
	}
	buffer_adds(out, n ? "]\n" : "");
	node_for_each(x, map) {
		if (x->type == NODE_MAP)
			continue;
		form_print_toml_string(x->key, out);
		buffer_adds(out, " = ");
		form_print_toml_string(x->text, out);
		buffer_addc(out, '\n');
	}
	node_for_each(x, map) {
		if (x->type != NODE_MAP)
			continue;
		if (n == TABLES_MAX) {
			out->failed = true;
			return;
		}
		below[n] = x->key;
		form_print_toml(x, below, n + 1, out);
	}
}

static void form_print_ini(const struct node *root, struct buffer *out)
{
	node_for_each(section, root) {
		buffer_printf(out, "[%s]\n", section->key);
		node_for_each(x, section)
			buffer_printf(out, "%s = %s\n", x->key, x->text);
	}
}

static void form_print_netrc(const struct node *root, struct buffer *out)
{
	node_for_each(machine, root) {
		const bool is_default = strcmp(machine->key, "default") == 0;

		buffer_printf(out, "%s%s\n", is_default ? "" : "machine ", machine->key);
		node_for_each(x, machine)
			buffer_printf(out, "  %s %s\n", x->key, x->text);
	}
}

static void form_print_urls(const struct node *root, struct buffer *out)
{
	node_for_each(x, root) {
		const size_t at = strcspn(x->key, "@");

		buffer_printf(out, "%.*s:", (int)at, x->key);
		encoding_percent(x->text, strlen(x->text), "-._~", out);
		buffer_printf(out, "%s\n", x->key + at);
	}
}

int mask_form_print(enum mask_form form, const struct node *root, struct buffer *out)
{
	switch (form) {
	case MASK_JSON:
		json_print(out, root, JSON_PRETTY);
		buffer_addc(out, '\n');
		break;
	case MASK_YAML:
		yaml_print(out, root);
		break;
	case MASK_TOML:
		form_print_toml(root, NULL, 0, out);
		break;
	case MASK_INI:
		form_print_ini(root, out);
		break;
	case MASK_SETTINGS:
		node_for_each(x, root)
			buffer_printf(out, "%s=%s\n", x->key, x->text);
		break;
	case MASK_NETRC:
		form_print_netrc(root, out);
		break;
	case MASK_URLS:
		form_print_urls(root, out);
		break;
	}
	return out->failed ? -ENOMEM : 0;
}
