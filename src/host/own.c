/* SPDX-License-Identifier: Apache-2.0 */
#include "host/own.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "host/links.h"

static const struct {
	const char *variable, *usual; /* below the home; NULL: below /run/user, which is not ours */
} kinds[] = {
	{ "XDG_STATE_HOME", ".local/state" },
	{ "XDG_CACHE_HOME", ".cache" },
	{ "XDG_RUNTIME_DIR", NULL },
};
_Static_assert(2 * ROWS(kinds) + 2 == OWN_FOLDERS_MAX, "each has two places, and two lead to one");

/* Its usual place is in the baseline. */
static const char own_configuration[] = "XDG_CONFIG_HOME";
_Static_assert(ROWS(kinds) + 1 == OWN_VARIABLES, "each has a variable");

static bool own_is_variable(const char *name, size_t len)
{
	bool is_one =
		strlen(own_configuration) == len && strncmp(name, own_configuration, len) == 0;

	for (size_t i = 0; !is_one && i < ROWS(kinds); i++)
		is_one = strlen(kinds[i].variable) == len &&
			 strncmp(name, kinds[i].variable, len) == 0;
	return is_one;
}

void own_variables(char *ret[OWN_VARIABLES + 1])
{
	size_t n = 0;

	for (char **v = environ; v && *v && n < OWN_VARIABLES; v++)
		if (own_is_variable(*v, strcspn(*v, "=")))
			ret[n++] = *v;
	ret[n] = NULL;
}

static bool own_may(const struct policy *policy, enum operation op, const char *path)
{
	const struct request request = { .op = op, .target = path };

	return policy_allows(policy, &request);
}

/*
 * Makes a folder if the nearest one above it that is there can be read, or written, by commands.
 * With `all` also the folders in between. path is changed meanwhile.
 */
static void own_make(const struct policy *policy, enum operation op, char *path, bool all)
{
	char *end = path + strlen(path), *slash;
	bool seen;

	while (access(path, F_OK) < 0 && (slash = strrchr(path, '/')) && slash != path)
		*slash = '\0';
	seen = own_may(policy, op, path);
	for (char *at = path + strlen(path); seen && at < end; at += strlen(at)) {
		*at = '/';
		if ((!all && at + strlen(at) < end) || (mkdir(path, 0700) < 0 && errno != EEXIST))
			seen = false;
	}
	for (char *at = path; at < end; at++)
		*at = *at ? *at : '/';
}

/* A command that makes it first would say which servers and programs stand behind its services. */
static int own_make_configuration(struct arena *a, const char *home, const struct policy *policy)
{
	const char *base = secure_getenv(own_configuration);
	char normal[PATH_BYTES], *path;
	size_t len;

	if (!base || path_normalize(base, strlen(base), normal, &len) < 0)
		return 0;
	path = arena_printf(a, "%s/corral", normal[1] ? normal : "");
	if (!path)
		return -ENOMEM;
	len = home ? strlen(home) : 0;
	if (home && strncmp(path, home, len) == 0 && strcmp(path + len, "/.config/corral") == 0)
		return 0;
	own_make(policy, OPERATION_FS_WRITE, path, true);
	return 0;
}

/* The folder of a daemon elsewhere, by its link in a state folder; NULL: there is none. */
static const char *own_find_daemon(struct arena *a, const char *state)
{
	char link[PATH_BYTES], target[PATH_BYTES];
	const char *name = "/corral";
	ssize_t n;

	if (snprintf(link, sizeof(link), "%s/" OWN_DAEMON, state) >= (int)sizeof(link))
		return NULL;
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= (ssize_t)strlen(name))
		return NULL;
	target[n] = '\0';
	if (!path_is_normal(target, (size_t)n) ||
		strcmp(target + n - (ssize_t)strlen(name), name) != 0)
		return NULL;
	return arena_strdup(a, target);
}

int own_folders(struct arena *a, const char *home, const struct policy *policy,
	const char *ret[OWN_FOLDERS_MAX], size_t *ret_n, struct error *e)
{
	size_t n = 0, n_states = 0;

	if (own_make_configuration(a, home, policy) < 0)
		return error_no_memory(e);
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
				own_make(policy, OPERATION_FS_READ, places[k], all);
			ret[n++] = places[k];
		}
		/* The first kind is state. */
		n_states = i == 0 ? n : n_states;
	}
	for (size_t i = 0; i < n_states; i++) {
		const char *daemon = own_find_daemon(a, ret[i]);

		if (daemon)
			ret[n++] = daemon;
	}
	*ret_n = n;
	return 0;
}

static bool own_overlaps(const char *one, const char *ours, bool for_writing)
{
	return path_is_below(one, ours) || (for_writing && path_is_below(ours, one));
}

/* The path is one without links, the variable's may have some. */
static bool own_is_at(const char *variable, const char *path, bool for_writing)
{
	const char *base = secure_getenv(variable);
	auto_buffer folder = { 0 };
	char normal[PATH_BYTES], real[PATH_BYTES];
	size_t len;

	if (!base || path_normalize(base, strlen(base), normal, &len) < 0)
		return false;
	buffer_printf(&folder, "%s/corral", normal[1] ? normal : "");
	/* Without memory to compare, it is. */
	return folder.failed || own_overlaps(path, buffer_text(&folder), for_writing) ||
	       (links_follow(buffer_text(&folder), NULL, NULL, real) == 0 &&
		       own_overlaps(path, real, for_writing));
}

bool own_has(const char *path, bool for_writing)
{
	bool found = for_writing && own_is_at(own_configuration, path, true);

	for (size_t i = 0; !found && i < ROWS(kinds); i++)
		found = own_is_at(kinds[i].variable, path, for_writing);
	return found;
}
