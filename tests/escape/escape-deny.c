// SPDX-License-Identifier: Apache-2.0
/*
 * Files that are denied inside a folder that is granted for writing. They are hidden by a mount
 * over each, so the attempts are: to get the mount off, to reach the file around it, to move what
 * it stands on. `denied-dir` is a denied folder, `sub/denied.txt` a denied file in a granted one.
 */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

/* Every attempt has a denied file of its own. */
static char *denied(const struct attempt *a)
{
	return format("%s/denied/%s", scene("ws"), a->name);
}

static int deny_read(const struct attempt *a)
{
	return canary_file(denied(a));
}

static int deny_write(const struct attempt *a)
{
	int fd = open(denied(a), O_WRONLY | O_TRUNC);

	return claim(fd < 0 ? -1 : write(fd, "x", 1));
}

static int deny_relative(const struct attempt *a)
{
	return canary_file(format("denied/../denied/./%s", a->name));
}

static int deny_symlink(const struct attempt *a)
{
	if (symlink(denied(a), work_file(a)) < 0)
		broken("symlink: %s", strerror(errno));
	return canary_file(work_file(a));
}

static int deny_link(const struct attempt *a)
{
	if (link(denied(a), work_file(a)) < 0)
		return verdict(-1);
	return canary_file(work_file(a));
}

static int deny_rename(const struct attempt *a)
{
	if (rename(denied(a), work_file(a)) < 0)
		return verdict(-1);
	return canary_file(work_file(a));
}

static int deny_rename_parent(const struct attempt *a)
{
	const char *from = format("sub-%s", a->name), *to = format("moved-%s", a->name);

	if (rename(from, to) < 0)
		return verdict(-1);
	return canary_file(format("%s/denied.txt", to));
}

static int deny_exchange_parent(const struct attempt *a)
{
	const char *from = format("sub-%s", a->name), *to = work_file(a);

	if (mkdir(to, 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) < 0)
		return verdict(-1);
	return canary_file(format("%s/denied.txt", to));
}

static int deny_unlink(const struct attempt *a)
{
	return claim(unlink(denied(a)));
}

static int deny_rename_over(const struct attempt *a)
{
	make_file(work_file(a), "changed\n");
	return claim(rename(work_file(a), denied(a)));
}

static int deny_chmod(const struct attempt *a)
{
	return claim(chmod(denied(a), 0777));
}

static int deny_truncate(const struct attempt *a)
{
	return claim(truncate(denied(a), 0));
}

static int deny_stat(const struct attempt *a)
{
	struct stat st;

	if (stat(denied(a), &st) < 0)
		return verdict(-1);
	note("size %lld, mode %o", (long long)st.st_size, st.st_mode);
	return S_ISREG(st.st_mode) && st.st_size > 0 ? ESCAPED : HELD;
}

/* Bare there is no mount yet: the attempt puts one there itself, if it may. */
static int deny_umount(const struct attempt *a)
{
	mount("/dev/null", denied(a), NULL, MS_BIND, NULL);
	if (umount2(denied(a), 0) < 0)
		return verdict(-1);
	return canary_file(denied(a));
}

static int deny_umount_detach(const struct attempt *a)
{
	mount("/dev/null", denied(a), NULL, MS_BIND, NULL);
	if (umount2(denied(a), MNT_DETACH | UMOUNT_NOFOLLOW) < 0)
		return verdict(-1);
	return canary_file(denied(a));
}

