/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An enclave whose root is the tree of another mount namespace, and one whose root is a plain
 * folder that an attacker fills. Whatever a path says, nothing outside is reached; what lies on a
 * private place needs no grant, and nothing else does without.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "lib/enclave/test/test-jail.h"
#include "lib/enclave/test/test-open.h"

static const char *const places[] = { "/tmp", "/home" };
static const struct corral_variable variables[] = { { "HOME", "/home" } };

static struct test_jail jail;
static bool has_jail;

static int make_all(void **state)
{
	if (test_tree_make_in_memory(state) < 0)
		return -1;
	test_tree_folder("@/host");
	test_tree_folder("@/host/folder");
	test_tree_folder("@/out");
	test_tree_file("@/host/file", "host");
	test_tree_file("@/out/key", "SECRET");
	test_tree_link("@/host/abs", "/etc/passwd");
	test_tree_link("@/host/up", "../../../../../../../../etc/passwd");
	test_tree_link("@/host/late-up", "folder/../../etc/passwd");
	test_tree_link("@/host/magic", "/proc/self/root/etc/passwd");
	has_jail = test_jail_make(&jail) == 0;
	return 0;
}

static int remove_all(void **state)
{
	if (has_jail)
		test_jail_remove(&jail);
	return test_tree_remove(state);
}

static struct corral_enclave *in_jail(const char *const *lines)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;

	if (!has_jail)
		skip();
	o.root_fd = &jail.root;
	o.private_places = places;
	o.n_private_places = ROWS(places);
	o.variables = variables;
	o.n_variables = ROWS(variables);
	return test_files_enclave_of(lines, &o);
}

static void assert_reads(struct corral_enclave *enclave, const char *path, const char *text)
{
	char found[64] = "";
	int r = test_files_read(enclave, path, found);

	if (r < 0 || strcmp(found, text) != 0)
		fail_msg("%s: %d, \"%s\" and not \"%s\"; %s", path, r, found, text,
			test_files_message);
}

static void assert_refused(struct corral_enclave *enclave, const char *path, int code)
{
	int r = test_files_read(enclave, path, NULL);

	if (r != code)
		fail_msg("%s: %d and not %d: %s", path, r, code, test_files_message);
}

static void test_names_are_those_inside(void **state)
{
	static const char *const lines[] = { "read /etc/passwd", "write /w/**", "read /abs",
		"read /up", "read /magic", "read /ro/**", "read /", NULL };
	struct corral_enclave *enclave = in_jail(lines);
	struct corral_file file = { .size = sizeof(file) };
	char *log = NULL;

	(void)state;
	assert_reads(enclave, "/etc/passwd", "inside");
	assert_reads(enclave, "/abs", "inside");
	assert_reads(enclave, "/up", "inside");
	assert_reads(enclave, "/w/file", "host");
	assert_reads(enclave, "/w/abs", "inside");
	assert_reads(enclave, "/w/up", "inside");
	assert_refused(enclave, "/w/late-up", -ELOOP);
	assert_refused(enclave, "/etc/hidden", -EACCES);
	/* What is only outside is not there. */
	assert_refused(enclave, test_tree("@/host/file"), -EACCES);
	assert_int_equal(test_files_stat(enclave, "/up", &file), 0);
	assert_string_equal(file.name, "/etc/passwd");
	assert_int_equal(test_files_write(enclave, "/w/new", "made"), 0);
	assert_true(test_tree_says("@/host/new", "made"));
	assert_int_equal(test_files_delete(enclave, "/w/new"), 0);
	assert_true(test_tree_says("@/host/new", NULL));
	/* The log has the same names. */
	assert_int_equal(corral_enclave_get_audit_log(enclave, 0, &log, NULL), 0);
	assert_non_null(strstr(log, "\"target\":\"/w/new\""));
	assert_non_null(strstr(log, "symbolic links resolve to /etc/passwd"));
	assert_null(strstr(log, test_tree("@/root")));
	corral_free(log);
	corral_enclave_free(enclave);
}

