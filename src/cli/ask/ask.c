/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask/ask.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/run/run.h"
#include "cli/run/stdio.h"

enum { ASK_LAYERS_MAX = 256 };

static int ask_refuse(struct run *r)
{
	const struct run_options *o = &r->options;
	const char *profile = o->profile;

	if (o->agent.is_given)
		return options_misused(r->call, "--ask-denied cannot be used with --mode: a mode "
						"confines where the command "
						"writes, and leaves it the host's network");
	if (profile && strcmp(profile, "offline") == 0)
		return options_misused(
			r->call, "--ask-denied cannot be used with the profile offline");
	if (o->ask_ms == 0)
		return options_misused(r->call,
			"--ask-denied and --ask 0s cannot be used together: no question waits");
	return 0;
}

int ask_begin(struct run *r)
{
	const struct permissions *leaves[ASK_LAYERS_MAX];
	int ret = r->options.ask_denied ? ask_refuse(r) : 0;

	if (ret < 0 || !r->options.ask_denied)
		return ret;
	for (size_t i = 0; i < r->n_base; i++) {
		const int n = permissions_layers(r->base[i], leaves, ROWS(leaves));

		if (n < 0)
			return error_set(r->call->error, n, NULL, "the policy has too many layers");
		/* They are this run's own; permissions_layers() only looks at them. */
		for (int k = 0; k < n; k++)
			if (leaves[k]->fallback == VERDICT_DENY)
				((struct permissions *)(uintptr_t)leaves[k])->fallback =
					VERDICT_ASK;
	}
	return 0;
}

bool ask_has_terminal(const struct run *r)
{
	return r->options.ask_denied && run_stdio_is_interactive(r);
}

void ask_note(const struct run *r, struct output *o)
{
	if (!r->options.ask_denied || ask_has_terminal(r) || holder_join_is_possible())
		return;
	output_note(o);
	buffer_adds(&o->text,
		"--ask-denied cannot ask about hosts: there is no terminal and no daemon, so they "
		"are denied; start a daemon with `corral dashboard`\n");
}
