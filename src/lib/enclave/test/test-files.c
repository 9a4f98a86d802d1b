/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking through an enclave: reading, listing, what is there. Each case is somebody who wants what
 * was not granted: they get the refusal that is written there, and never a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/enclave/test/test-open.h"

/* "@/in" is granted, "@/also" as well; "@/out" is not. */
static int make_tree(void **state)
{
	static const struct {
		const char *path, *target;
	} links[] = {
		{ "@/in/plain", "file" },
		{ "@/in/absolute", "@/in/file" },
		{ "@/in/across", "../also/file" },
		{ "@/in/folder", "deep" },
		{ "@/in/chain", "chain2" },
		{ "@/in/chain2", "chain3" },
		{ "@/in/chain3", "deep/up" },
		{ "@/in/deep/up", "../file" },
		{ "@/in/out", "@/out/file" },
		{ "@/in/out-relative", "../out/file" },
		{ "@/in/out-missing", "@/out/missing" },
		{ "@/in/out-folder", "@/out" },
		{ "@/in/out-chain", "out-folder/back" },
		{ "@/out/back", "@/in/file" },
		{ "@/in/passwd", "../../../../../../../../../etc/passwd" },
		{ "@/in/late", "deep/../../out/file" },
		{ "@/in/circle", "circle2" },
		{ "@/in/circle2", "circle" },
		{ "@/in/root", "/" },
		{ "@/in/magic-root", "/proc/self/root" },
		{ "@/in/magic-cwd", "/proc/self/cwd" },
		{ "@/in/zero", "/dev/zero" },
		{ "@/in/dangling", "nothing" },
	};

	if (test_tree_make_in_memory(state) < 0)
		return -1;
	test_tree_folder("@/in");
	test_tree_folder("@/in/deep");
	test_tree_folder("@/also");
	test_tree_folder("@/out");
	test_tree_file("@/in/file", "fine");
	test_tree_file("@/in/deep/file", "deep");
	test_tree_file("@/also/file", "also");
	test_tree_file("@/out/file", "SECRET");
	for (size_t i = 0; i < ROWS(links); i++)
		test_tree_link(links[i].path, links[i].target);
	return 0;
}

static const char *const usual[] = { "read @/in/**", "read @/also/**", NULL };

