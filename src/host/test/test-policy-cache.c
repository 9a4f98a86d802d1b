/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What somebody could do to an entry, its folder or its policy: in each case the policy is read
 * from its text again, and nothing else happens.
 */
#include "test/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/path.h"
#include "host/policy-cache.h"
#include "policy/format/image.h"

static char state[] = "/tmp/test-policy-cache.XXXXXX";
static char folder[PATH_BYTES], entry[PATH_BYTES + 257];

/* In the state folder. */
static void run(const char *script)
{
	char command[PATH_BYTES];

	(void)snprintf(command, sizeof(command), "cd '%s' && { %s; }", state, script);
	assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c): our own path */
}

static struct policy_cache_input input(const char *text)
{
	return (struct policy_cache_input){ .file = "p.yaml", .text = text, .len = strlen(text) };
}

static const char narrow[] = "permissions: {fs: {read: [/usr/share/a]}}\n";
static const char wide[] = "permissions: {fs: {read: [/usr/**      ]}}\n";

static void keep(const struct policy_cache_input *in)
{
	auto_manifest m = { 0 };
	struct error e = { 0 };

	if (manifest_read(&m, in->kind, in->file, in->text, in->len, &e) < 0)
		fail_msg("%s", e.text);
	policy_cache_keep(in, &m);
}

/* NULL: nothing was found. Else the first pattern. */
static const char *find(const struct policy_cache_input *in, char out[64])
{
	auto_manifest m = { 0 };

	if (!policy_cache_find(in, &m))
		return NULL;
	assert_int_equal(m.kind, MANIFEST_PERMISSIONS);
	(void)snprintf(out, 64, "%s", m.permissions->fs_read.items[0].all[0]);
	return out;
}

static void expect_nothing(const char *text)
{
	const struct policy_cache_input in = input(text);
	char out[64];

	assert_null(find(&in, out));
}

static void expect(const char *text, const char *pattern)
{
	const struct policy_cache_input in = input(text);
	char out[64];

	assert_non_null(find(&in, out));
	assert_string_equal(out, pattern);
}

/* Notes the name of the one entry; how many there are. */
static unsigned list(void)
{
	DIR *dir = opendir(folder);
	const struct dirent *d;
	unsigned n = 0;

	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || strcmp(d->d_name, "key") == 0)
			continue;
		(void)snprintf(entry, sizeof(entry), "%s/%s", folder, d->d_name);
		n++;
	}
	if (dir)
		(void)closedir(dir);
	return n;
}

/* An empty state folder with one entry, for the narrow policy. */
static int begin(void **s)
{
	const struct policy_cache_input in = input(narrow);

	(void)s;
	run("rm -rf ./*");
	(void)snprintf(folder, sizeof(folder), "%s/corral/policy-cache", state);
	keep(&in);
	assert_int_equal(list(), 1);
	expect(narrow, "/usr/share/a");
	return 0;
}

static int set_up(void **s)
{
	(void)s;
	return mkdtemp(state) && setenv("XDG_STATE_HOME", state, 1) == 0 ? 0 : -1;
}

static int tear_down(void **s)
{
	(void)s;
	run("rm -rf \"$PWD\"");
	return 0;
}

static void test_other_text(void **s)
{
	struct policy_cache_input in = input(narrow);
	char out[64];

	(void)s;
	assert_int_equal(strlen(narrow) + 1, strlen(wide));
	/* As long, and another. */
	expect_nothing("permissions: {fs: {read: [/usr/share/b]}}\n");
	expect_nothing(wide);
	in.file = "q.yaml";
	assert_null(find(&in, out));
	in = input(narrow);
	in.kind = MANIFEST_RULES;
	assert_null(find(&in, out));
}

/* Every byte of it counts. */
static void test_flipped(void **s)
{
	auto_buffer bytes = { 0 };

	(void)s;
	assert_int_equal(file_read(entry, 1 << 20, &bytes), 0);
	for (size_t i = 0; i < bytes.len; i++) {
		bytes.data[i] ^= 1;
		assert_int_equal(file_replace(entry, bytes.data, bytes.len, 0600), 0);
		expect_nothing(narrow);
		bytes.data[i] ^= 1;
	}
	for (size_t len = 0; len < bytes.len; len += 7) {
		assert_int_equal(file_replace(entry, bytes.data, len, 0600), 0);
		expect_nothing(narrow);
	}
	assert_int_equal(file_replace(entry, bytes.data, bytes.len, 0600), 0);
	expect(narrow, "/usr/share/a");
}

