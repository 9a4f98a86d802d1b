/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "services/calendar/edit.h"
#include "services/calendar/vdir.h"
#include "test/fds.h"
#include "test/scratch.h"

#define REMINDER(uid, text)                                                             \
	"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VTODO\r\nUID:" uid "\r\nSUMMARY:" text \
	"\r\nX-OTHER;A=b:kept\r\nEND:VTODO\r\nEND:VCALENDAR\r\n"

static char folder[PATH_MAX];

static int set_up(void **state)
{
	char template[] = "/tmp/corral-test-vdir.XXXXXX";

	(void)state;
	return scratch_make(template, folder) < 0 || chdir(folder) < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	return chdir("/") < 0 || scratch_remove(folder) < 0 ? -1 : 0;
}

static void write_file(const char *path, const char *text)
{
	auto_fd fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, text, strlen(text)), 0);
}

static struct store *open_store(void)
{
	struct store *s = NULL;

	assert_int_equal(vdir_new(&s, open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)), 0);
	return s;
}

struct found {
	size_t n;
	char uid[64], id[64], tag[STORE_TAG_MAX], text[4096];
};

static int remember(void *context, const struct store_item *i)
{
	struct found *f = context;

	f->n++;
	(void)stpcpy(f->uid, i->item->uid);
	(void)stpcpy(f->id, i->id);
	(void)stpcpy(f->tag, i->tag);
	(void)stpcpy(f->text, i->item->lines.source);
	return 0;
}

static struct found read_list(struct store *s, const char *id, const char *uid, size_t *skipped)
{
	const struct store_list list = { id, id };
	struct found f = { 0 };
	struct store_query q = { .kind = ITEM_TODO, .uid = uid, .each = remember, .context = &f };
	struct error e = { 0 };

	assert_int_equal(s->calls->each(s, &list, &q, &e), 0);
	if (skipped)
		*skipped = q.n_skipped;
	return f;
}

static void test_lists(void **state)
{
	struct store *s = open_store();
	auto_store_lists lists = { 0 };
	const struct store_list *list = NULL;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(mkdir("Shopping", 0700), 0);
	assert_int_equal(mkdir("shopping ", 0700), 0);
	assert_int_equal(mkdir("Caf\xc3\xa9", 0700), 0);
	assert_int_equal(mkdir("Cafe\xcc\x81", 0700), 0);
	assert_int_equal(mkdir(".hidden", 0700), 0);
	assert_int_equal(mkdir("b\x1b[31m", 0700), 0);
	assert_int_equal(mkdir("zero\xe2\x80\x8bwidth", 0700), 0);
	assert_int_equal(mkdir("one", 0700), 0);
	assert_int_equal(mkdir("two", 0700), 0);
	assert_int_equal(mkdir("tmp", 0700), 0);
	assert_int_equal(symlink("/etc", "link"), 0);
	write_file("file", "");
	write_file("one/displayname", "Twice\n");
	write_file("two/displayname", "Twice\n");
	assert_int_equal(symlink("/etc/hostname", "tmp/displayname"), 0);
	assert_int_equal(s->calls->lists(s, &lists, &e), 0);
	assert_int_equal(lists.n, 7);
	/* By bytes: neither case, nor spaces, nor another normal form is the same. */
	assert_int_equal(store_list_find(&lists, "Shopping", &list, &e), 0);
	assert_string_equal(list->id, "Shopping");
	assert_int_equal(store_list_find(&lists, "shopping", &list, &e), -ENOENT);
	assert_int_equal(store_list_find(&lists, "SHOPPING", &list, &e), -ENOENT);
	assert_int_equal(store_list_find(&lists, "shopping ", &list, &e), 0);
	assert_string_equal(list->id, "shopping ");
	assert_int_equal(store_list_find(&lists, "Caf\xc3\xa9", &list, &e), 0);
	assert_string_equal(list->id, "Caf\xc3\xa9");
	assert_int_equal(store_list_find(&lists, "Cafe\xcc\x81", &list, &e), 0);
	assert_string_equal(list->id, "Cafe\xcc\x81");
	/* Paths are no names, and links lead nowhere. */
	assert_int_equal(store_list_find(&lists, "../etc", &list, &e), -ENOENT);
	assert_int_equal(store_list_find(&lists, "link", &list, &e), -ENOENT);
	assert_int_equal(store_list_find(&lists, "file", &list, &e), -ENOENT);
	assert_int_equal(store_list_find(&lists, ".hidden", &list, &e), -ENOENT);
	/* Two of one name are none. */
	assert_int_equal(store_list_find(&lists, "Twice", &list, &e), -ENOTUNIQ);
	assert_int_equal(store_list_find(&lists, "one", &list, &e), -ENOENT);
	/* A displayname that is a link does not count. */
	assert_int_equal(store_list_find(&lists, "tmp", &list, &e), 0);
	s->calls->free(s);
}

