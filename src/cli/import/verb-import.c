/* SPDX-License-Identifier: Apache-2.0 */
/* corral import: settings of another sandbox as a policy, and what could not be taken over. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "cli/import/internal.h"
#include "cli/options.h"
#include "cli/output.h"
#include "codec/json-writer.h"
#include "codec/json.h"
#include "codec/toml.h"
#include "policy/format/permissions-text.h"

static const struct import_format *const import_formats[] = { &import_srt, &import_claude,
	&import_codex, &import_nono };
static const char *const import_names[] = { "detect", "srt", "claude", "codex", "nono", NULL };

struct import_settings {
	int format; /* 0: found out */
	const char *profile;
	bool json;
};

static bool import_is_toml(const char *file)
{
	size_t n = strlen(file);

	return n > 5 && strcmp(file + n - 5, ".toml") == 0;
}

/* What the reader said of the text is the smaller part: most such files are something else. */
static int import_unreadable(struct call *c, bool is_toml)
{
	const struct error was = *c->error;
	const struct location where = { was.file, was.line, was.column };

	(void)error_set(c->error, -EINVAL, was.file[0] ? &where : NULL,
		"this is no settings file: it is not %s (%s)", is_toml ? "TOML" : "JSON", was.text);
	error_hint(c->error, "settings of srt, Claude Code and nono are JSON, those of Codex are "
			     "TOML and end in .toml (or name it: --format codex)");
	return -EINVAL;
}

static int import_read(struct importing *im, const char *file, bool is_toml)
{
	struct call *c = im->call;
	auto_buffer text = { 0 };
	int r = file_read(file, NODE_INPUT_MAX, &text);

	if (r == -E2BIG)
		return error_set(c->error, r, NULL, "%s is too large", file);
	if (r < 0)
		return error_set(c->error, r, NULL, "cannot read %s: %s", file, strerror(-r));
	if (!is_toml && text.len)
		import_strip_comments(&text);
	r = is_toml ? toml_read(&im->source, file, buffer_text(&text), text.len, c->error)
		    : json_read(&im->source, file, buffer_text(&text), text.len, c->error);
	return r < 0 && r != -ENOMEM ? import_unreadable(c, is_toml) : r;
}

/* The format that was named, or the only one whose keys the document has. */
static int import_detect(const struct import_settings *s, struct importing *im, bool is_toml,
	const struct import_format **ret)
{
	const struct import_format *found = NULL;
	const struct node *root = im->source.root;

	for (size_t i = 0; root && i < ROWS(import_formats) && !s->format; i++) {
		const struct import_format *f = import_formats[i];

		if (f->is_toml != is_toml || !f->matches(root))
			continue;
		if (found)
			return error_set(im->call->error, -EINVAL,
				&(struct location){ .file = im->source.file },
				"this could be %s or %s: say which with --format", found->title,
				f->title);
		found = f;
	}
	if (s->format)
		found = import_formats[s->format - 1];
	if (!found || !root || root->type != NODE_MAP) {
		(void)error_set(im->call->error, -EINVAL,
			&(struct location){ .file = im->source.file },
			"this is no settings file of srt, Claude Code, Codex or nono");
		error_hint(im->call->error,
			"say which it is with --format; a policy of Corral needs no "
			"import: `corral run --policy FILE`");
		return -EINVAL;
	}
	*ret = found;
	return 0;
}

static void import_add_place(struct buffer *out, const struct location *where)
{
	if (where->line)
		buffer_printf(out, "line %u: ", (unsigned)where->line);
}

static int import_print_yaml(const struct importing *im, const struct import_format *f)
{
	auto_output o = output_for(STDOUT_FILENO);

	buffer_printf(&o.text, "# From %s: ", f->title);
	output_foreign(&o, im->source.file);
	buffer_addc(&o.text, '\n');
	if (im->n_notes)
		buffer_adds(&o.text, "# Not taken over, or different:\n");
	for (size_t i = 0; i < im->n_notes; i++) {
		buffer_adds(&o.text, "# - ");
		import_add_place(&o.text, &im->notes[i].where);
		output_foreign(&o, im->notes[i].text);
		buffer_addc(&o.text, '\n');
	}
	permissions_print_yaml(im->to, &o.text);
	return output_write(&o, STDOUT_FILENO, im->call->error);
}

