/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Covers over files of the host, while the host changes what is below them. There is a moment
 * without a cover (docs/threat-model.md); these tests are about what comes after it.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "jail/userns.h"
#include "warden/session/test/test-box.h"

enum { ROUNDS = 1000 };

#define WITHOUT_INOTIFY(test)                                              \
	{                                                                  \
#test ", without inotify", test, leave_inotify, NULL, NULL \
	}

static void check(struct session *s, struct seen *seen, const struct cover *c)
{
	box_settle(s, seen);
	assert_int_equal(cover_run(s, seen, c, "! cat secret 2>/dev/null"), 0);
	assert_int_equal(cover_run(s, seen, c, "! (echo a >kept) 2>/dev/null"), 0);
}

static void by_attributes(const struct cover *c)
{
	/* Tells the watch, but takes no cover off. What follows does. */
	assert_int_equal(chmod(c->secret, 0600), 0);
	assert_int_equal(chmod(c->kept, 0600), 0);
}

static void by_rename(const struct cover *c)
{
	cover_replace(c->secret, "another");
	cover_replace(c->kept, "another");
}

static void by_new_file(const struct cover *c)
{
	assert_int_equal(unlink(c->secret), 0);
	cover_write(c->secret, "another");
	assert_int_equal(unlink(c->kept), 0);
	cover_write(c->kept, "another");
}

static void link_over(const char *path)
{
	char other[128], third[128];

	(void)snprintf(other, sizeof(other), "%s.other", path);
	(void)snprintf(third, sizeof(third), "%s.third", path);
	cover_write(other, "another");
	assert_int_equal(link(other, third), 0);
	assert_int_equal(rename(third, path), 0);
	assert_int_equal(unlink(other), 0);
}

static void by_link(const struct cover *c)
{
	link_over(c->secret);
	link_over(c->kept);
}

static void by_exchange(const struct cover *c)
{
	char other[128];

	(void)snprintf(other, sizeof(other), "%s.other", c->secret);
	cover_write(other, "another");
	assert_int_equal(renameat2(AT_FDCWD, other, AT_FDCWD, c->secret, RENAME_EXCHANGE), 0);
	assert_int_equal(unlink(other), 0);
}

static void by_moving_away(const struct cover *c)
{
	char other[128];

	(void)snprintf(other, sizeof(other), "%s.old", c->secret);
	assert_int_equal(rename(c->secret, other), 0);
	cover_write(c->secret, "another");
	assert_int_equal(unlink(other), 0);
}

static void (*const ways[])(const struct cover *c) = {
	by_attributes,
	by_rename,
	by_attributes,
	by_rename,
	by_new_file,
	by_link,
	by_exchange,
	by_rename,
	by_moving_away,
	by_new_file,
};

static void comes_back(void **state)
{
	struct cover c;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	cover_make(&c);
	s = box_open(&c.plan, &seen, false);
	for (size_t round = 0; round < 3; round++)
		for (size_t i = 0; i < ROWS(ways); i++) {
			ways[i](&c);
			check(s, &seen, &c);
		}
	session_free(s);
	cover_remove(&c);
}

static int count_mounts(struct session *s, struct seen *seen)
{
	char text[64];

	assert_int_equal(
		box_capture(s, seen, 1, "wc -l </proc/self/mountinfo", text, sizeof(text)), 0);
	return (int)strtol(text, NULL, 10);
}

/* There is no inotify. */
static bool by_folder;

/* Thousands of saves while a command tries to read: how often it succeeded is for information. */
static void survives_a_storm(void **state)
{
	struct cover c;
	struct seen seen = { 0 };
	struct session *s;
	char line[512], text[64];
	int before, pipes[2];

	(void)state;
	cover_make(&c);
	s = box_open(&c.plan, &seen, false);
	before = count_mounts(s, &seen);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	(void)snprintf(line, sizeof(line),
		"cd %s; exec 2>/dev/null; m=0; n=0; until test -e stop; do m=$((m+1)); "
		"{ read x <secret; } && n=$((n+1)); done; echo $n of $m",
		c.folder);
	seen.n = 0;
	box_start(s, 1, line, pipes[1], 0);
	(void)close(pipes[1]);
	box_until(s, &seen, 1);
	for (int i = 0; i < ROUNDS; i++)
		cover_replace(c.secret, "s\n");
	(void)snprintf(line, sizeof(line), "%s/stop", c.folder);
	cover_write(line, "");
	(void)box_read(pipes[0], text, sizeof(text));
	(void)close(pipes[0]);
	box_until(s, &seen, 2);
	(void)unlink(line);
	(void)printf("# %d saves: in the gap between, the file could be read in attempts:  %s",
		ROUNDS, text);
	check(s, &seen, &c);
	assert_int_equal(count_mounts(s, &seen), before);
	session_free(s);
	cover_remove(&c);
}

