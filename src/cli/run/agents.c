/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logins of coding agents are secrets of the baseline: an agent has no business with those of
 * another. Its own it needs. So in an agent mode the file where a well-known agent keeps its login
 * is open to the command of that name, unless a command could have put it there: a program in a
 * folder that the run may write, or behind a link in one, gets no login by its name.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/preset/preset.h"
#include "cli/run/internal.h"
#include "host/links.h"
#include "policy/variable.h"

/* What Corral keeps of what commands have written; below the home. */
static const char *const run_agents_kept[] = { PRESET_PACKS, PRESET_AGENTS, ".local/state/corral",
	".cache/corral" };

static const struct {
	const char *program, *login; /* below the home */
} run_agents[] = {
	{ "codex", ".codex/auth.json" },
	{ "codex", ".codex/.credentials.json" },
	{ "gemini", ".gemini/oauth_creds.json" },
	{ "gemini", ".gemini/google_accounts.json" },
	{ "gemini", ".gemini/mcp-oauth-tokens.json" },
	{ "gemini", ".gemini/.env" },
	{ "qwen", ".qwen/oauth_creds.json" },
	{ "iflow", ".iflow/oauth_creds.json" },
	{ "opencode", ".local/share/opencode/auth.json" },
	{ "opencode", ".local/share/opencode/mcp-auth.json" },
	{ "amp", ".local/share/amp/secrets.json" },
	{ "crush", ".local/share/crush/crush.json" },
	{ "goose", ".config/goose/secrets.yaml" },
	{ "kilo", ".local/share/kilo/auth.json" },
	{ "pi", ".pi/agent/auth.json" },
	{ "copilot", ".copilot/config.json" },
	{ "cursor-agent", ".config/cursor/auth.json" },
	{ "droid", ".factory/auth.json" },
	{ "droid", ".factory/auth.encrypted" },
	{ "auggie", ".augment/session.json" },
	{ "cline", ".cline/data/secrets.json" },
	{ "aider", ".aider/oauth-keys.env" },
	{ "llm", ".config/io.datasette.llm/keys.json" },
};

/* By its name, or by where that leads. */
static bool run_agents_is_in(const char *path, const char *folder)
{
	char real[PATH_BYTES];

	return folder &&
	       (path_is_below(path, folder) || links_follow(folder, NULL, NULL, real) < 0 ||
		       path_is_below(path, real));
}

/* A text of --write; of a pattern, what it begins with. What is not understood counts. */
static bool run_agents_is_granted(const struct run *r, const char *path, const char *text)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const char *base = r->load.variables.values[VARIABLE_WORK_DIR];
	char folder[PATH_BYTES];
	size_t len;

	if (variable_expand(&r->load.variables, text, r->call->arena, &text, NULL, NULL) < 0)
		return true;
	if (text[0] == '~' && text[1] == '/') {
		base = home;
		text += 2;
	}
	len = strcspn(text, "*?[]{}\\$~");
	if (snprintf(folder, sizeof(folder), "%s%s%.*s", text[0] == '/' || !base ? "" : base,
		    text[0] == '/' ? "" : "/", (int)len, text) >= (int)sizeof(folder))
		return true;
	if (text[len])
		*strrchr(folder, '/') = '\0';
	return run_agents_is_in(path, folder[0] ? folder : "/");
}

/* May the run write it, or could one before in the same folder? path: absolute. */
static bool run_agents_may_write(const struct run *r, const char *path)
{
	const struct agent *a = &r->options.agent;
	const struct options_list *write = &r->options.write;
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const char *work = r->load.variables.values[VARIABLE_WORK_DIR];
	bool is_written = run_agents_is_in(path, a->data_dir);

	/* Who works in the home has programs below it. */
	if (work && !path_is_below(home, work))
		is_written = is_written || run_agents_is_in(path, work);
	for (size_t i = 0; home && !is_written && i < ROWS(run_agents_kept); i++) {
		char folder[PATH_BYTES];

		is_written = snprintf(folder, sizeof(folder), "%s/%s", home, run_agents_kept[i]) >=
				     (int)sizeof(folder) ||
			     run_agents_is_in(path, folder);
	}
	for (size_t i = 0; !is_written && i < a->extra.n; i++)
		is_written = run_agents_is_in(path, a->extra.items[i]);
	for (size_t i = 0; !is_written && i < write->n; i++)
		is_written = run_agents_is_granted(r, path, write->items[i]);
	return is_written;
}

/* A links_link. */
static int run_agents_hop(void *data, const char *link, const char *target)
{
	(void)target;
	return run_agents_may_write(data, link) ? -EPERM : 0;
}

/* Where the command is, as the shell finds it; false: it is nowhere. */
static bool run_agents_find(const char *word, char out[PATH_BYTES])
{
	const char *path = getenv("PATH");
	char here[PATH_BYTES];

	if (strchr(word, '/'))
		path = "";
	if (!path || !getcwd(here, sizeof(here)))
		return false;
	for (bool is_more = true; is_more;) {
		const size_t len = strcspn(path, ":");
		const bool is_absolute = (len ? path : word)[0] == '/';
		struct stat st;

		if (snprintf(out, PATH_BYTES, "%s%s%.*s%s%s", is_absolute ? "" : here,
			    is_absolute ? "" : "/", (int)len, path, len ? "/" : "",
			    word) < PATH_BYTES &&
			stat(out, &st) == 0 && S_ISREG(st.st_mode) && access(out, X_OK) == 0)
			return true;
		is_more = path[len];
		path += len + is_more;
	}
	return false;
}

bool run_agents_find_real(const char *word, char real[PATH_BYTES])
{
	char path[PATH_BYTES];

	return run_agents_find(word, path) && links_follow(path, NULL, NULL, real) == 0;
}

bool run_agents_find_own(struct run *r, const char *word, char real[PATH_BYTES])
{
	char path[PATH_BYTES];

	return run_agents_find(word, path) && !run_agents_may_write(r, path) &&
	       links_walk(path, run_agents_hop, r, real) == 0 && !run_agents_may_write(r, real);
}

static void run_agents_note(const struct run *r, const char *word)
{
	auto_output o = output_for(STDERR_FILENO);

	if (r->options.json)
		return;
	output_note(&o);
	output_foreign(&o, word);
	buffer_adds(&o.text,
		" does not get the login of the agent of that name, because it is in a folder that "
		"commands may write: run the one that is installed elsewhere\n");
	(void)output_write(&o, STDERR_FILENO, NULL);
}

int run_agents_open(struct run *r)
{
	const char *word = r->call->n ? r->call->words[0] : "", *slash = strrchr(word, '/');
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const char *whole = word;
	const struct location where = { .file = r->mode->origin };
	bool is_known = false;
	char real[PATH_BYTES];
	int ret = 0;

	if (!home || r->is_shell || r->options.skill)
		return 0;
	word = slash ? slash + 1 : word;
	for (size_t i = 0; ret == 0 && i < ROWS(run_agents); i++) {
		const char *path;

		if (strcmp(run_agents[i].program, word) != 0)
			continue;
		path = arena_printf(r->call->arena, "%s/%s", home, run_agents[i].login);
		if (path && access(path, F_OK) < 0)
			continue;
		if (path && !is_known && !run_agents_find_own(r, whole, real)) {
			run_agents_note(r, whole);
			return 0;
		}
		is_known = true;
		path = path ? arena_printf(r->call->arena, "$HOME/%s", run_agents[i].login) : NULL;
		ret = path ? permissions_add(r->mode, &r->mode->dangerously_allow, path, &where)
			   : -1;
	}
	return ret < 0 ? error_no_memory(r->call->error) : 0;
}