/* A link of the tree's own counts in a grant; one that lies in a folder of the host's does not. */
static void test_grants_by_links(void **state)
{
	static const char *const lines[] = { "read /alias/**", "read /w/abs", NULL };
	struct corral_enclave *enclave = in_jail(lines);

	(void)state;
	assert_reads(enclave, "/alias/passwd", "inside");
	assert_reads(enclave, "/etc/passwd", "inside");
	corral_enclave_free(enclave);
	enclave = in_jail(lines + 1);
	assert_refused(enclave, "/w/abs", -EACCES);
	corral_enclave_free(enclave);
}

static void test_read_only(void **state)
{
	static const char *const lines[] = { "write /**", "write /", "danger /**", NULL };
	struct corral_enclave *enclave = in_jail(lines);

	(void)state;
	assert_reads(enclave, "/ro/file", "host");
	assert_int_equal(test_files_write(enclave, "/ro/file", "x"), -EROFS);
	assert_int_equal(test_files_delete(enclave, "/ro/file"), -EROFS);
	assert_int_equal(test_files_write(enclave, "/etc/hidden", "x"), -EROFS);
	assert_true(test_tree_says("@/host/file", "host"));
	corral_enclave_free(enclave);
}

static int see_proc(void *context, const struct corral_file *file)
{
	unsigned *n = context;

	*n += strncmp(file->name, "proc/", 5) == 0;
	return 0;
}

/* Even with everything granted. */
static void test_proc(void **state)
{
	static const char *const lines[] = { "write /**", "write /", "danger /**", NULL };
	const struct corral_list_options o = { .size = sizeof(o), .recursive = 1 };
	struct corral_enclave *enclave = in_jail(lines);
	struct corral_file file = { .size = sizeof(file) };
	char path[64], names[256];
	unsigned seen = 0;

	(void)state;
	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)getpid());
	assert_refused(enclave, path, -ELOOP);
	assert_refused(enclave, "/proc/self/root/etc/passwd", -ELOOP);
	assert_refused(enclave, "/proc/version", -ELOOP);
	assert_refused(enclave, "/magic", -ELOOP);
	assert_refused(enclave, "/w/magic", -ELOOP);
	assert_int_equal(test_files_stat(enclave, "/proc", &file), -ELOOP);
	assert_int_equal(test_files_list(enclave, "/proc", names), -ELOOP);
	assert_int_equal(test_files_write(enclave, "/proc/self/comm", "x"), -ELOOP);
	assert_int_equal(test_files_delete(enclave, "/proc/version"), -ELOOP);
	assert_true(
		corral_enclave_fs_list_matching(enclave, NULL, "/", &o, see_proc, &seen, NULL) > 4);
	assert_int_equal(seen, 0);
	corral_enclave_free(enclave);
}

/* Private places */

static void test_private_needs_no_grant(void **state)
{
	static const char *const none[] = { NULL };
	struct corral_enclave *enclave = in_jail(none);
	struct corral_file file = { .size = sizeof(file) };
	char names[256];

	(void)state;
	assert_reads(enclave, "/tmp/plain", "plain");
	assert_int_equal(test_files_write(enclave, "/tmp/own", "mine"), 0);
	assert_reads(enclave, "/tmp/own", "mine");
	assert_int_equal(test_files_stat(enclave, "/tmp/own", &file), 0);
	assert_int_equal(file.bytes, 4);
	assert_int_equal(test_files_list(enclave, "/tmp", names), 2);
	assert_string_equal(names, "own plain ");
	assert_int_equal(test_files_delete(enclave, "/tmp/own"), 0);
	assert_refused(enclave, "/tmp/own", -ENOENT);
	assert_refused(enclave, "/tmp/no/such", -ENOENT);
	assert_int_equal(test_files_stat(enclave, "/home", &file), 0);
	/* All else is refused, there or not. */
	assert_refused(enclave, "/etc/passwd", -EACCES);
	assert_refused(enclave, "/etc/nothing", -EACCES);
	assert_refused(enclave, "/to-private", -EACCES);
	assert_int_equal(test_files_write(enclave, "/tmp", "x"), -EACCES);
	assert_int_equal(test_files_delete(enclave, "/tmp"), -EACCES);
	corral_enclave_free(enclave);
}

