/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `corral vault import` and `export`: values as plain text, on the user's word. A file that is
 * imported may come from anywhere, so it has values only: no sources, which run programs, and no
 * grants.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/vault/internal.h"
#include "cli/vault/prompt.h"
#include "codec/json-writer.h"
#include "codec/json.h"

enum { COPY_FILE_MAX = 1 << 20 };

struct copy_settings {
	bool yes, replace;
	size_t n;
};

/* Import */

static int verb_vault_import_one(struct vault_session *s, struct copy_settings *x, const char *name,
	const void *value, size_t len)
{
	struct vault_message m = {
		.op = VAULT_SET, .name = name, .secret = value, .secret_len = (uint32_t)len
	};
	struct vault_message answer;
	int r;

	if (len > VAULT_VALUE_MAX)
		return error_set(s->call->error, -EFBIG, NULL,
			"the value of `%s` has more than %d KiB", name, VAULT_VALUE_MAX >> 10);
	r = vault_session_call(s, &m, &answer);
	if (r == -EEXIST && x->replace) {
		*s->call->error = (struct error){ 0 };
		m.op = VAULT_ROTATE;
		r = vault_session_call(s, &m, &answer);
	} else if (r == -EEXIST) {
		error_hint(s->call->error, "--replace gives it the value of the file");
	}
	x->n += r == 0;
	return r;
}

/* {"NAME": "value", "NAME": {"base64": "…"}} */
static int verb_vault_import_json(
	struct vault_session *s, struct copy_settings *x, const struct node *root)
{
	for (const struct node *n = root->first; n; n = n->next) {
		const char *text = n->type == NODE_STRING ? n->text : NULL;
		const char *base64 = node_get_text(n, "base64");
		uint8_t bytes[VAULT_VALUE_MAX];
		size_t len = 0;
		int r;

		if (!text && (n->type != NODE_MAP || n->count != 1 || !*base64 ||
				     sodium_base642bin(bytes, sizeof(bytes), base64, strlen(base64),
					     NULL, &len, NULL, sodium_base64_VARIANT_ORIGINAL) < 0))
			return error_set(s->call->error, -EINVAL, NULL,
				"`%s` is not a value: a file has values only, no sources and no "
				"grants",
				n->key);
		r = verb_vault_import_one(
			s, x, n->key, text ? (const void *)text : bytes, text ? strlen(text) : len);
		secret_wipe(bytes, sizeof(bytes));
		if (r < 0)
			return r;
	}
	return 0;
}

/* Quotes around a value are taken off; without them, a comment and the blanks before it. */
static size_t verb_vault_unquote(char **value)
{
	size_t len = strlen(*value);
	char *comment;

	if (len >= 2 && (**value == '"' || **value == '\'') && (*value)[len - 1] == **value) {
		++*value;
		return len - 2;
	}
	comment = strstr(*value, " #");
	if (comment)
		len = (size_t)(comment - *value);
	while (len > 0 && ((*value)[len - 1] == ' ' || (*value)[len - 1] == '\t'))
		len--;
	return len;
}

/* NAME=value in each line, as shells and many tools have it. */
static int verb_vault_import_line(struct vault_session *s, struct copy_settings *x, char *line)
{
	char *equals, *value;
	size_t len;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	if (strncmp(line, "export ", 7) == 0)
		line += 7;
	equals = strchr(line, '=');
	if (!equals)
		return error_set(s->call->error, -EINVAL, NULL, "this is not NAME=value");
	*equals = '\0';
	value = equals + 1;
	len = verb_vault_unquote(&value);
	return verb_vault_import_one(s, x, line, value, len);
}

static int verb_vault_import_lines(struct vault_session *s, struct copy_settings *x, char *text)
{
	struct error *e = s->call->error;
	uint32_t number = 1;
	int r = 0;

	for (char *next; r == 0 && text; text = next, number++) {
		size_t len = strcspn(text, "\n");

		next = text[len] ? text + len + 1 : NULL;
		text[len] = '\0';
		if (len > 0 && text[len - 1] == '\r')
			text[len - 1] = '\0';
		r = verb_vault_import_line(s, x, text);
	}
	if (r < 0) {
		(void)snprintf(e->file, sizeof(e->file), "%s", s->call->words[0]);
		e->line = number - 1;
	}
	return r;
}

