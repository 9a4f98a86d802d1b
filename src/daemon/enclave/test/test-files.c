/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/enclave/files.h"

#include "daemon/enclave/test/test-stage.h"

#define READ files_read, &routes[ROUTE_FS_READ]
#define WRITE files_write, &routes[ROUTE_FS_WRITE]
#define LIST files_list, &routes[ROUTE_FS_LIST]

static const char *below(const struct stage *s, const char *name)
{
	static char path[8400];

	(void)snprintf(path, sizeof(path), "%s/%s", s->work, name);
	return path;
}

static void test_read_and_write(void **state)
{
	struct stage s;

	(void)state;
	stage_begin(&s, "");
	answers(&s, 200, "{\"written\":3}", WRITE, "path", below(&s, "a"), "content", "a b");
	answers(&s, 200, "{\"content\":\"a b\",\"encoding\":\"utf8\",\"size\":3,", READ, "path",
		below(&s, "a"));
	answers(&s, 200, "{\"content\":\"YSBi\",\"encoding\":\"base64\"", READ, "path",
		below(&s, "a"), "encoding", "base64");
	answers(&s, 200, "{\"written\":2}", WRITE, "path", below(&s, "b"), "content",
		"/wA=", "encoding", "base64");
	answers(&s, 200, "{\"content\":\"/wA=\",\"encoding\":\"base64\"", READ, "path",
		below(&s, "b"));
	answers(&s, 400, "not base64", WRITE, "path", below(&s, "c"), "content", "?", "encoding",
		"base64");
	answers(&s, 404, "error", READ, "path", below(&s, "c"));
	answers(&s, 400, "must be absolute", READ, "path", "a");
	stage_end(&s);
}

/* What is not granted, and what no grant reaches: the folder of the policy. */
static void test_denied(void **state)
{
	struct stage s;
	char path[4300];

	(void)state;
	stage_begin(&s, "");
	(void)snprintf(path, sizeof(path), "%s/enclave.yaml", s.folder);
	answers(&s, 403, "Permission denied: ", READ, "path", path);
	answers(&s, 403, "\"denial\":{\"op\":\"fs.write\"", WRITE, "path", path, "content", "");
	answers(&s, 403, "\"op\":\"fs.write\"", WRITE, "path", "/usr/x", "content", "");
	/* The way around, by its name and by a link. */
	(void)snprintf(path, sizeof(path), "%s/../daemon/enclave.yaml", s.work);
	answers(&s, 403, "Permission denied: ", READ, "path", path);
	assert_int_equal(symlink(s.folder, below(&s, "link")), 0);
	answers(&s, 403, "Permission denied: ", READ, "path", below(&s, "link/enclave.yaml"));
	stage_end(&s);
}

static void test_list(void **state)
{
	struct stage s;

	(void)state;
	stage_begin(&s, "");
	stage_file(s.work, "a.txt", "12345");
	assert_int_equal(mkdir(below(&s, "sub"), 0700), 0);
	stage_file(below(&s, "sub"), "b.txt", "");
	assert_int_equal(symlink("a.txt", below(&s, "l")), 0);
	answers(&s, 200, "{\"name\":\"a.txt\",\"kind\":\"file\",\"size\":5,", LIST, "path", s.work);
	answers(&s, 200, "\"kind\":\"folder\"", LIST, "path", s.work);
	answers(&s, 200, "{\"name\":\"l\",\"kind\":\"link\"", LIST, "path", s.work);
	answers(&s, 200, "sub/b.txt", LIST, "path", s.work, "recursive", "true");
	answers(&s, 200, "\"truncated\":false}\n", LIST, "path", s.work, "pattern", "*.none");
	answers(&s, 403, "Permission denied: ", LIST, "path", s.folder);
	answers(&s, 404, "error", LIST, "path", below(&s, "none"));
	stage_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_and_write),
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