static void test_items(void **state)
{
	struct store *s = open_store();
	size_t skipped = 0;
	struct found f;

	(void)state;
	assert_int_equal(mkdir("L", 0700), 0);
	assert_int_equal(mkdir("Private", 0700), 0);
	write_file("Private/secret.ics", REMINDER("secret", "secret"));
	write_file("L/a.ics", REMINDER("a", "first"));
	write_file("L/.b.ics", REMINDER("b", "hidden"));
	write_file("L/c.txt", REMINDER("c", "no item"));
	write_file("L/broken.ics", "BEGIN:VCALENDAR\r\n");
	assert_int_equal(symlink("../Private/secret.ics", "L/d.ics"), 0);
	assert_int_equal(mkfifo("L/e.ics", 0600), 0);
	assert_int_equal(mkdir("L/f.ics", 0700), 0);
	f = read_list(s, "L", NULL, &skipped);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.uid, "a");
	assert_int_equal(skipped, 4);
	/* A new version is seen, also if it has the same size. */
	write_file("L/a.ics", REMINDER("a", "SECON"));
	f = read_list(s, "L", NULL, NULL);
	assert_non_null(strstr(f.text, "SECON"));
	assert_int_equal(unlink("L/a.ics"), 0);
	assert_int_equal(read_list(s, "L", NULL, NULL).n, 0);
	assert_int_equal(read_list(s, "L", "secret", NULL).n, 0);
	s->calls->free(s);
}

static void test_writes(void **state)
{
	static const struct store_list list = { "L", "L" };
	struct store *s = open_store();
	auto_buffer tag = { 0 };
	struct error e = { 0 };
	struct found f;
	struct stat st;
	const size_t fds = count_fds();

	(void)state;
	assert_int_equal(mkdir("L", 0700), 0);
	assert_int_equal(s->calls->add(s, &list, "../../x", REMINDER("../../x", "1"),
				 strlen(REMINDER("../../x", "1")), &tag, &e),
		0);
	/* The id did not become a path. */
	f = read_list(s, "L", "../../x", NULL);
	assert_int_equal(f.n, 1);
	assert_string_equal(f.tag, tag.data);
	assert_null(strchr(f.id, '/'));
	assert_int_equal(s->calls->add(s, &list, "../../x", "", 0, &tag, &e), -EEXIST);
	buffer_clear(&tag);
	{
		struct store_item old = { f.id, f.tag, NULL };

		assert_int_equal(s->calls->replace(s, &list, &old, REMINDER("../../x", "2"),
					 strlen(REMINDER("../../x", "2")), &tag, &e),
			0);
		/* The same again: this version is gone. */
		assert_int_equal(s->calls->replace(s, &list, &old, "", 0, &tag, &e), -ESTALE);
		assert_int_equal(s->calls->remove(s, &list, &old, &e), -ESTALE);
		assert_non_null(strstr(read_list(s, "L", NULL, NULL).text, "SUMMARY:2"));
		old.tag = tag.data;
		assert_int_equal(s->calls->remove(s, &list, &old, &e), 0);
		assert_int_equal(s->calls->remove(s, &list, &old, &e), -ESTALE);
	}
	assert_int_equal(read_list(s, "L", NULL, NULL).n, 0);
	assert_int_equal(stat("L", &st), 0);
	assert_int_equal(count_fds(), fds);
	s->calls->free(s);
	/* Nothing is left behind. */
	assert_int_equal(rmdir("L"), 0);
}