/* A folder in the writable one, bound to itself so that it cannot be renamed inside, and a mask. */
struct deep {
	struct cover cover;
	char inner[96], secret[128];
};

static void make_inner(const struct deep *d)
{
	assert_int_equal(mkdir(d->inner, 0700), 0);
	cover_write(d->secret, "deep");
}

static void deep_make(struct deep *d, bool pinned)
{
	struct plan *p = &d->cover.plan;

	cover_make(&d->cover);
	(void)snprintf(d->inner, sizeof(d->inner), "%s/inner", d->cover.folder);
	(void)snprintf(d->secret, sizeof(d->secret), "%s/secret", d->inner);
	make_inner(d);
	if (pinned)
		p->entries[p->n++] = cover_entry(PLAN_BIND, d->inner, true, true);
	p->entries[p->n++] = cover_entry(PLAN_MASK, d->secret, false, true);
}

static void deep_remove(struct deep *d)
{
	(void)unlink(d->secret);
	(void)rmdir(d->inner);
	cover_remove(&d->cover);
}

/* A command that stays in the folder keeps the kernel from telling that it was removed. */
static void hold_folder(struct session *s, struct seen *seen, const struct deep *d)
{
	char line[256];
	char byte;
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	(void)snprintf(line, sizeof(line), "cd %s && echo && exec sleep 1000", d->inner);
	seen->n = 0;
	box_start(s, 5, line, pipes[1], 0);
	box_until(s, seen, 1);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
}

static void covers_a_new_folder(void **state)
{
	for (int held = 0; held < 2; held++) {
		struct deep d;
		struct seen seen = { 0 };
		struct session *s;

		(void)state;
		deep_make(&d, true);
		s = box_open(&d.cover.plan, &seen, false);
		if (held)
			hold_folder(s, &seen, &d);
		for (int i = 0; i < 10; i++) {
			assert_int_equal(unlink(d.secret), 0);
			assert_int_equal(rmdir(d.inner), 0);
			make_inner(&d);
			box_settle(s, &seen);
			assert_int_equal(
				cover_run(s, &seen, &d.cover, "! cat inner/secret 2>/dev/null"), 0);
			assert_int_equal(cover_run(s, &seen, &d.cover, "echo a >inner/b"), 0);
			assert_int_equal(cover_run(s, &seen, &d.cover, "rm inner/b"), 0);
		}
		session_free(s);
		deep_remove(&d);
	}
}

/* While the folder is away, commands run all the same; when it is back, so is the mask. */
static void runs_without_the_folder(void **state)
{
	struct deep d;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	deep_make(&d, true);
	s = box_open(&d.cover.plan, &seen, false);
	assert_int_equal(unlink(d.secret), 0);
	assert_int_equal(rmdir(d.inner), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(cover_run(s, &seen, &d.cover, "! test -e inner"), 0);
	make_inner(&d);
	box_settle(s, &seen);
	assert_int_equal(cover_run(s, &seen, &d.cover, "! cat inner/secret 2>/dev/null"), 0);
	session_free(s);
	deep_remove(&d);
}

/* Without the bind nothing can be mounted where the folder went: the session ends. */
static void ends_with_the_folder(void **state)
{
	for (int held = 0; held < 2; held++) {
		struct deep d;
		struct seen seen = { 0 };
		struct session *s;

		(void)state;
		deep_make(&d, false);
		s = box_open(&d.cover.plan, &seen, false);
		if (held)
			hold_folder(s, &seen, &d);
		assert_int_equal(unlink(d.secret), 0);
		assert_int_equal(rmdir(d.inner), 0);
		make_inner(&d);
		seen.n = 0;
		box_until(s, &seen, 1);
		assert_int_equal(seen.events[0].kind, SESSION_GONE);
		assert_non_null(strstr(seen.texts[0], "was moved or replaced"));
		session_free(s);
		deep_remove(&d);
	}
}

/* Where the command's own init watches, it says why as well. */
static void ends_a_single_command(void **state)
{
	struct deep d;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	deep_make(&d, false);
	s = box_open(&d.cover.plan, &seen, true);
	box_start(s, 1, "sleep 1000", -1, 0);
	box_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_STARTED);
	assert_int_equal(unlink(d.secret), 0);
	assert_int_equal(rmdir(d.inner), 0);
	make_inner(&d);
	box_until(s, &seen, 2);
	assert_int_equal(seen.events[1].kind, SESSION_GONE);
	assert_non_null(strstr(seen.texts[1], "was moved or replaced"));
	session_free(s);
	deep_remove(&d);
}

