/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/client/help.h"

#include <string.h>

#include "broker/client/answer.h"
#include "codec/json-writer.h"
#include "policy/operation-names.h"

/* For people */

void help_list(struct buffer *out)
{
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		const struct method *m = &method_rows[i];

		buffer_printf(out, "%-18s", method_called(m, false));
		for (size_t k = 0; m->params[k].name; k++)
			buffer_printf(
				out, m->params[k].required ? " %s=" : " [%s=]", m->params[k].name);
		buffer_printf(out, "\n%-18s   %s\n", "", m->help);
	}
}

/* How a parameter is written. */
static void help_form(struct buffer *out, const struct schema_field *f, const char *called)
{
	switch (f->type) {
	case SCHEMA_WORDS:
		buffer_printf(out, "%s=TEXT …", called);
		break;
	case SCHEMA_PAIRS:
		buffer_printf(out, "%s.NAME=TEXT …", called);
		break;
	case SCHEMA_DATA:
		buffer_printf(out, "%s=TEXT|@FILE|@-", called);
		break;
	case SCHEMA_FLAG:
		buffer_printf(out, "%s=true|false", called);
		break;
	case SCHEMA_CHOICE:
		buffer_printf(out, "%s=", called);
		for (size_t i = 0; f->words[i]; i++)
			buffer_printf(out, "%s%s", i ? "|" : "", f->words[i]);
		break;
	default:
		buffer_printf(out, "%s=%s", called,
			f->type == SCHEMA_NUMBER ? "NUMBER"
			: f->type == SCHEMA_PATH ? "PATH"
			: f->type == SCHEMA_JSON ? "JSON"
						 : "TEXT");
		break;
	}
}

static void help_fields(
	struct buffer *out, const char *title, const struct schema_field *fields, bool by_shield)
{
	if (!fields[0].name)
		return;
	buffer_printf(out, "\n%s\n", title);
	for (size_t i = 0; fields[i].name; i++) {
		const char *called = method_called_field(&fields[i], by_shield);

		if (called)
			buffer_printf(out, "  %-18s %s%s%s\n", called,
				schema_type_name(fields[i].type), fields[i].help[0] ? ": " : "",
				fields[i].help);
	}
}

void help_method(struct buffer *out, const struct method *m, bool by_shield)
{
	const char *name = method_called(m, by_shield);

	buffer_printf(out, "usage: sandbox-call %s", name);
	for (size_t i = 0; m->params[i].name; i++) {
		const char *called = method_called_field(&m->params[i], by_shield);

		if (!called)
			continue;
		buffer_adds(out, m->params[i].required ? " " : " [");
		help_form(out, &m->params[i], called);
		buffer_adds(out, m->params[i].required ? "" : "]");
	}
	buffer_printf(out, "\n\n%s: %s\n", name, m->help);
	if (m->name && m->shield)
		buffer_printf(out, "Also called %s.\n", by_shield ? m->name : m->shield);
	help_fields(out, "Parameters:", m->params, by_shield);
	help_fields(out, "Result:", m->results, by_shield);
	if (m->note) {
		buffer_printf(out, "\nNotifications: %s\n", m->note);
		help_fields(out, "  with:", m->notes, by_shield);
	}
}

/* For shells */

void help_complete(struct buffer *out, const char *method)
{
	bool by_shield = false;
	const struct method *m = method ? method_find(method, strlen(method), &by_shield) : NULL;

	for (size_t i = 0; m && m->params[i].name; i++) {
		const char *called = method_called_field(&m->params[i], by_shield);

		if (called)
			buffer_printf(
				out, m->params[i].type == SCHEMA_PAIRS ? "%s.\n" : "%s=\n", called);
	}
	for (size_t i = 0; !method && i < METHOD_COUNT; i++) {
		if (method_rows[i].name)
			buffer_printf(out, "%s\n", method_rows[i].name);
		if (method_rows[i].shield)
			buffer_printf(out, "%s\n", method_rows[i].shield);
	}
}

/* For programs */

static void help_json_text(struct json_writer *w, const char *key, const char *text)
{
	if (text)
		json_put_text(w, key, text);
}

static void help_json_field(struct json_writer *w, const struct schema_field *f)
{
	const bool has_max = f->type == SCHEMA_NUMBER || f->type == SCHEMA_TEXT ||
			     f->type == SCHEMA_PATH || f->type == SCHEMA_DATA ||
			     f->type == SCHEMA_WORDS || f->type == SCHEMA_PAIRS ||
			     f->type == SCHEMA_JSON;

	json_open_map(w, NULL);
	json_put_text(w, "name", f->name);
	json_put_text(w, "type", schema_type_name(f->type));
	json_put_flag(w, "required", f->required);
	help_json_text(w, "shield", f->also);
	if (has_max && schema_max(f) <= INT64_MAX)
		json_put_count(w, "max", schema_max(f));
	if (f->words) {
		json_open_list(w, "words");
		for (size_t i = 0; f->words[i]; i++)
			json_put_text(w, NULL, f->words[i]);
		json_close(w);
	}
	help_json_text(w, "help", f->help);
	json_close(w);
}

static void help_json_fields(
	struct json_writer *w, const char *key, const struct schema_field *fields)
{
	json_open_list(w, key);
	for (size_t i = 0; fields[i].name; i++)
		help_json_field(w, &fields[i]);
	json_close(w);
}

static void help_json_method(struct json_writer *w, const struct method *m)
{
	json_open_map(w, NULL);
	json_open_list(w, "channels");
	json_put_text(w, NULL, "socket");
	if (m->channels & CHANNEL_HTTP)
		json_put_text(w, NULL, "http");
	json_close(w);
	help_json_text(w, "name", m->name);
	help_json_text(w, "shield", m->shield);
	help_json_text(w, "help", m->help);
	if (m->target) {
		help_json_text(w, "operation", operation_names[m->op]);
		help_json_text(w, "target", m->target);
	}
	help_json_text(w, "refused", m->refused);
	help_json_fields(w, "params", m->params);
	help_json_fields(w, "results", m->results);
	help_json_text(w, "note", m->note);
	if (m->note)
		help_json_fields(w, "notes", m->notes);
	json_close(w);
}

void help_list_json(struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_open_list(&w, "methods");
	for (size_t i = 0; i < METHOD_COUNT; i++) {
		json_line(&w);
		help_json_method(&w, &method_rows[i]);
	}
	json_close(&w);
	json_line(&w);
	json_open_list(&w, "errors");
	for (int i = 0; i < RPC_CLASS_COUNT; i++) {
		json_line(&w);
		json_open_map(&w, NULL);
		json_put_text(&w, "class", rpc_class_name((enum rpc_class)i));
		json_put_number(&w, "code", rpc_code((enum rpc_class)i, false));
		json_put_number(&w, "shield", rpc_code((enum rpc_class)i, true));
		json_put_number(&w, "status", answer_status((enum rpc_class)i));
		json_close(&w);
	}
	json_end_line(&w);
}
