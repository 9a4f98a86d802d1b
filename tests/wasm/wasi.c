/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call of WASI preview 1 that arguments, variables, folders, clocks, random numbers and
 * standard streams need, with its errors. /rw and /ro are the folders; /ro has `file` with "fixed".
 *
 * Without an argument it checks all and prints "all N calls", or a line for each that was
 * otherwise. `race COUNT`: opens /rw/swap/file so often, while it is changed outside, and prints
 * how often it read what.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wasi/api.h>

static unsigned calls, wrong;
static __wasi_fd_t rw, ro;

#define CALL(want, call) check(#call, (call), (want), __LINE__)
#define HOLDS(what) check(#what, (what) ? 0 : 1, 0, __LINE__)

static void check(const char *what, int got, int want, int line)
{
	calls++;
	if (got == want)
		return;
	wrong++;
	printf("%d: %s: %d, not %d\n", line, what, got, want);
}

/* The folder that was opened for us under this name. */
static __wasi_fd_t find(const char *name)
{
	for (__wasi_fd_t fd = 3; fd < 10; fd++) {
		__wasi_prestat_t p;
		uint8_t path[64] = { 0 };

		if (__wasi_fd_prestat_get(fd, &p) != 0)
			continue;
		HOLDS(p.tag == __WASI_PREOPENTYPE_DIR);
		CALL(__WASI_ERRNO_SUCCESS,
			__wasi_fd_prestat_dir_name(fd, path, p.u.dir.pr_name_len));
		if (strcmp((char *)path, name) == 0)
			return fd;
		CALL(__WASI_ERRNO_NAMETOOLONG, __wasi_fd_prestat_dir_name(fd, path, 1));
	}
	return 99;
}

static void check_process(char **argv)
{
	__wasi_size_t n = 0, bytes = 0;
	uint8_t text[256], *list[16];
	uint8_t random[2][32] = { { 0 } };

	CALL(0, __wasi_args_sizes_get(&n, &bytes));
	HOLDS(n >= 1 && bytes <= sizeof(text));
	CALL(0, __wasi_args_get(list, text));
	HOLDS(strcmp((char *)list[0], argv[0]) == 0);
	CALL(0, __wasi_environ_sizes_get(&n, &bytes));
	HOLDS(n == 1 && bytes == sizeof("GIVEN=1"));
	CALL(0, __wasi_environ_get(list, text));
	HOLDS(strcmp((char *)list[0], "GIVEN=1") == 0);
	CALL(0, __wasi_random_get(random[0], 32));
	CALL(0, __wasi_random_get(random[1], 32));
	HOLDS(memcmp(random[0], random[1], 32) != 0);
	CALL(0, __wasi_random_get(random[0], 0));
	CALL(0, __wasi_sched_yield());
}

static void check_clocks(void)
{
	__wasi_timestamp_t a = 0, b = 0, resolution = 0;
	__wasi_subscription_t s = { .userdata = 7,
		.u = { .tag = __WASI_EVENTTYPE_CLOCK,
			.u.clock = { .id = __WASI_CLOCKID_MONOTONIC, .timeout = 2000000 } } };
	__wasi_event_t event;
	__wasi_size_t n = 0;

	for (__wasi_clockid_t id = __WASI_CLOCKID_REALTIME; id <= __WASI_CLOCKID_MONOTONIC; id++) {
		CALL(0, __wasi_clock_res_get(id, &resolution));
		HOLDS(resolution > 0);
		CALL(0, __wasi_clock_time_get(id, 0, &a));
		CALL(0, __wasi_clock_time_get(id, 0, &b));
		HOLDS(a > 0 && b >= a);
	}
	CALL(__WASI_ERRNO_BADF, __wasi_clock_time_get(__WASI_CLOCKID_THREAD_CPUTIME_ID, 0, &a));
	CALL(0, __wasi_poll_oneoff(&s, &event, 1, &n));
	HOLDS(n == 1 && event.userdata == 7 && event.error == 0 &&
		event.type == __WASI_EVENTTYPE_CLOCK);
	CALL(0, __wasi_clock_time_get(__WASI_CLOCKID_MONOTONIC, 0, &a));
	HOLDS(a >= b + 2000000);
	CALL(__WASI_ERRNO_INVAL, __wasi_poll_oneoff(&s, &event, 0, &n));
}

static __wasi_errno_t open_at(__wasi_fd_t dir, const char *path, __wasi_oflags_t how,
	__wasi_rights_t rights, __wasi_fd_t *ret)
{
	return __wasi_path_open(dir, 0, path, how, rights, 0, 0, ret);
}

