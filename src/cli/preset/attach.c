/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The presets of a run: those that --with names, and the agent's whose program is run. Each becomes
 * grants (run/grants.c), words behind the program, and variables.
 *
 * An agent's attaches by itself where the run has the default profile, and to its real file: the
 * one that PATH leads to, at a place where the agent is installed, and in no folder that a command
 * of this run or of an earlier one could have written. A script `claude` in a project is no Claude
 * Code, and gets neither its login nor its hosts.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/output.h"
#include "cli/preset/internal.h"
#include "cli/preset/preset.h"
#include "cli/run/run.h"
#include "jail/plan/plan.h"
#include "policy/match/glob.h"

static const char preset_none[] = "none";
/* The way back of a login by a code, which xdg-open inside puts in place of one to a port that is
 * not published (broker/client/opener.h). */
#define PRESET_BACK "SANDBOX_LOGIN_BACK"

static int preset_add(
	struct run *r, const struct run_preset *p, enum permission_list list, const char *text)
{
	struct run_presets *all = &r->presets;
	const struct run_preset_grant grant = { p->origin, list, text };

	return !text || ARENA_PUSH(r->call->arena, all->grants, all->n_grants, all->cap_grants,
				grant) < 0
		       ? error_no_memory(r->call->error)
		       : 0;
}

/* Choosing */

static bool preset_is_chosen(const struct run *r, int preset)
{
	for (size_t i = 0; i < r->presets.n; i++) {
		if (r->presets.items[i].preset == preset)
			return true;
	}
	return false;
}

static int preset_choose(struct run *r, int preset)
{
	struct run_presets *all = &r->presets;
	const struct run_preset p = { .preset = preset,
		.origin = arena_printf(r->call->arena, PRESET_ORIGIN "%s", preset_name(preset)) };

	if (preset_is_chosen(r, preset))
		return 0;
	return !p.origin || ARENA_PUSH(r->call->arena, all->items, all->n, all->cap, p) < 0
		       ? error_no_memory(r->call->error)
		       : 0;
}

/* NAME[,NAME]...; `none` keeps an agent's away. */
static int preset_choose_named(struct run *r, const char *text, bool *is_none)
{
	int ret = 0;

	while (ret == 0 && *text) {
		const size_t len = strcspn(text, ",");
		const char *name = arena_strndup(r->call->arena, text, len);
		int preset;

		if (!name)
			return error_no_memory(r->call->error);
		text += len + (text[len] == ',');
		if (strcmp(name, preset_none) == 0) {
			*is_none = true;
			continue;
		}
		preset = preset_find(name);
		ret = preset < 0 ? preset_unknown("--with", name, r->call->error)
				 : preset_choose(r, preset);
	}
	return ret;
}

/* The agent that the command is; only where nobody has said what it may do. */
static int preset_choose_agent(struct run *r)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const struct run_options *o = &r->options;
	char real[PATH_BYTES];
	int preset;

	if (!home || r->is_shell || r->call->n == 0 || o->policies.n || o->skill ||
		o->agent.is_given || o->profile)
		return 0;
	/* Most are no agents: whose folder it is in is asked of those that are. */
	if (!run_agents_find_real(r->call->words[0], real) || preset_of_program(real, home) < 0 ||
		!run_agents_find_own(r, r->call->words[0], real))
		return 0;
	preset = preset_of_program(real, home);
	return preset < 0 ? 0 : preset_choose(r, preset);
}

/* Texts */

/* $KEEP or $HOME at the start of a value, or behind a =, becomes the folder. NULL: no memory. */
static const char *preset_expand(struct run *r, const struct run_preset *p, const char *text)
{
	const struct {
		const char *name, *value;
	} known[] = { { "$KEEP", p->keep }, { "$HOME", r->load.variables.values[VARIABLE_HOME] } };

	for (size_t i = 0; i < 2; i++) {
		const char *at = strstr(text, known[i].name);

		if (at && known[i].value)
			return arena_printf(r->call->arena, "%.*s%s%s", (int)(at - text), text,
				known[i].value, at + strlen(known[i].name));
	}
	return text;
}

