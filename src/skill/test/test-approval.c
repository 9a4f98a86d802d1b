/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <dirent.h>
#include <errno.h>
#include <time.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"
#include "base/file.h"
#include "skill/approval.h"
#include "skill/test/test.h"

static struct approval base(const struct folder *f, char out[128])
{
	(void)snprintf(out, 128, "%s/state/approvals", f->path);
	return (struct approval){
		.folder = out,
		.skill = "/home/me/skills/a \"b\"\n",
		.digest = { { 1, 2, 3 } },
		.permissions = "fs:\n  read: [/]\n",
	};
}

/* The one file in the folder of approvals. */
static void only_file(const struct approval *a, char out[256])
{
	DIR *d = opendir(a->folder);
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(d);
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		(void)snprintf(out, 256, "%.100s/%.100s", a->folder, entry->d_name);
		n++;
	}
	closedir(d);
	assert_int_equal(n, 1);
}

static void test_outcomes(void **state)
{
	char folder[128];
	struct approval a = base(*state, folder), b = a;
	struct error e;

	assert_int_equal(approval_check(&a, &e), APPROVAL_NONE);
	assert_int_equal(approval_remove(&a, &e), 1);
	assert_int_equal(approval_store(&a, &e), 0);
	assert_int_equal(approval_check(&a, &e), APPROVAL_CURRENT);

	b.digest.bytes[31] = 1;
	assert_int_equal(approval_check(&b, &e), APPROVAL_CONTENT_CHANGED);
	b.permissions = "other";
	assert_int_equal(approval_check(&b, &e), APPROVAL_CONTENT_CHANGED);
	b.digest = a.digest;
	assert_int_equal(approval_check(&b, &e), APPROVAL_PERMISSIONS_CHANGED);
	b = a;
	b.skill = "/home/me/skills/other";
	assert_int_equal(approval_check(&b, &e), APPROVAL_NONE);

	b = a;
	b.permissions = "";
	assert_int_equal(approval_store(&b, &e), 0);
	assert_int_equal(approval_check(&b, &e), APPROVAL_CURRENT);
	assert_int_equal(approval_check(&a, &e), APPROVAL_PERMISSIONS_CHANGED);
	assert_int_equal(approval_remove(&a, &e), 0);
	assert_int_equal(approval_check(&b, &e), APPROVAL_NONE);
	assert_int_equal(approval_remove(&a, &e), 1);
}

static void test_file(void **state)
{
	char folder[128], name[256];
	struct approval a = base(*state, folder);
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	struct stat st;
	struct tm tm = { 0 };
	const char *end;

	assert_int_equal(approval_store(&a, NULL), 0);
	only_file(&a, name);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(stat(folder, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);

	assert_int_equal(file_read(name, 4096, &text), 0);
	assert_int_equal(text.data[text.len - 1], '\n');
	assert_int_equal(json_read(&d, NULL, text.data, text.len, NULL), 0);
	assert_int_equal(d.root->count, 5);
	assert_string_equal(node_text(node_get(d.root, "version")), "1");
	assert_string_equal(node_text(node_get(d.root, "path")), a.skill);
	assert_string_equal(node_text(node_get(d.root, "digest")),
		"0102030000000000000000000000000000000000000000000000000000000000");
	assert_string_equal(node_text(node_get(d.root, "permissions")), a.permissions);
	end = strptime(node_text(node_get(d.root, "approved_at")), "%Y-%m-%dT%H:%M:%SZ", &tm);
	assert_non_null(end);
	assert_string_equal(end, "");
	assert_true(timegm(&tm) <= time(NULL) && timegm(&tm) > time(NULL) - 100);
}

static void must_be(const struct approval *a, int code, const char *text)
{
	struct error e = { 0 };

	assert_int_equal(approval_check(a, &e), code);
	if (!strstr(e.text, text))
		fail_msg("%s", e.text);
	assert_int_equal(approval_check(a, NULL), code);
}

/* Whatever somebody else could have arranged is no approval. */
static void test_foreign(void **state)
{
	char folder[128], name[256], other[300];
	struct approval a = base(*state, folder);

	assert_int_equal(approval_store(&a, NULL), 0);
	only_file(&a, name);
	(void)snprintf(other, sizeof(other), "%s.other", name);

	assert_int_equal(chmod(name, 0620), 0);
	must_be(&a, -EPERM, "other users can change it, so it is not trusted");
	assert_int_equal(chmod(name, 0602), 0);
	must_be(&a, -EPERM, "other users can change it, so it is not trusted");
	assert_int_equal(chmod(name, 0600), 0);
	assert_int_equal(chmod(folder, 0770), 0);
	must_be(&a, -EPERM, "other users can change it, so it is not trusted");
	assert_int_equal(approval_store(&a, NULL), -EPERM);
	assert_int_equal(chmod(folder, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(name, 1, 1), 0);
		must_be(&a, -EPERM, "it belongs to another user");
		assert_int_equal(chown(name, 0, 0), 0);
	}
	assert_int_equal(approval_check(&a, NULL), APPROVAL_CURRENT);

	assert_int_equal(rename(name, other), 0);
	assert_int_equal(symlink(other, name), 0);
	must_be(&a, -EPERM, "it is a symbolic link");
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkfifo(name, 0600), 0);
	must_be(&a, -EPERM, "it is not a regular file");
	assert_int_equal(unlink(name), 0);
	assert_int_equal(mkdir(name, 0700), 0);
	must_be(&a, -EPERM, "it is not a regular file");
	assert_int_equal(approval_remove(&a, NULL), -EISDIR);
	assert_int_equal(approval_store(&a, NULL), -EISDIR);
}