enum {
	READ = __WASI_RIGHTS_FD_READ | __WASI_RIGHTS_FD_SEEK | __WASI_RIGHTS_FD_TELL |
	       __WASI_RIGHTS_FD_FILESTAT_GET | __WASI_RIGHTS_FD_ADVISE | __WASI_RIGHTS_FD_READDIR,
	WRITE = READ | __WASI_RIGHTS_FD_WRITE | __WASI_RIGHTS_FD_SYNC | __WASI_RIGHTS_FD_DATASYNC |
		__WASI_RIGHTS_FD_ALLOCATE | __WASI_RIGHTS_FD_FILESTAT_SET_SIZE |
		__WASI_RIGHTS_FD_FILESTAT_SET_TIMES | __WASI_RIGHTS_FD_FDSTAT_SET_FLAGS,
};

static void check_file(void)
{
	__wasi_fd_t fd = 0, other = 0;
	__wasi_fdstat_t stat;
	__wasi_filestat_t file;
	__wasi_filesize_t at = 0;
	__wasi_size_t n = 0;
	uint8_t text[16] = { 0 };
	__wasi_ciovec_t out[2] = { { (const uint8_t *)"hello ", 6 },
		{ (const uint8_t *)"world", 5 } };
	__wasi_iovec_t in = { text, 5 };

	CALL(__WASI_ERRNO_NOENT, open_at(rw, "f", 0, READ, &fd));
	CALL(0, open_at(rw, "f", __WASI_OFLAGS_CREAT | __WASI_OFLAGS_EXCL, WRITE, &fd));
	CALL(__WASI_ERRNO_EXIST,
		open_at(rw, "f", __WASI_OFLAGS_CREAT | __WASI_OFLAGS_EXCL, WRITE, &other));
	CALL(__WASI_ERRNO_NOTDIR, open_at(rw, "f", __WASI_OFLAGS_DIRECTORY, READ, &other));
	CALL(0, __wasi_fd_write(fd, out, 2, &n));
	/* It may take less than all at a time. */
	HOLDS(n == 6 || n == 11);
	if (n == 6)
		CALL(0, __wasi_fd_write(fd, out + 1, 1, &n));
	CALL(0, __wasi_fd_tell(fd, &at));
	HOLDS(at == 11);
	CALL(0, __wasi_fd_seek(fd, -5, __WASI_WHENCE_END, &at));
	HOLDS(at == 6);
	CALL(__WASI_ERRNO_INVAL, __wasi_fd_seek(fd, -50, __WASI_WHENCE_CUR, &at));
	CALL(0, __wasi_fd_read(fd, &in, 1, &n));
	HOLDS(n == 5 && memcmp(text, "world", 5) == 0);
	CALL(0, __wasi_fd_read(fd, &in, 1, &n));
	HOLDS(n == 0);
	CALL(0, __wasi_fd_pread(fd, &in, 1, 0, &n));
	HOLDS(n == 5 && memcmp(text, "hello", 5) == 0);
	CALL(0, __wasi_fd_pwrite(fd, out + 1, 1, 0, &n));
	CALL(0, __wasi_fd_pread(fd, &in, 1, 0, &n));
	HOLDS(memcmp(text, "world", 5) == 0);
	CALL(0, __wasi_fd_sync(fd));
	CALL(0, __wasi_fd_datasync(fd));
	CALL(0, __wasi_fd_advise(fd, 0, 0, __WASI_ADVICE_SEQUENTIAL));
	CALL(__WASI_ERRNO_NOTSUP, __wasi_fd_allocate(fd, 0, 100));
	CALL(0, __wasi_fd_filestat_set_size(fd, 3));
	CALL(0, __wasi_fd_filestat_set_times(
			fd, 1000000000, 2000000000, __WASI_FSTFLAGS_ATIM | __WASI_FSTFLAGS_MTIM));
	CALL(__WASI_ERRNO_INVAL, __wasi_fd_filestat_set_times(fd, 0, 0,
					 __WASI_FSTFLAGS_ATIM | __WASI_FSTFLAGS_ATIM_NOW));
	CALL(0, __wasi_fd_filestat_get(fd, &file));
	HOLDS(file.size == 3 && file.mtim == 2000000000 &&
		file.filetype == __WASI_FILETYPE_REGULAR_FILE);
	CALL(0, __wasi_fd_fdstat_get(fd, &stat));
	HOLDS(stat.fs_filetype == __WASI_FILETYPE_REGULAR_FILE && stat.fs_flags == 0);
	CALL(0, __wasi_fd_fdstat_set_flags(fd, __WASI_FDFLAGS_APPEND));
	CALL(0, __wasi_fd_fdstat_get(fd, &stat));
	HOLDS(stat.fs_flags == __WASI_FDFLAGS_APPEND);
	CALL(0, __wasi_fd_write(fd, out, 1, &n));
	CALL(0, __wasi_fd_filestat_get(fd, &file));
	HOLDS(file.size == 9);
	CALL(0, open_at(rw, "f", 0, READ, &other));
	CALL(__WASI_ERRNO_BADF, __wasi_fd_write(other, out, 1, &n));
	CALL(0, __wasi_fd_renumber(fd, other));
	CALL(__WASI_ERRNO_BADF, __wasi_fd_write(fd, out, 1, &n));
	CALL(0, __wasi_fd_write(other, out, 1, &n));
	CALL(0, open_at(rw, "f", __WASI_OFLAGS_TRUNC, WRITE, &fd));
	CALL(0, __wasi_fd_filestat_get(other, &file));
	HOLDS(file.size == 0);
	CALL(0, __wasi_fd_close(fd));
	CALL(0, __wasi_fd_close(other));
	CALL(__WASI_ERRNO_BADF, __wasi_fd_close(other));
	CALL(__WASI_ERRNO_BADF, __wasi_fd_read(other, &in, 1, &n));
	CALL(__WASI_ERRNO_BADF, __wasi_fd_filestat_get(1000, &file));
}

