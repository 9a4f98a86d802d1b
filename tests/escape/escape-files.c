// SPDX-License-Identifier: Apache-2.0
/*
 * Files outside of every grant: to read them, to change them, to plant something beside them, by
 * every way to write their name. Inside they are to look absent.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "attempt.h"

static const char text[] = "changed\n";

/* -- reading -- */

static int read_path(const struct attempt *a)
{
	return canary_file(out_file(a));
}

static int read_dotdot(const struct attempt *a)
{
	return canary_file(format("../out/%s", a->name));
}

static int read_dotdot_deep(const struct attempt *a)
{
	return canary_file(format("/../../../../../../..%s/../out/%s", scene("ws"), a->name));
}

static int read_double_slash(const struct attempt *a)
{
	return canary_file(format("//proc/self/root//%s", out_file(a)));
}

static int read_cwd_link(const struct attempt *a)
{
	return canary_file(format("/proc/self/cwd/../out/%s", a->name));
}

static int read_symlink(const struct attempt *a)
{
	if (symlink(out_file(a), work_file(a)) < 0)
		broken("symlink: %s", strerror(errno));
	return canary_file(work_file(a));
}

static int read_symlink_relative(const struct attempt *a)
{
	if (symlink(format("../out/%s", a->name), work_file(a)) < 0)
		broken("symlink: %s", strerror(errno));
	return canary_file(work_file(a));
}

static int read_symlink_folder(const struct attempt *a)
{
	if (symlink(scene("out"), work_file(a)) < 0)
		broken("symlink: %s", strerror(errno));
	return canary_file(format("%s/%s", work_file(a), a->name));
}

static int read_hard_link(const struct attempt *a)
{
	int v = verdict(link(out_file(a), work_file(a)));

	return v == ESCAPED ? canary_file(work_file(a)) : v;
}

static int read_hard_link_follow(const struct attempt *a)
{
	int fd = open(out_file(a), O_PATH | O_CLOEXEC);
	int v = verdict(fd < 0 ? -1
			       : linkat(AT_FDCWD, format("/proc/self/fd/%d", fd), AT_FDCWD,
					 work_file(a), AT_SYMLINK_FOLLOW));

	return v == ESCAPED ? canary_file(work_file(a)) : v;
}

static int read_rename(const struct attempt *a)
{
	int v = verdict(rename(out_file(a), work_file(a)));

	return v == ESCAPED ? canary_file(work_file(a)) : v;
}

static int read_openat2(const struct attempt *a)
{
	struct open_how how = { .flags = O_RDONLY };

	return canary_fd((int)syscall(SYS_openat2, AT_FDCWD, out_file(a), &how, sizeof(how)));
}

static int read_dirfd(const struct attempt *a)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return canary_fd(openat(fd, format("../out/%s", a->name), O_RDONLY));
}

static int read_opath(const struct attempt *a)
{
	int up = open("..", O_PATH | O_CLOEXEC);
	int out = openat(up, "out", O_PATH | O_CLOEXEC);
	int file = openat(out, a->name, O_PATH | O_CLOEXEC);

	return canary_file(format("/proc/self/fd/%d", file));
}

static int read_chdir(const struct attempt *a)
{
	for (int i = 0; i < 64; i++)
		if (chdir("..") < 0)
			return verdict(-1);
	return canary_file(out_file(a) + 1);
}

static int read_fchdir_up(const struct attempt *a)
{
	int fd = open("..", O_RDONLY | O_DIRECTORY);

	if (fd < 0 || fchdir(fd) < 0)
		return verdict(-1);
	return canary_file(format("out/%s", a->name));
}

static int list_parent(const struct attempt *a)
{
	DIR *d = opendir("..");
	struct dirent *e;

	(void)a;
	if (!d)
		return verdict(-1);
	while ((e = readdir(d)))
		if (!strcmp(e->d_name, "out"))
			return verdict(0);
	note("nothing of the host in the parent folder");
	return HELD;
}

static int stat_outside(const struct attempt *a)
{
	struct stat st;

	return verdict(stat(out_file(a), &st));
}

/* Landlock has no say in stat(): here the root alone stands in the way. */
static int stat_above_root(const struct attempt *a)
{
	struct stat st;

	return verdict(stat(format("/..%s", out_file(a)), &st));
}

static int access_outside(const struct attempt *a)
{
	return verdict(access(out_file(a), F_OK));
}

static int readlink_outside(const struct attempt *a)
{
	char target[4096];

	return verdict(readlink(format("%s/link", scene("out")), target, sizeof(target)));
	(void)a;
}

