// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that are not listed, where a list exists: the only program that may run is TOOLS/attempt
 * (this one). TOOLS/unlisted is a copy of it that is granted for reading, so what is tried is to
 * run it, or code of one's own, all the same. The program that should not run exits with RAN.
 *
 * Loading a library of one's own into a listed program is not tried: it is code of a listed
 * program.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

static const char *unlisted(void)
{
	return format("%s/unlisted", scene("tools"));
}

static int ran(int r)
{
	if (r == RAN) {
		note("it ran");
		return ESCAPED;
	}
	if (r < 0)
		note("%s", strerrorname_np(-r));
	else
		note("exit %d", r);
	return HELD;
}

static int try_exec(const char *path)
{
	char *argv[] = { (char *)path, format("--ran"), NULL };

	return ran(run_program(path, argv));
}

static int exec_unlisted(const struct attempt *a)
{
	(void)a;
	return try_exec(unlisted());
}

/* A program of the system: exit status 0 instead of RAN. */
static int exec_system(const struct attempt *a)
{
	char *argv[] = { (char *)a->arg, NULL };
	int r = run_program(a->arg, argv);

	return ran(r == 0 ? RAN : r);
}

static int exec_dotdot(const struct attempt *a)
{
	(void)a;
	return try_exec(format("%s/../tools/unlisted", scene("tools")));
}

static int exec_relative(const struct attempt *a)
{
	(void)a;
	if (chdir(scene("tools")) < 0)
		return verdict(-1);
	return try_exec("./unlisted");
}

static int exec_symlink(const struct attempt *a)
{
	if (symlink(unlisted(), work_file(a)) < 0)
		broken("symlink: %s", strerror(errno));
	return try_exec(work_file(a));
}

/* The link has the name of the listed program. */
static int exec_symlink_name(const struct attempt *a)
{
	if (mkdir(work_file(a), 0755) < 0 ||
		symlink(unlisted(), format("%s/attempt", work_file(a))) < 0)
		broken("symlink: %s", strerror(errno));
	return try_exec(format("%s/attempt", work_file(a)));
}

static int exec_link(const struct attempt *a)
{
	if (link(unlisted(), work_file(a)) < 0)
		return verdict(-1);
	return try_exec(work_file(a));
}

static int exec_proc_root(const struct attempt *a)
{
	(void)a;
	return try_exec(format("/proc/self/root%s", unlisted()));
}

static int exec_proc_fd(const struct attempt *a)
{
	int fd = open(scene("tools"), O_PATH | O_DIRECTORY);

	(void)a;
	return try_exec(format("/proc/self/fd/%d/unlisted", fd));
}

static int exec_copy(const struct attempt *a)
{
	copy_file("/proc/self/exe", work_file(a));
	return try_exec(work_file(a));
}

static int exec_copy_in(const struct attempt *a, const char *folder)
{
	const char *path = format("%s/corral-%s-%d", folder, a->name, getpid());
	int v, fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0755);

	if (fd < 0)
		return verdict(-1);
	close(fd);
	copy_file("/proc/self/exe", path);
	v = try_exec(path);
	unlink(path);
	return v;
}

static int exec_copy_folder(const struct attempt *a)
{
	return exec_copy_in(a, a->arg);
}

static int exec_copy_home(const struct attempt *a)
{
	const char *home = getenv("HOME");

	return home ? exec_copy_in(a, home) : HELD;
}

static int exec_path(const struct attempt *a)
{
	char *argv[] = { format("attempt"), format("--ran"), NULL };
	pid_t pid;
	int status, r;

	if (mkdir(work_file(a), 0755) < 0)
		broken("mkdir: %s", strerror(errno));
	copy_file("/proc/self/exe", format("%s/attempt", work_file(a)));
	setenv("PATH", work_file(a), 1);
	r = posix_spawnp(&pid, "attempt", NULL, NULL, argv, environ);
	if (r)
		return ran(-r);
	waitpid(pid, &status, 0);
	return ran(WIFEXITED(status) ? WEXITSTATUS(status) : 128);
}

static int exec_script(const struct attempt *a)
{
	make_file(work_file(a), "#!/bin/sh\nexit 42\n");
	return try_exec(work_file(a));
}

/* The interpreter is the listed program; the script is not. */
static int exec_script_listed(const struct attempt *a)
{
	make_file(work_file(a), format("#!%s/attempt --ran\n", scene("tools")));
	return try_exec(work_file(a));
}

static int exec_script_unlisted(const struct attempt *a)
{
	make_file(work_file(a), format("#!%s --ran\n", unlisted()));
	return try_exec(work_file(a));
}