static void check_paths(void)
{
	__wasi_filestat_t file;
	__wasi_size_t n = 0;
	__wasi_fd_t fd = 0;
	uint8_t text[512];

	CALL(0, __wasi_path_create_directory(rw, "d"));
	CALL(__WASI_ERRNO_EXIST, __wasi_path_create_directory(rw, "d"));
	CALL(__WASI_ERRNO_NOENT, __wasi_path_create_directory(rw, "x/y"));
	CALL(0, __wasi_path_rename(rw, "f", rw, "d/g"));
	CALL(__WASI_ERRNO_NOENT, __wasi_path_rename(rw, "f", rw, "h"));
	CALL(0, __wasi_path_link(rw, 0, "d/g", rw, "h"));
	CALL(0, __wasi_path_filestat_get(rw, 0, "h", &file));
	HOLDS(file.nlink == 2);
	CALL(0, __wasi_path_symlink("d/g", rw, "s"));
	CALL(__WASI_ERRNO_EXIST, __wasi_path_symlink("x", rw, "s"));
	CALL(0, __wasi_path_readlink(rw, "s", text, sizeof(text), &n));
	HOLDS(n == 3 && memcmp(text, "d/g", 3) == 0);
	CALL(__WASI_ERRNO_INVAL, __wasi_path_readlink(rw, "h", text, sizeof(text), &n));
	CALL(0, __wasi_path_filestat_get(rw, 0, "s", &file));
	HOLDS(file.filetype == __WASI_FILETYPE_SYMBOLIC_LINK);
	CALL(0, __wasi_path_filestat_get(rw, __WASI_LOOKUPFLAGS_SYMLINK_FOLLOW, "s", &file));
	HOLDS(file.filetype == __WASI_FILETYPE_REGULAR_FILE);
	CALL(0, __wasi_path_filestat_set_times(
			rw, 0, "h", 5, 6, __WASI_FSTFLAGS_ATIM | __WASI_FSTFLAGS_MTIM));
	CALL(__WASI_ERRNO_LOOP, open_at(rw, "s", 0, READ, &fd));
	CALL(0, open_at(rw, "d", __WASI_OFLAGS_DIRECTORY, READ, &fd));
	CALL(0, __wasi_fd_readdir(fd, text, sizeof(text), 0, &n));
	/* ".", ".." and "g", each behind its head. */
	HOLDS(n == 3 * sizeof(__wasi_dirent_t) + 4);
	CALL(0, __wasi_fd_close(fd));
	CALL(__WASI_ERRNO_NOTEMPTY, __wasi_path_remove_directory(rw, "d"));
	CALL(__WASI_ERRNO_NOTDIR, __wasi_path_remove_directory(rw, "h"));
	CALL(__WASI_ERRNO_ISDIR, __wasi_path_unlink_file(rw, "d"));
	CALL(0, __wasi_path_unlink_file(rw, "d/g"));
	CALL(__WASI_ERRNO_NOENT, __wasi_path_unlink_file(rw, "d/g"));
	CALL(0, __wasi_path_unlink_file(rw, "s"));
	CALL(0, __wasi_path_unlink_file(rw, "h"));
	CALL(0, __wasi_path_remove_directory(rw, "d"));
}