/* The entry of a wide policy, under the name of the narrow one, with or without its text. */
static void test_renamed(void **s)
{
	const struct policy_cache_input in = input(wide);
	char first[sizeof(entry)], *at;
	auto_buffer bytes = { 0 };

	(void)s;
	memcpy(first, entry, sizeof(first));
	assert_int_equal(unlink(entry), 0);
	keep(&in);
	assert_int_equal(list(), 1);
	assert_int_equal(rename(entry, first), 0);
	expect_nothing(narrow);
	/* Forged: the text that is asked for before the answer to another. */
	assert_int_equal(file_read(first, 1 << 20, &bytes), 0);
	at = memmem(bytes.data, bytes.len, wide, strlen(wide));
	assert_non_null(at);
	memcpy(at, narrow, strlen(narrow));
	memmove(at + strlen(narrow), at + strlen(wide),
		bytes.len - (size_t)(at - bytes.data) - strlen(wide));
	assert_int_equal(file_replace(first, bytes.data, bytes.len - 1, 0600), 0);
	expect_nothing(narrow);
}

/* A policy that is longer than what is compared at once: all of it counts, and so does its entry.
 */
static void test_long(void **s)
{
	enum { PATHS = 3000, STEP = 997 };
	auto_manifest m = { 0 }, found = { 0 };
	auto_buffer text = { 0 }, bytes = { 0 }, want = { 0 }, got = { 0 };
	struct policy_cache_input in;
	struct error e = { 0 };

	(void)s;
	buffer_adds(&text, "permissions:\n  fs:\n    deny: [/srv/secret]\n    read:\n");
	for (int i = 0; i < PATHS; i++)
		buffer_printf(&text, "    - /srv/d%d/f%d\n", i % 50, i);
	in = input(buffer_text(&text));
	keep(&in);
	assert_int_equal(manifest_read(&m, in.kind, in.file, in.text, in.len, &e), 0);
	assert_true(policy_cache_find(&in, &found));
	assert_int_equal(image_write(m.permissions, &want), 0);
	assert_int_equal(image_write(found.permissions, &got), 0);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.data, want.data, want.len);
	assert_int_equal(found.permissions->fs_read.n, PATHS);
	/* Another policy of that name and length. */
	for (size_t i = 60; i < text.len; i += STEP) {
		auto_manifest other = { 0 };

		text.data[i] ^= 1;
		assert_false(policy_cache_find(&in, &other));
		text.data[i] ^= 1;
	}
	/* Another entry. */
	(void)unlink(entry); /* the narrow one */
	assert_int_equal(list(), 1);
	assert_int_equal(file_read(entry, 1 << 24, &bytes), 0);
	for (size_t i = 0; i < bytes.len; i += STEP) {
		auto_manifest other = { 0 };

		bytes.data[i] ^= 1;
		assert_int_equal(file_replace(entry, bytes.data, bytes.len, 0600), 0);
		assert_false(policy_cache_find(&in, &other));
		bytes.data[i] ^= 1;
		assert_int_equal(file_replace(entry, bytes.data, i, 0600), 0);
		assert_false(policy_cache_find(&in, &other));
	}
}

/* Another key: as if somebody brought entries from elsewhere. */
static void test_other_key(void **s)
{
	(void)s;
	run("head -c 16 /dev/zero > corral/policy-cache/key");
	expect_nothing(narrow);
	run("head -c 15 /dev/zero > corral/policy-cache/key");
	expect_nothing(narrow);
	run("rm corral/policy-cache/key");
	expect_nothing(narrow);
}

static void test_links(void **s)
{
	(void)s;
	run("cd corral/policy-cache && for f in [0-9a-f]*; do mv $f ../e && ln -s ../e $f; "
	    "done");
	expect_nothing(narrow);
	(void)begin(s);
	run("cd corral/policy-cache && for f in [0-9a-f]*; do ln $f ../e; done");
	expect_nothing(narrow); /* a second name */
	(void)begin(s);
	run("cd corral && mv policy-cache p && ln -s p policy-cache");
	expect_nothing(narrow);
	(void)begin(s);
	run("mv corral c && ln -s c corral");
	expect_nothing(narrow);
	(void)begin(s);
	run("cd corral/policy-cache && for f in [0-9a-f]*; do rm $f && mkfifo $f; done");
	expect_nothing(narrow);
}