static void make_links_in_private(void)
{
	static const struct {
		const char *name, *target;
	} links[] = {
		{ "tmp/to-etc", "/etc/passwd" },
		{ "tmp/to-hidden", "/etc/hidden" },
		{ "tmp/to-bound", "bound/key" },
		{ "tmp/to-plain", "/tmp/plain" },
		{ "tmp/to-home", "../home/note" },
		{ "tmp/to-w", "/w" },
		{ "tmp/to-outside", "/../../../../../../../../secret/key" },
		{ "tmp/to-proc", "/proc/self/environ" },
		{ "tmp/dangling", "/etc/nothing" },
	};
	int fd = openat(jail.root, "home/note", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	for (size_t i = 0; i < ROWS(links); i++) {
		(void)unlinkat(jail.root, links[i].name, 0);
		assert_int_equal(symlinkat(links[i].target, jail.root, links[i].name), 0);
	}
	assert_int_equal(write(fd, "note", 4), 4);
	(void)close(fd);
}

static void remove_from_private(const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)unlinkat(jail.root, names[i], 0);
}

/* A link there is followed; what it leads to is decided by the policy, or is private too. */
static void test_private_links(void **state)
{
	static const char *const lines[] = { "read /etc/passwd", "read /w/**", "read /to-private",
		NULL };
	static const char *const names[] = { "tmp/to-etc", "tmp/to-hidden", "tmp/to-bound",
		"tmp/to-plain", "tmp/to-home", "tmp/to-w", "tmp/to-outside", "tmp/to-proc",
		"tmp/dangling" };
	struct corral_enclave *enclave = in_jail(lines);

	(void)state;
	make_links_in_private();
	assert_reads(enclave, "/tmp/to-etc", "inside");
	assert_reads(enclave, "/tmp/to-plain", "plain");
	assert_reads(enclave, "/tmp/to-home", "note");
	assert_reads(enclave, "/tmp/to-w/file", "host");
	assert_reads(enclave, "/to-private", "plain");
	assert_refused(enclave, "/tmp/to-hidden", -EACCES);
	assert_refused(enclave, "/tmp/to-bound", -EACCES);
	assert_refused(enclave, "/tmp/to-outside", -EACCES);
	assert_refused(enclave, "/tmp/to-proc", -EACCES);
	assert_refused(enclave, "/tmp/dangling", -EACCES);
	/* Writing through one is writing where it leads. */
	assert_int_equal(test_files_write(enclave, "/tmp/to-etc", "x"), -EACCES);
	assert_int_equal(test_files_write(enclave, "/tmp/to-w/file", "x"), -EACCES);
	assert_int_equal(test_files_write(enclave, "/tmp/to-home", "more"), 0);
	assert_reads(enclave, "/home/note", "more");
	remove_from_private(names, ROWS(names));
	corral_enclave_free(enclave);
}