static void test_folder(void **state)
{
	const struct folder *f = *state;
	char folder[128], link[128];
	struct approval a = base(f, folder);
	struct error e;

	assert_int_equal(approval_store(&a, NULL), 0);
	(void)snprintf(link, sizeof(link), "%s/link", f->path);
	assert_int_equal(symlink(folder, link), 0);
	a.folder = link;
	must_be(&a, -EPERM, "it is not a folder");
	assert_int_equal(approval_store(&a, &e), -EPERM);
	a.folder = "/dev/null";
	must_be(&a, -EPERM, "it is not a folder");
	assert_int_equal(approval_remove(&a, NULL), 1);
	a.folder = "/dev/null/x";
	must_be(&a, -ENOTDIR, "Not a directory");
	assert_int_equal(approval_store(&a, NULL), -ENOTDIR);
	a.folder = "relative";
	assert_int_equal(approval_store(&a, NULL), -EINVAL);
	a.folder = "";
	assert_int_equal(approval_store(&a, NULL), -EINVAL);
}

static void test_content(void **state)
{
	static const struct {
		const char *text;
		int code;
	} cases[] = {
		{ "", -EINVAL },
		{ "{", -EINVAL },
		{ "[]", -EINVAL },
		{ "{}", -EINVAL },
		{ "{\"path\": 1}", -EINVAL },
		{ "{\"path\": \"/s\"}", APPROVAL_CONTENT_CHANGED },
		{ "{\"path\": \"/s\", \"digest\": null}", APPROVAL_CONTENT_CHANGED },
		{ "{\"path\": \"/t\"}", -EINVAL },
	};
	char folder[128], name[256];
	struct approval a = base(*state, folder);
	static char big[300 << 10];

	a.skill = "/s";
	assert_int_equal(approval_store(&a, NULL), 0);
	only_file(&a, name);
	for (size_t i = 0; i < ROWS(cases); i++) {
		assert_int_equal(file_replace(name, cases[i].text, strlen(cases[i].text), 0600), 0);
		must_be(&a, cases[i].code, "");
	}
	memset(big, ' ', sizeof(big));
	assert_int_equal(file_replace(name, big, sizeof(big), 0600), 0);
	must_be(&a, -EFBIG, "File too large");
}