static int inotify_outside(const struct attempt *a)
{
	int fd = inotify_init1(IN_CLOEXEC);

	if (fd < 0)
		broken("inotify: %s", strerror(errno));
	return verdict(inotify_add_watch(fd, scene("out"), IN_ALL_EVENTS));
	(void)a;
}

static int open_by_handle(const struct attempt *a)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = { .h.handle_bytes = 0 };
	const char *hex;
	int mount = open(".", O_RDONLY | O_DIRECTORY);

	(void)a;
	if (!scene_has("handle")) {
		note("the file system has no handles");
		return ABSENT;
	}
	hex = scene("handle");
	u.h.handle_type = (int)strtol(hex, NULL, 10);
	for (hex = strchr(hex, ':') + 1; hex[0] && hex[1]; hex += 2) {
		char byte[3] = { hex[0], hex[1], '\0' };

		u.h.f_handle[u.h.handle_bytes++] = (unsigned char)strtoul(byte, NULL, 16);
	}
	return canary_fd(open_by_handle_at(mount, &u.h, O_RDONLY));
}

/* -- changing -- */

static int write_fd(int fd)
{
	return claim(fd < 0 ? -1 : write(fd, text, sizeof(text) - 1));
}

static int write_path(const struct attempt *a)
{
	return write_fd(open(out_file(a), O_WRONLY | O_TRUNC));
}

static int write_dotdot(const struct attempt *a)
{
	return write_fd(open(format("../out/%s", a->name), O_WRONLY | O_APPEND));
}

static int write_symlink(const struct attempt *a)
{
	if (symlink(out_file(a), work_file(a)) < 0)
		broken("symlink: %s", strerror(errno));
	return write_fd(open(work_file(a), O_WRONLY | O_TRUNC));
}

static int write_dangling(const struct attempt *a)
{
	if (symlink(out_made(a), work_file(a)) < 0)
		broken("symlink: %s", strerror(errno));
	return write_fd(open(work_file(a), O_WRONLY | O_CREAT, 0644));
}

static int write_hard_link(const struct attempt *a)
{
	if (link(out_file(a), work_file(a)) < 0)
		return verdict(-1);
	return write_fd(open(work_file(a), O_WRONLY | O_TRUNC));
}

static int create_outside(const struct attempt *a)
{
	return write_fd(open(out_made(a), O_WRONLY | O_CREAT | O_EXCL, 0644));
}

static int truncate_outside(const struct attempt *a)
{
	return claim(truncate(out_file(a), 0));
}

static int unlink_outside(const struct attempt *a)
{
	return claim(unlink(out_file(a)));
}

static int mkdir_outside(const struct attempt *a)
{
	return claim(mkdir(out_made(a), 0755));
}

static int symlink_outside(const struct attempt *a)
{
	return claim(symlink("/", out_made(a)));
}

static int mkfifo_outside(const struct attempt *a)
{
	return claim(mkfifo(out_made(a), 0644));
}

static int link_outside(const struct attempt *a)
{
	make_file(work_file(a), text);
	return claim(link(work_file(a), out_made(a)));
}

static int rename_out(const struct attempt *a)
{
	make_file(work_file(a), text);
	return claim(rename(work_file(a), out_made(a)));
}

static int rename_over(const struct attempt *a)
{
	make_file(work_file(a), text);
	return claim(rename(work_file(a), format("../out/%s", a->name)));
}

static int rename_exchange(const struct attempt *a)
{
	make_file(work_file(a), text);
	return claim(renameat2(AT_FDCWD, work_file(a), AT_FDCWD, out_file(a), RENAME_EXCHANGE));
}

static int rename_workspace(const struct attempt *a)
{
	int v = verdict(rename(scene("ws"), format("%s.gone", scene("ws"))));

	(void)a;
	if (v == ESCAPED && rename(format("%s.gone", scene("ws")), scene("ws")) < 0)
		broken("cannot rename it back: %s", strerror(errno));
	return v;
}

static int chmod_outside(const struct attempt *a)
{
	return claim(chmod(out_file(a), 0777));
}

static int utimes_outside(const struct attempt *a)
{
	const struct timespec t[2] = { { .tv_sec = 1 }, { .tv_sec = 1 } };

	return claim(utimensat(AT_FDCWD, out_file(a), t, 0));
}

static int xattr_outside(const struct attempt *a)
{
	int v = claim(setxattr(out_file(a), "user.corral", "1", 1, 0));

	return v == HELD && errno == EOPNOTSUPP ? ABSENT : v;
}