static void test_read(void **state)
{
	struct corral_enclave *enclave = test_files_enclave(usual);
	struct corral_error *e = NULL;
	char *data = NULL;
	size_t len = 99;
	int fd = open(test_tree("@/in/bytes"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_int_equal(write(fd, "a\0b\xff", 4), 4);
	assert_int_equal(close(fd), 0);
	assert_int_equal(
		corral_enclave_fs_read(enclave, NULL, test_tree("@/in/bytes"), &data, &len, &e), 0);
	assert_int_equal(len, 4);
	assert_memory_equal(data, "a\0b\xff", 5);
	corral_free(data);
	test_tree_file("@/in/empty", "");
	assert_int_equal(
		corral_enclave_fs_read(enclave, NULL, test_tree("@/in/empty"), &data, &len, &e), 0);
	assert_int_equal(len, 0);
	assert_string_equal(data, "");
	corral_free(data);
	corral_enclave_free(enclave);
}

/* What is no name of a file is refused before anything is looked up. */
static void test_names(void **state)
{
	static char far[5000], wide[600];
	static const struct {
		const char *path;
		int code;
	} cases[] = {
		{ "", -EINVAL },
		{ "file", -EINVAL },
		{ "./file", -EINVAL },
		{ "@/in/../in/file", -EINVAL },
		{ "@/in/../../../../../../etc/passwd", -EINVAL },
		{ "@/in/deep/../../out/file", -EINVAL },
		{ "@/in/..", -EINVAL },
		{ "@/in/./file", -EINVAL },
		{ "@/in//file", -EINVAL },
		{ "@/in/file/", -EINVAL },
		{ "//etc/passwd", -EINVAL },
		{ far, -ENAMETOOLONG },
		{ wide, -ENAMETOOLONG },
		{ "@/in/none", -ENOENT },
		{ "@/in/file/x", -ENOTDIR },
		{ "@/in", -EISDIR },
		{ "@/in/\033[31m\nred", -ENOENT },
	};
	struct corral_enclave *enclave = test_files_enclave(usual);

	(void)state;
	memset(far, 'a', sizeof(far) - 1);
	far[0] = '/';
	(void)snprintf(wide, sizeof(wide), "@/in/%0300d", 0);
	for (size_t i = 0; i < ROWS(cases); i++) {
		int r = test_files_read(enclave, cases[i].path, NULL);

		if (r != cases[i].code)
			fail_msg("%s: %d, not %d", cases[i].path, r, cases[i].code);
		assert_null(strchr(test_files_message, '\033'));
	}
	assert_int_equal(corral_enclave_fs_read(enclave, NULL, NULL, NULL, NULL, NULL), -EINVAL);
	test_tree_file("@/in/\033[31m\nred", "odd");
	assert_int_equal(test_files_read(enclave, "@/in/\033[31m\nred", NULL), 0);
	corral_enclave_free(enclave);
}

static void test_links(void **state)
{
	static const struct {
		const char *path, *text; /* NULL: refused, with the code */
		int code;
	} cases[] = {
		{ "@/in/file", "fine", 0 },
		{ "@/in/plain", "fine", 0 },
		{ "@/in/absolute", "fine", 0 },
		{ "@/in/across", "also", 0 },
		{ "@/in/folder/file", "deep", 0 },
		{ "@/in/folder/up", "fine", 0 },
		{ "@/in/chain", "fine", 0 },
		{ "@/in/out", NULL, -EACCES },
		{ "@/in/out-relative", NULL, -EACCES },
		{ "@/in/out-folder/file", NULL, -EACCES },
		{ "@/in/out-folder/back", NULL, -EACCES }, /* in again, but by a name outside */
		{ "@/in/out-chain", NULL, -EACCES },
		{ "@/in/passwd", NULL, -EACCES },
		{ "@/in/late", NULL, -ELOOP },
		{ "@/in/circle", NULL, -ELOOP },
		{ "@/in/root/etc/passwd", NULL, -EACCES },
		{ "@/in/magic-root/etc/passwd", NULL, -EACCES },
		{ "@/in/magic-cwd/file", NULL, -EACCES },
		{ "@/in/zero", NULL, -EACCES },
		{ "@/in/dangling", NULL, -ENOENT },
		{ "@/out/back", NULL, -EACCES },
		{ "/etc/passwd", NULL, -EACCES },
	};
	struct corral_enclave *enclave = test_files_enclave(usual);

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		char text[64] = "";
		int r = test_files_read(enclave, cases[i].path, text);

		if (r != cases[i].code || (r == 0 && strcmp(text, cases[i].text) != 0))
			fail_msg("%s: %d \"%s\", not %d", cases[i].path, r, text, cases[i].code);
		if (r == -EACCES)
			assert_true(test_files_denied);
	}
	corral_enclave_free(enclave);
}

/* The log says where it was, and by which rule that is allowed. */
static void test_told(void **state)
{
	static const char *const lines[] = { "read @/in/*", "read @/also/*", NULL };
	struct corral_enclave *enclave = test_files_enclave(lines);
	char *log = NULL;

	(void)state;
	assert_int_equal(test_files_read(enclave, "@/in/across", NULL), 0);
	assert_int_equal(corral_enclave_get_audit_log(enclave, 1, &log, NULL), 0);
	assert_non_null(strstr(log, "allowed"));
	assert_non_null(strstr(log, test_tree("@/in/across")));
	assert_non_null(strstr(log, test_tree("@/also/*")));
	assert_non_null(strstr(log, test_tree("symbolic links resolve to @/also/file")));
	corral_free(log);
	assert_int_equal(test_files_read(enclave, "@/in/file", NULL), 0);
	assert_int_equal(corral_enclave_get_audit_log(enclave, 1, &log, NULL), 0);
	assert_null(strstr(log, "links lead"));
	corral_free(log);
	corral_enclave_free(enclave);
}

/* Whether something is there is no secret to be had: not by name, and not by a link to the name. */
static void test_nothing_told(void **state)
{
	static const char *const pairs[][2] = {
		{ "@/out/file", "@/out/miss" },
		{ "@/out", "@/gone" },
		{ "@/in/out-folder/file", "@/in/out-folder/miss" },
		{ "@/in/out-folder/file/x", "@/in/out-folder/miss/x" },
	};
	struct corral_enclave *enclave = test_files_enclave(usual);
	char names[256];

	(void)state;
	for (size_t i = 0; i < ROWS(pairs); i++) {
		for (size_t k = 0; k < 2; k++) {
			struct corral_file file = { .size = sizeof(file) };

			assert_int_equal(test_files_read(enclave, pairs[i][k], NULL), -EACCES);
			assert_int_equal(test_files_stat(enclave, pairs[i][k], &file), -EACCES);
			assert_int_equal(test_files_list(enclave, pairs[i][k], names), -EACCES);
			assert_int_equal(test_files_write(enclave, pairs[i][k], ""), -EACCES);
			assert_int_equal(test_files_delete(enclave, pairs[i][k]), -EACCES);
		}
	}
	assert_int_equal(test_files_read(enclave, "@/in/out", NULL), -EACCES);
	assert_int_equal(test_files_read(enclave, "@/in/out-missing", NULL), -EACCES);
	corral_enclave_free(enclave);
}

/* Even where /proc is granted, and the baseline lifted. */
static void test_proc(void **state)
{
	static const char *const all[] = { "read /proc/**", "danger /proc/**", "read @/in/**",
		NULL };
	struct corral_enclave *enclave = test_files_enclave(all);
	char path[64];

	(void)state;
	assert_int_equal(test_files_read(enclave, "/proc/self/root/etc/passwd", NULL), -ELOOP);
	assert_int_equal(test_files_read(enclave, "/proc/self/status", NULL), -ELOOP);
	assert_int_equal(test_files_read(enclave, "@/in/magic-root/etc/passwd", NULL), -ELOOP);
	assert_int_equal(test_files_read(enclave, "@/in/magic-cwd/file", NULL), -ELOOP);
	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)getpid());
	assert_int_equal(test_files_read(enclave, path, NULL), -ELOOP);
	assert_non_null(strstr(test_files_message, "/proc"));
	(void)snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)getpid());
	assert_int_equal(test_files_read(enclave, path, NULL), -ELOOP);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)getpid());
	assert_int_equal(test_files_read(enclave, path, NULL), 0);
	corral_enclave_free(enclave);
}

