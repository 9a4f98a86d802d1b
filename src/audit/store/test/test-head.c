/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and the heads that they sign, as bytes, as text, as files. */
#include "test/unit.h"

#include <errno.h>
#include <sodium.h>

#include "audit/store/head.h"
#include "audit/test/test-audit.h"
#include "base/array.h"
#include "codec/json-writer.h"

static struct head sample(const struct key *k)
{
	struct head h = { .number = 17, .removed = 3, .time_ns = UINT64_C(1700000000000000001) };

	memset(h.log, 0x11, sizeof(h.log));
	memset(h.chain.bytes, 0x22, sizeof(h.chain.bytes));
	memset(h.root.bytes, 0x33, sizeof(h.root.bytes));
	head_sign(&h, k);
	return h;
}

static struct key open_key(struct bench *b)
{
	struct error e = { 0 };
	struct key k;

	if (key_open(&k, b->key, &e) < 0)
		fail_msg("%s", e.text);
	return k;
}

static void key_is_made_once(void **state)
{
	struct bench *b = bench_new();
	struct key first = open_key(b), second = open_key(b);
	struct key_public public;
	struct stat st;

	(void)state;
	assert_memory_equal(&first, &second, sizeof(first));
	assert_int_equal(lstat(b->key, &st), 0);
	assert_int_equal(st.st_mode, S_IFREG | 0600);
	assert_int_equal(st.st_nlink, 1);
	assert_int_equal(key_public_read(&public, b->public, NULL), 0);
	assert_memory_equal(&public, &first.public, sizeof(public));
	/* A lost public half is made again. */
	assert_int_equal(unlink(b->public), 0);
	second = open_key(b);
	assert_int_equal(access(b->public, F_OK), 0);
	key_deinit(&first);
	assert_true(sodium_is_zero((const uint8_t *)&first, sizeof(first)));
	bench_free(b);
}

static void write_text(const char *path, const char *text, mode_t mode)
{
	assert_int_equal(file_replace(path, text, strlen(text), mode), 0);
}