/* Decided by the mount: what is mounted in a private place is no part of it. */
static void test_private_is_a_mount(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const some[] = { "read /tmp/bound/**", NULL };
	struct corral_enclave *enclave = in_jail(none);
	struct corral_file file = { .size = sizeof(file) };
	char names[256];

	(void)state;
	assert_refused(enclave, "/tmp/bound/key", -EACCES);
	assert_refused(enclave, "/tmp/bound/nothing", -EACCES);
	assert_refused(enclave, "/tmp/masked/below", -EACCES);
	assert_int_equal(test_files_stat(enclave, "/tmp/bound", &file), -EACCES);
	assert_int_equal(test_files_list(enclave, "/tmp/bound", names), -EACCES);
	assert_int_equal(test_files_write(enclave, "/tmp/bound/key", "x"), -EACCES);
	assert_int_equal(test_files_delete(enclave, "/tmp/bound/key"), -EACCES);
	assert_int_equal(test_files_delete(enclave, "/tmp/bound"), -EACCES);
	assert_true(test_tree_says("@/out/key", "SECRET"));
	corral_enclave_free(enclave);

	enclave = in_jail(some);
	assert_reads(enclave, "/tmp/bound/key", "SECRET");
	assert_int_equal(test_files_write(enclave, "/tmp/bound/key", "x"), -EACCES);
	corral_enclave_free(enclave);
}

/* A mask that comes later, while the enclave lives. */
static void test_private_late_mask(void **state)
{
	static const char *const none[] = { NULL };
	struct corral_enclave *enclave = in_jail(none);

	(void)state;
	assert_int_equal(mkdirat(jail.root, "tmp/late", 0755), 0);
	assert_int_equal(test_files_write(enclave, "/tmp/late/file", "before"), 0);
	assert_reads(enclave, "/tmp/late/file", "before");
	test_jail_mask(&jail, "/tmp/late");
	assert_refused(enclave, "/tmp/late/file", -EACCES);
	assert_int_equal(test_files_write(enclave, "/tmp/late/file", "x"), -EACCES);
	assert_int_equal(test_files_delete(enclave, "/tmp/late"), -EACCES);
	corral_enclave_free(enclave);
}

static void test_private_rules_count(void **state)
{
	static const char *const lines[] = { "deny /tmp/no/**", "ask /tmp/maybe", NULL };
	static const char *const first[] = { "read /w/**", NULL };
	struct corral_permissions *ceiling = test_files_permissions(first);
	const struct corral_permissions *const layers[] = { ceiling };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave;
	char names[256];

	(void)state;
	if (!has_jail)
		skip();
	o.root_fd = &jail.root;
	o.private_places = places;
	o.n_private_places = ROWS(places);
	o.variables = variables;
	o.n_variables = ROWS(variables);
	/* That the ceiling grants nothing there does not count, what it denies would. */
	o.ceiling = layers;
	o.n_ceiling = 1;
	enclave = test_files_enclave_of(lines, &o);
	corral_permissions_free(ceiling);
	assert_int_equal(mkdirat(jail.root, "tmp/no", 0755), 0);
	assert_int_equal(test_files_write(enclave, "/tmp/yes", "x"), 0);
	assert_int_equal(test_files_write(enclave, "/tmp/no/file", "x"), -EACCES);
	assert_true(test_files_denied);
	assert_refused(enclave, "/tmp/no/file", -EACCES);
	assert_int_equal(test_files_write(enclave, "/tmp/maybe", "x"), -EINPROGRESS);
	/* The baseline, in a home that is private. */
	assert_int_equal(mkdirat(jail.root, "home/.ssh", 0700), 0);
	assert_int_equal(test_files_write(enclave, "/home/.ssh/id_ed25519", "x"), -EACCES);
	assert_int_equal(test_files_write(enclave, "/home/notes", "x"), 0);
	assert_true(test_files_list(enclave, "/home", names) >= 1);
	assert_non_null(strstr(names, "notes "));
	assert_null(strstr(names, ".ssh"));
	remove_from_private((const char *const[]){ "tmp/yes", "home/notes" }, 2);
	assert_int_equal(unlinkat(jail.root, "tmp/no", AT_REMOVEDIR), 0);
	assert_int_equal(unlinkat(jail.root, "home/.ssh", AT_REMOVEDIR), 0);
	corral_enclave_free(enclave);
}