static void make_socket(const char *name)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", test_tree(name));
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(close(fd), 0);
}

/* Nobody writes to the FIFO: whoever opens it as a file would wait here for ever. */
/* Tokens of the daemon and of MCP servers lie there, and a log: no grant leads to them. */
static void test_own_folders(void **state)
{
	static const char *const variables[] = { "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
		"XDG_CACHE_HOME" };
	static const char *const lines[] = { "read @/in/**", "write @/in/**", NULL };

	(void)state;
	test_tree_folder("@/in/own");
	test_tree_folder("@/in/own/corral");
	test_tree_file("@/in/own/corral/token", "SECRET");
	test_tree_file("@/in/own/other", "other");
	test_tree_link("@/in/to-own", "own");
	for (size_t i = 0; i < ROWS(variables); i++) {
		const char *was = getenv(variables[i]);
		char *before = was ? strdup(was) : NULL;
		struct corral_enclave *enclave;

		assert_int_equal(setenv(variables[i], test_tree("@/in/to-own"), 1), 0);
		enclave = test_files_enclave(lines);
		assert_int_equal(test_files_read(enclave, "@/in/own/other", NULL), 0);
		assert_int_equal(test_files_read(enclave, "@/in/own/corral/token", NULL), -EACCES);
		assert_int_equal(
			test_files_read(enclave, "@/in/to-own/corral/token", NULL), -EACCES);
		assert_int_equal(test_files_write(enclave, "@/in/own/corral/new", "x"), -EACCES);
		assert_int_equal(test_files_delete(enclave, "@/in/own/corral/token"), -EACCES);
		corral_enclave_free(enclave);
		assert_int_equal(
			before ? setenv(variables[i], before, 1) : unsetenv(variables[i]), 0);
		free(before);
	}
	assert_true(test_tree_says("@/in/own/corral/token", "SECRET"));
}