static int fifo_outside(const struct attempt *a)
{
	int fd = open(format("%s/fifo", scene("out")), O_WRONLY | O_NONBLOCK);
	const char *line = format("%s\n", a->name);

	return claim(fd < 0 ? -1 : write(fd, line, strlen(line)));
}

/* -- the system, and people's homes -- */

static int system_write(const struct attempt *a)
{
	static const char *const files[] = { "/usr/bin/env", "/etc/hosts", "/etc/ld.so.cache",
		"/etc/passwd", "/etc/resolv.conf", "/usr/lib/os-release" };

	(void)a;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		int fd = open(files[i], O_WRONLY | O_CLOEXEC);

		if (fd >= 0) {
			note("%s is writable", files[i]);
			return ESCAPED;
		}
	}
	return verdict(-1);
}

/* O_TMPFILE makes a file without a name: it proves the right to create and leaves nothing. */
static int system_create(const struct attempt *a)
{
	static const char *const folders[] = { "/usr", "/usr/bin", "/etc", "/usr/lib", "/var",
		"/" };

	(void)a;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (open(folders[i], O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600) >= 0) {
			note("%s is writable", folders[i]);
			return ESCAPED;
		}
	return verdict(-1);
}

static int system_chmod(const struct attempt *a)
{
	struct stat st;

	(void)a;
	if (stat("/usr/bin/env", &st) < 0)
		return verdict(-1);
	return verdict(chmod("/usr/bin/env", st.st_mode & 07777));
}

static int shadow(const struct attempt *a)
{
	char data[4096];
	int fd = open("/etc/shadow", O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));

	(void)a;
	if (n < 0)
		return verdict(-1);
	note("%zd bytes", n);
	return memmem(data, (size_t)n, "root:", 5) ? ESCAPED : HELD;
}

static int home_read(const struct attempt *a)
{
	return canary_file(format("%s/%s", scene("home"), (const char *)a->arg));
}

static int home_variable(const struct attempt *a)
{
	const char *home = getenv("HOME");

	return home ? canary_file(format("%s/%s", home, (const char *)a->arg)) : HELD;
}

static int home_write(const struct attempt *a)
{
	const char *line = format("%s\n", a->name);
	int fd = open(format("%s/%s", scene("home"), (const char *)a->arg),
		O_WRONLY | O_APPEND | O_CREAT, 0600);

	return claim(fd < 0 ? -1 : write(fd, line, strlen(line)));
}

static int other_home(const struct attempt *a)
{
	return canary_file(format("%s/.ssh/id_test", scene("other-home")));
	(void)a;
}

