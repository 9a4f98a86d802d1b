/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command that failed most likely lacked, where nothing was watched and no record shows it:
 * variables of the user that were withheld and that its program (or its agent's preset) names,
 * files in the home that a well-known program reads first, and what no command may do (trace
 * others, make a sandbox of its own, use secret keys). By the words of the command line and the
 * file of the program alone, and only if it failed; --explain looks on instead and knows better.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/explain/explain.h"
#include "cli/output.h"
#include "cli/preset/preset.h"
#include "cli/run/internal.h"
#include "codec/json-writer.h"
#include "host/links.h"
#include "launch/program.h"
#include "policy/explain.h"
#include "policy/policy.h"
#include "threat/threat.h"

enum {
	WORDS_MAX = 64,     /* of the command line, that are looked at */
	PROGRAMS_MAX = 4,   /* of them, whose files are */
	WITHHELD_MAX = 512, /* variables that are listed */
	SHOWN_MAX = 4,      /* and said */
	PROGRAM_BYTES = 256 << 20,
	CHUNK_BYTES = 256 << 10,
	WORD_BYTES = 64,
};

/* The programs that the command line names: its first word, and, of what a shell is given to run,
 * the first of each command. */
struct failed_words {
	char items[WORDS_MAX][WORD_BYTES];
	size_t n;
};

/* It stands in front of a program, and is none that could fail for want of something. */
static bool failed_is_front(const char *word, size_t len)
{
	static const char *const fronts[] = { "if", "then", "else", "do", "while", "!", "exec",
		"env", "time", "nohup" };

	if (memchr(word, '=', len))
		return true;
	for (size_t i = 0; i < ROWS(fronts); i++)
		if (strlen(fronts[i]) == len && strncmp(fronts[i], word, len) == 0)
			return true;
	return false;
}

static void failed_add(struct failed_words *w, const char *word, size_t len)
{
	if (len == 0 || len >= WORD_BYTES || w->n == WORDS_MAX)
		return;
	memcpy(w->items[w->n], word, len);
	w->items[w->n++][len] = '\0';
}

static void failed_split(struct failed_words *w, const char *line)
{
	static const char ends[] = ";|&()\n{}`", blanks[] = " \t";

	while (*line && w->n < WORDS_MAX) {
		const char *end;
		size_t len;

		line += strspn(line, ";|&()\n{}` \t");
		end = line + strcspn(line, ends);
		len = strcspn(line, " \t;|&()\n{}`");
		while (line < end && failed_is_front(line, len)) {
			line += len;
			line += strspn(line, blanks);
			len = strcspn(line, " \t;|&()\n{}`");
		}
		if (line < end)
			failed_add(w, line, len);
		line = end > line ? end : line;
	}
}

static void failed_words(const struct run *r, struct failed_words *w)
{
	w->n = 0;
	failed_add(w, r->argv[0], strlen(r->argv[0]));
	for (size_t i = 2; i < r->n_argv; i++)
		if (r->argv[i - 1][0] == '-' && strchr(r->argv[i - 1], 'c') &&
			threat_program(r->argv[0], THREAT_INTERPRETER))
			failed_split(w, r->argv[i]);
}

static bool failed_has(const struct failed_words *w, const char *program)
{
	for (size_t i = 0; i < w->n; i++) {
		const char *slash = strrchr(w->items[i], '/');

		if (strcmp(slash ? slash + 1 : w->items[i], program) == 0)
			return true;
	}
	return false;
}

/* Variables */

static bool failed_is_given(const struct run *r, const char *item, size_t len)
{
	for (size_t i = 0; i < r->n_env; i++)
		if (strncmp(r->env[i], item, len) == 0 && r->env[i][len] == '=')
			return true;
	return false;
}

/* Names of the user's variables that the command has not, in their order. */
static size_t failed_withheld(const struct run *r, const char *ret[WITHHELD_MAX])
{
	size_t n = 0;

	for (char **item = environ; *item && n < WITHHELD_MAX; item++) {
		const size_t len = strcspn(*item, "=");

		if (len > 0 && !failed_is_given(r, *item, len) && strncmp(*item, "CORRAL_", 7) != 0)
			ret[n++] = *item;
	}
	return n;
}

/* Keys and addresses: what programs cannot do without. Others are mentioned by nearly all. */
static bool failed_is_setting(const char *name, size_t len)
{
	static const char *const parts[] = { "_KEY", "TOKEN", "SECRET", "PASSW", "API", "_URL",
		"CREDENTIAL", "ENDPOINT" };

	for (size_t i = 0; i < ROWS(parts); i++)
		if (memmem(name, len, parts[i], strlen(parts[i])))
			return true;
	return false;
}

static bool failed_is_upper(char c)
{
	return c == '_' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* In text, and not a part of a longer name. */
static bool failed_mentions_in(const char *text, size_t size, const char *name, size_t len)
{
	const char *end = text + size;

	for (const char *at = text; (at = memmem(at, (size_t)(end - at), name, len)); at++)
		if (!(at > text && failed_is_upper(at[-1])) &&
			!(end - at > (ptrdiff_t)len && failed_is_upper(at[len])))
			return true;
	return false;
}

/* Read, not mapped: it may be the command's own file, which another process makes shorter. */
static bool failed_mentions(const char *path, const char *name, size_t len)
{
	static char text[CHUNK_BYTES];
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const size_t kept_max = len + 1; /* what may be the beginning of it, and what is before */
	size_t kept = 0, all = 0;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || kept_max > sizeof(text) / 2)
		return false;
	while (all < PROGRAM_BYTES && (n = read(fd, text + kept, sizeof(text) - kept)) > 0) {
		const size_t have = kept + (size_t)n;

		if (failed_mentions_in(text, have, name, len))
			return true;
		all += (size_t)n;
		kept = have < kept_max ? have : kept_max;
		memmove(text, text + have - kept, kept);
	}
	return false;
}

/* A known agent's real file: its preset knows what it reads, wherever in its package that is. */
static bool failed_is_agents(const struct run *r, const char *path, const char *name, size_t len)
{
	char real[PATH_BYTES];
	const char *row;
	int preset = -ENOENT;

	if (links_follow(path, NULL, NULL, real) == 0)
		preset = preset_of_program(real, r->load.variables.values[VARIABLE_HOME]);
	for (size_t i = 0; preset >= 0 && (row = preset_text(preset, PRESET_ENV, i)); i++)
		if (strlen(row) == len && strncmp(row, name, len) == 0)
			return true;
	return false;
}

/* The files of programs that the words name: found as a shell would, interpreters left out. */
static size_t failed_programs(
	const struct run *r, const struct failed_words *w, const char *ret[PROGRAMS_MAX])
{
	char path[PATH_BYTES];
	size_t n = 0;

	for (size_t i = 0; i < w->n && n < PROGRAMS_MAX; i++) {
		const char *word = w->items[i], *found = word;

		if (*word == '-' || threat_program(word, THREAT_INTERPRETER) ||
			(!strchr(word, '/') && (!launch_program_in(getenv("PATH"), word, path) ||
						       !(found = path))))
			continue;
		if (access(found, R_OK) == 0 && (ret[n] = arena_strdup(r->call->arena, found)))
			n++;
	}
	return n;
}

static void failed_tell_variable(
	const struct run *r, const char *path, const char *name, size_t len, struct output *o)
{
	const char *slash = strrchr(path, '/');
	const char *text = arena_strndup(r->call->arena, name, len);
	const struct request request = { .op = OPERATION_ENV, .target = text };
	auto_buffer remedy = { 0 };
	struct decision d;

	if (!text)
		return;
	output_note(o);
	output_foreign(o, slash ? slash + 1 : path);
	buffer_adds(&o->text, " reads the variable ");
	output_foreign(o, text);
	buffer_adds(&o->text, ", which is set here and was withheld: ");
	if (run_network_forbids(r, &request, &d)) {
		explain_remedy(&request, &d, &remedy);
		output_foreign(o, buffer_text(&remedy));
		buffer_adds(&o->text, ", and use ");
	}
	buffer_adds(&o->text, "--env ");
	output_foreign(o, text);
	buffer_addc(&o->text, '\n');
}

static void failed_tell_variables(
	const struct run *r, const struct failed_words *w, struct output *o)
{
	const char *names[WITHHELD_MAX], *programs[PROGRAMS_MAX];
	const size_t n = failed_withheld(r, names);
	size_t n_programs = 0, shown = 0;
	bool is_looked = false;

	for (size_t i = 0; i < n && shown < SHOWN_MAX; i++) {
		const size_t len = strcspn(names[i], "=");

		if (!failed_is_setting(names[i], len))
			continue;
		if (!is_looked)
			n_programs = failed_programs(r, w, programs);
		is_looked = true;
		for (size_t k = 0; k < n_programs; k++) {
			if (!failed_is_agents(r, programs[k], names[i], len) &&
				!failed_mentions(programs[k], names[i], len))
				continue;
			failed_tell_variable(r, programs[k], names[i], len, o);
			shown++;
			break;
		}
	}
}

void run_failed_print(const struct run *r, struct json_writer *w)
{
	const char *names[WITHHELD_MAX];
	const size_t n = r->env ? failed_withheld(r, names) : 0;

	json_open_list(w, "withheld");
	for (size_t i = 0; i < n; i++) {
		auto_buffer name = { 0 };

		buffer_add_visible(&name, names[i], strcspn(names[i], "="));
		json_put_buffer(w, NULL, &name);
	}
	json_close(w);
}

/* Programs */

static const char failed_traces[] = "a command may not trace other processes (ptrace), not even "
				    "its own: run it outside of Corral";
static const char failed_keys[] = "secret keys are kept from every command: sign and decrypt "
				  "outside of Corral";

/* status: that it ends with then; 0: any. needs: below the home, there, and not granted; NULL: it
 * can never work. */
static const struct {
	const char *program;
	int status;
	const char *needs, *says;
} failed_rows[] = {
	{ "strace", 0, NULL, failed_traces },
	{ "ltrace", 0, NULL, failed_traces },
	{ "gdb", 0, NULL, failed_traces },
	{ "lldb", 0, NULL, failed_traces },
	{ "gpg", 2, NULL, failed_keys },
	{ "gpg2", 2, NULL, failed_keys },
	{ "git", 128, ".gitconfig", "your name and git's settings are in it" },
	{ "rustup", 1, ".rustup", "the toolchains are in it" },
	{ "cargo", 1, ".rustup", "the toolchains are in it" },
	{ "rustc", 1, ".rustup", "the toolchains are in it" },
};

static void failed_tell_file(const struct run *r, const char *program, const char *path,
	const char *says, struct output *o)
{
	const struct request request = { .op = OPERATION_FS_READ, .target = path };

	struct decision d;

	if (access(path, R_OK) < 0 || policy_allows(r->policy, &request) ||
		run_network_forbids(r, &request, &d))
		return;
	output_note(o);
	buffer_adds(&o->text, program);
	buffer_adds(&o->text, " did not see ");
	output_foreign(o, path);
	buffer_printf(&o->text, ": %s: --read ", says);
	output_shell_word(&o->text, path);
	buffer_addc(&o->text, '\n');
}

static void failed_tell_programs(
	const struct run *r, const struct failed_words *w, int status, struct output *o)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];

	for (size_t i = 0; i < ROWS(failed_rows); i++) {
		const char *path = NULL;

		if (!failed_has(w, failed_rows[i].program) ||
			(failed_rows[i].status && failed_rows[i].status != status))
			continue;
		if (failed_rows[i].needs)
			path = arena_printf(
				r->call->arena, "%s/%s", home ? home : "", failed_rows[i].needs);
		if (path)
			failed_tell_file(r, failed_rows[i].program, path, failed_rows[i].says, o);
		if (failed_rows[i].needs)
			continue;
		output_note(o);
		buffer_printf(&o->text, "%s: %s\n", failed_rows[i].program, failed_rows[i].says);
	}
}

