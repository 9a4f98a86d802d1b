/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <sodium.h>

#include "base/array.h"
#include "base/buffer.h"
#include "skill/approval.h"
#include "skill/inventory.h"
#include "skill/test/test.h"

static void read_folder(const struct folder *f, struct skill_content *c)
{
	*c = (struct skill_content){ 0 };
	assert_int_equal(skill_content_read(c, f->fd, NULL, NULL, NULL), 0);
}

static void test_changes(void **state)
{
	static const struct {
		const char *path;
		enum skill_change_kind kind;
	} expected[] = { { "a", SKILL_CHANGED }, { "folder/new", SKILL_ADDED },
		{ "gone", SKILL_REMOVED }, { "link", SKILL_CHANGED }, { "tool", SKILL_CHANGED },
		{ "was-file", SKILL_CHANGED }, { "was-file/in", SKILL_ADDED } };
	struct folder *f = *state;
	struct skill_content was, now;
	struct skill_inventory all;
	struct skill_changes changes;
	auto_buffer stream = { 0 };
	auto_arena a = { 0 };

	folder_add(f, "a", "one");
	folder_add(f, "gone", "x");
	folder_add(f, "same", "x");
	folder_add(f, "tool", "x");
	folder_add(f, "was-file", "x");
	assert_int_equal(mkdirat(f->fd, "folder", 0755), 0);
	assert_int_equal(symlinkat("same", f->fd, "link"), 0);
	read_folder(f, &was);
	skill_digest_print(&was, &stream);
	assert_int_equal(skill_inventory_read(stream.data, stream.len, &was.digest, &a, &all), 0);
	assert_int_equal(all.n, was.n);
	assert_int_equal(skill_inventory_compare(&all, &was, &a, &changes), 0);
	assert_int_equal(changes.n, 0);

	folder_add(f, "a", "two");
	folder_add(f, "folder/new", "x");
	assert_int_equal(unlinkat(f->fd, "gone", 0), 0);
	assert_int_equal(fchmodat(f->fd, "tool", 0755, 0), 0);
	assert_int_equal(unlinkat(f->fd, "link", 0), 0);
	assert_int_equal(symlinkat("a", f->fd, "link"), 0);
	assert_int_equal(unlinkat(f->fd, "was-file", 0), 0);
	assert_int_equal(mkdirat(f->fd, "was-file", 0755), 0);
	folder_add(f, "was-file/in", "x");
	read_folder(f, &now);
	assert_int_equal(skill_inventory_compare(&all, &now, &a, &changes), 0);
	assert_int_equal(changes.n, ROWS(expected));
	for (size_t i = 0; i < changes.n; i++) {
		assert_string_equal(changes.items[i].path, expected[i].path);
		assert_int_equal(changes.items[i].kind, expected[i].kind);
	}
	/* What the skill may write is no part of it. */
	for (size_t i = 0; i < now.n; i++)
		now.items[i].live = true;
	assert_int_equal(skill_inventory_compare(&all, &now, &a, &changes), 0);
	assert_int_equal(changes.n, all.n);
	assert_int_equal(
		skill_inventory_read(stream.data, stream.len, &now.digest, &a, &all), -ESTALE);
	skill_content_deinit(&was);
	skill_content_deinit(&now);
}

/* With the right hash, and yet no stream. */
static void test_bytes(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} rows[] = {
#define ROW(text) { text, sizeof(text) - 1 }
		ROW(""),
		ROW("corral-skill-2\n"),
		ROW("corral-skill-1\nf"),
		ROW("corral-skill-1\nd\0\0\0\0\0\0\0\1a"),
		ROW("corral-skill-1\nd\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\1"),
		ROW("corral-skill-1\nd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
		ROW("corral-skill-1\nd\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0"),
		ROW("corral-skill-1\nd\377\377\377\377\377\377\377\377a"),
		ROW("corral-skill-1\nq\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\0"),
		ROW("corral-skill-1\nf\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\1short"),
		ROW("corral-skill-1\nl\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\0"),
		ROW("corral-skill-1\nd\0\0\0\0\0\0\0\1b\0\0\0\0\0\0\0\0"
		    "d\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\0"),
		ROW("corral-skill-1\nd\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\0"
		    "d\0\0\0\0\0\0\0\1a\0\0\0\0\0\0\0\0"),
#undef ROW
	};
	struct skill_inventory all;
	struct skill_digest digest;
	auto_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		crypto_hash_sha256(digest.bytes, (const unsigned char *)rows[i].bytes, rows[i].len);
		assert_int_equal(
			skill_inventory_read(rows[i].bytes, rows[i].len, &digest, &a, &all),
			-EINVAL);
	}
}

/* It is kept beside the approval, replaced with it and removed with it. */
static void test_kept(void **state)
{
	const struct folder *f = *state;
	auto_buffer entries = { 0 }, read = { 0 }, folder = { 0 };
	struct approval a = { .skill = "/home/me/skills/a",
		.digest = { { 1 } },
		.permissions = "p",
		.entries = &entries };
	struct approval_record record;
	struct approval_records all = { 0 };
	char id[SKILL_DIGEST_HEX], name[256];
	auto_arena arena = { 0 };

	buffer_printf(&folder, "%s/approvals", f->path);
	a.folder = buffer_text(&folder);
	buffer_adds(&entries, "bytes");
	assert_int_equal(approval_list(a.folder, &arena, &all, NULL), 0);
	assert_int_equal(all.n, 0);
	assert_int_equal(approval_read(&a, &arena, &record, NULL), 1);
	assert_int_equal(approval_read_entries(&a, &read, NULL), 1);
	assert_int_equal(approval_store(&a, NULL), 0);
	assert_int_equal(approval_read_entries(&a, &read, NULL), 0);
	assert_string_equal(buffer_text(&read), "bytes");
	assert_int_equal(approval_read(&a, &arena, &record, NULL), 0);
	assert_string_equal(record.permissions, "p");
	assert_int_equal(strlen(record.digest), SKILL_DIGEST_HEX - 1);
	assert_int_equal(strlen(record.approved_at), strlen("2026-01-31T12:00:00Z"));

	/* A file under another's name is no approval. */
	approval_id(a.skill, id);
	(void)snprintf(name, sizeof(name), "approvals/%s.json", id);
	id[0] = id[0] == 'a' ? 'b' : 'a';
	{
		char other[256];

		(void)snprintf(other, sizeof(other), "approvals/%s.json", id);
		assert_int_equal(linkat(f->fd, name, f->fd, other, 0), 0);
	}
	folder_add((struct folder *)*state, "approvals/note", "x");
	assert_int_equal(approval_list(a.folder, &arena, &all, NULL), 0);
	assert_int_equal(all.n, 1);
	assert_string_equal(all.items[0].path, a.skill);

	a.entries = NULL;
	assert_int_equal(approval_store(&a, NULL), 0);
	assert_int_equal(approval_read_entries(&a, &read, NULL), 1);
	a.entries = &entries;
	assert_int_equal(approval_store(&a, NULL), 0);
	assert_int_equal(approval_remove(&a, NULL), 0);
	assert_int_equal(approval_read_entries(&a, &read, NULL), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_changes, folder_set_up, folder_tear_down),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test_setup_teardown(test_kept, folder_set_up, folder_tear_down),
	};

	return cmocka_run_group_tests_name("inventory", tests, NULL, NULL);
}