static int verb_vault_import_run(struct call *c)
{
	struct copy_settings x = { 0 };
	auto_buffer file = { 0 };
	auto_document d = { 0 };
	auto_vault_session s = { 0 };
	const struct options_row rows[] = {
		{ { "replace", SCHEMA_FLAG,
			  .help = "give secrets that are there the values of the file" },
			.target = &x.replace },
		SESSION_PASSPHRASE(&s),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	r = vault_session_begin(&s, c);
	if (r < 0)
		return r;
	r = file_read(c->words[0], COPY_FILE_MAX, &file);
	if (r < 0)
		return error_set(c->error, r, NULL, "%s: %s", c->words[0], strerror(-r));
	if (file.len > 0 && file.data[0] == '{')
		r = json_read(&d, c->words[0], file.data, file.len, c->error);
	if (r == 0)
		r = d.root ? verb_vault_import_json(&s, &x, d.root)
			   : verb_vault_import_lines(
				     &s, &x, file.len > 0 ? file.data : (char[]){ "" });
	if (file.data)
		secret_wipe(file.data, file.len);
	vault_session_note("%zu secret%s imported; %s still has the values. `corral vault grant` "
			   "says which host each may go to",
		x.n, x.n == 1 ? " was" : "s were", c->words[0]);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

/* Export */

static int verb_vault_export_one(struct vault_session *s, const char *name, struct json_writer *w)
{
	const struct vault_message m = { .op = VAULT_EXPORT, .name = name };
	struct vault_message answer;
	int r = vault_session_call(s, &m, &answer);

	if (r < 0)
		return r;
	if (utf8_valid(answer.secret, answer.secret_len, NULL) &&
		!memchr(answer.secret, '\0', answer.secret_len)) {
		json_put_bytes(w, name, answer.secret, answer.secret_len);
		return 0;
	}
	json_open_map(w, name);
	json_put_encoded(w, "base64", ENCODING_BASE64, answer.secret, answer.secret_len);
	json_close(w);
	return 0;
}

/* All secrets, if none was named. */
static int verb_vault_export_names(struct vault_session *s, struct json_writer *w)
{
	auto_document list = { 0 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->call->n; i++)
		r = verb_vault_export_one(s, s->call->words[i], w);
	if (s->call->n > 0)
		return r;
	r = vault_session_ask(s, VAULT_LIST, &list);
	if (r < 0)
		return r;
	node_for_each(x, node_get(list.root, "secrets")) {
		r = verb_vault_export_one(s, node_get_text(x, "name"), w);
		if (r < 0)
			return r;
	}
	return 0;
}

static int verb_vault_export_run(struct call *c)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text, .style = JSON_PRETTY };
	struct copy_settings x = { 0 };
	auto_vault_session s = { 0 };
	const struct options_row rows[] = {
		{ { "yes", SCHEMA_FLAG, .help = "do not ask" }, 'y', .target = &x.yes },
		SESSION_PASSPHRASE(&s),
	};
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (!x.yes && !output_agrees("Print values of secrets as plain text? [y/N] ")) {
		(void)error_set(c->error, -ECANCELED, NULL, "nothing was exported");
		error_hint(c->error, "answer y, or give --yes");
		return verb_refuse(c, false, STATUS_NO);
	}
	r = vault_session_begin(&s, c);
	json_open_map(&w, NULL);
	if (r == 0)
		r = verb_vault_export_names(&s, &w);
	json_end_line(&w);
	if (r == 0)
		r = output_write(&o, STDOUT_FILENO, c->error);
	if (o.text.data)
		secret_wipe(o.text.data, o.text.len);
	return r < 0 ? vault_session_refuse(&s, r) : STATUS_YES;
}

const struct verb verb_vault_import = {
	.name = "import",
	.synopsis = "[OPTION]... FILE",
	.summary = "take values from a file: JSON, or NAME=value in each line",
	.description = "Takes values from a file, or from standard input (-), such as a .env file "
		       "or what `corral vault "
		       "export` printed. Only values: a file cannot define sources or grants. The "
		       "file stays as it is; "
		       "remove it afterwards.",
	.examples = "corral vault import .env\n"
		    "corral vault import --replace backup.json\n",
	.operand = "FILE",
	.min = 1,
	.max = 1,
	.run = verb_vault_import_run,
};

const struct verb verb_vault_export = {
	.name = "export",
	.synopsis = "[OPTION]... [NAME]...",
	.summary = "print values as plain text, after a confirmation",
	.description = "Prints values, all or those of the names, as a JSON object. Each is a "
		       "record of the log.",
	.examples = "corral vault export GITHUB_TOKEN\n"
		    "corral vault export --yes > backup.json\n",
	.operand = "NAME",
	.max = 256,
	.run = verb_vault_export_run,
};
