/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/guess.h"

#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "host/resolver.h"
#include "lib/process/denial.h"
#include "advice/shell/shell.h"

/* Enough to act on; a line of thousands of commands must not make a result of thousands of texts.
 */
enum { DENIALS_MAX = 16, ARENA_BYTES = 4 << 20 };

static bool guess_is_known(const struct corral_result *r, const char *target)
{
	for (size_t i = 0; i < r->n_denials; i++) {
		if (strcmp(r->denials[i]->target, target) == 0)
			return true;
	}
	return false;
}

/* The host's file for a command's name, or NULL: it has none, or it is only known at run time. */
static const char *guess_find_program(const struct shell_command *c, char found[PATH_BYTES])
{
	const char *name = c->n_words > 0 && !c->is_builtin ? c->words[0].text : "";

	if (!*name || c->words[0].dynamic)
		return NULL;
	if (name[0] == '/')
		return access(name, F_OK) == 0 ? name : NULL;
	return resolver_find(name, found) == 0 ? found : NULL;
}

static void guess_judge(
	const struct sandbox_setup *setup, const struct shell_command *c, struct corral_result *r)
{
	char found[PATH_BYTES];
	const struct request request = { .op = OPERATION_EXEC,
		.target = guess_find_program(c, found) };
	struct decision d;

	if (!request.target || guess_is_known(r, request.target))
		return;
	if (policy_decide(setup->policy, &request, &d) == 0 && d.verdict != VERDICT_ALLOW)
		(void)result_add_denial(r, denial_new(&request, &d, false));
}

void guess_denials(const struct sandbox_setup *setup, const char *line, struct corral_result *r)
{
	auto_arena a = { .budget = ARENA_BYTES };
	struct shell_script script;

	if (shell_parse(&script, &a, line, strlen(line), NULL) < 0)
		return;
	for (size_t i = 0; i < script.n_commands && r->n_denials < DENIALS_MAX; i++)
		guess_judge(setup, &script.commands[i], r);
}