static int preset_add_env(struct run *r, const struct run_preset *p, const char *text)
{
	/* Without a folder of its own, the user's is used where it is by default. */
	if (!p->keep && strstr(text, "$KEEP"))
		return 0;
	return preset_add(r, p, LIST_ENV, preset_expand(r, p, text));
}

static int preset_add_plain(struct run *r, const struct run_preset *p, const char *text)
{
	return preset_add(r, p, LIST_FS_READ, text);
}

static int preset_add_host(struct run *r, const struct run_preset *p, const char *text)
{
	return r->presets.is_offline ? 0 : preset_add(r, p, LIST_NETWORK_ALLOW, text);
}

/* The user has said where the API is: that host joins. A name may lead to a private address. */
static int preset_add_url(struct run *r, const struct run_preset *p, const char *variable)
{
	const char *url = getenv(variable);
	const char *host = url ? preset_host_of(r->call->arena, url) : NULL;
	const bool is_name = host && host[0] != '[' && host[strspn(host, "0123456789.:")];

	if (!host || r->presets.is_offline)
		return 0;
	return preset_add(r, p, is_name ? LIST_NETWORK_PRIVATE : LIST_NETWORK_ALLOW, host);
}

static int preset_add_port(struct run *r, const struct run_preset *p, const char *text)
{
	return r->presets.is_offline ? 0 : preset_add(r, p, LIST_LISTEN, text);
}

/* Whether the words of a text, up to its end, are the first ones behind the program. */
static bool preset_is_command(const struct run *r, const char *text, const char *end)
{
	for (size_t i = 1; text < end; i++) {
		const size_t len = strcspn(text, " ");

		if (i >= r->call->n || strncmp(r->call->words[i], text, len) != 0 ||
			r->call->words[i][len])
			return false;
		text += len + 1;
	}
	return true;
}

/* WORD... PORT: the call-back of a login, for as long as it takes. */
static int preset_add_login(struct run *r, const struct run_preset *p, const char *text)
{
	const char *port = strrchr(text, ' ');

	return port && preset_is_command(r, text, port) ? preset_add_port(r, p, port + 1) : 0;
}

/* A person who sees what is opened, at a desktop where it is. */
static bool preset_has_browser(const struct run *r)
{
	const char *x11 = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return ((x11 && *x11) || (wayland && *wayland)) && !r->presets.is_offline &&
	       !r->options.json && !r->options.no_broker && isatty(STDIN_FILENO) &&
	       isatty(STDERR_FILENO);
}

/* Whether the way back is a page of the web, or a port of the sandbox that this run publishes. */
static bool preset_leads_back(const struct run *r, const char *back)
{
	const char *port = strncmp(back, "http://", 7) == 0 ? strchr(back + 7, ':') : NULL;
	const size_t len = port ? strcspn(port + 1, "/") : 0;

	for (size_t i = 0; port && i < r->presets.n_grants; i++) {
		const struct run_preset_grant *g = &r->presets.grants[i];

		if (g->list == LIST_LISTEN && strlen(g->text) == len &&
			memcmp(g->text, port + 1, len) == 0)
			return true;
	}
	return strncmp(back, "https://", 8) == 0;
}

/* PAGE CLIENT BACK: the page's domain joins those whose logins are opened (0148). */
static int preset_add_page(struct run *r, const struct run_preset *p, const char *text)
{
	struct run_presets *all = &r->presets;
	const char *back = strrchr(text, ' '), *host = strstr(text, "://");
	int ret = 0;

	if (!back || !host || !preset_has_browser(r) || !preset_leads_back(r, back + 1))
		return 0;
	host = arena_strndup(r->call->arena, host + 3, strcspn(host + 3, "/:"));
	if (!host || ARENA_PUSH(r->call->arena, all->pages, all->n_pages, all->cap_pages, host) < 0)
		return error_no_memory(r->call->error);
	if (all->n_pages > 1)
		return 0;
	if (strncmp(back + 1, "https://", 8) == 0)
		ret = preset_add(
			r, p, LIST_ENV, arena_printf(r->call->arena, PRESET_BACK "=%s", back + 1));
	return ret < 0 ? ret : preset_add(r, p, LIST_ENV, "BROWSER=" PLAN_BROKER_OPENER_PATH);
}

