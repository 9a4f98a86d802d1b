// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets in the caller's environment, and variables that change how programs run. The caller has
 * SECRET_TOKEN, CORRAL_SECRET, LD_LIBRARY_PATH, BASH_ENV and GIT_SSH_COMMAND set.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attempt.h"

static int variable(const struct attempt *a)
{
	const char *value = getenv(a->arg);

	note("%s", value ? "it is set" : "it is not set");
	return value ? ESCAPED : HELD;
}

static int all_variables(const struct attempt *a)
{
	(void)a;
	for (char **e = environ; *e; e++)
		if (has_canary(*e, strlen(*e)))
			return verdict(0);
	note("no canary among them");
	return HELD;
}

static int initial(const struct attempt *a)
{
	(void)a;
	return canary_file("/proc/self/environ");
}

/* What an earlier program left on the stack, above the environment and below. */
static int stack(const struct attempt *a)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long from = 0, to = 0;
	char line[512];

	(void)a;
	while (maps && fgets(line, sizeof(line), maps)) {
		char *end;

		if (!strstr(line, "[stack]"))
			continue;
		from = strtoul(line, &end, 16);
		to = strtoul(end + 1, NULL, 16);
		if (has_canary((const void *)from, to - from))
			return verdict(0);
	}
	note("%lu bytes of stack, no canary", to - from);
	return to ? HELD : BROKEN;
}

static const struct attempt table[] = {
	{ "env-secret", "default", "", "a token in the caller's environment is inherited", variable,
		"SECRET_TOKEN" },
	{ "env-all", "default", "", "some variable has a secret", all_variables, NULL },
	{ "env-initial", "default", "", "/proc/self/environ still has it", initial, NULL },
	{ "env-stack", "default", "", "the stack still has it", stack, NULL },
	{ "env-corral", "default", "", "Corral's own variables get in", variable, "CORRAL_SECRET" },
	{ "env-library-path", "default", "", "the loader takes libraries from the caller's folder",
		variable, "LD_LIBRARY_PATH" },
	{ "env-bash", "default", "", "BASH_ENV names a file that shells run", variable,
		"BASH_ENV" },
	{ "env-git", "default", "", "a variable names a program that git runs", variable,
		"GIT_SSH_COMMAND" },
	{ "env-agent", "default", "", "the way to the agent's socket is known", variable,
		"SSH_AUTH_SOCK" },
};
THEME(env, "Environment", table);
