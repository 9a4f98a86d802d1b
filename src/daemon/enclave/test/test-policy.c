/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/enclave/policy.h"

#include "daemon/enclave/files.h"
#include "daemon/enclave/test/test-stage.h"

#define READ files_read, &routes[ROUTE_FS_READ]
#define GET policy_get, &routes[ROUTE_GET_POLICY]
#define SET policy_set, &routes[ROUTE_SET_POLICY]

static void missing_is(struct stage *s, bool is)
{
	auto_buffer text = { 0 };

	policy_print_missing(&s->bridge, &text);
	assert_int_equal(text.len > 0, is);
}

static void told_is(struct stage *s, const char *text)
{
	if (!strstr(buffer_text(&s->told), text))
		fail_msg("%s", buffer_text(&s->told));
	buffer_clear(&s->told);
}

/* Nothing is granted without a file; it counts when it is there, and no more when it is gone. */
static void test_file(void **state)
{
	struct stage s;
	char path[4300];

	(void)state;
	stage_make(&s);
	stage_file(s.work, "a", "text");
	(void)snprintf(path, sizeof(path), "%s/a", s.work);
	stage_open(&s);
	missing_is(&s, true);
	answers(&s, 403, "Permission denied: ", READ, "path", path);
	stage_file(s.folder, "enclave.yaml", "fs: {read: [/**]}\n");
	policy_refresh(&s.bridge);
	told_is(&s, "policy {\"name\":\"enclave\",\"state\":\"in force\",\"error\":null}");
	missing_is(&s, false);
	answers(&s, 200, "\"text\"", READ, "path", path);
	answers(&s, 200, "enclave.yaml\",\"ceiling\":false,\"error\":null}", GET);
	/* The same file is not read again. */
	policy_refresh(&s.bridge);
	assert_int_equal(s.told.len, 0);
	(void)snprintf(path, sizeof(path), "%s/enclave.yaml", s.folder);
	assert_int_equal(unlink(path), 0);
	policy_refresh(&s.bridge);
	told_is(&s, "\"state\":\"removed\"");
	missing_is(&s, true);
	(void)snprintf(path, sizeof(path), "%s/a", s.work);
	answers(&s, 403, "Permission denied: ", READ, "path", path);
	stage_end(&s);
}

/* A file that is not understood changes nothing, and says where. */
static void test_broken(void **state)
{
	struct stage s;
	char path[4300];

	(void)state;
	stage_begin(&s, "");
	stage_file(s.work, "a", "text");
	(void)snprintf(path, sizeof(path), "%s/a", s.work);
	buffer_clear(&s.told);
	stage_file(s.folder, "enclave.yaml", "fs:\n  read: 7\n");
	policy_refresh(&s.bridge);
	told_is(&s, "\"state\":\"broken\",\"error\":{\"text\":");
	answers(&s, 200, "\"line\":2", GET);
	answers(&s, 200, "\"text\"", READ, "path", path);
	/* Two files: neither counts. */
	stage_file(s.folder, "enclave.json", "{}");
	policy_refresh(&s.bridge);
	stage_file(s.folder, "enclave.yaml", "{}\n");
	policy_refresh(&s.bridge);
	answers(&s, 200, "\"error\":{", GET);
	answers(&s, 200, "\"text\"", READ, "path", path);
	stage_end(&s);
}

static void test_set(void **state)
{
	struct stage s;
	char path[4300];

	(void)state;
	stage_make(&s);
	stage_file(s.folder, "enclave-ceiling.yaml", "fs: {read: [/usr/**, /tmp/**]}\n");
	stage_file(s.work, "a", "text");
	(void)snprintf(path, sizeof(path), "%s/a", s.work);
	stage_open(&s);
	answers(&s, 409, "above the ceiling", SET, "policy", "fs: {read: [/etc/**]}");
	answers(&s, 409, "above the ceiling", SET, "policy", "fs: {write: [/tmp/**]}");
	answers(&s, 422, "error", SET, "policy", "fs: [");
	answers(&s, 403, "Permission denied: ", READ, "path", path);
	answers(&s, 200, "{\"applied\":true,\"running\":0}", SET, "policy",
		"fs: {read: [/tmp/**]}");
	missing_is(&s, false);
	/* Without a file it holds before each call. */
	policy_refresh(&s.bridge);
	answers(&s, 200, "\"text\"", READ, "path", path);
	answers(&s, 200, "\"ceiling\":true", GET);
	/* Whatever is granted, not the folder that has the policy. */
	(void)snprintf(path, sizeof(path), "%s/enclave-ceiling.yaml", s.folder);
	answers(&s, 403, "Permission denied: ", READ, "path", path);
	stage_end(&s);
}

/* Below a ceiling that cannot be read nothing can be granted. */
static void test_broken_ceiling(void **state)
{
	struct stage s;

	(void)state;
	stage_make(&s);
	stage_file(s.folder, "enclave-ceiling.yaml", "fs: [");
	stage_file(s.folder, "enclave.yaml", "fs: {read: [/usr/**]}\n");
	stage_open(&s);
	answers(&s, 403, "Permission denied: ", READ, "path", "/usr/bin/env");
	answers(&s, 409, "above the ceiling", SET, "policy", "fs: {read: [/usr/**]}");
	answers(&s, 200, "\"error\":{\"text\":", GET);
	stage_end(&s);
}

static void test_log(void **state)
{
	struct stage s;
	char path[4300];

	(void)state;
	stage_begin(&s, "");
	answers(&s, 403, "Permission denied: ", READ, "path", "/root/x");
	answers(&s, 200, "/root/x", policy_get_log, &routes[ROUTE_GET_AUDIT_LOG], "limit", "0");
	answers(&s, 200, "/root/x", policy_export_log, &routes[ROUTE_EXPORT_AUDIT_LOG]);
	answers(&s, 403, "Permission denied: ", policy_export_log, &routes[ROUTE_EXPORT_AUDIT_LOG],
		"path", "/usr/log");
	(void)snprintf(path, sizeof(path), "%s/log", s.work);
	answers(&s, 200, "{\"written\":", policy_export_log, &routes[ROUTE_EXPORT_AUDIT_LOG],
		"path", path);
	assert_int_equal(access(path, F_OK), 0);
	stage_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_broken_ceiling),
		cmocka_unit_test(test_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
