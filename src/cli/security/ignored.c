/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that look like policies and are not read, by their names (cli/stored/place.c): their author
 * relies on a policy that is not in force, and no run starts.
 */
#include <string.h>

#include "cli/output.h"
#include "cli/security/findings.h"
#include "cli/stored/stored.h"

static void ignored_check_place(struct security *s, bool is_system)
{
	struct call quiet = *s->call;
	struct stored_files all = { 0 };
	struct stored_place p;
	struct error e = { 0 };

	quiet.error = &e;
	if (stored_open_place(&quiet, is_system, &p) < 0 ||
		stored_list_ignored(&quiet, &p, &all) < 0)
		return;
	for (size_t i = 0; i < all.n; i++) {
		const char *path = all.items[i].path;
		auto_buffer text = { 0 }, remedy = { 0 };

		buffer_adds(&text, "the policy ");
		buffer_add_visible(&text, path, strlen(path));
		buffer_printf(&text, " is not read, and stops every run: %s",
			stored_why_ignored(&p, &all.items[i]));
		buffer_adds(&remedy, "mv ");
		output_shell_word(&remedy, path);
		buffer_addc(&remedy, ' ');
		output_shell_word(&remedy, stored_name_ignored(&quiet, &p, &all.items[i]));
		security_add(s, "policy_ignored", SECURITY_MEDIUM, path, buffer_text(&text),
			buffer_text(&remedy));
	}
}

void security_check_ignored(struct security *s)
{
	if (!s->is_system)
		ignored_check_place(s, false);
	ignored_check_place(s, true);
}
