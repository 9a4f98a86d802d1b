/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "cli/diff.h"
#include "cli/learn/internal.h"
#include "cli/load.h"

enum { POLICY_MODE = 0644, STATUS_MAX = 255 };

/* Parts of the table. */
#define LEARN_GRANT_ROWS(l)                                                                       \
	{ { "net", SCHEMA_TEXT, .help = "hosts that may be learnt: api.example.com:443, *:443",   \
		  .many = true },                                                                 \
		0, "HOST:PORT", .target = &(l)->net },                                            \
		{ { "read", SCHEMA_TEXT,                                                          \
			  .help = "files that may be learnt also where hosts are granted",        \
			  .many = true },                                                         \
			0, "GLOB", .target = &(l)->read },                                        \
		{ { "write", SCHEMA_TEXT,                                                         \
			  .help = "places outside the project that may be written, and learnt",   \
			  .many = true },                                                         \
			0, "GLOB", .target = &(l)->write },                                       \
		{ { "env", SCHEMA_TEXT, .help = "put a variable into the policy", .many = true }, \
			0, "NAME[=VALUE]", .target = &(l)->env },                                 \
		{ { "listen", SCHEMA_TEXT, .help = "put a published port into the policy",        \
			  .many = true },                                                         \
			0, "PORT", .target = &(l)->listen },                                      \
	{                                                                                         \
		{ "with", SCHEMA_TEXT,                                                            \
			.help = "run it with these packs (see corral run); not part of the "      \
				"policy",                                                         \
			.many = true },                                                           \
			0, "NAME,...", .target = &(l)->with                                       \
	}

#define LEARN_RUN_ROWS(l)                                                                         \
	{ { "in-place", SCHEMA_FLAG,                                                              \
		  .help = "let the runs write into the project; else each begins with it as it\n" \
			  "is, and what they write is gone" },                                    \
		.target = &(l)->in_place },                                                       \
		{ { "rounds", SCHEMA_NUMBER, .min = 1, .max = LEARN_ROUNDS_MAX,                   \
			  .help = "run the command at most so often to learn (16), and as often " \
				  "to prove" },                                                   \
			0, "N", .target = &(l)->rounds },                                         \
		{ { "status", SCHEMA_NUMBER, .max = STATUS_MAX,                                   \
			  .help = "the exit status that is a success (0); 124: it runs until "    \
				  "--timeout" },                                                  \
			0, "N", .target = &(l)->status },                                         \
		{ { "timeout", SCHEMA_TEXT, .help = "stop each run after this time" }, 0, "TIME", \
			.target = &(l)->timeout },                                                \
		{ { "memory", SCHEMA_TEXT, .help = "limit the memory of each run" }, 0, "SIZE",   \
			.target = &(l)->memory },                                                 \
	{                                                                                         \
		{ "pids", SCHEMA_TEXT, .help = "limit the processes of each run" }, 0, "N",       \
			.target = &(l)->pids                                                      \
	}

static int learn_options(struct learn *l)
{
	const struct options_row rows[] = {
		{ { "output", SCHEMA_TEXT,
			  .help = "write the policy there; one that is there is widened, after the "
				  "lines\n"
				  "that are added were shown and agreed to" },
			'o', "FILE", .target = &l->output },
		{ { "profile", SCHEMA_TEXT,
			  .help = "what a new policy extends: workspace (the default), readonly, "
				  "offline" },
			0, "NAME", .target = &l->profile },
		LEARN_GRANT_ROWS(l),
		{ { "all", SCHEMA_FLAG,
			  .help = "also grant what the command asked for and did without" },
			.target = &l->all },
		LEARN_RUN_ROWS(l),
		{ { "yes", SCHEMA_FLAG,
			  .help = "agree to files that are read, and to the lines for FILE" },
			'y', .target = &l->yes },
		OPTIONS_JSON(&l->json),
	};

	l->profile = "workspace";
	l->rounds = LEARN_ROUNDS;
	return options_parse(l->call, rows, ROWS(rows));
}

/* Why it does not pass, as far as that is known. */
static const char *learn_why(const struct learn *l)
{
	bool is_refused = false, is_kept = false;

	if (l->is_passed)
		return "it behaves differently from run to run";
	if (l->n_rounds == l->rounds)
		return "there may be more to learn (--rounds)";
	for (size_t i = 0; i < l->n; i++) {
		is_refused |= l->sights[i].is_refused;
		is_kept |= !l->sights[i].is_accepted && !l->sights[i].is_refused &&
			   !l->sights[i].denial.is_quiet;
	}
	if (is_refused)
		return "it may need what was not agreed to, above";
	return is_kept ? "it may need what is not granted, above, or fail for another reason"
		       : "it was denied nothing more, so it fails for another reason";
}

