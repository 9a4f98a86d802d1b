/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "codec/json-writer.h"

static const char *const codes[] = {
	[OUTPUT_PLAIN] = "",
	[OUTPUT_BOLD] = "\033[1m",
	[OUTPUT_DIM] = "\033[2m",
	[OUTPUT_RED] = "\033[1;31m",
	[OUTPUT_GREEN] = "\033[1;32m",
	[OUTPUT_YELLOW] = "\033[1;33m",
};

struct output output_for(int fd)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return (struct output){ .fd = fd,
		.may_colour = !(no && *no) && !(term && strcmp(term, "dumb") == 0) };
}

bool output_is_coloured(struct output *o)
{
	/* Asked when there is something to colour: most outputs of a run stay empty. */
	if (o->may_colour) {
		o->colour = isatty(o->fd);
		o->may_colour = false;
	}
	return o->colour;
}

void output_styled(struct output *o, enum output_style style, const char *text)
{
	bool coloured = style != OUTPUT_PLAIN && output_is_coloured(o);

	if (coloured)
		buffer_adds(&o->text, codes[style]);
	buffer_adds(&o->text, text);
	if (coloured)
		buffer_adds(&o->text, "\033[0m");
}

void output_note(struct output *o)
{
	output_styled(o, OUTPUT_YELLOW, "corral:");
	buffer_addc(&o->text, ' ');
}

void output_note_at(struct output *o, const struct location *where, const char *text)
{
	output_note(o);
	if (where->file) {
		output_foreign(o, where->file);
		if (where->line)
			buffer_printf(&o->text, ":%u", where->line);
		buffer_adds(&o->text, ": ");
	}
	output_foreign(o, text);
	buffer_addc(&o->text, '\n');
}

void output_shell_word(struct buffer *out, const char *text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_/.,:@%+=-";
	auto_buffer visible = { 0 };
	bool spelled;

	if (*text && !text[strspn(text, plain)]) {
		buffer_adds(out, text);
		return;
	}
	/* What a terminal would not show, or show as something else, as what is to be typed. */
	buffer_add_visible(&visible, text, strlen(text));
	spelled = strcmp(buffer_text(&visible), text) != 0;
	buffer_adds(out, spelled ? "$'" : "'");
	for (; *text; text++) {
		if (spelled && (*text == '\'' || *text == '\\'))
			buffer_printf(out, "\\%c", *text);
		else if (spelled && (*text < 0x20 || *text >= 0x7f))
			buffer_printf(out, "\\%03o", (unsigned char)*text);
		else if (*text == '\'')
			buffer_adds(out, "'\\''");
		else
			buffer_addc(out, *text);
	}
	buffer_addc(out, '\'');
}

void output_heading(struct output *o, const char *text)
{
	buffer_addc(&o->text, '\n');
	output_styled(o, OUTPUT_BOLD, text);
	buffer_addc(&o->text, '\n');
}

void output_foreign(struct output *o, const char *text)
{
	buffer_add_visible(&o->text, text, strlen(text));
}

void output_name(struct output *o, const char *text)
{
	buffer_add_name(&o->text, text, strlen(text));
}

/* Bytes of the first n characters of UTF-8. */
static size_t bytes_of(const char *text, size_t n)
{
	size_t len = 0;

	while (text[len] && n > 0) {
		len++;
		n -= ((unsigned char)text[len] & 0xc0) != 0x80;
	}
	return len;
}

void output_cut(struct output *o, enum output_style style, const char *text, size_t room)
{
	auto_buffer visible = { 0 }, cut = { 0 };
	const char *all;
	size_t n = 0, head = (room - 1) * 2 / 5;

	buffer_add_visible(&visible, text, strlen(text));
	all = buffer_text(&visible);
	for (size_t i = 0; i < visible.len; i++)
		n += ((unsigned char)all[i] & 0xc0) != 0x80;
	if (n <= room) {
		output_styled(o, style, all);
		return;
	}
	/* The beginning of a path says where it is, its end what it is. */
	buffer_add(&cut, all, bytes_of(all, head));
	buffer_adds(&cut, "…");
	buffer_adds(&cut, all + bytes_of(all, n - (room - 1 - head)));
	output_styled(o, style, buffer_text(&cut));
}

void output_verdict(struct output *o, enum verdict v)
{
	static const enum output_style styles[] = {
		[VERDICT_DENY] = OUTPUT_RED,
		[VERDICT_ASK] = OUTPUT_YELLOW,
		[VERDICT_ALLOW] = OUTPUT_GREEN,
	};

	output_styled(o, styles[v], verdict_name(v));
}

/* Characters of the last line, without colours. */
size_t output_column(const struct output *o)
{
	const char *text = buffer_text(&o->text), *line = strrchr(text, '\n');
	size_t n = 0;

	for (const char *s = line ? line + 1 : text; *s; s++) {
		if (*s == '\033')
			s += strcspn(s, "m");
		else
			n += ((unsigned char)*s & 0xc0) != 0x80;
		if (!*s)
			break;
	}
	return n;
}

void output_pad(struct output *o, size_t column)
{
	size_t at = output_column(o);

	do {
		buffer_addc(&o->text, ' ');
	} while (++at < column);
}

