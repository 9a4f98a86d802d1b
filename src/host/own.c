/* SPDX-License-Identifier: Apache-2.0 */
#include "host/own.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/path.h"

static const struct {
	const char *variable, *usual; /* below the home; NULL: below /run/user, which is not ours */
} kinds[] = {
	{ "XDG_STATE_HOME", ".local/state" },
	{ "XDG_CACHE_HOME", ".cache" },
	{ "XDG_RUNTIME_DIR", NULL },
};
_Static_assert(2 * ROWS(kinds) == OWN_FOLDERS_MAX, "each has two places");
_Static_assert(ROWS(kinds) == OWN_VARIABLES, "each has a variable");

void own_variables(char *ret[OWN_VARIABLES + 1])
{
	size_t n = 0;

	for (char **v = environ; v && *v && n < OWN_VARIABLES; v++) {
		const size_t len = strcspn(*v, "=");

		for (size_t i = 0; i < ROWS(kinds); i++)
			if (strlen(kinds[i].variable) == len &&
				strncmp(*v, kinds[i].variable, len) == 0)
				ret[n++] = *v;
	}
	ret[n] = NULL;
}

static bool own_may_read(const struct policy *policy, const char *path)
{
	const struct request request = { .op = OPERATION_FS_READ, .target = path };

	return policy_allows(policy, &request);
}

/*
 * Makes a folder if the nearest one above it that is there can be seen by commands. With `all` also
 * the folders in between. path is changed meanwhile.
 */
static void own_make(const struct policy *policy, char *path, bool all)
{
	char *end = path + strlen(path), *slash;
	bool seen;

	while (access(path, F_OK) < 0 && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
	seen = own_may_read(policy, path);
	for (char *at = path + strlen(path); seen && at < end; at += strlen(at)) {
		*at = '/';
		if ((!all && at + strlen(at) < end) || (mkdir(path, 0700) < 0 && errno != EEXIST))
			seen = false;
	}
	for (char *at = path; at < end; at++)
		*at = *at ? *at : '/';
}

int own_folders(struct arena *a, const char *home, const struct policy *policy,
	const char *ret[OWN_FOLDERS_MAX], size_t *ret_n, struct error *e)
{
	size_t n = 0;

	for (size_t i = 0; i < ROWS(kinds); i++) {
		const char *base = secure_getenv(kinds[i].variable);
		const bool all = kinds[i].usual != NULL;
		char *places[2] = { NULL, NULL };
		char normal[PATH_BYTES];
		size_t len;

		if (base && path_normalize(base, strlen(base), normal, &len) == 0)
			places[0] = arena_printf(a, "%s/corral", normal[1] ? normal : "");
		else
			base = NULL;
		if (!all)
			places[1] = arena_printf(a, "/run/user/%u/corral", (unsigned)geteuid());
		else if (home && path_is_normal(home, strlen(home)) && home[1])
			places[1] = arena_printf(a, "%s/%s/corral", home, kinds[i].usual);
		else
			home = NULL;
		if ((base && !places[0]) || ((home || !all) && !places[1]))
			return error_no_memory(e);
		for (size_t k = 0; k < ROWS(places); k++) {
			if (!places[k])
				continue;
			/* Of /run/user nobody said that it is ours. */
			if (all || k == 0)
				own_make(policy, places[k], all);
			ret[n++] = places[k];
		}
	}
	*ret_n = n;
	return 0;
}
