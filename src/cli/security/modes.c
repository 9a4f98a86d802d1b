/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owner and mode of what others must not write, or not even read: the daemon's sockets and token,
 * configuration with policies and profiles, the log. Who may write a folder above may put another
 * one in its place, so those count as well, unless they are sticky.
 *
 * What group and others may do is asked, not what they do: a group that has one member is no other.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/security/findings.h"
#include "host/account.h"

enum { MODES_ENTRIES_MAX = 1000, MODES_DEPTH_MAX = 4, MODES_WRITE = 022, MODES_ANY = 077 };

struct modes {
	struct security *s;
	uid_t owner; /* beside root */
	size_t entries;
};

static void modes_tell(struct modes *m, const char *path, enum security_severity severity,
	const char *what, const char *command)
{
	auto_buffer text = { 0 }, remedy = { 0 };

	buffer_add_visible(&text, path, strlen(path));
	buffer_printf(&text, " %s", what);
	buffer_printf(&remedy, "%s ", command);
	output_shell_word(&remedy, path);
	security_add(m->s, "file_mode", severity, path, buffer_text(&text), buffer_text(&remedy));
}

/* What the mode lets others do that it should not; 0: nothing. */
static mode_t modes_excess(const struct modes *m, const struct stat *st, mode_t forbidden)
{
	mode_t excess = st->st_mode & forbidden;

	if (excess & 070 && account_is_own_group("/etc/passwd", "/etc/group", st->st_gid, m->owner))
		excess &= 07;
	return excess;
}

static bool modes_check_owner(struct modes *m, const char *path, const struct stat *st)
{
	char name[ACCOUNT_NAME_BYTES], command[ACCOUNT_NAME_BYTES + 16];
	auto_buffer what = { 0 };

	if (st->st_uid == m->owner || st->st_uid == 0)
		return true;
	if (account_name("/etc/passwd", st->st_uid, name) < 0)
		return false;
	buffer_printf(&what, "belongs to %s, who can change it", name);
	if (account_name("/etc/passwd", m->owner, name) < 0)
		return false;
	(void)snprintf(command, sizeof(command), "chown %s", name);
	modes_tell(m, path, SECURITY_HIGH, buffer_text(&what), command);
	return false;
}

/* A file, socket or folder of our own. Links are followed: what they lead to counts. */
static void modes_check(struct modes *m, const char *path, mode_t forbidden)
{
	struct stat st;
	mode_t excess;

	if (stat(path, &st) < 0 || !modes_check_owner(m, path, &st))
		return;
	excess = modes_excess(m, &st, forbidden);
	if (excess)
		modes_tell(m, path, excess & MODES_WRITE ? SECURITY_HIGH : SECURITY_MEDIUM,
			excess & MODES_WRITE ? "can be written by other users"
					     : "can be read by other users",
			forbidden == MODES_WRITE ? "chmod go-w" : "chmod go-rwx");
}

/* All that is below a folder, as far as it is a reasonable one. */
static void modes_check_tree(struct modes *m, const char *folder, mode_t forbidden, size_t depth)
{
	DIR *dir = depth < MODES_DEPTH_MAX ? opendir(folder) : NULL;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char path[PATH_BYTES];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (++m->entries > MODES_ENTRIES_MAX) {
			m->s->is_cut = true;
			break;
		}
		if (snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
			(int)sizeof(path))
			continue;
		modes_check(m, path, forbidden);
		if (entry->d_type == DT_DIR)
			modes_check_tree(m, path, forbidden, depth + 1);
	}
	if (dir)
		(void)closedir(dir);
}

/* Folders above, up to the root. */
static void modes_check_above(struct modes *m, const char *path)
{
	char folder[PATH_BYTES];

	(void)snprintf(folder, sizeof(folder), "%s", path);
	while (strcmp(folder, "/") != 0) {
		char *slash = strrchr(folder, '/');
		struct stat st;

		if (!slash)
			return;
		slash[slash == folder] = '\0';
		if (stat(folder, &st) < 0 || !modes_check_owner(m, folder, &st))
			continue;
		if (!(st.st_mode & S_ISVTX) && modes_excess(m, &st, MODES_WRITE))
			modes_tell(m, folder, SECURITY_HIGH,
				"can be written by other users, who can replace what is below",
				"chmod go-w");
	}
}

/* A folder, what is in it, and what is above. */
static void modes_check_folder(struct modes *m, const char *folder, mode_t own, mode_t inside)
{
	struct stat st;

	if (!folder || stat(folder, &st) < 0)
		return;
	modes_check(m, folder, own);
	modes_check_tree(m, folder, inside, 0);
	modes_check_above(m, folder);
}

static void modes_check_log(struct modes *m)
{
	/* Who has the key signs other logs; who reads the log reads what was done, and so with
	 * what will be in it. */
	static const char *const secrets[] = { "audit.db", "audit.db.key", "missed" };

	if (!m->s->state)
		return;
	for (size_t i = 0; i < ROWS(secrets); i++) {
		char path[PATH_BYTES];

		if (snprintf(path, sizeof(path), "%s/%s", m->s->state, secrets[i]) <
			(int)sizeof(path))
			modes_check(m, path, MODES_ANY);
	}
}

void security_check_modes(struct security *s)
{
	struct modes m = { .s = s, .owner = s->is_system ? 0 : geteuid() };
	struct modes system = { .s = s, .owner = 0 };

	modes_check_log(&m);
	modes_check_folder(&m, s->runtime, MODES_ANY, MODES_ANY);
	modes_check_folder(&m, s->state, MODES_WRITE, MODES_WRITE);
	modes_check_folder(&m, s->config, MODES_WRITE, MODES_WRITE);
	if (!s->is_system)
		modes_check_folder(&system, "/etc/corral", MODES_WRITE, MODES_WRITE);
}