static void keys_that_are_refused(void **state)
{
	static const struct {
		const char *text; /* NULL: as it was made */
		mode_t mode;
		int want;
	} cases[] = {
		{ NULL, 0600, 0 },
		{ NULL, 0400, 0 },
		{ NULL, 0640, -EPERM },
		{ NULL, 0604, -EPERM },
		{ NULL, 0620, -EPERM },
		{ "", 0600, -EBADMSG },
		{ "no key\n", 0600, -EBADMSG },
		{ "00112233445566778899aabbccddeeff00112233445566778899aabbccddeef\n", 0600,
			-EBADMSG },
		{ "00112233445566778899aabbccddeeff00112233445566778899aabbccddeexx\n", 0600,
			-EBADMSG },
		{ "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff0\n", 0600,
			-EBADMSG },
		/* a key, but not the one whose public half lies there */
		{ "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n", 0600,
			-EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct bench *b = bench_new();
		struct key k = open_key(b);
		struct error e = { 0 };

		if (cases[i].text)
			write_text(b->key, cases[i].text, cases[i].mode);
		assert_int_equal(chmod(b->key, cases[i].mode), 0);
		assert_int_equal(key_open(&k, b->key, &e), cases[i].want);
		assert_true(cases[i].want == 0 || strstr(e.text, "log.key"));
		bench_free(b);
	}
}

static void no_links_no_pipes(void **state)
{
	struct bench *b = bench_new();
	struct key k = open_key(b);
	char other[128];

	(void)state;
	snprintf(other, sizeof(other), "%s/link", b->folder);
	assert_int_equal(symlink(b->key, other), 0);
	assert_int_equal(key_open(&k, other, NULL), -EPERM);
	/* One that leads nowhere makes no key there, either. */
	assert_int_equal(unlink(other), 0);
	assert_int_equal(symlink("nowhere", other), 0);
	assert_int_equal(key_open(&k, other, NULL), -EPERM);
	assert_int_equal(unlink(other), 0);
	assert_int_equal(mkfifo(other, 0600), 0);
	assert_int_equal(key_open(&k, other, NULL), -EPERM);
	/* Somebody else's: only root can make one. */
	if (geteuid() == 0) {
		assert_int_equal(chown(b->key, 65534, 65534), 0);
		assert_int_equal(key_open(&k, b->key, NULL), -EPERM);
	}
	snprintf(other, sizeof(other), "%s/no/such/folder", b->folder);
	assert_int_equal(key_open(&k, other, NULL), -ENOENT);
	assert_int_equal(key_public_read(&k.public, other, NULL), -ENOENT);
	assert_int_equal(key_public_read(&k.public, "/dev/zero", NULL), -EBADMSG);
	bench_free(b);
}

static void bytes_and_back(void **state)
{
	struct bench *b = bench_new();
	struct key k = open_key(b);
	const struct head h = sample(&k);
	uint8_t bytes[HEAD_BYTES];
	struct head back;

	(void)state;
	head_encode(&h, bytes);
	assert_memory_equal(bytes, "corral-audit-head-1\n", HEAD_MAGIC_BYTES);
	assert_int_equal(head_decode(&back, bytes, sizeof(bytes), h.signature, 64), 0);
	assert_memory_equal(&back, &h, sizeof(h));
	assert_int_equal(head_decode(&back, bytes, sizeof(bytes) - 1, h.signature, 64), -EBADMSG);
	assert_int_equal(head_decode(&back, bytes, sizeof(bytes), h.signature, 63), -EBADMSG);
	bytes[3] ^= 1;
	assert_int_equal(head_decode(&back, bytes, sizeof(bytes), h.signature, 64), -EBADMSG);
	bench_free(b);
}

/* Every bit that is signed counts, and every bit of the signature. */
static void edited_heads(void **state)
{
	struct bench *b = bench_new();
	struct key k = open_key(b);
	const struct head h = sample(&k);
	uint8_t bytes[HEAD_BYTES];

	(void)state;
	assert_int_equal(head_check(&h, &k.public), 0);
	head_encode(&h, bytes);
	for (size_t i = HEAD_MAGIC_BYTES; i < HEAD_BYTES; i++) {
		struct head edited;

		bytes[i] ^= 0x10;
		assert_int_equal(head_decode(&edited, bytes, HEAD_BYTES, h.signature, 64), 0);
		assert_true(head_check(&edited, &k.public) < 0);
		bytes[i] ^= 0x10;
	}
	for (size_t i = 0; i < KEY_SIGNATURE_BYTES; i++) {
		struct head edited = h;

		edited.signature[i] ^= 1;
		assert_int_equal(head_check(&edited, &k.public), -EBADMSG);
	}
	bench_free(b);
}

static void other_keys(void **state)
{
	struct bench *b = bench_new(), *other = bench_new();
	struct key k = open_key(b), swapped = open_key(other);
	struct head h = sample(&k);

	(void)state;
	assert_int_equal(head_check(&h, &swapped.public), -EKEYREJECTED);
	/* Another key that claims to be this one. */
	h = sample(&swapped);
	key_public_id(&k.public, h.key);
	assert_int_equal(head_check(&h, &k.public), -EBADMSG);
	/* Signed nonsense is nonsense. */
	h = sample(&k);
	h.removed = h.number + 1;
	head_sign(&h, &k);
	assert_int_equal(head_check(&h, &k.public), -EBADMSG);
	bench_free(b);
	bench_free(other);
}

static void files(void **state)
{
	static const char *const bad[] = { "", "{}", "[]", "null", "{\"number\":1}", "x" };
	struct bench *b = bench_new();
	struct key k = open_key(b);
	const struct head h = sample(&k);
	struct head back;

	(void)state;
	assert_int_equal(head_load(&back, b->head, NULL), -ENOENT);
	assert_int_equal(head_save(&h, b->head, NULL), 0);
	assert_int_equal(head_load(&back, b->head, NULL), 0);
	assert_memory_equal(&back, &h, sizeof(h));
	assert_int_equal(head_check(&back, &k.public), 0);
	for (size_t i = 0; i < ROWS(bad); i++) {
		write_text(b->head, bad[i], 0644);
		assert_int_equal(head_load(&back, b->head, NULL), -EBADMSG);
	}
	assert_int_equal(head_load(&back, "/dev/zero", NULL), -EBADMSG);
	bench_free(b);
}

/* A field less, longer, of another type: no head. */
static void texts(void **state)
{
	static const char *const edits[][2] = {
		{ "\"number\":17", "\"number\":-1" },
		{ "\"number\":17", "\"number\":\"17\"" },
		{ "\"removed\":3", "\"gone\":3" },
		{ "\"time_ns\":1700000000000000001", "\"time_ns\":1.5" },
		{ "\"log\":\"1111", "\"log\":\"111" },
		{ "\"chain\":\"2222", "\"chain\":\"222222" },
		{ "\"root\":\"33", "\"root\":\"3g" },
		{ "\"key\":\"", "\"other\":\"" },
		{ "\"signature\":\"", "\"signature\":1,\"x\":\"" },
	};
	struct bench *b = bench_new();
	struct key k = open_key(b);
	const struct head h = sample(&k);
	struct head back;

	(void)state;
	for (size_t i = 0; i < ROWS(edits); i++) {
		auto_buffer text = { 0 }, edited = { 0 };
		auto_document d = { 0 };
		char *at;

		head_print(&h, &(struct json_writer){ .out = &text }, NULL);
		at = strstr(text.data, edits[i][0]);
		assert_non_null(at);
		buffer_add(&edited, text.data, (size_t)(at - text.data));
		buffer_adds(&edited, edits[i][1]);
		buffer_adds(&edited, at + strlen(edits[i][0]));
		assert_int_equal(json_read(&d, NULL, edited.data, edited.len, NULL), 0);
		assert_int_equal(head_parse(&back, d.root), -EBADMSG);
	}
	assert_int_equal(head_parse(&back, NULL), -EBADMSG);
	bench_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_is_made_once),
		cmocka_unit_test(keys_that_are_refused),
		cmocka_unit_test(no_links_no_pipes),
		cmocka_unit_test(bytes_and_back),
		cmocka_unit_test(edited_heads),
		cmocka_unit_test(other_keys),
		cmocka_unit_test(files),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