static void test_kinds(void **state)
{
	static const char *const all[] = { "write @/in/**", "read /dev/**", NULL };
	static const char *const refused[] = { "@/in/fifo", "@/in/socket", "@/in/zero", "/dev/zero",
		"/dev/null", "/dev/tty" };
	struct corral_enclave *enclave = test_files_enclave(all);
	struct corral_file file = { .size = sizeof(file) };

	(void)state;
	assert_int_equal(mkfifo(test_tree("@/in/fifo"), 0600), 0);
	make_socket("@/in/socket");
	for (size_t i = 0; i < ROWS(refused); i++) {
		assert_int_equal(test_files_read(enclave, refused[i], NULL), -ELOOP);
		assert_non_null(strstr(test_files_message, "device"));
		assert_int_equal(test_files_stat(enclave, refused[i], &file), 0);
		assert_int_equal(file.kind, CORRAL_OTHER);
	}
	assert_int_equal(test_files_write(enclave, "@/in/fifo", "x"), -ELOOP);
	assert_int_equal(test_files_write(enclave, "@/in/socket", "x"), -ELOOP);
	/* Their names can go. */
	assert_int_equal(test_files_delete(enclave, "@/in/fifo"), 0);
	assert_int_equal(test_files_delete(enclave, "@/in/socket"), 0);
	corral_enclave_free(enclave);
}

/* Size */

enum { LIMIT = 1 << 16 };

static struct corral_enclave *limited(void)
{
	static const char *const all[] = { "read @/in/**", "read /proc/**", NULL };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;

	o.max_file_bytes = LIMIT;
	return test_files_enclave_of(all, &o);
}

static void test_size(void **state)
{
	static const struct {
		off_t bytes;
		int code;
	} cases[] = {
		{ LIMIT, 0 }, { LIMIT + 1, -EFBIG },
		{ (off_t)1 << 40, -EFBIG }, /* nearly all of it is a hole */
	};
	struct corral_enclave *enclave = limited();

	(void)state;
	test_tree_file("@/in/large", "");
	for (size_t i = 0; i < ROWS(cases); i++) {
		assert_int_equal(truncate(test_tree("@/in/large"), cases[i].bytes), 0);
		assert_int_equal(test_files_read(enclave, "@/in/large", NULL), cases[i].code);
	}
	assert_non_null(strstr(test_files_message, "limit of 65536"));
	assert_int_equal(unlink(test_tree("@/in/large")), 0);
	/* It says that it has 0 bytes, and has more than the limit. */
	assert_int_equal(test_files_read(enclave, "/proc/kallsyms", NULL), -EFBIG);
	assert_int_equal(test_files_read(enclave, "/proc/version", NULL), 0);
	corral_enclave_free(enclave);
}

static atomic_bool stop;

static void *grow(void *data)
{
	static const char block[4096];
	int fd = *(int *)data;

	while (!atomic_load(&stop)) {
		if (ftruncate(fd, 0) < 0)
			return NULL;
		for (int i = 0; i < 2 * LIMIT / (int)sizeof(block); i++)
			if (pwrite(fd, block, sizeof(block), i * (off_t)sizeof(block)) < 0)
				return NULL;
	}
	return data;
}

/* A file that grows and shrinks under the reader never gives more than the limit. */
static void test_growing(void **state)
{
	struct corral_enclave *enclave = limited();
	int fd = open(test_tree("@/in/grows"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	pthread_t thread;
	void *done;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, grow, &fd), 0);
	for (int i = 0; i < 2000; i++) {
		char *data = NULL;
		size_t len = 0;
		int r = corral_enclave_fs_read(
			enclave, NULL, test_tree("@/in/grows"), &data, &len, NULL);

		assert_true(r == 0 ? len <= LIMIT : r == -EFBIG);
		corral_free(data);
	}
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(thread, &done), 0);
	assert_non_null(done);
	assert_int_equal(close(fd), 0);
	corral_enclave_free(enclave);
}

/* Hard links: a second name of a denied file, in a granted folder. */
static void test_hard_links(void **state)
{
	static const char *const denies[] = { "read @/in/**", "deny @/in/deep/**", NULL };
	static const char *const none[] = { "read @/in/**", NULL };
	struct corral_enclave *enclave = test_files_enclave(denies);
	struct corral_file file = { .size = sizeof(file) };
	char text[64];

	(void)state;
	test_tree_hard_link("@/in/second", "@/in/deep/file");
	assert_int_equal(test_files_read(enclave, "@/in/deep/file", NULL), -EACCES);
	assert_int_equal(test_files_read(enclave, "@/in/second", NULL), -EMLINK);
	assert_non_null(strstr(test_files_message, "2 hard links"));
	assert_int_equal(test_files_stat(enclave, "@/in/second", &file), 0);
	assert_int_equal(test_files_read(enclave, "@/in/file", NULL), 0);
	corral_enclave_free(enclave);
	/* Nobody said that a file is denied: a store of packages is as good as any. */
	enclave = test_files_enclave(none);
	assert_int_equal(test_files_read(enclave, "@/in/second", text), 0);
	assert_string_equal(text, "deep");
	corral_enclave_free(enclave);
	assert_int_equal(unlink(test_tree("@/in/second")), 0);
}