static int import_print_json(const struct importing *im, const struct import_format *f)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text, .style = JSON_PRETTY };

	json_open_map(&w, NULL);
	json_put_text(&w, "format", f->name);
	json_put_text(&w, "file", im->source.file);
	json_put_node(&w, "policy", permissions_to_node(im->to, im->call->arena));
	json_open_list(&w, "notes");
	for (size_t i = 0; i < im->n_notes; i++) {
		json_open_map(&w, NULL);
		json_put_count(&w, "line", im->notes[i].where.line);
		json_put_text(&w, "text", im->notes[i].text);
		json_close(&w);
	}
	json_close(&w);
	json_end_line(&w);
	return output_write(&o, STDOUT_FILENO, im->call->error);
}

/* The policy goes to standard output; standard error says how many entries were left out. */
static void import_tell(const struct importing *im)
{
	auto_output o = output_for(STDERR_FILENO);

	if (!im->n_notes || isatty(STDOUT_FILENO))
		return;
	output_note(&o);
	buffer_printf(&o.text, "%zu %s: see the comments at the top\n", im->n_notes,
		im->n_notes == 1 ? "setting is not taken over as it stands"
				 : "settings are not taken over as they stand");
	(void)output_write(&o, STDERR_FILENO, NULL);
}

static int import_check_profile(const struct importing *im, const struct import_format *f)
{
	const struct location where = { .file = im->source.file };

	if (!im->profile)
		return 0;
	if (!f->has_profile)
		return error_set(im->call->error, -EINVAL, &where,
			"--profile is for Codex' config.toml, and this is %s", f->title);
	if (!f->has_profile(im->source.root, im->profile))
		return error_set(im->call->error, -ENOENT, &where, "there is no profile `%s` in it",
			im->profile);
	return 0;
}

static int import_convert(const struct import_settings *s, struct importing *im, const char *file)
{
	const struct import_format *f = &import_srt;
	bool is_toml = s->format ? import_formats[s->format - 1]->is_toml : import_is_toml(file);
	int r = import_read(im, file, is_toml);

	if (r == 0)
		r = import_detect(s, im, is_toml, &f);
	if (r < 0)
		return r;
	r = import_check_profile(im, f);
	if (r < 0)
		return r;
	f->take(im, im->source.root);
	import_finish(im);
	if (im->no_memory)
		return error_no_memory(im->call->error);
	if (im->too_many)
		return error_set(im->call->error, -E2BIG,
			&(struct location){ .file = im->source.file },
			"more denials cannot be taken over than can be listed: take out those that "
			"the sandbox needs no more, or write the policy by hand");
	if (s->json)
		return import_print_json(im, f);
	r = import_print_yaml(im, f);
	if (r == 0)
		import_tell(im);
	return r;
}

static int verb_import_run(struct call *c)
{
	struct import_settings s = { 0 };
	const struct options_row rows[] = {
		{ { "format", SCHEMA_CHOICE, .words = import_names,
			  .help = "what the file is: srt, claude, codex or nono (default: "
				  "detected)" },
			'f', "FORMAT", .target = &s.format },
		{ { "profile", SCHEMA_TEXT, .help = "of Codex: the profile of the file to take" },
			0, "NAME", .target = &s.profile },
		OPTIONS_JSON(&s.json),
	};
	struct importing im = { .call = c };
	auto_permissions *to = NULL;
	int r = options_parse(c, rows, ROWS(rows));

	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	to = im.to = permissions_new();
	if (!to)
		return error_no_memory(c->error);
	im.profile = s.profile;
	r = import_convert(&s, &im, c->words[0]);
	document_deinit(&im.source);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_import = {
	.name = "import",
	.synopsis = "[OPTION]... FILE",
	.summary = "print settings of another sandbox as a policy",
	.description =
		"Reads settings of srt, Claude Code (`sandbox` and `permissions`), Codex "
		"(config.toml) or a profile of nono, and prints a policy that grants no more than "
		"they do. What cannot be taken over is listed in comments at the top: read them. "
		"Nothing is installed or changed.",
	.examples = "corral import ~/.claude/settings.json > corral-policy.yaml\n"
		    "corral import ~/.codex/config.toml --profile work\n"
		    "corral import --json ~/.srt-settings.json\n"
		    "corral run --policy corral-policy.yaml -- npm test\n",
	.operand = "FILE",
	.min = 1,
	.max = 1,
	.run = verb_import_run,
};
