/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row for each action, with texts that no format takes as they are, against the files in
 * tests/data/audit. `test-export FORMAT` prints what such a file should have: whoever changes a
 * format on purpose writes it anew, and looks at the difference.
 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/export/export.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/words.h"
#include "base/file.h"
#include "codec/json.h"

static const struct {
	enum audit_action action;
	enum audit_decision decision;
	const char *program, *target, *rule, *reason;
	uint32_t pid;
	int64_t status;
} rows[] = {
	{ AUDIT_COMMAND_START, AUDIT_ALLOWED, "/usr/bin/corral", "sh -c 'a=b | c \\ d'", "p.yaml:1",
		"", 0, 0 },
	{ AUDIT_COMMAND_END, AUDIT_NONE, "/bin/sh", "sh -c true", "", "", 41, -9 },
	{ AUDIT_FS_READ, AUDIT_DENIED, "/bin/cat", "/home/u/.ssh/id \"rsa\", old",
		"baseline: ~/.ssh", "keys are never readable", 42, 0 },
	{ AUDIT_FS_WRITE, AUDIT_ALLOWED, "/bin/sh", "/w/two\nlines\r\tand\x01more", "p.yaml:2", "",
		43, 0 },
	{ AUDIT_FS_LIST, AUDIT_FAILED, "/bin/ls", "/w/é\xff\xe2\x80\xae", "p.yaml:2",
		"No such file", 44, 0 },
	{ AUDIT_FS_DELETE, AUDIT_ASKED, "/bin/rm", "=cmd|' /C calc'!A0", "+x", "-y", 45, 0 },
	{ AUDIT_NET_CONNECT, AUDIT_ALLOWED, "/usr/bin/curl", "api.example.com:443",
		"p.yaml:3: *.example.com:443", "", 46, 0 },
	{ AUDIT_NET_CONNECT, AUDIT_DENIED, "", "udp://[2001:db8::1]:53", "", "not granted", 0, 0 },
	{ AUDIT_NET_CONNECT, AUDIT_FAILED, "@curl", "unix:/run/x.sock", "p.yaml:4", "refused", 47,
		0 },
	{ AUDIT_NET_CLOSE, AUDIT_NONE, "/usr/bin/curl", "https://192.0.2.1:8443/path", "", "", 46,
		0 },
	{ AUDIT_NET_NAME, AUDIT_DENIED, "/usr/bin/dig", "evil.example", "", "not granted", 48, 0 },
	{ AUDIT_EXEC, AUDIT_DENIED, "/bin/sh", "/usr/bin/sudo", "baseline", "never", 49, 0 },
	{ AUDIT_ENV, AUDIT_DENIED, "/bin/sh", "AWS_SECRET_ACCESS_KEY", "", "not granted", 0, 0 },
	{ AUDIT_SERVICE, AUDIT_ALLOWED, "agent", "calendar.read", "p.yaml:5", "", 0, 0 },
	{ AUDIT_POLICY, AUDIT_DENIED, "", "set", "", "wrong token", 0, 0 },
	{ AUDIT_APPROVAL, AUDIT_ASKED, "", "fs.write /w/x", "", "once, for 60 s", 0, 0 },
	{ AUDIT_CONFINEMENT, AUDIT_NONE, "", "landlock,seccomp,netns", "", "", 0, 0 },
	{ AUDIT_LIMIT, AUDIT_DENIED, "/bin/sh", "time 10 s", "", "used up", 50, 0 },
	{ AUDIT_SESSION, AUDIT_NONE, "", "begins", "", "", 0, 0 },
	{ AUDIT_STORE, AUDIT_NONE, "", "rotated", "", "", 0, 0 },
};