/*
 * WORD...: a command that only changes settings, of an agent that reads, changes and writes them
 * without a lock: of two at once, one would be lost. They take turns.
 */
static int preset_take_turn(struct run *r, const struct run_preset *p, const char *text)
{
	if (!p->keep || r->presets.is_in_turn || !preset_is_command(r, text, strchr(text, '\0')))
		return 0;
	r->presets.is_in_turn = true;
	return preset_lock_states(p->keep, r->call->error);
}

static int preset_add_offline(struct run *r, const struct run_preset *p, const char *text)
{
	return r->presets.is_offline ? preset_add_env(r, p, text) : 0;
}

/* Some agents start git without the user's settings: variables say who the author is. */
static int preset_add_identity(struct run *r, const struct run_preset *p, const char *text)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];
	struct profile_identity who;
	const struct {
		const char *name, *value;
	} rows[] = { { "GIT_AUTHOR_NAME", who.name }, { "GIT_AUTHOR_EMAIL", who.email },
		{ "GIT_COMMITTER_NAME", who.name }, { "GIT_COMMITTER_EMAIL", who.email } };
	int ret = home ? profile_git_identity(home, &who) : 0;

	(void)text;
	if (ret < 0)
		return error_no_memory(r->call->error);
	for (size_t i = 0; home && ret == 0 && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (getenv(rows[i].name))
			ret = preset_add(r, p, LIST_ENV, rows[i].name);
		else if (rows[i].value[0])
			ret = preset_add(r, p, LIST_ENV,
				arena_printf(r->call->arena, "%s=%s", rows[i].name, rows[i].value));
	}
	return ret;
}

static int preset_add_argument(struct run *r, const struct run_preset *p, const char *text)
{
	struct run_presets *all = &r->presets;

	(void)p;
	return ARENA_PUSH(r->call->arena, all->words, all->n_words, all->cap_words, text) < 0
		       ? error_no_memory(r->call->error)
		       : 0;
}