/* Those that make a sandbox of their own and do nothing without it. */
static void failed_tell_sandboxes(const struct failed_words *w, struct output *o)
{
	static const char *const programs[] = { "bwrap", "unshare", "firejail", "flatpak", "podman",
		"buildah", "chromium", "google-chrome", "chrome", "headless_shell" };

	for (size_t i = 0; i < ROWS(programs); i++) {
		if (!failed_has(w, programs[i]))
			continue;
		output_note(o);
		buffer_printf(
			&o->text, "%s: %s\n", programs[i], run_explain_sandbox_line(programs[i]));
	}
}

/* Landlock refuses a program without a word to anyone; only a run that is watched sees which. */
static void failed_tell_refused(const struct run *r, int status, struct output *o)
{
	/* It was watched, and nothing was denied: the file is no program. */
	if (status != RUN_FORBIDDEN || !r->plan->exec_listed || r->again.was == AGAIN_IN_VAIN)
		return;
	output_note(o);
	buffer_adds(&o->text,
		"status 126: a program inside was not started, as where exec does not "
		"list it; ");
	buffer_adds(&o->text, r->again.name[0]
				      ? "the next run of this command names it, and so does "
					"--explain\n"
				      : "--exec PROGRAM grants one\n");
}

void run_failed_tell(const struct run *r, const struct report *report, struct output *o)
{
	struct failed_words words;

	const bool is_explained = r->options.explain && !r->options.is_again;

	if (is_explained || report->signal || report->exit_code == 0 || r->mode ||
		report->flags & (REPORT_TIMED_OUT | REPORT_OUT_OF_MEMORY | REPORT_KILLED))
		return;
	failed_words(r, &words);
	failed_tell_variables(r, &words, o);
	/* The host that was denied is reason enough, and what was seen is better. */
	if (r->network.n > 0 || r->options.explain)
		return;
	failed_tell_refused(r, report->exit_code, o);
	failed_tell_programs(r, &words, report->exit_code, o);
	failed_tell_sandboxes(&words, o);
}