static char *loader(void)
{
	static const char *const patterns[] = { "/lib/ld-linux-*.so.*", "/lib64/ld-linux-*.so.*",
		"/lib/ld-musl-*.so.*", "/usr/lib/ld-linux-*.so.*", "/lib/*/ld-linux-*.so.*" };
	static char path[256];
	glob_t g;

	for (size_t i = 0; i < sizeof(patterns) / sizeof(*patterns); i++)
		if (glob(patterns[i], 0, NULL, &g) == 0 && g.gl_pathc) {
			snprintf(path, sizeof(path), "%s", g.gl_pathv[0]);
			return path;
		}
	return NULL;
}

static int load(const char *program)
{
	char *argv[] = { loader(), (char *)program, format("--ran"), NULL };

	if (!argv[0]) {
		note("no loader to be seen");
		return HELD;
	}
	return ran(run_program(argv[0], argv));
}

static int exec_loader(const struct attempt *a)
{
	(void)a;
	return load(unlisted());
}

static int exec_loader_copy(const struct attempt *a)
{
	copy_file("/proc/self/exe", work_file(a));
	return load(work_file(a));
}

static int exec_loader_system(const struct attempt *a)
{
	char *argv[] = { loader(), format("/usr/bin/id"), NULL };
	int r = argv[0] ? run_program(argv[0], argv) : -ENOENT;

	(void)a;
	return ran(r == 0 ? RAN : r);
}

static int loader_copy(const struct attempt *a)
{
	char *argv[] = { work_file(a), (char *)unlisted(), format("--ran"), NULL };
	const char *from = loader();

	if (!from) {
		note("no loader to be seen");
		return HELD;
	}
	copy_file(from, argv[0]);
	return ran(run_program(argv[0], argv));
}