/* What is not there yet could not be granted: a folder, or a file of settings. */
static int preset_make_shared(const char *path, size_t home, bool is_folder)
{
	static const char empty[] = "{}\n";
	auto_fd fd = -1;

	if (is_folder) {
		const int ret = preset_make_folders(path, home);

		return ret < 0 ? ret : 0;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
	if (fd < 0)
		return errno == EEXIST ? 0 : -errno;
	return file_write_all(fd, empty, sizeof(empty) - 1);
}

/* The user's own, with the login in it, which the baseline denies to others. */
static int preset_add_shared(struct run *r, const struct run_preset *p, const char *text)
{
	struct run_presets *all = &r->presets;
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const size_t len = strlen(text);
	const bool is_folder = text[len - 1] == '/';
	const char *path = home ? arena_printf(r->call->arena, "%s%.*s", home,
					  (int)(len - 1 - is_folder), text + 1)
				: NULL;
	int ret;

	if (!r->options.shared_state || !home)
		return 0;
	if (!path ||
		ARENA_PUSH(r->call->arena, all->shared, all->n_shared, all->cap_shared, path) < 0)
		return error_no_memory(r->call->error);
	ret = preset_make_shared(path, strlen(home), is_folder);
	if (ret < 0)
		return error_set(
			r->call->error, ret, NULL, "--shared-state: %s: %s", path, strerror(-ret));
	if (!is_folder)
		run_claude_watch(r, path);
	ret = preset_add(r, p, LIST_FS_WRITE, path);
	return ret < 0 ? ret : preset_add(r, p, LIST_DANGEROUSLY_ALLOW, path);
}

/* The first of the variables that has a value; NULL: none has. */
static const char *preset_first_set(struct run *r, const char *variables)
{
	const char *value = NULL;

	while (*variables && !(value && *value)) {
		const size_t len = strcspn(variables, " ");
		const char *name = arena_strndup(r->call->arena, variables, len);

		value = name ? getenv(name) : NULL;
		variables += len + (variables[len] == ' ');
	}
	return value && *value ? value : NULL;
}

/* NAME HOST:PORT [VARIABLE]...: where a variable has another URL, that host takes the place. */
static int preset_add_secret(struct run *r, const struct run_preset *p, const char *text)
{
	struct run_presets *all = &r->presets;
	const size_t name = strcspn(text, " "), host = strcspn(text + name + 1, " ");
	const char *rest = text + name + 1 + host;
	const char *url = preset_first_set(r, rest + (*rest == ' '));
	const struct run_preset_secret one = {
		.name = arena_strndup(r->call->arena, text, name),
		.host = url ? preset_host_of(r->call->arena, url)
			    : arena_strndup(r->call->arena, text + name + 1, host),
	};

	(void)p;
	if (r->presets.is_offline || (url && !one.host))
		return 0;
	return !one.name || !one.host ||
			       ARENA_PUSH(r->call->arena, all->secrets, all->n_secrets,
				       all->cap_secrets, one) < 0
		       ? error_no_memory(r->call->error)
		       : 0;
}

static int preset_tell(struct run *r, const struct run_preset *p, const char *text)
{
	auto_output o = output_for(STDERR_FILENO);

	if (r->options.json)
		return 0;
	output_note(&o);
	buffer_printf(&o.text, "%s: %s\n", preset_name(p->preset), text);
	(void)output_write(&o, STDERR_FILENO, NULL);
	return 0;
}

/* The order of values: what the profile offline says comes before what is said otherwise. */
static const struct {
	enum preset_key key;
	int (*add)(struct run *r, const struct run_preset *p, const char *text);
} preset_steps[] = {
	{ PRESET_NOTE, preset_tell },
	{ PRESET_READ, preset_add_plain },
	{ PRESET_HOST, preset_add_host },
	{ PRESET_HOST_VARIABLE, preset_add_url },
	{ PRESET_LISTEN, preset_add_port },
	{ PRESET_LOGIN, preset_add_login },
	{ PRESET_PAGE, preset_add_page },
	{ PRESET_TURN, preset_take_turn },
	{ PRESET_OFFLINE, preset_add_offline },
	{ PRESET_ENV, preset_add_env },
	{ PRESET_IDENTITY, preset_add_identity },
	{ PRESET_ARGUMENT, preset_add_argument },
	{ PRESET_SHARED, preset_add_shared },
	{ PRESET_SECRET, preset_add_secret },
};

/* The folder */

/* Nothing is copied unasked: a login and settings are the user's to hand on. */
static int preset_seed_all(struct run *r, const struct run_preset *p)
{
	const char *home = r->load.variables.values[VARIABLE_HOME], *row;
	int ret = 0;

	for (size_t i = 0; ret >= 0 && (row = preset_text(p->preset, PRESET_SEED, i)); i++) {
		const char *to = strchr(row, ' ');
		const char *from =
			arena_printf(r->call->arena, "%s%.*s", home, (int)(to - row - 1), row + 1);

		ret = from ? preset_seed(p->keep, from, to + 1, r->call->error)
			   : error_no_memory(r->call->error);
	}
	return ret < 0 ? ret : 0;
}

/* Whether a row of the preset's is there to be copied. */
static bool preset_has_seed(const struct run *r, const struct run_preset *p)
{
	const char *home = r->load.variables.values[VARIABLE_HOME], *row;

	for (size_t i = 0; (row = preset_text(p->preset, PRESET_SEED, i)); i++) {
		const char *from = arena_printf(
			r->call->arena, "%s%.*s", home, (int)(strcspn(row, " ") - 1), row + 1);

		if (from && access(from, R_OK) == 0)
			return true;
	}
	return false;
}

/* Who sits at a terminal is asked, once: when the folder is made. Anything but a yes is a no. */
static bool preset_ask_seed(const struct run *r, const struct run_preset *p)
{
	auto_buffer question = { 0 };

	if (r->options.json || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO) ||
		!preset_has_seed(r, p))
		return false;
	buffer_printf(&question,
		"corral: %s: copy your settings and your login of it into the sandbox's own state? "
		"[y/N] ",
		preset_name(p->preset));
	return !question.failed && output_agrees(buffer_text(&question));
}

