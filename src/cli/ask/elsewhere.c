/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask/elsewhere.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/ascii.h"
#include "cli/ask/kept.h"
#include "cli/output.h"
#include "cli/project/project.h"
#include "codec/json-writer.h"
#include "policy/operation.h"

static const struct elsewhere_option {
	const char *option;
	enum operation op;
	const char *words;
} elsewhere_options[] = {
	{ "--read", OPERATION_FS_READ, "read" },
	{ "--write", OPERATION_FS_WRITE, "read and write" },
	{ "--exec", OPERATION_EXEC, "run" },
};

static const struct elsewhere_option *elsewhere_option(const struct ask_kept *k)
{
	for (size_t i = 0; i < ROWS(elsewhere_options) - 1; i++)
		if (strcmp(elsewhere_options[i].option, k->option) == 0)
			return &elsewhere_options[i];
	return &elsewhere_options[ROWS(elsewhere_options) - 1];
}

bool ask_elsewhere_is_id(const char *id)
{
	return ascii_is_hex_text(id, ASK_KEPT_ID - 1);
}

/* "read /srv/data, and all that is in it" */
static void elsewhere_add_what(struct output *o, const struct ask_kept *k)
{
	buffer_printf(&o->text, "%s ", elsewhere_option(k)->words);
	ask_words_name(o, k->value);
	if (k->about.kind == ASK_KIND_FOLDER)
		buffer_adds(&o->text, ", and all that is in it");
}

int ask_elsewhere_show(struct call *c, struct output *o, size_t *ret_n)
{
	struct ask_open *all = NULL;
	size_t n = 0;
	const int r = ask_kept_open(c, &all, &n);

	for (size_t i = 0; r == 0 && i < n; i++) {
		output_styled(o, OUTPUT_BOLD, all[i].id);
		buffer_adds(&o->text, "  a command failed in ");
		output_name(o, all[i].folder);
		buffer_adds(&o->text, "; it was denied to ");
		elsewhere_add_what(o, &all[i].kept);
		buffer_adds(&o->text,
			"\n  an answer holds from the next run there: --once, or --for 24h");
		buffer_adds(&o->text,
			all[i].kept.project[0] ? ", or --always for its project\n" : "\n");
	}
	*ret_n = n;
	return r;
}

static void elsewhere_print_one(const struct ask_open *q, struct json_writer *w)
{
	json_put_text(w, "id", q->id);
	json_put_text(w, "folder", q->folder);
	json_put_text(w, "action", operation_name(elsewhere_option(&q->kept)->op));
	json_put_text(w, "target", q->kept.value);
	json_put_text(w, "option", q->kept.option);
	json_put_flag(w, "can_always", q->kept.project[0]);
	json_put_flag(w, "is_folder", q->kept.about.kind == ASK_KIND_FOLDER);
}

int ask_elsewhere_print(struct call *c)
{
	auto_output o = output_for(STDOUT_FILENO);
	struct json_writer w = { .out = &o.text };
	struct ask_open *all = NULL;
	size_t n = 0;
	const int r = ask_kept_open(c, &all, &n);

	if (r < 0)
		return r;
	json_open_map(&w, NULL);
	json_open_list(&w, "later");
	for (size_t i = 0; i < n; i++) {
		json_open_map(&w, NULL);
		elsewhere_print_one(&all[i], &w);
		json_put_count(&w, "expires_ms", all[i].kept.until_s * 1000);
		json_close(&w);
	}
	json_end_line(&w);
	return output_write(&o, STDOUT_FILENO, c->error);
}

/* Telling what was answered, and from when on it holds. path: the file that has a line for it now.
 */

static void elsewhere_tell(
	const struct ask_open *q, const char *path, struct call *c, struct output *o)
{
	static const char *const says[] = { [ASK_WORD_NO] = "stays denied for a day: ",
		[ASK_WORD_ONCE] = "allowed once, from the next run on: ",
		[ASK_WORD_DAY] = "allowed for a day, from the next run on: ",
		[ASK_WORD_RUN] = "",
		[ASK_WORD_ALWAYS] = "allowed for this project, from the next run on: " };

	buffer_adds(&o->text, says[q->kept.word]);
	elsewhere_add_what(o, &q->kept);
	if (path) {
		buffer_adds(&o->text, "\n  ");
		output_name(o, path);
		buffer_printf(&o->text, " has the line now, and is approved with it: %s ",
			operation_name(elsewhere_option(&q->kept)->op));
		output_name(o, ask_kept_pattern(&q->kept, c->arena));
	} else {
		buffer_adds(&o->text, "\n  for runs that ask (--ask-denied, or `ask: denied`) in ");
		output_name(o, q->folder);
	}
	buffer_addc(&o->text, '\n');
}