static void test_private_kinds(void **state)
{
	static const char *const none[] = { NULL };
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct corral_enclave *enclave = in_jail(none);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/tmp/socket",
		jail.root);
	assert_int_equal(mkfifoat(jail.root, "tmp/fifo", 0600), 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_refused(enclave, "/tmp/fifo", -ELOOP);
	assert_refused(enclave, "/tmp/socket", -ELOOP);
	assert_int_equal(test_files_write(enclave, "/tmp/fifo", "x"), -ELOOP);
	assert_int_equal(test_files_delete(enclave, "/tmp/fifo"), 0);
	assert_int_equal(test_files_delete(enclave, "/tmp/socket"), 0);
	(void)close(fd);
	corral_enclave_free(enclave);
}

/*
 * In another mount namespace the kernel takes a mount off when its folder is deleted. A naive tool
 * does that to a mask, and what was under it is there again.
 */
static void test_mount_points(void **state)
{
	static const char *const lines[] = { "write /**", "write /", "danger /**", NULL };
	struct corral_enclave *enclave = in_jail(lines);

	(void)state;
	assert_int_equal(mkdirat(jail.root, "tmp/mine", 0755), 0);
	test_jail_mask(&jail, "/tmp/mine");
	assert_int_equal(test_files_delete(enclave, "/tmp/mine"), -EBUSY);
	assert_int_equal(test_files_delete(enclave, "/tmp/bound"), -EBUSY);
	assert_int_equal(test_files_delete(enclave, "/tmp"), -EBUSY);
	assert_reads(enclave, "/tmp/bound/key", "SECRET");
	assert_int_equal(test_files_write(enclave, "/tmp/mine/x", "x"), -EROFS);
	assert_int_equal(unlinkat(jail.root, "tmp/mine", AT_REMOVEDIR), 0);
	assert_int_equal(mkdirat(jail.root, "tmp/mine", 0755), 0);
	assert_int_equal(test_files_write(enclave, "/tmp/mine/x", "naive"), 0);
	assert_int_equal(test_files_delete(enclave, "/tmp/mine/x"), 0);
	assert_int_equal(test_files_delete(enclave, "/tmp/mine"), 0);
	corral_enclave_free(enclave);
}

static struct corral_save *begin_save(struct corral_enclave *enclave, const char *path)
{
	const struct corral_save_options o = { .size = sizeof(o), .resume = "it" };
	struct corral_save *s = NULL;

	assert_int_equal(corral_enclave_fs_save(&s, enclave, NULL, path, &o, NULL), 0);
	return s;
}

static int end_save(struct corral_save *s)
{
	int r = corral_save_commit(s, NULL);

	corral_save_free(s);
	return r;
}