static void preset_tell_state(const struct run *r, const struct run_preset *p, bool is_seeded)
{
	auto_output o = output_for(STDERR_FILENO);

	if (r->options.json)
		return;
	output_note(&o);
	buffer_printf(&o.text, "%s: its settings, login and history are kept in ",
		preset_name(p->preset));
	output_foreign(&o, p->keep);
	buffer_adds(&o.text, is_seeded
				     ? ", which starts as a copy of yours\n"
				     : ", not where bare runs have theirs: remove that folder and "
				       "add --seed-state to start with a copy of yours, or use "
				       "--shared-state\n");
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* A pattern of the folder with all in it: writable, and not denied by the baseline. */
static int preset_add_keep(struct run *r, const struct run_preset *p)
{
	auto_buffer pattern = { 0 };
	const char *text;
	int ret;

	glob_print_literal(p->keep, strlen(p->keep), &pattern);
	buffer_adds(&pattern, "/**");
	text = pattern.failed ? NULL : arena_strdup(r->call->arena, buffer_text(&pattern));
	ret = preset_add(r, p, LIST_FS_WRITE, text);
	return ret < 0 ? ret : preset_add(r, p, LIST_DANGEROUSLY_ALLOW, text);
}

static int preset_prepare_keep(struct run *r, struct run_preset *p)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];
	char real[PATH_BYTES];
	bool is_new = false;
	int ret;

	if (preset_is_agent(p->preset) && r->options.shared_state)
		return 0;
	ret = preset_keep(p->preset, home, r->load.variables.values[VARIABLE_WORK_DIR], real,
		&is_new, r->call->error);
	if (ret < 0)
		return ret;
	p->keep = arena_strdup(r->call->arena, real);
	if (!p->keep)
		return error_no_memory(r->call->error);
	if (preset_is_agent(p->preset) && is_new) {
		const bool is_seeded = r->options.seed_state || preset_ask_seed(r, p);

		ret = is_seeded ? preset_seed_all(r, p) : 0;
		if (ret == 0)
			preset_tell_state(r, p, is_seeded);
	}
	return ret < 0 ? ret : preset_add_keep(r, p);
}

int preset_attach(struct run *r)
{
	const struct options_list *with = &r->options.with;
	const char *profile = r->options.profile;
	bool is_none = false;
	int ret = 0;

	r->presets.is_offline = profile && strcmp(profile, "offline") == 0;
	for (size_t i = 0; ret == 0 && i < with->n; i++)
		ret = preset_choose_named(r, with->items[i], &is_none);
	if (ret == 0 && !is_none)
		ret = preset_choose_agent(r);
	for (size_t i = 0; ret == 0 && i < r->presets.n; i++)
		ret = preset_prepare_keep(r, &r->presets.items[i]);
	for (size_t i = 0; ret == 0 && i < r->presets.n; i++) {
		const struct run_preset *p = &r->presets.items[i];

		for (size_t s = 0; s < sizeof(preset_steps) / sizeof(preset_steps[0]); s++) {
			const char *text;

			for (size_t k = 0;
				ret == 0 && (text = preset_text(p->preset, preset_steps[s].key, k));
				k++)
				ret = preset_steps[s].add(r, p, text);
		}
	}
	return ret;
}