static void learn_tell(const struct learn *l)
{
	auto_output o = output_for(STDERR_FILENO);

	learn_show(l, &o);
	output_note(&o);
	if (l->is_proven)
		buffer_printf(&o.text, "the command passes under this policy (it was run %u %s)\n",
			l->n_runs, l->n_runs == 1 ? "time" : "times");
	else
		buffer_printf(&o.text,
			"the command does not pass (status %d, run %u %s): %s; nothing was "
			"written\n",
			l->last_status, l->n_runs, l->n_runs == 1 ? "time" : "times", learn_why(l));
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* Shows what is added to a file that is there, and asks. */
static bool learn_may_write(const struct learn *l, const char *old)
{
	auto_output o = output_for(STDERR_FILENO);

	if (l->is_new)
		return true;
	output_note(&o);
	output_foreign(&o, l->output);
	if (strcmp(old, buffer_text(&l->text)) == 0) {
		buffer_adds(&o.text, " is enough as it is\n");
		(void)output_write(&o, STDERR_FILENO, NULL);
		return false;
	}
	buffer_adds(&o.text, " would get\n");
	diff_print(&o, "", old, strlen(old), buffer_text(&l->text), l->text.len);
	if (!l->yes && !learn_can_ask()) {
		output_note(&o);
		buffer_adds(&o.text, "nothing was written: --yes agrees to these lines\n");
	}
	(void)output_write(&o, STDERR_FILENO, NULL);
	return l->yes || learn_ask("corral: write these lines? [y/N] ");
}

/* 1: it was written, or printed. */
static int learn_write(struct learn *l, const char *old)
{
	auto_output o = { 0 };
	int r;

	if (!l->output) {
		if (l->json)
			return 1;
		buffer_add(&o.text, buffer_text(&l->text), l->text.len);
		r = output_write(&o, STDOUT_FILENO, l->call->error);
		return r < 0 ? r : 1;
	}
	if (!learn_may_write(l, old))
		return strcmp(old, buffer_text(&l->text)) == 0;
	r = file_replace(l->output, buffer_text(&l->text), l->text.len, POLICY_MODE);
	return r < 0 ? error_set(l->call->error, r, NULL, "%s: %s", l->output, strerror(-r)) : 1;
}

static int learn_begin(struct learn *l)
{
	auto_load load = { 0 };
	int r = load_begin(&load, l->call);

	l->place = (struct explain_place){ .home = load.variables.values[VARIABLE_HOME],
		.work = load.variables.values[VARIABLE_WORK_DIR] };
	if (r == 0 && l->output)
		r = learn_begin_output(l);
	if (r == 0)
		r = learn_consent_begin(l);
	if (r == 0)
		r = learn_text_begin(l);
	return r < 0 ? r : learn_begin_check(l, &load);
}

static int learn_all(struct learn *l)
{
	auto_buffer old = { 0 };
	int r = learn_begin(l);

	if (r == 0 && !l->is_new)
		r = file_read_regular(l->output, NODE_INPUT_MAX, &old);
	if (r == 0)
		r = learn_rounds(l);
	if (r < 0)
		return r;
	learn_tell(l);
	r = l->is_proven ? learn_write(l, buffer_text(&old)) : 0;
	if (r >= 0 && l->json) {
		int printed = learn_print_json(l, r == 1 && l->output);

		r = printed < 0 ? printed : r;
	}
	return r < 0 ? r : r == 1 ? STATUS_YES : STATUS_NO;
}

static int verb_learn_run(struct call *c)
{
	struct learn l = { .call = c };
	int r = learn_options(&l);

	if (r == 0 && (c->n == 0 || !c->words[0][0]))
		r = options_misused(c, "no command was given");
	r = r < 0 ? r : r == 1 ? STATUS_YES : learn_all(&l);
	policy_free(l.consent);
	buffer_deinit(&l.base);
	buffer_deinit(&l.text);
	return r;
}

const struct verb verb_learn = {
	.name = "learn",
	.synopsis = "[OPTION]... [--] CMD [ARG]...",
	.summary = "find the smallest policy under which a command passes",
	.description =
		"Runs CMD in a sandbox, watched, with the profile workspace. If it fails, what it "
		"was "
		"denied is added to a policy, and it runs again under that, until it passes; then "
		"once more to prove it, not watched. So CMD runs several times. Every run is "
		"confined: secrets, Corral's own state, the home as a whole and whatever the "
		"baseline protects are never added; hosts need --net or an answer, places outside "
		"the project that are written need --write. The policy goes to standard output or "
		"to FILE, everything else to standard error.\n"
		"Exit status: 0 the command passes under the policy, 1 it does not, or FILE was "
		"not "
		"to be changed, 2 an error.",
	.examples = "corral learn -- make test\n"
		    "corral learn --output policy.yaml -- pytest\n"
		    "corral learn --net 'registry.npmjs.org:443' -o policy.yaml -- npm ci\n"
		    "corral learn --timeout 10s --status 124 --listen 8080 -- node server.js\n"
		    "corral run --policy policy.yaml -- pytest\n",
	.operand = "CMD",
	.min = 0,
	.max = SIZE_MAX,
	.is_prefix = true,
	.run = verb_learn_run,
};
