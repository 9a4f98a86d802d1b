/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which folders the built-in profiles work in. They grant the working folder with all below it; in
 * a home that would be every key and every start-up file, so they do not do it there, and say what
 * to do instead. Both what the folder is called and what it really is are compared.
 */
#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "cli/profile.h"
#include "jail/links.h"

static int refuse(struct call *c, const char *profile, const char *folder, const char *why)
{
	(void)error_set(c->error, -EPERM, NULL, "the profile %s does not work in %s: %s", profile,
		folder, why);
	error_hint(c->error,
		"change to the folder of one project, name one with --work-dir DIR, or say with "
		"--policy FILE what may be used");
	return -EPERM;
}

/* Why nobody should work in folder, given a folder that is to be kept out of it; NULL: no reason.
 */
static const char *reason(const char *folder, const char *kept, const char *is, const char *holds)
{
	char real[PATH_BYTES];

	if (!kept || links_follow(kept, NULL, NULL, real) < 0)
		return NULL;
	if (strcmp(folder, kept) == 0 || strcmp(folder, real) == 0)
		return is;
	return path_is_below(kept, folder) || path_is_below(real, folder) ? holds : NULL;
}

static const char *inside(const char *folder, const char *kept)
{
	char real[PATH_BYTES];

	if (!kept || links_follow(kept, NULL, NULL, real) < 0)
		return NULL;
	return path_is_below(folder, kept) || path_is_below(folder, real)
		       ? "it belongs to Corral's own state"
		       : NULL;
}

static const char *reason_of(struct call *c, const struct load *l, const char *folder)
{
	const char *home = l->variables.values[VARIABLE_HOME], *why;
	const char *const own[] = { profile_config_folder(c), profile_state_folder(c) };

	if (strcmp(folder, "/") == 0)
		return "it holds the whole system";
	why = reason(folder, home, "it is your home, with all your keys and settings",
		"it holds your home, with all your keys and settings");
	for (size_t i = 0; !why && i < sizeof(own) / sizeof(own[0]); i++) {
		why = reason(
			folder, own[i], "it is Corral's own state", "it holds Corral's own state");
		if (!why)
			why = inside(folder, own[i]);
	}
	return why;
}

int profile_place_check(struct call *c, const char *profile, const struct load *l)
{
	const char *folder = l->variables.values[VARIABLE_WORK_DIR], *why;
	char real[PATH_BYTES];
	int r = links_follow(folder, NULL, NULL, real);

	if (r < 0)
		return error_set(c->error, r, NULL, "%s: %s", folder, strerror(-r));
	why = reason_of(c, l, folder);
	if (!why)
		why = reason_of(c, l, real);
	return why ? refuse(c, profile, folder, why) : 0;
}