/* What Corral wrote over a file of the host is put back, not the host's. */
static void restores_texts(void **state)
{
	struct cover c;
	struct plan_entry *e;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	cover_make(&c);
	e = &c.plan.entries[c.plan.n - 2];
	assert_string_equal(e->path, c.kept);
	e->kind = PLAN_FILE;
	e->text = "of the session";
	s = box_open(&c.plan, &seen, false);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(
			cover_run(s, &seen, &c, "test \"$(cat kept)\" = 'of the session'"), 0);
		cover_replace(c.kept, "of the host");
		box_settle(s, &seen);
	}
	session_free(s);
	cover_remove(&c);
}

/* A folder of the session's own over one of the host: that of the host must never come in. */
static void never_opens_the_hosts_folder(void **state)
{
	struct deep d;
	struct plan *p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	deep_make(&d, false);
	p = &d.cover.plan;
	p->entries[p->n - 1] = (struct plan_entry){
		.kind = PLAN_TMP, .path = d.inner, .is_dir = true, .over = true
	};
	s = box_open(p, &seen, false);
	assert_int_equal(cover_run(s, &seen, &d.cover, "! cat inner/secret 2>/dev/null"), 0);
	assert_int_equal(unlink(d.secret), 0);
	assert_int_equal(rmdir(d.inner), 0);
	make_inner(&d);
	seen.n = 0;
	box_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_GONE);
	session_free(s);
	deep_remove(&d);
}

/* The covers, too, are watched from now on: by folders. */
static void uses_folders(void **state)
{
	errno = 0;
	(void)state;
	assert_int_equal(inotify_init1(IN_CLOEXEC), -1);
	assert_int_equal(errno, EMFILE);
}

static int set_limit(const char *path, const char *value)
{
	auto_fd fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, value, strlen(value)) < 0 ? -errno : 0;
}

/* In a user namespace of its own, where there is no inotify: nothing outside of it changes. */
static int leave_inotify(void **state)
{
	uid_t uid = getuid();
	gid_t gid = getgid();

	(void)state;
	if (by_folder)
		return 0;
	by_folder = true;
	return unshare(CLONE_NEWUSER) < 0 || userns_map(uid, gid) < 0 ||
	       set_limit("/proc/sys/user/max_inotify_instances", "0") < 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(survives_a_storm),
		cmocka_unit_test(covers_a_new_folder),
		cmocka_unit_test(runs_without_the_folder),
		cmocka_unit_test(ends_with_the_folder),
		cmocka_unit_test(ends_a_single_command),
		cmocka_unit_test(restores_texts),
		cmocka_unit_test(never_opens_the_hosts_folder),
		WITHOUT_INOTIFY(uses_folders),
		WITHOUT_INOTIFY(comes_back),
		WITHOUT_INOTIFY(survives_a_storm),
		WITHOUT_INOTIFY(covers_a_new_folder),
		WITHOUT_INOTIFY(runs_without_the_folder),
		WITHOUT_INOTIFY(ends_with_the_folder),
		WITHOUT_INOTIFY(ends_a_single_command),
		WITHOUT_INOTIFY(restores_texts),
		WITHOUT_INOTIFY(never_opens_the_hosts_folder),
	};

	return cmocka_run_group_tests_name("watch", tests, NULL, NULL);
}