static struct audit_row make(size_t i)
{
	struct audit_row r = { .number = i + 1,
		.event = { .time_ns = 1700000000123456789 + i,
			.sequence = i + 100,
			.session = "s-1",
			.user = i % 2 ? "1000" : "",
			.sandbox = i % 3 ? "b=1" : "",
			.pid = rows[i].pid,
			.program = rows[i].program,
			.action = rows[i].action,
			.target = rows[i].target,
			.decision = rows[i].decision,
			.rule = rows[i].rule,
			.reason = rows[i].reason,
			.exact = i % 2,
			.cost_ns = i * 1000,
			.sent = rows[i].action == AUDIT_NET_CLOSE ? 123 : 0,
			.received = rows[i].action == AUDIT_NET_CLOSE ? UINT64_MAX : 0,
			.status = rows[i].status,
			.count = i + 1 } };

	memset(r.hash.bytes, (int)i + 1, sizeof(r.hash.bytes));
	return r;
}

static void export_all(enum audit_format f, struct buffer *out)
{
	buffer_adds(out, audit_export_head(f));
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct audit_row r = make(i);

		audit_export_row(f, &r, out);
	}
}

static void check_golden(enum audit_format f)
{
	const char *folder = getenv("CORRAL_TEST_AUDIT");
	auto_buffer path = { 0 }, want = { 0 }, got = { 0 };

	assert_non_null(folder);
	buffer_printf(&path, "%s/rows.%s", folder, audit_format_names[f]);
	assert_int_equal(file_read(path.data, 1 << 20, &want), 0);
	export_all(f, &got);
	assert_false(got.failed);
	if (got.len != want.len || memcmp(got.data, want.data, got.len) != 0)
		fail_msg("%s: is not what is written now:\n%s", path.data, got.data);
}

static void test_golden(void **state)
{
	(void)state;
	for (int f = 0; f < AUDIT_FORMAT_COUNT; f++)
		check_golden((enum audit_format)f);
}

/* One line for each row, with nothing in it that a terminal would obey. */
static void test_lines(void **state)
{
	(void)state;
	for (int f = 0; f < AUDIT_FORMAT_COUNT; f++) {
		for (size_t i = 0; i < ROWS(rows); i++) {
			struct audit_row r = make(i);
			auto_buffer out = { 0 };
			size_t end;

			audit_export_row((enum audit_format)f, &r, &out);
			end = strcspn(out.data, "\r\n");
			assert_string_equal(out.data + end, f == AUDIT_CSV ? "\r\n" : "\n");
			out.data[end] = '\0';
			for (const char *c = out.data; *c; c++)
				assert_true((unsigned char)*c >= 0x20 && *c != 0x7f);
			assert_null(strstr(out.data, "\xe2\x80\xae"));
		}
	}
}

static void read_row(enum audit_format f, size_t i, struct document *d)
{
	struct audit_row r = make(i);
	auto_buffer out = { 0 };
	struct error e = { 0 };

	audit_export_row(f, &r, &out);
	if (json_read(d, NULL, out.data, out.len, &e) < 0)
		fail_msg("%s: %s", out.data, e.text);
	assert_int_equal(d->root->type, NODE_MAP);
}

static void test_jsonl(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_document d;

		read_row(AUDIT_JSONL, i, &d);
		assert_int_equal(d.root->count, 20);
		assert_string_equal(
			node_text(node_get(d.root, "action")), audit_action_name(rows[i].action));
		assert_string_equal(node_text(node_get(d.root, "session")), "s-1");
		if (i != 4) /* which has bytes that are no UTF-8 */
			assert_string_equal(node_text(node_get(d.root, "target")), rows[i].target);
	}
}

/* What the schema requires of every class, and of each. */
static const char *const of_all[] = { "class_uid", "category_uid", "activity_id", "type_uid",
	"time", "severity_id", "metadata" };
static const struct {
	int64_t class;
	const char *required[6];
} of_class[] = {
	{ 1001, { "actor", "device", "file", "action_id" } },
	{ 1007, { "actor", "device", "process", "action_id" } },
	{ 4001, { "src_endpoint", "dst_endpoint", "action_id" } },
	{ 4003, { "src_endpoint", "query", "action_id" } },
	{ 6002, { "app" } },
	{ 6003, { "actor", "api", "src_endpoint" } },
};