static void elsewhere_tell_json(
	const struct ask_open *q, const char *path, struct call *c, struct output *o)
{
	static const char *const words[] = { [ASK_WORD_NO] = "deny",
		[ASK_WORD_ONCE] = "once",
		[ASK_WORD_DAY] = "day",
		[ASK_WORD_RUN] = "",
		[ASK_WORD_ALWAYS] = "always" };
	struct json_writer w = { .out = &o->text };

	json_open_map(&w, NULL);
	elsewhere_print_one(q, &w);
	json_put_text(&w, "answer", words[q->kept.word]);
	json_put_text(&w, "holds", "from the next run");
	if (path) {
		json_put_text(&w, "file", path);
		json_put_text(&w, "pattern", ask_kept_pattern(&q->kept, c->arena));
	}
	json_end_line(&w);
}

/* It is what the question was about. Else the call's error says what it is now. */
static bool elsewhere_is_current(struct call *c, const struct ask_open *q)
{
	const struct ask_subject now = ask_subject_look(c->arena, q->kept.option, q->kept.value);

	if (ask_subject_is_same(&q->kept.about, &now))
		return true;
	(void)error_set(c->error, -ESTALE, NULL, "nothing was allowed of %s: %s", q->kept.value,
		ask_subject_difference(c->arena, &q->kept.about, &now));
	error_hint(c->error, "run the command again: then this is asked anew");
	return false;
}

/* Finds the open question. ABSENT, CHANGED: what was said of it. */
static int elsewhere_find(
	struct call *c, const char *id, enum ask_word word, bool json, struct ask_open *ret)
{
	struct ask_open *all = NULL;
	size_t n = 0, i = 0;
	const int r = ask_kept_open(c, &all, &n);

	if (r < 0)
		return r;
	while (i < n && strcmp(all[i].id, id) != 0)
		i++;
	if (i == n) {
		(void)error_set(c->error, -ENOENT, NULL,
			"there is no such question any more: it was answered, or is older than a "
			"day; `corral questions list --later` shows those that are open");
		return verb_refuse(c, json, STATUS_ABSENT);
	}
	*ret = all[i];
	if (word != ASK_WORD_NO && !elsewhere_is_current(c, ret))
		return verb_refuse(c, json, STATUS_CHANGED);
	return 0;
}

/*
 * A line of the project's file, which must be that of the run that asked: neither one that lies
 * nearer by now, nor one that the run was told not to use.
 */
static int elsewhere_add_line(struct call *c, const struct ask_open *q, const char **ret_path)
{
	const char *home = NULL, *pattern = ask_kept_pattern(&q->kept, c->arena);
	char real[PATH_BYTES], digest[ASK_DIGEST] = "";
	auto_project p = { 0 };
	int r;

	if (!q->kept.project[0])
		return error_set(c->error, -ESTALE, NULL,
			"the command that asked ran without a " PROJECT_NAME
			", so there is none to add a line to: use --once or --for 24h");
	r = project_named_folder(c, q->folder, real, &home);
	if (r == 0)
		r = project_open(&p, c, real, home);
	if (r < 0)
		return r;
	if (p.path)
		ask_digest(&p.path, 1, digest);
	if (strcmp(digest, q->kept.project) != 0)
		return error_set(c->error, -ESTALE, NULL,
			"the " PROJECT_NAME " of %s is another one than when the command asked: "
			"use --once or --for 24h, or run it again",
			q->folder);
	r = pattern ? project_add_grant(&p, c, home, elsewhere_option(&q->kept)->op, pattern)
		    : error_no_memory(c->error);
	*ret_path = p.path;
	return r < 0 ? r : 0;
}

/* Keeps the answer where runs find it. */
static int elsewhere_keep(struct call *c, const struct ask_open *q, const char **ret_path)
{
	const bool is_always = q->kept.word == ASK_WORD_ALWAYS;
	int r = is_always ? elsewhere_add_line(c, q, ret_path) : 0;

	if (r < 0)
		return r;
	r = is_always ? ask_kept_drop(c, q->folder, &q->kept)
		      : ask_kept_put(c, q->folder, &q->kept);
	return r < 0 ? error_set(c->error, r, NULL,
			       "the answer cannot be kept in Corral's state: %s", strerror(-r))
		     : 0;
}

int ask_elsewhere_answer(struct call *c, const char *id, enum ask_word word, bool json)
{
	auto_output o = output_for(STDOUT_FILENO);
	const char *path = NULL;
	struct ask_open q = { 0 };
	int r = elsewhere_find(c, id, word, json, &q);

	if (r != 0)
		return r;
	q.kept.word = word;
	r = elsewhere_keep(c, &q, &path);
	if (r == -ESTALE)
		return verb_refuse(c, json, STATUS_CHANGED);
	if (r < 0)
		return r;
	if (json)
		elsewhere_tell_json(&q, path, c, &o);
	else
		elsewhere_tell(&q, path, c, &o);
	r = output_write(&o, STDOUT_FILENO, c->error);
	return r < 0 ? r : STATUS_YES;
}
