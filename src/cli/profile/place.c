/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which folders the built-in profiles work in. They grant the working folder with all below it; in
 * a home that would be every key and every start-up file, so they do not do it there, and say what
 * to do instead. Both what the folder is called and what it really is are compared.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "cli/profile/profile.h"
#include "host/links.h"

static int profile_place_refuse(
	struct call *c, const char *profile, const char *folder, const char *why)
{
	(void)error_set(c->error, -EPERM, NULL, "the profile %s does not work in %s: %s", profile,
		folder, why);
	error_hint(c->error,
		"change to the folder of one project, name one with --work-dir DIR, or say with "
		"--policy FILE what may be used");
	return -EPERM;
}

/* A folder that is to be kept out of reach, and what to say if it is not. */
struct kept {
	const char *path, *is, *holds;
	bool is_ours; /* nothing inside of it is a place to work in either */
};

static const char *profile_place_judge(const char *folder, const struct kept *k, const char *place)
{
	if (strcmp(folder, place) == 0)
		return k->is;
	if (path_is_below(place, folder))
		return k->holds;
	return k->is_ours && path_is_below(folder, place) ? "it belongs to Corral's own state"
							  : NULL;
}

/* Why nobody should work in folder; NULL: no reason. real: the same without links. */
static const char *reason(const char *folder, const char *real, const struct kept *k)
{
	char other[PATH_BYTES];
	const char *why;

	if (!k->path)
		return NULL;
	why = profile_place_judge(folder, k, k->path);
	if (!why && links_follow(k->path, NULL, NULL, other) == 0)
		why = profile_place_judge(real, k, other);
	return why;
}

int profile_place_check(struct call *c, const char *profile, const struct load *l)
{
	const char *folder = l->variables.values[VARIABLE_WORK_DIR], *why = NULL;
	const struct kept kept[] = {
		{ l->variables.values[VARIABLE_HOME],
			"it is your home, with all your keys and settings",
			"it holds your home, with all your keys and settings", false },
		{ profile_config_folder(c), "it is Corral's own state",
			"it holds Corral's own state", true },
		{ profile_state_folder(c), "it is Corral's own state",
			"it holds Corral's own state", true },
	};
	char real[PATH_BYTES];
	int r = links_follow(folder, NULL, NULL, real);

	if (r < 0)
		return error_set(c->error, r, NULL, "%s: %s", folder, strerror(-r));
	if (strcmp(folder, "/") == 0 || strcmp(real, "/") == 0)
		why = "it holds the whole system";
	for (size_t i = 0; !why && i < ROWS(kept); i++)
		why = reason(folder, real, &kept[i]);
	return why ? profile_place_refuse(c, profile, folder, why) : 0;
}
