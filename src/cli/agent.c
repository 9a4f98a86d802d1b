/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent.h"

#include <unistd.h>

#include "base/array.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/profile/profile.h"
#include "daemon/config.h"

const char *const agent_mode_words[] = { "sandbox", "rx", "rwx", NULL };

int agent_take_mode(struct call *c, const struct options_row *row, const char *value)
{
	struct agent *a = row->target;
	const char *names[AGENT_MODE_RWX + 1];

	a->is_given = true;
	if (agent_mode_parse(value, &a->mode) == 0)
		return 0;
	for (int mode = AGENT_MODE_SANDBOX; mode <= AGENT_MODE_RWX; mode++)
		names[mode] = agent_mode_name((enum agent_mode)mode);
	return options_unknown_word(c, row, value, names, AGENT_MODE_RWX + 1);
}

int agent_take_dir(struct call *c, const struct options_row *row, const char *value)
{
	if (!*value)
		return options_misused(c, "--%s: the folder name is empty", row->is.name);
	return load_absolute(c, value, row->target);
}

int agent_take_extra(struct call *c, const struct options_row *row, const char *value)
{
	const char *dir = NULL;
	struct options_row single = *row;
	int r;

	single.target = &dir;
	r = agent_take_dir(c, &single, value);
	return r < 0 ? r : options_list(c, row, dir);
}

int agent_configure(struct agent *a, struct call *c)
{
	const char *folder = profile_config_folder(c);
	struct config config = config_default();
	int r;

	if (a->is_given || !a->data_dir)
		return 0;
	/* One that cannot be read may have named another mode. */
	r = folder ? config_find(&config, folder, c->error) : 0;
	if (r < 0)
		return r;
	a->is_given = true;
	return agent_mode_parse(config.sandbox_mode, &a->mode);
}

int agent_check(const struct agent *a, struct call *c)
{
	if (!a->is_given && a->extra.n)
		return options_misused(c, "--extra requires --data-dir or --mode");
	if (a->is_given && !a->data_dir && a->mode != AGENT_MODE_RWX)
		return options_misused(c, "--mode requires --data-dir DIR, the agent's own folder");
	if (a->data_dir && !agent_mode_is_printable(a->data_dir))
		return options_misused(c, "invalid value for --data-dir: the path contains control "
					  "characters or is not UTF-8");
	return 0;
}

int agent_permissions(const struct agent *a, struct call *c, struct permissions **ret)
{
	auto_permissions *p = permissions_new();
	int r = agent_check(a, c);

	if (r == 0 && !p)
		r = error_no_memory(c->error);
	if (r == 0)
		r = agent_mode_permissions(
			a->mode, a->data_dir, a->extra.items, a->extra.n, p, c->error);
	if (r < 0)
		return r;
	*ret = p;
	p = NULL;
	return 0;
}

/* `corral prompt` */

static int verb_prompt_run(struct call *c)
{
	struct agent a = { 0 };
	bool json = false;
	const struct options_row rows[] = {
		{ { "mode", SCHEMA_OTHER, true, .words = agent_mode_words,
			  .help = "sandbox, rx or rwx" },
			0, "MODE", .target = &a, .take = agent_take_mode },
		{ { "data-dir", SCHEMA_PATH, .help = "the folder that belongs to the agent" }, 0,
			"DIR", .target = &a.data_dir, .take = agent_take_dir },
		OPTIONS_JSON(&json),
	};
	struct json_tree t = { .arena = c->arena };
	auto_output o = { 0 };
	struct node *root;
	const char *prompt = NULL;
	int r = options_parse(c, rows, ROWS(rows));

	if (r == 0)
		r = agent_check(&a, c);
	if (r != 0)
		return r < 0 ? r : STATUS_YES;
	if (a.mode != AGENT_MODE_RWX) {
		prompt = agent_mode_prompt(a.mode, a.data_dir, c->arena);
		if (!prompt)
			return error_no_memory(c->error);
	}
	if (json) {
		root = tree_map(&t);
		tree_put_text(&t, root, "mode", agent_mode_name(a.mode));
		tree_put_text(&t, root, "data_dir", a.data_dir);
		tree_put_text(&t, root, "prompt", prompt);
		r = tree_print(&t, root, c->error);
	} else {
		/* Into a prompt, not onto a screen: as it is. */
		if (prompt)
			buffer_printf(&o.text, "%s\n", prompt);
		r = output_write(&o, STDOUT_FILENO, c->error);
	}
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_prompt = {
	.name = "prompt",
	.synopsis = "--mode MODE --data-dir DIR [OPTION]...",
	.summary = "print instructions for an agent that runs in a mode",
	.description =
		"Prints text for the system prompt of an agent that runs in one of the modes: "
		"where it may write, and that writes elsewhere fail. The text does not enforce "
		"anything. For mode rwx nothing is printed.",
	.examples = "corral prompt --mode sandbox --data-dir ~/.agent\n"
		    "corral prompt --mode rx --data-dir ~/.agent >> system-prompt.txt\n",
	.run = verb_prompt_run,
};
