/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/agent.h"
#include "cli/tree.h"
#include "cli/verb.h"

static int verb_prompt_print_text(const char *prompt, struct call *c)
{
	auto_output o = { 0 };

	/* Into a prompt, not onto a screen: as it is. */
	if (prompt)
		buffer_printf(&o.text, "%s\n", prompt);
	return output_write(&o, STDOUT_FILENO, c->error);
}

static int verb_prompt_print_tree(const struct agent *a, const char *prompt, struct call *c)
{
	struct tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);

	tree_put_text(&t, root, "mode", agent_mode_name(a->mode));
	tree_put_text(&t, root, "data_dir", a->data_dir);
	tree_put_text(&t, root, "prompt", prompt);
	return tree_print(&t, root, c->error);
}

static int verb_prompt_run(struct call *c)
{
	struct agent a = { 0 };
	bool json = false;
	const struct options_row rows[] = {
		{ "mode", 0, "MODE", "sandbox, rx or rwx", agent_take_mode, &a, OPTIONS_REQUIRED },
		{ "data-dir", 0, "DIR", "the folder that belongs to the agent", agent_take_dir,
			&a.data_dir, OPTIONS_OPTIONAL },
		OPTIONS_JSON(&json),
	};
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
	r = json ? verb_prompt_print_tree(&a, prompt, c) : verb_prompt_print_text(prompt, c);
	return r < 0 ? r : STATUS_YES;
}

const struct verb verb_prompt = {
	.name = "prompt",
	.synopsis = "--mode MODE --data-dir DIR [OPTION]...",
	.summary = "the text for the prompt of an agent that runs in a mode",
	.description =
		"Prints what an agent should be told that runs in one of the modes: where it may "
		"write, and that trying elsewhere is of no use. The text protects nothing by "
		"itself. In mode rwx there is nothing to say, and nothing is printed.",
	.examples = "corral prompt --mode sandbox --data-dir ~/.agent\n"
		    "corral prompt --mode rx --data-dir ~/.agent >> system-prompt.txt\n",
	.run = verb_prompt_run,
};