void output_wrapped(struct output *o, const char *text, size_t width)
{
	size_t start = output_column(o), at = start;

	while (*text) {
		size_t blanks = strspn(text, " "), len = strcspn(text + blanks, " ");
		size_t needed = blanks;

		for (size_t i = blanks; i < blanks + len; i++)
			needed += ((unsigned char)text[i] & 0xc0) != 0x80;
		if (at > start && at + needed > width) {
			buffer_printf(&o->text, "\n%*s", (int)start, "");
			at = start;
			needed -= blanks;
		} else {
			buffer_printf(&o->text, "%*s", (int)blanks, "");
		}
		buffer_add(&o->text, text + blanks, len);
		at += needed;
		text += blanks + len;
	}
}

void output_line(struct output *o, const char *text)
{
	output_wrapped(o, text, OUTPUT_WIDE);
	buffer_addc(&o->text, '\n');
}

int output_write(const struct output *o, int fd, struct error *e)
{
	int r = o->text.failed ? -ENOMEM : file_write_all(fd, buffer_text(&o->text), o->text.len);

	if (r == -ENOMEM)
		return error_no_memory(e);
	if (r < 0)
		return error_set(e, r, NULL, "cannot write the result: %s", strerror(-r));
	return 0;
}

bool output_agrees(const char *question)
{
	auto_output o = output_for(STDERR_FILENO);
	char line[8] = "", ch;
	size_t n = 0;

	buffer_adds(&o.text, question);
	if (output_write(&o, STDERR_FILENO, NULL) < 0)
		return false;
	while (read(STDIN_FILENO, &ch, 1) == 1 && ch != '\n') {
		if (n + 1 < sizeof(line))
			line[n++] = ch;
	}
	return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

void output_error(const struct error *e)
{
	auto_output o = output_for(STDERR_FILENO);

	output_styled(&o, OUTPUT_RED, "corral:");
	buffer_addc(&o.text, ' ');
	error_print(e, &o.text);
	buffer_addc(&o.text, '\n');
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* JSON */

static void output_put_place(struct json_writer *w, const char *key, uint32_t number)
{
	if (number)
		json_put_count(w, key, number);
	else
		json_put_null(w, key);
}

void output_put_error(struct json_writer *w, const char *key, const struct error *e)
{
	if (!e->text[0]) {
		json_put_null(w, key);
		return;
	}
	json_open_map(w, key);
	json_put_text(w, "text", e->text);
	json_put_text(w, "hint", e->hint[0] ? e->hint : NULL);
	json_put_text(w, "file", e->file[0] ? e->file : NULL);
	output_put_place(w, "line", e->line);
	output_put_place(w, "column", e->column);
	if (e->cause)
		json_put_text(w, "cause", strerrorname_np(e->cause));
	json_close(w);
}

void output_error_json(const struct error *e, int status)
{
	auto_output o = { 0 };
	struct json_writer w = { .out = &o.text, .style = JSON_SPACED };

	json_open_map(&w, NULL);
	json_put_number(&w, "status", status);
	output_put_error(&w, "error", e);
	json_open_list(&w, "denied");
	json_end_line(&w);
	(void)output_write(&o, STDOUT_FILENO, NULL);
}

static struct node *tree_kept(struct json_tree *t, struct node *n)
{
	t->failed = t->failed || !n;
	return n;
}

struct node *tree_map(struct json_tree *t)
{
	return tree_kept(t, node_new(t->arena, NODE_MAP));
}

void tree_put(struct json_tree *t, struct node *map, const char *key, struct node *child)
{
	if (!child)
		child = tree_kept(t, node_new(t->arena, NODE_NULL));
	(void)tree_kept(t, node_put(t->arena, map, key, child));
}

void tree_put_text(struct json_tree *t, struct node *map, const char *key, const char *text)
{
	tree_put(t, map, key, text ? tree_kept(t, node_new_text(t->arena, text)) : NULL);
}

void tree_put_buffer(
	struct json_tree *t, struct node *map, const char *key, const struct buffer *text)
{
	t->failed = t->failed || text->failed;
	tree_put_text(t, map, key, text->len ? text->data : NULL);
}

void tree_put_flag(struct json_tree *t, struct node *map, const char *key, bool value)
{
	tree_put(t, map, key, tree_kept(t, node_new_boolean(t->arena, value)));
}

void tree_put_number(struct json_tree *t, struct node *map, const char *key, int64_t value)
{
	tree_put(t, map, key, tree_kept(t, node_new_integer(t->arena, value)));
}

struct node *tree_put_map(struct json_tree *t, struct node *map, const char *key)
{
	struct node *child = tree_map(t);

	tree_put(t, map, key, child);
	return child;
}

struct node *tree_put_list(struct json_tree *t, struct node *map, const char *key)
{
	struct node *child = tree_kept(t, node_new(t->arena, NODE_LIST));

	tree_put(t, map, key, child);
	return child;
}

struct node *tree_append_map(struct json_tree *t, struct node *list)
{
	return tree_kept(t, node_append(list, tree_map(t)));
}

void tree_append_text(struct json_tree *t, struct node *list, const char *text)
{
	(void)tree_kept(t, node_append(list, node_new_text(t->arena, text)));
}

int tree_print(struct json_tree *t, const struct node *root, struct error *e)
{
	auto_output o = { 0 };

	if (t->failed || !root)
		o.text.failed = true;
	else
		json_print(&o.text, root, JSON_PRETTY);
	buffer_addc(&o.text, '\n');
	return output_write(&o, STDOUT_FILENO, e);
}