static void test_bad_input(void **state)
{
	static char long_text[APPROVAL_TEXT_MAX + 2];
	char folder[128];
	struct approval a = base(*state, folder), b = a;

	b.skill = "relative";
	assert_int_equal(approval_store(&b, NULL), -EINVAL);
	assert_int_equal(approval_check(&b, NULL), -EINVAL);
	assert_int_equal(approval_remove(&b, NULL), -EINVAL);
	b.skill = "/a/../b";
	assert_int_equal(approval_store(&b, NULL), -EINVAL);
	b.skill = "/\xff";
	assert_int_equal(approval_store(&b, NULL), -EILSEQ);
	b = a;
	b.permissions = "\xff";
	assert_int_equal(approval_store(&b, NULL), -EINVAL);
	memset(long_text, '"', sizeof(long_text) - 1);
	b.permissions = long_text;
	assert_int_equal(approval_store(&b, NULL), -EINVAL);
	b.permissions = long_text + 1;
	assert_int_equal(approval_store(&b, NULL), 0);
	assert_int_equal(approval_check(&b, NULL), APPROVAL_CURRENT);
}

/* An approval of the version before, which has no `version`. */
static void approval_write_old(const struct approval *a, const char *file, const char *more)
{
	char digest[SKILL_DIGEST_HEX];
	auto_buffer text = { 0 };

	skill_digest_hex(&a->digest, digest);
	buffer_printf(&text,
		"{%s\"path\": \"/home/me/skills/a \\\"b\\\"\\n\", \"digest\": \"%s\", "
		"\"approved_at\": "
		"\"2026-01-31T12:00:00Z\", \"permissions\": \"fs:\\n  read: [/]\\n\"}\n",
		more, digest);
	assert_int_equal(file_replace(file, text.data, text.len, 0600), 0);
}

static void test_version(void **state)
{
	const struct folder *f = *state;
	char folder[128], file[256], kept[264];
	struct approval a = base(f, folder);
	struct approval_record record;
	auto_buffer old = { 0 }, backup = { 0 }, new = { 0 };
	auto_arena arena = { 0 };
	struct error e = { 0 };

	assert_int_equal(approval_store(&a, NULL), 0);
	only_file(&a, file);
	(void)snprintf(kept, sizeof(kept), "%s.v0", file);
	approval_write_old(&a, file, "");
	assert_int_equal(file_read(file, 4096, &old), 0);
	/* It counts; the next approval replaces it, and it stays. */
	assert_int_equal(approval_check(&a, &e), APPROVAL_CURRENT);
	assert_int_equal(access(kept, F_OK), -1);
	assert_int_equal(approval_read(&a, &arena, &record, &e), 0);
	assert_string_equal(record.approved_at, "2026-01-31T12:00:00Z");
	assert_int_equal(approval_store(&a, &e), 0);
	assert_int_equal(file_read(kept, 4096, &backup), 0);
	assert_string_equal(buffer_text(&backup), buffer_text(&old));
	assert_int_equal(file_read(file, 4096, &new), 0);
	assert_non_null(strstr(buffer_text(&new), "\"version\": 1"));
	assert_int_equal(approval_check(&a, &e), APPROVAL_CURRENT);
	/* A newer one is refused by name, and stays as it is. */
	approval_write_old(&a, file, "\"version\": 2, ");
	assert_int_equal(approval_check(&a, &e), -ENOTSUP);
	assert_non_null(strstr(e.text, file));
	assert_non_null(strstr(e.text, "approval has version 2"));
	assert_non_null(strstr(e.hint, "upgrade Corral"));
	approval_write_old(&a, file, "\"version\": \"x\", ");
	assert_int_equal(approval_check(&a, &e), -EINVAL);
}

#define WITH_FOLDER(function) \
	cmocka_unit_test_setup_teardown(function, folder_set_up, folder_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(test_outcomes),
		WITH_FOLDER(test_file),
		WITH_FOLDER(test_foreign),
		WITH_FOLDER(test_folder),
		WITH_FOLDER(test_content),
		WITH_FOLDER(test_bad_input),
		WITH_FOLDER(test_version),
	};

	return cmocka_run_group_tests_name("approval", tests, NULL, NULL);
}