/* Lists */

static void make_list(void)
{
	test_tree_folder("@/also/list");
	test_tree_file("@/also/list/b", "");
	test_tree_file("@/also/list/a", "12345");
	test_tree_file("@/also/list/.hidden", "");
	test_tree_file("@/also/list/key", "");
	test_tree_folder("@/also/list/folder");
	test_tree_link("@/also/list/link", "@/out/file");
	test_tree_link("@/in/list", "../also/list");
}

static void test_list(void **state)
{
	static const char *const denies[] = { "read @/in/**", "read @/also/**",
		"deny @/also/list/key", "deny @/in/list/b", NULL };
	struct corral_enclave *enclave = test_files_enclave(usual);
	char names[256];

	(void)state;
	make_list();
	assert_int_equal(test_files_list(enclave, "@/also/list", names), 6);
	assert_string_equal(names, ".hidden a b folder key link ");
	assert_int_equal(test_files_list(enclave, "@/in/list", names), 6);
	assert_int_equal(test_files_list(enclave, "@/also/list/folder", names), 0);
	assert_int_equal(test_files_list(enclave, "@/also/list/a", names), -ENOTDIR);
	assert_int_equal(test_files_list(enclave, "@/also/list/link", names), -EACCES);
	assert_int_equal(test_files_list(enclave, "@/in/out-folder", names), -EACCES);
	assert_int_equal(test_files_list(enclave, "@", names), -EACCES);
	corral_enclave_free(enclave);
	/* What may not be read is not there; by either name. */
	enclave = test_files_enclave(denies);
	assert_int_equal(test_files_list(enclave, "@/also/list", names), 4);
	assert_string_equal(names, ".hidden a folder link ");
	assert_int_equal(test_files_list(enclave, "@/in/list", names), 4);
	assert_string_equal(names, ".hidden a folder link ");
	corral_enclave_free(enclave);
}

struct seen {
	int n;
	struct corral_enclave *enclave;
};

/* The host may do with the enclave what it likes meanwhile. */
static int see(void *context, const struct corral_file *file)
{
	static const struct {
		const char *name;
		enum corral_file_kind kind;
	} kinds[] = { { ".hidden", CORRAL_FILE }, { "a", CORRAL_FILE }, { "b", CORRAL_FILE },
		{ "folder", CORRAL_FOLDER } };
	struct seen *seen = context;

	assert_string_equal(file->name, kinds[seen->n].name);
	assert_int_equal(file->kind, kinds[seen->n].kind);
	assert_int_equal(file->bytes, strcmp(file->name, "a") == 0  ? 5
				      : file->kind == CORRAL_FOLDER ? file->bytes
								    : 0);
	if (seen->n == 0)
		assert_int_equal(corral_enclave_grant(seen->enclave, test_files_token,
					 CORRAL_FS_READ, "/srv/x", NULL, NULL),
			0);
	return ++seen->n == (int)ROWS(kinds);
}

static void test_visit(void **state)
{
	struct seen seen = { .enclave = test_files_enclave(usual) };

	(void)state;
	assert_int_equal(corral_enclave_fs_list(
				 seen.enclave, NULL, test_tree("@/also/list"), see, &seen, NULL),
		4);
	assert_int_equal(seen.n, 4);
	assert_int_equal(corral_enclave_fs_list(
				 seen.enclave, NULL, test_tree("@/also/list"), NULL, NULL, NULL),
		6);
	corral_enclave_free(seen.enclave);
}