static int64_t number(const struct node *map, const char *key)
{
	int64_t n = -1;

	assert_int_equal(node_integer(node_get(map, key), &n), 0);
	return n;
}

static void check_required(const struct node *root)
{
	int64_t class = number(root, "class_uid");
	size_t k = 0;

	for (size_t i = 0; i < ROWS(of_all); i++)
		assert_non_null(node_get(root, of_all[i]));
	while (k < ROWS(of_class) && of_class[k].class != class)
		k++;
	if (k == ROWS(of_class)) {
		fail_msg("there is no class %lld", (long long)class);
		return;
	}
	for (size_t i = 0; of_class[k].required[i]; i++) {
		if (!node_get(root, of_class[k].required[i]))
			fail_msg("%lld has no %s", (long long)class, of_class[k].required[i]);
	}
	assert_int_equal(number(root, "category_uid"), class / 1000);
	assert_int_equal(number(root, "type_uid"), class * 100 + number(root, "activity_id"));
}

static void test_ocsf(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_document d;
		const struct node *metadata;

		read_row(AUDIT_OCSF, i, &d);
		check_required(d.root);
		metadata = node_get(d.root, "metadata");
		assert_string_equal(node_text(node_get(metadata, "version")), "1.1.0");
		assert_non_null(node_get(node_get(metadata, "product"), "vendor_name"));
		assert_int_equal(number(d.root, "time"), 1700000000123);
	}
}

static const struct {
	const char *target, *want; /* a part of the row */
} destinations[] = {
	{ "h.example:443", "\"hostname\":\"h.example\",\"port\":443}" },
	{ "h.example", "\"hostname\":\"h.example\"}" },
	{ "192.0.2.1:80", "\"ip\":\"192.0.2.1\",\"port\":80}" },
	{ "[2001:db8::1]:80", "\"ip\":\"2001:db8::1\",\"port\":80}" },
	{ "udp://192.0.2.1:123", "\"protocol_name\":\"udp\"" },
	{ "https://h.example/a:80", "\"hostname\":\"h.example\"}" },
	{ "unix:/run/x:80", "\"name\":\"/run/x:80\"}" },
	{ "h:65536", "\"hostname\":\"h:65536\"}" },
	{ "h:", "\"hostname\":\"h:\"}" },
	{ "", "\"hostname\":\"\"}" },
};

static void test_destinations(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(destinations); i++) {
		struct audit_row r = make(6);
		auto_buffer out = { 0 };

		r.event.target = destinations[i].target;
		audit_export_row(AUDIT_OCSF, &r, &out);
		if (!strstr(out.data, destinations[i].want))
			fail_msg("<%s>: %s", destinations[i].target, out.data);
	}
}

static void test_names(void **state)
{
	struct audit_row r = make(0);
	auto_buffer out = { 0 };

	(void)state;
	for (int f = 0; f < AUDIT_FORMAT_COUNT; f++)
		assert_non_null(audit_format_names[f]);
	assert_string_equal(audit_export_head(AUDIT_FORMAT_COUNT), "");
	audit_export_row(AUDIT_FORMAT_COUNT, &r, &out);
	assert_int_equal(out.len, 0);
}

static int print(const char *word)
{
	auto_buffer out = { 0 };
	int f = words_find(audit_format_names, word, strlen(word));

	if (f < 0)
		return EXIT_FAILURE;
	export_all((enum audit_format)f, &out);
	(void)fwrite(out.data, 1, out.len, stdout);
	return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_jsonl),
		cmocka_unit_test(test_ocsf),
		cmocka_unit_test(test_destinations),
		cmocka_unit_test(test_names),
	};

	if (argc > 1)
		return print(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