/* A second mount of the folder, not recursive, comes without the masks. */
static int deny_bind(const struct attempt *a)
{
	if (mkdir(work_file(a), 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	if (mount(format("%s/denied", scene("ws")), work_file(a), NULL, MS_BIND, NULL) < 0)
		return verdict(-1);
	return canary_file(format("%s/%s", work_file(a), a->name));
}

static int deny_folder_list(const struct attempt *a)
{
	DIR *d = opendir("denied-dir");
	struct dirent *e;

	(void)a;
	if (!d)
		return verdict(-1);
	while ((e = readdir(d)))
		if (!strcmp(e->d_name, "secret.txt"))
			return verdict(0);
	note("it looks empty");
	return HELD;
}

static int deny_folder_read(const struct attempt *a)
{
	(void)a;
	return canary_file("denied-dir/secret.txt");
}

static int deny_folder_deep(const struct attempt *a)
{
	(void)a;
	return canary_file("denied-dir/deep/secret.txt");
}

static int deny_folder_create(const struct attempt *a)
{
	int fd = open(format("denied-dir/%s.made", a->name), O_WRONLY | O_CREAT, 0644);

	return claim(fd < 0 ? -1 : write(fd, "x", 1));
}

static int deny_folder_rename(const struct attempt *a)
{
	if (rename("denied-dir-2", work_file(a)) < 0)
		return verdict(-1);
	return canary_file(format("%s/secret.txt", work_file(a)));
}

/* A hard link that was there before: the runner makes it. Corral may refuse to run at all. */
static int deny_old_link(const struct attempt *a)
{
	(void)a;
	return canary_file("link-to-denied.txt");
}

/*
 * The host renames a new file over the denied one, again and again, as an editor does when it
 * saves; the mount that hid the old file comes off each time. The runner does it, from before this
 * starts until after it ends.
 */
static int deny_replaced(const struct attempt *a)
{
	int v = HELD;

	for (int i = 0; i < 20000 && v == HELD; i++)
		v = canary_file(denied(a));
	if (v == HELD)
		note("20000 looks, no canary");
	return v;
}

static int deny_replaced_mmap(const struct attempt *a)
{
	char data[256];

	for (int i = 0; i < 20000; i++) {
		int dir = open("denied", O_PATH | O_DIRECTORY);
		int path = openat(dir, a->name, O_PATH);
		int fd = open(format("/proc/self/fd/%d", path), O_RDONLY | O_NONBLOCK);
		ssize_t n = fd < 0 ? -1 : pread(fd, data, sizeof(data), 0);

		close(dir);
		close(path);
		close(fd);
		if (n > 0 && has_canary(data, (size_t)n))
			return verdict(0);
	}
	note("20000 looks, no canary");
	return HELD;
}

static const struct attempt table[] = {
	{ "deny-read", "deny", "",
		"the denied file lies in a granted folder and is readable with it", deny_read,
		NULL },
	{ "deny-write", "deny", "", "deny is taken for reading only", deny_write, NULL },
	{ "deny-relative", "deny", "", "another spelling of the path is not recognised",
		deny_relative, NULL },
	{ "deny-symlink", "deny", "", "a link to it has another name", deny_symlink, NULL },
	{ "deny-link", "deny", "", "a hard link to it has another name", deny_link, NULL },
	{ "deny-rename", "deny", "", "moved away, it has another name", deny_rename, NULL },
	{ "deny-rename-parent", "deny", "", "its folder moved away, it has another name",
		deny_rename_parent, NULL },
	{ "deny-exchange-parent", "deny", "",
		"its folder exchanged with another, the mask stays behind", deny_exchange_parent,
		NULL },
	{ "deny-unlink", "deny", "", "the denied file can be removed", deny_unlink, NULL },
	{ "deny-rename-over", "deny", "", "the denied file can be replaced", deny_rename_over,
		NULL },
	{ "deny-chmod", "deny", "", "the denied file can be opened to others", deny_chmod, NULL },
	{ "deny-truncate", "deny", "", "the denied file can be emptied", deny_truncate, NULL },
	{ "deny-stat", "deny", "", "size and times of the denied file can be seen", deny_stat,
		NULL },
	{ "deny-umount", "deny", "SYS_ADMIN", "the mask can be unmounted", deny_umount, NULL },
	{ "deny-umount-detach", "deny", "SYS_ADMIN", "the mask can be detached lazily",
		deny_umount_detach, NULL },
	{ "deny-bind", "deny", "SYS_ADMIN", "a second mount of the folder comes without masks",
		deny_bind, NULL },
	{ "deny-folder-list", "deny", "", "a denied folder can be listed", deny_folder_list, NULL },
	{ "deny-folder-read", "deny", "", "only the folder is denied, not what is in it",
		deny_folder_read, NULL },
	{ "deny-folder-deep", "deny", "", "only one level of the folder is denied",
		deny_folder_deep, NULL },
	{ "deny-folder-create", "deny", "", "something can be planted in a denied folder",
		deny_folder_create, NULL },
	{ "deny-folder-rename", "deny", "", "the denied folder can be moved away",
		deny_folder_rename, NULL },
	{ "deny-old-link", "link", "", "a hard link from before the start has another name",
		deny_old_link, NULL },
	{ "deny-replaced", "mask", "", "a file renamed over the denied one pulls the mask off",
		deny_replaced, NULL },
	{ "deny-replaced-path", "mask", "",
		"an O_PATH descriptor gets behind the mask in that moment", deny_replaced_mmap,
		NULL },
};
THEME(deny, "Denied files in a granted folder", table);