/* One name more than are listed. */
static void test_many(void **state)
{
	enum { MANY = (1 << 16) + 1 };
	struct corral_enclave *enclave = test_files_enclave(usual);
	char names[256], name[32];
	int folder;

	(void)state;
	test_tree_folder("@/also/many");
	folder = open(test_tree("@/also/many"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(mknodat(folder, name, S_IFREG | 0600, 0), 0);
	}
	assert_int_equal(test_files_list(enclave, "@/also/many", names), -EFBIG);
	assert_string_equal(names, "");
	assert_int_equal(unlinkat(folder, "7", 0), 0);
	assert_int_equal(test_files_list(enclave, "@/also/many", names), MANY - 1);
	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		(void)unlinkat(folder, name, 0);
	}
	assert_int_equal(close(folder), 0);
	corral_enclave_free(enclave);
}

static void test_stat(void **state)
{
	struct corral_enclave *enclave = test_files_enclave(usual);
	struct corral_file file = { .size = sizeof(file) };
	struct corral_file older = { .size = offsetof(struct corral_file, bytes), .bytes = 77 };

	(void)state;
	assert_int_equal(chmod(test_tree("@/in/file"), 0640), 0);
	assert_int_equal(test_files_stat(enclave, "@/in/chain", &file), 0);
	assert_string_equal(file.name, test_tree("@/in/file"));
	assert_int_equal(file.kind, CORRAL_FILE);
	assert_int_equal(file.bytes, 4);
	assert_int_equal(file.mode, 0640);
	assert_true(file.modified_ns > 1600000000LL * 1000000000);
	assert_int_equal(test_files_stat(enclave, "@/in", &file), 0);
	assert_int_equal(file.kind, CORRAL_FOLDER);
	assert_int_equal(test_files_stat(enclave, "@/in/out", &file), -EACCES);
	assert_int_equal(test_files_stat(enclave, "@/in/none", &file), -ENOENT);
	/* A host that was built before there was more to tell. */
	assert_int_equal(test_files_stat(enclave, "@/in/file", &older), 0);
	assert_int_equal(older.bytes, 77);
	assert_int_equal(
		corral_enclave_fs_stat(enclave, NULL, test_tree("@/in/file"), &file, NULL, NULL),
		0);
	assert_string_equal(file.name, "");
	corral_enclave_free(enclave);
}

/* A grant holds from the next call on, and so does taking it back. */
static void test_grant_and_revoke(void **state)
{
	static const char *const none[] = { NULL };
	struct corral_enclave *enclave = test_files_enclave(none);
	const char *pattern = test_tree("@/out/**");

	(void)state;
	assert_int_equal(test_files_read(enclave, "@/out/file", NULL), -EACCES);
	assert_int_equal(corral_enclave_grant(
				 enclave, test_files_token, CORRAL_FS_READ, pattern, NULL, NULL),
		0);
	assert_int_equal(test_files_read(enclave, "@/out/file", NULL), 0);
	assert_int_equal(corral_enclave_revoke(
				 enclave, test_files_token, CORRAL_FS_READ, pattern, NULL, NULL),
		0);
	assert_int_equal(test_files_read(enclave, "@/out/file", NULL), -EACCES);
	corral_enclave_free(enclave);
}

/* Asking */

struct asked {
	enum corral_verdict answer;
	int n;
	char object[4096];
};

static enum corral_verdict answer(
	void *context, const struct corral_question *question, struct corral_scope *scope)
{
	struct asked *asked = context;

	(void)scope;
	asked->n++;
	(void)snprintf(asked->object, sizeof(asked->object), "%s", question->scope.object);
	return asked->answer;
}

/* Somebody is asked about the path itself, before it is looked up. */
static void test_ask(void **state)
{
	static const char *const lines[] = { "ask @/out/**", "ask @/also/list/b", "read @/in/**",
		"read @/also/**", NULL };
	struct asked asked = { .answer = CORRAL_ALLOW };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave;
	char text[64], names[256];

	(void)state;
	o.ask = answer;
	o.context = &asked;
	enclave = test_files_enclave_of(lines, &o);
	assert_int_equal(test_files_read(enclave, "@/out/file", text), 0);
	assert_string_equal(text, "SECRET");
	assert_string_equal(asked.object, test_tree("@/out/file"));
	/* By a link that may be read: about where it leads. */
	assert_int_equal(test_files_read(enclave, "@/in/out", text), 0);
	assert_string_equal(asked.object, test_tree("@/out/file"));
	assert_int_equal(asked.n, 2);
	/* A link after what was agreed to is not followed. */
	assert_int_equal(test_files_read(enclave, "@/out/back", NULL), -EACCES);
	assert_non_null(strstr(test_files_message,
		"contains a symbolic link, but the approval is for that path itself"));
	assert_int_equal(asked.n, 3);
	/* A no does not tell whether it is there, nor does a question that waits. */
	asked.answer = CORRAL_DENY;
	assert_int_equal(test_files_read(enclave, "@/out/other", NULL), -EACCES);
	asked.answer = CORRAL_ASK;
	assert_int_equal(test_files_read(enclave, "@/out/third", NULL), -EINPROGRESS);
	assert_int_equal(test_files_list(enclave, "@/out", names), -EINPROGRESS);
	/* What has to be asked for is not in a list, and nobody is asked about it. */
	asked.n = 0;
	assert_int_equal(test_files_list(enclave, "@/also/list", names), 5);
	assert_string_equal(names, ".hidden a folder key link ");
	assert_int_equal(asked.n, 0);
	corral_enclave_free(enclave);
}