static int exec_fd(int fd)
{
	char *argv[] = { format("x"), format("--ran"), NULL };
	int status;
	pid_t pid;

	if (fd < 0)
		return verdict(-1);
	pid = fork();
	if (pid == 0) {
		syscall(SYS_execveat, fd, "", argv, environ, AT_EMPTY_PATH);
		_exit(errno == EACCES || errno == EPERM ? 126 : 127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		broken("fork: %s", strerror(errno));
	return ran(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

static int exec_fexecve(const struct attempt *a)
{
	(void)a;
	return exec_fd(open(unlisted(), O_RDONLY | O_CLOEXEC));
}

static int exec_opath(const struct attempt *a)
{
	(void)a;
	return exec_fd(open(unlisted(), O_PATH | O_CLOEXEC));
}

static int filled_memfd(unsigned flags)
{
	int fd = memfd_create("x", flags);

	if (fd >= 0)
		copy_to("/proc/self/exe", fd);
	return fd;
}

static int exec_memfd(const struct attempt *a)
{
	(void)a;
	/* Not closed on exec: the kernel wants to open the file for a script, and it costs nothing.
	 */
	return exec_fd(filled_memfd(0));
}

static int exec_memfd_flag(const struct attempt *a)
{
	int fd = filled_memfd(0x0010 /* MFD_EXEC */);

	(void)a;
	return fd < 0 && errno == EINVAL ? (note("no MFD_EXEC"), ABSENT) : exec_fd(fd);
}

static int exec_memfd_proc(const struct attempt *a)
{
	int fd = filled_memfd(0);

	(void)a;
	return fd < 0 ? verdict(-1) : try_exec(format("/proc/self/fd/%d", fd));
}

/* Made with MFD_NOEXEC_SEAL, chmod later: the seal forbids that. */
static int exec_memfd_chmod(const struct attempt *a)
{
	int fd = filled_memfd(0x0008 /* MFD_NOEXEC_SEAL */);

	(void)a;
	if (fd < 0 && errno == EINVAL)
		return ABSENT;
	if (fd < 0 || fchmod(fd, 0755) < 0)
		return verdict(-1);
	return exec_fd(fd);
}

static int exec_tmpfile(const struct attempt *a)
{
	int fd = open(".", O_TMPFILE | O_RDWR, 0755), again;

	(void)a;
	if (fd < 0)
		return errno == EOPNOTSUPP ? ABSENT : verdict(-1);
	copy_to("/proc/self/exe", fd);
	again = open(format("/proc/self/fd/%d", fd), O_RDONLY | O_CLOEXEC);
	close(fd); /* ETXTBSY as long as it is open for writing */
	return exec_fd(again);
}

static int replace_listed(const struct attempt *a)
{
	/* Not the listed program itself, which others still need: a listed one that is not used. */
	copy_file("/proc/self/exe", work_file(a));
	if (rename(work_file(a), format("%s/spare", scene("tools"))) < 0)
		return verdict(-1);
	return try_exec(format("%s/spare", scene("tools")));
}

static int write_listed(const struct attempt *a)
{
	(void)a;
	return verdict(open(format("%s/spare", scene("tools")), O_WRONLY));
}

static int bind_listed(const struct attempt *a)
{
	const char *spare = format("%s/spare", scene("tools"));
	int v;

	(void)a;
	if (mount(unlisted(), spare, NULL, MS_BIND, NULL) < 0)
		return verdict(-1);
	v = try_exec(spare);
	umount2(spare, MNT_DETACH);
	return v;
}

static int map_exec(const struct attempt *a)
{
	void *p;
	int fd;

	copy_file("/proc/self/exe", work_file(a));
	fd = open(work_file(a), O_RDONLY);
	p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return verdict(p == MAP_FAILED ? -1 : 0);
}

static const struct attempt table[] = {
	{ "exec-unlisted", "exec", "", "a program that is not listed runs", exec_unlisted, NULL },
	{ "exec-system", "exec", "", "a program of the system runs, since all can read it",
		exec_system, "/usr/bin/id" },
	{ "exec-shell", "exec", "", "a shell runs anything", exec_system, "/bin/true" },
	{ "exec-dotdot", "exec", "", "another spelling of the path is not compared", exec_dotdot,
		NULL },
	{ "exec-relative", "exec", "", "a relative path is not compared", exec_relative, NULL },
	{ "exec-symlink", "exec", "", "a link in the workspace leads to it", exec_symlink, NULL },
	{ "exec-symlink-name", "exec", "", "a link with the listed program's name leads to another",
		exec_symlink_name, NULL },
	{ "exec-link", "exec", "", "a hard link is another file", exec_link, NULL },
	{ "exec-proc-root", "exec", "", "/proc/self/root is another path to it", exec_proc_root,
		NULL },
	{ "exec-proc-fd", "exec", "", "/proc/self/fd is another path to it", exec_proc_fd, NULL },
	{ "exec-copy", "exec", "", "a copy in the workspace is executable", exec_copy, NULL },
	{ "exec-copy-tmp", "exec", "", "a copy in /tmp is executable", exec_copy_folder, "/tmp" },
	{ "exec-copy-shm", "exec", "", "a copy in /dev/shm is executable", exec_copy_folder,
		"/dev/shm" },
	{ "exec-copy-home", "exec", "", "a copy in HOME is executable", exec_copy_home, NULL },
	{ "exec-path", "exec", "", "PATH leads to a program of the listed name", exec_path, NULL },
	{ "exec-script", "exec", "", "a script runs by its shebang", exec_script, NULL },
	{ "exec-script-listed", "exec", "", "a script whose interpreter is listed runs",
		exec_script_listed, NULL },
	{ "exec-script-unlisted", "exec", "", "a shebang starts a program that is not listed",
		exec_script_unlisted, NULL },
	{ "exec-loader", "exec", "", "the loader runs a program that can only be read", exec_loader,
		NULL },
	{ "exec-loader-copy", "exec", "", "the loader runs a file of the workspace",
		exec_loader_copy, NULL },
	{ "exec-loader-system", "exec", "", "the loader runs a program of the system",
		exec_loader_system, NULL },
	{ "exec-own-loader", "exec", "", "a copy of the loader runs", loader_copy, NULL },
	{ "exec-fexecve", "exec", "", "a descriptor for reading can be executed", exec_fexecve,
		NULL },
	{ "exec-opath", "exec", "", "an O_PATH descriptor can be executed", exec_opath, NULL },
	{ "exec-memfd", "exec", "", "memory is a file that no path rule knows", exec_memfd, NULL },
	{ "exec-memfd-flag", "exec", "", "the same with MFD_EXEC", exec_memfd_flag, NULL },
	{ "exec-memfd-proc", "exec", "", "the same by /proc/self/fd", exec_memfd_proc, NULL },
	{ "exec-memfd-chmod", "exec", "kernel: the seal itself forbids it",
		"a memfd made not executable becomes so by fchmod", exec_memfd_chmod, NULL },
	{ "exec-tmpfile", "exec", "", "a file without a name has no path", exec_tmpfile, NULL },
	{ "exec-replace-listed", "exec", "", "a listed program is replaced by rename",
		replace_listed, NULL },
	{ "exec-write-listed", "exec", "", "a listed program is overwritten", write_listed, NULL },
	{ "exec-bind-listed", "exec", "SYS_ADMIN", "another program is mounted over a listed one",
		bind_listed, NULL },
	{ "exec-map", "exec", "", "code of the workspace is mapped executable", map_exec, NULL },
};
THEME(exec, "Programs that are not listed", table);