/* A link that takes the item's place is not written through. */
static void test_link_in_place_of_an_item(void **state)
{
	static const struct store_list list = { "L", "L" };
	struct store *s = open_store();
	auto_buffer tag = { 0 }, text = { 0 };
	struct error e = { 0 };
	struct found f;
	struct store_item old;

	(void)state;
	assert_int_equal(mkdir("L", 0700), 0);
	write_file("victim", REMINDER("a", "first"));
	write_file("L/a.ics", REMINDER("a", "first"));
	f = read_list(s, "L", NULL, NULL);
	old = (struct store_item){ f.id, f.tag, NULL };
	assert_int_equal(unlink("L/a.ics"), 0);
	assert_int_equal(symlink("../victim", "L/a.ics"), 0);
	assert_true(s->calls->replace(s, &list, &old, "x", 1, &tag, &e) < 0);
	assert_true(s->calls->remove(s, &list, &old, &e) < 0);
	assert_int_equal(file_read("victim", 1000, &text), 0);
	assert_string_equal(text.data, REMINDER("a", "first"));
	s->calls->free(s);
}

/* Several writers at once, each adds its lines to the same item: none is lost. */

enum { WRITERS = 4, WRITES = 25 };

static int add_line(struct store *s, const char *name)
{
	static const struct store_list list = { "L", "L" };
	struct found f = { 0 };
	struct store_query q = { .kind = ITEM_TODO, .each = remember, .context = &f };
	auto_lines l = { 0 };
	auto_buffer text = { 0 }, line = { 0 }, tag = { 0 };
	auto_edit edit = { .lines = &l };
	struct error e = { 0 };
	int r = s->calls->each(s, &list, &q, &e);

	if (r < 0 || f.n != 1)
		return r < 0 ? r : -EAGAIN;
	r = lines_parse(&l, f.text, strlen(f.text));
	buffer_printf(&line, "%s:1\r\n", name);
	if (r == 0)
		r = edit_set(&edit, 1, name, line.data);
	if (r < 0)
		return r;
	edit_print(&edit, &text);
	return s->calls->replace(
		s, &list, &(struct store_item){ f.id, f.tag, NULL }, text.data, text.len, &tag, &e);
}

static void *writer(void *argument)
{
	struct store *s = NULL;
	size_t failed = 0;

	if (vdir_new(&s, open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
		return (void *)1;
	for (int i = 0; i < WRITES; i++) {
		char name[32];
		int r;

		(void)snprintf(name, sizeof(name), "X-%s-%d", (const char *)argument, i);
		do {
			r = add_line(s, name);
		} while (r == -ESTALE || r == -EAGAIN);
		failed += r < 0;
	}
	s->calls->free(s);
	return (void *)failed;
}

static void test_writers_at_once(void **state)
{
	static char names[WRITERS][2] = { "A", "B", "C", "D" };
	pthread_t threads[WRITERS];
	struct store *s = open_store();
	struct found f;
	auto_lines l = { 0 };

	(void)state;
	assert_int_equal(mkdir("L", 0700), 0);
	write_file("L/a.ics", REMINDER("a", "first"));
	for (int i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, writer, names[i]), 0);
	for (int i = 0; i < WRITERS; i++) {
		void *failed;

		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	f = read_list(s, "L", NULL, NULL);
	assert_int_equal(f.n, 1);
	assert_int_equal(lines_parse(&l, f.text, strlen(f.text)), 0);
	for (int w = 0; w < WRITERS; w++) {
		for (int i = 0; i < WRITES; i++) {
			char name[32];

			(void)snprintf(name, sizeof(name), "X-%s-%d", names[w], i);
			assert_non_null(lines_find(&l, 1, name, NULL));
		}
	}
	assert_string_equal(lines_find(&l, 1, "X-OTHER", NULL)->value, "kept");
	s->calls->free(s);
}

/* The write of a program that knows no lock is found out, and stays. */
static void test_stranger_writes(void **state)
{
	static const struct store_list list = { "L", "L" };
	struct store *s = open_store();
	auto_buffer tag = { 0 };
	struct error e = { 0 };
	struct found f;

	(void)state;
	assert_int_equal(mkdir("L", 0700), 0);
	write_file("L/a.ics", REMINDER("a", "first"));
	f = read_list(s, "L", NULL, NULL);
	write_file("L/.new", REMINDER("a", "theirs"));
	assert_int_equal(rename("L/.new", "L/a.ics"), 0);
	assert_int_equal(s->calls->replace(s, &list, &(struct store_item){ f.id, f.tag, NULL },
				 "ours", 4, &tag, &e),
		-ESTALE);
	assert_non_null(strstr(e.text, "changed by another program"));
	assert_non_null(strstr(read_list(s, "L", NULL, NULL).text, "theirs"));
	s->calls->free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lists, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_items, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_writes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_link_in_place_of_an_item, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_writers_at_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stranger_writes, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