/* A kernel before 5.6, as far as one can see. */
static int read_without_openat2(struct corral_enclave *enclave)
{
	const struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ROWS(code), .filter = (void *)code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		return 1;
	if (test_files_read(enclave, "@/in/file", NULL) != -ENOSYS)
		return 2;
	return strstr(test_files_message, "openat2") ? 0 : 3;
}

static void test_old_kernel(void **state)
{
	struct corral_enclave *enclave = test_files_enclave(usual);
	pid_t pid = fork();
	int status;

	(void)state;
	assert_true(pid >= 0);
	if (pid == 0)
		_exit(read_without_openat2(enclave));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	corral_enclave_free(enclave);
}

struct names {
	char text[1024];
	size_t n;
};

static int add_name(void *context, const struct corral_file *file)
{
	struct names *names = context;
	size_t len = strlen(names->text);

	(void)snprintf(names->text + len, sizeof(names->text) - len, "%s%s ", file->name,
		file->kind == CORRAL_FOLDER ? "/" : "");
	names->n++;
	return 0;
}

static void check_list(struct corral_enclave *enclave, const char *path, int recursive,
	const char *pattern, const char *wanted)
{
	const struct corral_list_options o = { sizeof(o), pattern, recursive };
	struct names names = { "", 0 };
	long n = corral_enclave_fs_list_matching(
		enclave, NULL, test_tree(path), &o, add_name, &names, NULL);

	assert_string_equal(names.text, wanted);
	assert_int_equal(n, names.n);
}

/* Folders are entered, links are not, and what is denied is neither shown nor entered. */
static void test_list_of_a_tree(void **state)
{
	static const char *const lines[] = { "read @/tree/**", "deny @/tree/a/secret/**", NULL };
	struct corral_enclave *enclave = test_files_enclave(lines);

	(void)state;
	test_tree_folder("@/tree");
	test_tree_folder("@/tree/a");
	test_tree_folder("@/tree/a/secret");
	test_tree_folder("@/tree/b");
	test_tree_file("@/tree/a/one.c", "1");
	test_tree_file("@/tree/a/secret/two.c", "2");
	test_tree_file("@/tree/b/three.h", "3");
	test_tree_file("@/tree/four.c", "4");
	test_tree_link("@/tree/b/out", "@/out");
	test_tree_link("@/tree/loop", ".");
	check_list(enclave, "@/tree", 0, NULL, "a/ b/ four.c loop ");
	check_list(enclave, "@/tree", 1, NULL, "a/ a/one.c b/ b/out b/three.h four.c loop ");
	/* A name anywhere, or a path from the folder. */
	check_list(enclave, "@/tree", 1, "*.c", "a/one.c four.c ");
	check_list(enclave, "@/tree", 0, "*.c", "four.c ");
	check_list(enclave, "@/tree", 1, "*/*.{c,h}", "a/one.c b/three.h ");
	check_list(enclave, "@/tree", 1, "/four.c", "four.c ");
	check_list(enclave, "@/tree", 1, "a/**", "a/ a/one.c ");
	check_list(enclave, "@/tree", 1, "b/**/*.h", "b/three.h ");
	check_list(enclave, "@/tree", 1, "none", "");
	corral_enclave_free(enclave);
}