static void test_writable(void **s)
{
	static const char *const names[] = { "", "/policy-cache", "/policy-cache/key" };
	char path[PATH_BYTES + 32];

	(void)s;
	for (size_t i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "%s/corral%s", state, names[i]);
		assert_int_equal(chmod(path, 0720), 0);
		expect_nothing(narrow);
		assert_int_equal(chmod(path, 0702), 0);
		expect_nothing(narrow);
		assert_int_equal(chmod(path, 0700), 0);
		expect(narrow, "/usr/share/a");
	}
	assert_int_equal(chmod(entry, 0620), 0);
	expect_nothing(narrow);
}

/* Of another user: only root can make such. Else another user's state folder is looked at. */
static void test_owner(void **s)
{
	(void)s;
	if (geteuid() == 0) {
		assert_int_equal(chown(entry, 12345, 12345), 0);
		expect_nothing(narrow);
		assert_int_equal(chown(entry, 0, 0), 0);
		expect(narrow, "/usr/share/a");
		assert_int_equal(chown(folder, 12345, 12345), 0);
		expect_nothing(narrow);
		assert_int_equal(chown(folder, 0, 0), 0);
		assert_int_equal(chown(state, 12345, 12345), 0);
		expect_nothing(narrow);
		assert_int_equal(chown(state, 0, 0), 0);
	} else {
		assert_int_equal(setenv("XDG_STATE_HOME", "/usr", 1), 0);
		expect_nothing(narrow);
		assert_int_equal(setenv("XDG_STATE_HOME", state, 1), 0);
	}
	expect(narrow, "/usr/share/a");
}

/* No folder, or none that can be written, is no error. */
static void test_no_folder(void **s)
{
	const struct policy_cache_input in = input(narrow);

	(void)s;
	run("rm -rf corral && touch corral");
	expect_nothing(narrow);
	keep(&in);
	expect_nothing(narrow);
	assert_int_equal(setenv("XDG_STATE_HOME", "/proc/self/fdinfo", 1), 0);
	keep(&in);
	expect_nothing(narrow);
	assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
	assert_int_equal(setenv("HOME", "relative", 1), 0);
	keep(&in);
	expect_nothing(narrow);
	assert_int_equal(setenv("XDG_STATE_HOME", state, 1), 0);
}

/* As many as may be are kept, the latest among them. */
static void test_bounded(void **s)
{
	char name[32];
	struct policy_cache_input in = input(narrow);
	char out[64];

	(void)s;
	in.file = name;
	for (unsigned i = 0; i < 50; i++) {
		(void)snprintf(name, sizeof(name), "p%u.yaml", i);
		keep(&in);
	}
	assert_true(list() <= 32);
	assert_non_null(find(&in, out));
	(void)snprintf(name, sizeof(name), "p0.yaml");
	assert_null(find(&in, out));
}

/* What is more than permissions is not kept. */
static void test_more_than_permissions(void **s)
{
	static const char skill[] = "name: x\nversion: 1.0.0\ndescription: y\npermissions: {}\n";
	struct policy_cache_input in = input(skill);

	(void)s;
	in.kind = MANIFEST_SKILL;
	in.file = "skill.yaml";
	keep(&in);
	assert_int_equal(list(), 1);
}

/* Many at once, from nothing: all of them end, and what is there then is whole. */
static void test_crowd(void **s)
{
	const struct policy_cache_input in = input(narrow), other = input(wide);
	char out[64];

	(void)s;
	run("rm -rf corral");
	for (unsigned i = 0; i < 8; i++) {
		if (fork() != 0)
			continue;
		for (unsigned k = 0; k < 40; k++) {
			const struct policy_cache_input *one = (i + k) % 2 ? &in : &other;
			const char *found = find(one, out);

			if (found && strcmp(found, one == &in ? "/usr/share/a" : "/usr/**") != 0)
				_exit(1);
			keep(one);
		}
		_exit(0);
	}
	for (unsigned i = 0; i < 8; i++) {
		int status = -1;

		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	expect(narrow, "/usr/share/a");
	expect(wide, "/usr/**");
	assert_int_equal(list(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_other_text, begin),
		cmocka_unit_test_setup(test_flipped, begin),
		cmocka_unit_test_setup(test_renamed, begin),
		cmocka_unit_test_setup(test_long, begin),
		cmocka_unit_test_setup(test_other_key, begin),
		cmocka_unit_test_setup(test_links, begin),
		cmocka_unit_test_setup(test_writable, begin),
		cmocka_unit_test_setup(test_owner, begin),
		cmocka_unit_test_setup(test_no_folder, begin),
		cmocka_unit_test_setup(test_bounded, begin),
		cmocka_unit_test_setup(test_more_than_permissions, begin),
		cmocka_unit_test_setup(test_crowd, begin),
	};

	return cmocka_run_group_tests_name("policy-cache", tests, set_up, tear_down);
}