/* Files that others run later: what starts there is no longer inside. */
static int deferred_write(const struct attempt *a)
{
	int fd = open((const char *)a->arg, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	return verdict(fd < 0 ? -1 : write(fd, "#!/bin/sh\n", 10));
}

/* In the workspace, where a link of the home leads. */
static int linked_read(const struct attempt *a)
{
	return canary_file(format("%s/%s", scene("ws"), (const char *)a->arg));
}

static int deferred_rename(const struct attempt *a)
{
	int v = verdict(rename(a->arg, work_file(a)));

	if (v == ESCAPED && rename(work_file(a), a->arg) < 0)
		broken("cannot rename it back: %s", strerror(errno));
	return v;
}

static int plant_setuid(const struct attempt *a)
{
	struct stat st;

	copy_file("/proc/self/exe", work_file(a));
	if (chmod(work_file(a), 06755) < 0 || stat(work_file(a), &st) < 0)
		return verdict(-1);
	note("mode %04o", st.st_mode & 07777);
	return st.st_mode & (S_ISUID | S_ISGID) ? ESCAPED : HELD;
}

static int plant_setuid_create(const struct attempt *a)
{
	struct stat st;
	int fd = open(work_file(a), O_WRONLY | O_CREAT | O_EXCL, 06755);

	if (fd < 0 || fstat(fd, &st) < 0)
		return verdict(-1);
	note("mode %04o", st.st_mode & 07777);
	return st.st_mode & (S_ISUID | S_ISGID) ? ESCAPED : HELD;
}

static const struct attempt table[] = {
	{ "read-path", "default", "", "the file's own name opens it", read_path, NULL },
	{ "read-dotdot", "default", "", "`..` leads out of the workspace", read_dotdot, NULL },
	{ "read-dotdot-deep", "default", "",
		"more `..` than there are folders lead to the real root", read_dotdot_deep, NULL },
	{ "read-proc-root", "default", "", "/proc/self/root is another name for the host's root",
		read_double_slash, NULL },
	{ "read-proc-cwd", "default", "", "`..` after /proc/self/cwd is not looked at",
		read_cwd_link, NULL },
	{ "read-symlink", "default", "", "a link made in the workspace is followed outside",
		read_symlink, NULL },
	{ "read-symlink-relative", "default", "", "a relative link climbs out of the workspace",
		read_symlink_relative, NULL },
	{ "read-symlink-folder", "default", "", "a link to the folder outside opens all of it",
		read_symlink_folder, NULL },
	{ "read-hard-link", "default", "", "a hard link brings the file into the workspace",
		read_hard_link, NULL },
	{ "read-hard-link-fd", "default", "", "a hard link of an O_PATH descriptor needs no right",
		read_hard_link_follow, NULL },
	{ "read-rename", "default", "", "renaming the file brings it into the workspace",
		read_rename, NULL },
	{ "read-openat2", "default", "", "the newer openat2 was forgotten", read_openat2, NULL },
	{ "read-dirfd", "default", "", "a folder's descriptor with `..` leads out", read_dirfd,
		NULL },
	{ "read-opath", "default", "", "O_PATH descriptors are free and can be reopened by /proc",
		read_opath, NULL },
	{ "read-chdir", "default", "", "chdir(..) often enough reaches the host's root", read_chdir,
		NULL },
	{ "read-fchdir", "default", "", "fchdir to the parent folder leads out", read_fchdir_up,
		NULL },
	{ "list-parent", "default", "", "the workspace's neighbours can be listed", list_parent,
		NULL },
	{ "stat-outside", "default", "", "at least size and times of a file can be seen",
		stat_outside, NULL },
	{ "stat-above-root", "default", "", "the old root lies over the new one, where `..` leads",
		stat_above_root, NULL },
	{ "access-outside", "default", "", "at least whether a file exists can be asked",
		access_outside, NULL },
	{ "readlink-outside", "default", "", "where a link outside leads can be read",
		readlink_outside, NULL },
	{ "inotify-outside", "default", "", "inotify tells what others do with their files",
		inotify_outside, NULL },
	{ "handle-open", "default", "DAC_READ_SEARCH",
		"a file handle of the same file system opens any file, path or not", open_by_handle,
		NULL },
	{ "write-path", "default", "", "the file's own name opens it for writing", write_path,
		NULL },
	{ "write-dotdot", "default", "", "`..` leads to a file that can be appended to",
		write_dotdot, NULL },
	{ "write-symlink", "default", "", "a link is followed for writing", write_symlink, NULL },
	{ "write-dangling", "default", "", "creating through a dangling link creates outside",
		write_dangling, NULL },
	{ "write-hard-link", "default", "", "a hard link in the workspace is writable",
		write_hard_link, NULL },
	{ "create-outside", "default", "", "a new file outside can be made", create_outside, NULL },
	{ "truncate-outside", "default", "", "truncate() needs no open and is forgotten",
		truncate_outside, NULL },
	{ "unlink-outside", "default", "", "the file can be removed", unlink_outside, NULL },
	{ "mkdir-outside", "default", "", "a folder outside can be made", mkdir_outside, NULL },
	{ "symlink-outside", "default", "", "a link can be planted outside", symlink_outside,
		NULL },
	{ "mkfifo-outside", "default", "", "a fifo can be planted outside", mkfifo_outside, NULL },
	{ "link-outside", "default", "", "a file of the workspace can be linked outside",
		link_outside, NULL },
	{ "rename-out", "default", "", "a file can be moved out of the workspace", rename_out,
		NULL },
	{ "rename-over", "default", "", "a file can be moved over one outside", rename_over, NULL },
	{ "rename-exchange", "default", "", "RENAME_EXCHANGE swaps a file in and one out",
		rename_exchange, NULL },
	{ "rename-workspace", "default", "",
		"the workspace itself can be moved away, and another put there", rename_workspace,
		NULL },
	{ "chmod-outside", "default", "", "the file can be opened to all", chmod_outside, NULL },
	{ "utimes-outside", "default", "", "the file's times can be forged", utimes_outside, NULL },
	{ "xattr-outside", "default", "", "attributes can be added to the file", xattr_outside,
		NULL },
	{ "fifo-outside", "default", "", "a fifo carries words to a process outside", fifo_outside,
		NULL },
	{ "system-write", "default", "DAC_OVERRIDE",
		"programs or settings of the system are writable", system_write, NULL },
	{ "system-create", "default", "DAC_OVERRIDE", "new files of the system can be made",
		system_create, NULL },
	{ "system-chmod", "default", "FOWNER", "modes of the system's programs can be set",
		system_chmod, NULL },
	{ "system-shadow", "default", "DAC_OVERRIDE", "root reads /etc/shadow", shadow, NULL },
	{ "home-ssh-key", "default", "", "the private key in ~/.ssh can be read", home_read,
		".ssh/id_test" },
	{ "home-credentials", "default", "", "a cloud's credentials in HOME can be read",
		home_variable, ".aws/credentials" },
	{ "home-write", "default", "", "a line in ~/.bashrc runs at the next login", home_write,
		".bashrc" },
	{ "home-profile-write", "default", "", "Corral's own profiles can be rewritten", home_write,
		".config/corral/profiles/workspace.yaml" },
	{ "home-cache-write", "default", "",
		"what Corral keeps of policies that it read can be rewritten", home_write,
		".local/state/corral/policy-cache/key" },
	{ "home-cache-read", "default", "",
		"what Corral keeps of policies that it read can be seen", home_read,
		".local/state/corral/policy-cache/entry" },
	{ "home-other", "default", "", "another person's home can be read", other_home, NULL },
	{ "home-linked-key", "default", "",
		"a key in ~/.ssh is a link into the workspace, where it can be read", linked_read,
		"linked/key" },
	{ "home-linked-folder", "default", "",
		"a folder of credentials in HOME is a link into the workspace", linked_read,
		"linked/azure/token" },
	{ "home-linked-startup", "default", "",
		"a start-up file in HOME is a link into the workspace, where it can be written",
		deferred_write, "linked/profile" },
	{ "home-linked-agent", "agent", "",
		"a key in ~/.ssh is a link to a folder that an agent may read", home_read,
		"sync/key" },
	{ "deferred-linked-hook", "default", "",
		"a git hook is a link to a script in the workspace, which can be written",
		deferred_write, "linked/hook.sh" },
	{ "deferred-linked-tasks", "default", "", "an editor's tasks are such a link, too",
		deferred_write, "linked/tasks.json" },
	{ "deferred-linked-folder", "default", "",
		"an agent's folder of skills is a link to a folder in the workspace",
		deferred_write, "linked/skill/SKILL.md" },
	{ "deferred-hard-link", "default", "",
		"a git hook has a second name in the workspace, which can be written",
		deferred_write, "linked/hard.sh" },
	{ "deferred-git-hook", "default", "", "a git hook in the workspace runs later, outside",
		deferred_write, ".git/hooks/pre-commit" },
	{ "deferred-git-config", "default", "",
		"git's configuration names programs that run later, outside", deferred_write,
		".git/config" },
	{ "deferred-envrc", "default", "", "direnv runs .envrc later, outside", deferred_write,
		".envrc" },
	{ "deferred-tasks", "default", "", "an editor runs the workspace's tasks later, outside",
		deferred_write, ".vscode/tasks.json" },
	{ "deferred-rename", "default", "", "a protected .git is moved away and made anew",
		deferred_rename, ".git" },
	{ "deferred-nested-hook", "default", "",
		"a git hook of a repository in the workspace runs later, outside", deferred_write,
		"lib/inner/.git/hooks/pre-commit" },
	{ "deferred-nested-config", "default", "", "its configuration, too", deferred_write,
		"lib/inner/.git/config" },
	{ "deferred-nested-rename", "default", "",
		"a folder with a repository in it is moved away and made anew", deferred_rename,
		"lib" },
	{ "deferred-bare-config", "default", "", "the configuration of a bare repository, too",
		deferred_write, "bare.git/config" },
	{ "deferred-hgrc", "default", "", "Mercurial's configuration runs later, outside",
		deferred_write, ".hg/hgrc" },
	{ "deferred-forge", "default", "", "a forge runs the workspace's jobs with its secrets",
		deferred_write, ".forgejo/workflows/ci.yml" },
	{ "deferred-agent", "default", "", "an agent starts the servers of its settings, outside",
		deferred_write, ".gemini/settings.json" },
	{ "plant-setuid", "default", "",
		"a setuid program left in the workspace lends its owner's rights", plant_setuid,
		NULL },
	{ "plant-setuid-create", "default", "", "the setuid bit can be set at creation",
		plant_setuid_create, NULL },
};
THEME(files, "Files outside", table);