/* Out of a folder there is no way, and into one for reading none either. */
static void check_bounds(void)
{
	static const char *const out[] = { "..", "../secret", "x/../../secret", "/etc/passwd", "/",
		"./../secret" };
	__wasi_fd_t fd = 0;
	__wasi_filestat_t file;

	for (size_t i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
		calls++;
		if (open_at(rw, out[i], 0, READ, &fd) == 0 ||
			__wasi_path_filestat_get(rw, 1, out[i], &file) == 0 ||
			__wasi_path_link(rw, 0, out[i], rw, "stolen") == 0 ||
			__wasi_path_rename(rw, out[i], rw, "stolen") == 0) {
			wrong++;
			printf("%s was reached\n", out[i]);
		}
	}
	CALL(__WASI_ERRNO_PERM, open_at(rw, "../secret", 0, READ, &fd));
	CALL(__WASI_ERRNO_PERM, open_at(ro, "new", __WASI_OFLAGS_CREAT, WRITE, &fd));
	CALL(__WASI_ERRNO_PERM, __wasi_path_create_directory(ro, "new"));
	CALL(__WASI_ERRNO_PERM, __wasi_path_unlink_file(ro, "file"));
	CALL(__WASI_ERRNO_PERM, __wasi_path_rename(ro, "file", rw, "file"));
	CALL(__WASI_ERRNO_PERM, __wasi_path_symlink("x", ro, "link"));
	CALL(__WASI_ERRNO_PERM, __wasi_path_link(ro, 0, "file", ro, "link"));
	CALL(0, open_at(ro, "file", 0, READ, &fd));
	CALL(0, __wasi_fd_close(fd));
}

static void check_streams(void)
{
	__wasi_fdstat_t stat;
	__wasi_filesize_t at;
	__wasi_size_t n = 0;
	uint8_t text[16];
	__wasi_iovec_t in = { text, sizeof(text) };
	__wasi_ciovec_t out = { (const uint8_t *)"", 0 };

	for (__wasi_fd_t fd = 0; fd < 3; fd++) {
		CALL(0, __wasi_fd_fdstat_get(fd, &stat));
		CALL(__WASI_ERRNO_SPIPE, __wasi_fd_seek(fd, 0, __WASI_WHENCE_CUR, &at));
	}
	CALL(0, __wasi_fd_read(0, &in, 1, &n));
	HOLDS(n == 5 && memcmp(text, "typed", 5) == 0);
	CALL(0, __wasi_fd_read(0, &in, 1, &n));
	HOLDS(n == 0);
	CALL(0, __wasi_fd_write(1, &out, 1, &n));
	CALL(__WASI_ERRNO_BADF, __wasi_fd_write(0, &out, 1, &n));
	CALL(__WASI_ERRNO_BADF, __wasi_fd_read(1, &in, 1, &n));
	CALL(__WASI_ERRNO_NOTSOCK, __wasi_sock_shutdown(1, __WASI_SDFLAGS_RD));
	CALL(__WASI_ERRNO_BADF, __wasi_sock_shutdown(77, __WASI_SDFLAGS_RD));
}

/* So often, and on until both have been seen, for two minutes at most. */
static int race(long count)
{
	const time_t end = time(NULL) + 120;
	long own = 0, secret = 0, none = 0;

	for (long i = 0; i < count || ((!own || !none) && time(NULL) < end); i++) {
		char text[16] = "";
		int fd = open("/rw/swap/file", O_RDONLY);

		if (fd < 0 || read(fd, text, 6) < 3)
			none++;
		else if (strncmp(text, "own", 3) == 0)
			own++;
		else
			secret++;
		if (fd >= 0)
			(void)close(fd);
	}
	printf("own %s, other %s, secret %ld\n", own ? "some" : "none", none ? "some" : "none",
		secret);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "race") == 0)
		return race(strtol(argv[2], NULL, 10));
	rw = find("/rw");
	ro = find("/ro");
	check_process(argv);
	check_clocks();
	check_file();
	check_paths();
	check_bounds();
	check_streams();
	if (wrong == 0)
		printf("all %u calls\n", calls);
	__wasi_proc_exit(wrong ? 1 : 33);
}