/* Its path in the tree. */
static void find_part(const char *folder, const char *text, char ret[512])
{
	int fd = openat(jail.root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fdopendir(fd);
	const struct dirent *d;

	assert_non_null(dir);
	ret[0] = '\0';
	while ((d = readdir(dir))) {
		if (strstr(d->d_name, text))
			(void)snprintf(ret, 512, "/%s/%s", folder, d->d_name);
	}
	(void)closedir(dir);
	assert_true(ret[0]);
}

static void test_save(void **state)
{
	static const char *const lines[] = { "write /w/**", NULL };
	struct corral_enclave *enclave = in_jail(lines);
	struct corral_save *s = begin_save(enclave, "/tmp/saved");
	char part[512], names[256];

	(void)state;
	assert_int_equal(corral_save_write(s, "be", 2, NULL), 0);
	corral_save_free(s);
	s = begin_save(enclave, "/tmp/saved");
	assert_int_equal(corral_save_bytes(s), 2);
	assert_int_equal(corral_save_write(s, "gun", 3, NULL), 0);
	assert_int_equal(end_save(s), 0);
	assert_reads(enclave, "/tmp/saved", "begun");
	assert_int_equal(test_files_delete(enclave, "/tmp/saved"), 0);
	s = begin_save(enclave, "/w/saved");
	assert_int_equal(end_save(s), 0);
	assert_true(test_tree_says("@/host/saved", ""));
	assert_int_equal(
		corral_enclave_fs_save(&s, enclave, NULL, "/tmp/bound/x", NULL, NULL), -EACCES);
	/* What has the part's name is a mount: it stays where it is. */
	s = begin_save(enclave, "/tmp/covered");
	assert_int_equal(corral_save_write(s, "x", 1, NULL), 0);
	find_part("tmp", ".covered.", part);
	corral_save_free(s);
	assert_int_equal(unlinkat(jail.root, part + 1, 0), 0);
	assert_int_equal(mkdirat(jail.root, part + 1, 0755), 0);
	test_jail_mask(&jail, part);
	s = begin_save(enclave, "/tmp/covered");
	assert_int_equal(end_save(s), 0);
	assert_reads(enclave, "/tmp/covered", "");
	assert_int_equal(test_files_list(enclave, part, names), -EACCES);
	/* Something is mounted there while it is written. */
	s = begin_save(enclave, "/tmp/hidden");
	assert_int_equal(corral_save_write(s, "x", 1, NULL), 0);
	assert_int_equal(mkdirat(jail.root, "tmp/hidden", 0755), 0);
	test_jail_mask(&jail, "/tmp/hidden");
	assert_int_equal(end_save(s), -EBUSY);
	corral_enclave_free(enclave);
}

/* Root's own rights do not count: a command in that tree does not have them either. */
static void test_modes_count(void **state)
{
	static const char *const lines[] = { "write /w/**", NULL };
	struct corral_enclave *enclave = in_jail(lines);
	const struct corral_save_options o = { .size = sizeof(o) };
	struct corral_save *s = NULL;
	char names[256];
	int fd;

	(void)state;
	test_tree_folder("@/host/others");
	test_tree_file("@/host/others/file", "theirs");
	test_tree_file("@/host/unreadable", "theirs");
	assert_int_equal(chmod(test_tree("@/host/unreadable"), 0), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(test_tree("@/host/others"), 1234, 1234), 0);
	assert_int_equal(chmod(test_tree("@/host/others"), geteuid() == 0 ? 0700 : 0), 0);
	assert_refused(enclave, "/w/unreadable", -EACCES);
	assert_false(test_files_denied);
	assert_refused(enclave, "/w/others/file", -EACCES);
	assert_int_equal(test_files_list(enclave, "/w/others", names), -EACCES);
	assert_int_equal(test_files_write(enclave, "/w/others/new", "x"), -EACCES);
	assert_int_equal(test_files_delete(enclave, "/w/others/file"), -EACCES);
	assert_int_equal(
		corral_enclave_fs_save(&s, enclave, NULL, "/w/others/new", &o, NULL), -EACCES);
	assert_false(test_files_denied);
	/* They are back. */
	fd = open(test_tree("@/host/unreadable"), O_RDONLY | O_CLOEXEC);
	assert_int_equal(fd >= 0, geteuid() == 0);
	if (fd >= 0)
		(void)close(fd);
	assert_int_equal(chmod(test_tree("@/host/others"), 0755), 0);
	corral_enclave_free(enclave);
}

/* A plain folder as the root */

static int open_folder(const char *path)
{
	int fd = open(test_tree(path), O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static struct corral_enclave *in_folder(const char *path, const char *const *lines)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave;
	int fd = open_folder(path);

	o.root_fd = &fd;
	enclave = test_files_enclave_of(lines, &o);
	/* The enclave has its own. */
	(void)close(fd);
	return enclave;
}

static void test_folder(void **state)
{
	static const char *const lines[] = { "write /**", "write /", "danger /**", NULL };
	struct corral_enclave *enclave = in_folder("@/host", lines);
	struct corral_file file = { .size = sizeof(file) };
	char names[256];

	(void)state;
	assert_reads(enclave, "/file", "host");
	assert_refused(enclave, "/abs", -ENOENT);
	assert_refused(enclave, "/up", -ENOENT);
	assert_refused(enclave, "/late-up", -ELOOP);
	assert_refused(enclave, "/magic", -ENOENT);
	assert_int_equal(mkdir(test_tree("@/host/etc"), 0755), 0);
	test_tree_file("@/host/etc/passwd", "own");
	assert_reads(enclave, "/abs", "own");
	assert_reads(enclave, "/up", "own");
	assert_int_equal(test_files_stat(enclave, "/", &file), 0);
	assert_string_equal(file.name, "/");
	assert_int_equal(test_files_list(enclave, "/etc", names), 1);
	assert_int_equal(test_files_write(enclave, "/up", "new"), 0);
	assert_true(test_tree_says("@/host/etc/passwd", "new"));
	assert_int_equal(test_files_delete(enclave, "/etc/passwd"), 0);
	assert_int_equal(test_files_delete(enclave, "/etc"), 0);
	/* The root may be moved: what lies below it is what was given. */
	assert_int_equal(rename(test_tree("@/host"), test_tree("@/elsewhere")), 0);
	assert_reads(enclave, "/file", "host");
	assert_int_equal(rename(test_tree("@/elsewhere"), test_tree("@/host")), 0);
	corral_enclave_free(enclave);
}

static int try_options(const struct corral_enclave_options *o)
{
	struct corral_enclave *enclave = NULL;
	struct corral_error *e = NULL;
	char token[CORRAL_TOKEN_BYTES];
	int r = corral_enclave_new(&enclave, o, token, &e);

	assert_true((r < 0) == (e != NULL));
	if (e)
		assert_non_null(strchr(corral_error_message(e), ' '));
	corral_error_free(e);
	corral_enclave_free(enclave);
	return r;
}

static void test_options(void **state)
{
	static const char *const plain[] = { "/folder" }, *const odd[] = { "/../tmp" },
				 *const none[] = { "/nothing" }, *const missing[] = { NULL };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	int folder = open_folder("@/host"), closed = 999;
	int file = open(test_tree("@/host/file"), O_RDONLY | O_CLOEXEC);

	(void)state;
	o.root_fd = &closed;
	assert_int_equal(try_options(&o), -EBADF);
	o.root_fd = &file;
	assert_int_equal(try_options(&o), -ENOTDIR);
	o.root_fd = &folder;
	assert_int_equal(try_options(&o), 0);
	o.n_private_places = 1;
	assert_int_equal(try_options(&o), -EINVAL);
	/* A folder that is no mount: its mount is that of everything around it. */
	o.private_places = plain;
	assert_int_equal(try_options(&o), -EINVAL);
	o.private_places = odd;
	assert_int_equal(try_options(&o), -EINVAL);
	o.private_places = missing;
	assert_int_equal(try_options(&o), -EINVAL);
	o.private_places = none;
	assert_int_equal(try_options(&o), -ENOENT);
	o.n_private_places = 17;
	assert_int_equal(try_options(&o), -E2BIG);
	/* A host of before these options: what lies behind its struct does not count. */
	o.size = offsetof(struct corral_enclave_options, root_fd);
	assert_int_equal(try_options(&o), 0);
	(void)close(folder);
	(void)close(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_are_those_inside),
		cmocka_unit_test(test_grants_by_links),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_proc),
		cmocka_unit_test(test_private_needs_no_grant),
		cmocka_unit_test(test_private_links),
		cmocka_unit_test(test_private_is_a_mount),
		cmocka_unit_test(test_private_rules_count),
		cmocka_unit_test(test_private_kinds),
		cmocka_unit_test(test_mount_points),
		cmocka_unit_test(test_private_late_mask),
		cmocka_unit_test(test_save),
		cmocka_unit_test(test_modes_count),
		cmocka_unit_test(test_folder),
		cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, make_all, remove_all);
}