static void test_list_options(void **state)
{
	struct corral_enclave *enclave = test_files_enclave(usual);
	struct corral_list_options o = { .size = sizeof(o), .pattern = "[" };
	const char *path = test_tree("@/in");

	(void)state;
	assert_int_equal(corral_enclave_fs_list_matching(enclave, NULL, path, &o, NULL, NULL, NULL),
		-EINVAL);
	o = (struct corral_list_options){ 0 };
	assert_int_equal(corral_enclave_fs_list_matching(enclave, NULL, path, &o, NULL, NULL, NULL),
		-EINVAL);
	corral_enclave_free(enclave);
}

/* Size and time belong to what was read, not to what has the name a moment later. */
static void test_read_file(void **state)
{
	struct corral_enclave *enclave = test_files_enclave(usual);
	struct corral_file file = { .size = sizeof(file) };
	struct stat st;
	char *data = NULL;
	size_t len = 0;

	(void)state;
	assert_int_equal(stat(test_tree("@/in/file"), &st), 0);
	assert_int_equal(corral_enclave_fs_read_file(
				 enclave, NULL, test_tree("@/in/plain"), &file, &data, &len, NULL),
		0);
	assert_string_equal(data, "fine");
	assert_int_equal(file.bytes, 4);
	assert_int_equal(file.kind, CORRAL_FILE);
	assert_true(
		file.modified_ns == (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
	corral_free(data);
	corral_enclave_free(enclave);
}

/* A relative path is one from the caller's folder; its ".." is text, whatever is there. */
static void test_relative_paths(void **state)
{
	static const struct {
		const char *folder, *path;
		int code;
	} cases[] = {
		{ "@/in", "file", 0 },
		{ "@/in", "./deep/../file", 0 },
		{ "@/in/deep", "../file", 0 },
		{ "@", "in/file", 0 },
		{ "@/in", "@/also/file", 0 },
		/* deep/.. would lead elsewhere if `folder` were looked up first. */
		{ "@/in", "folder/../file", 0 },
		{ "@/in", "../out/file", -EACCES },
		{ "@/in", "../../../../../../../../etc/passwd", -EACCES },
		{ "@/in", "", -EINVAL },
		{ "in", "file", -EINVAL },
		{ NULL, "file", -EINVAL },
	};
	struct corral_enclave *enclave = test_files_enclave(usual);

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		const struct corral_by by = { .size = sizeof(by),
			.folder = cases[i].folder ? test_tree(cases[i].folder) : NULL };
		char *data = NULL;
		size_t len;

		if (corral_enclave_fs_read(enclave, &by, test_tree(cases[i].path), &data, &len,
			    NULL) != cases[i].code)
			fail_msg("%s from %s", cases[i].path, cases[i].folder);
		corral_free(data);
	}
	corral_enclave_free(enclave);
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Neither what works nor what is refused leaves a descriptor open. */
static void test_descriptors(void **state)
{
	static const char *const paths[] = { "@/in/file", "@/in/chain", "@/in/out", "@/in/circle",
		"@/in/late", "@/in/none", "@/in", "@/out/file", "@/in/out-folder/file",
		"@/in/zero" };
	static const char *const lines[] = { "write @/in/**", "deny @/in/none", NULL };
	struct corral_enclave *enclave = test_files_enclave(lines);
	int before = descriptors();
	char names[256];

	(void)state;
	for (size_t i = 0; i < ROWS(paths); i++) {
		struct corral_file file = { .size = sizeof(file) };

		(void)test_files_read(enclave, paths[i], NULL);
		(void)test_files_stat(enclave, paths[i], &file);
		(void)test_files_list(enclave, paths[i], names);
		(void)test_files_write(enclave, paths[i], "fine");
		if (i > 1)
			(void)test_files_delete(enclave, paths[i]);
	}
	assert_int_equal(descriptors(), before);
	corral_enclave_free(enclave);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_told),
		cmocka_unit_test(test_nothing_told),
		cmocka_unit_test(test_proc),
		cmocka_unit_test(test_own_folders),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_size),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_hard_links),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_visit),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_list_of_a_tree),
		cmocka_unit_test(test_list_options),
		cmocka_unit_test(test_read_file),
		cmocka_unit_test(test_relative_paths),
		cmocka_unit_test(test_stat),
		cmocka_unit_test(test_grant_and_revoke),
		cmocka_unit_test(test_ask),
		cmocka_unit_test(test_old_kernel),
		cmocka_unit_test(test_descriptors),
	};

	return cmocka_run_group_tests(tests, make_tree, test_tree_remove);
}
