/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory, everywhere: the linker leads each call of an allocating function to the wrapper
 * here (see meson.build), and a loop fails the first call, then the second, and so on until all
 * succeed. Every failure must come back as -ENOMEM and leave nothing behind, in every format, or
 * make no difference: where a pattern is tried in several ways, what is lost may be a message that
 * nobody will read.
 */
#include "policy/format/test/test-manifest.h"

#include "base/array.h"
#include "policy/format/mode.h"
#include "test/failing-arena.h"

void __real_buffer_printf(struct buffer *b, const char *format, ...);
void __wrap_buffer_printf(struct buffer *b, const char *format, ...);

__attribute__((format(printf, 2, 0))) void __wrap_buffer_printf(
	struct buffer *b, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	b->failed = b->failed || failing_now();
	__real_buffer_printf(b, "%s", text);
}

void __real_buffer_adds(struct buffer *b, const char *s);
void __wrap_buffer_adds(struct buffer *b, const char *s);

void __wrap_buffer_adds(struct buffer *b, const char *s)
{
	b->failed = b->failed || failing_now();
	__real_buffer_adds(b, s);
}

static const struct {
	const char *file, *text;
} documents[] = {
	{ "x.yaml",
		"fs: {read: [/a, {all: [/b/**, \"/**/c\"]}], write: [~/x], deny: [/d]}\n"
		"network: {allow: [a.example], deny: [b.example], listen: [80], methods: [GET],\n"
		"  rate_limit: 10/30s, max_bytes: 1M}\n"
		"exec: [git, \"git push:*\"]\nenv: {A: b, C: null}\nlimits: {timeout: 30s}\n"
		"services: {browser: {access: open, domains: [\"*.example\"]}, notifications: "
		"true,\n"
		"  calendar: {access: read, calendars: [x], range: 7d}}\n"
		"guest_paths: [{guest: /g, host: $TEMP/g, mode: rw}]\n"
		"rules: [{id: r, name: n, action: ask, operations: [service],\n"
		"  patterns: [\"*\", \"browser:a.example\", reminders.read, \"vault:X\"]},\n"
		"  {id: s, action: ask, operations: [net.connect], patterns: [a.example],\n"
		"  methods: [GET]}]\n" },
	{ "x.yaml", "all_of: [{fs: {read: [/a]}}, {env: [A]}]\n" },
	{ "skill.yaml", "name: x\nversion: 1\nauthor: {name: me}\nlicense: MIT\n"
			"requires: {bins: [a], env: [B]}\n"
			"metadata: '{\"openclaw\": {\"requires\": {\"bins\": [\"c\"]}}}'\n"
			"permissions: {exec: []}\n" },
	{ "SKILL.md", "---\nname: x\nmetadata: {clawdbot: {requires: {env: [A]}}}\n---\nBody\n" },
	{ "manifest.yaml",
		"name: x\nwasm: {file: a, export: b}\nkept: 1\ncapabilities:\n"
		"  http: {enabled: true, allowed_hosts: [a.example], methods: [GET]}\n"
		"  filesystem: {enabled: true, paths: [{guest: /g, host: ./d, mode: rw}]}\n"
		"  email: {enabled: true, allowed_recipients: [a]}\n"
		"  browser: {enabled: false, allowed_domains: [a.example]}\n"
		"  network_socket: {enabled: true, allowed_hosts: [\"udp://a:1\"]}\n" },
	{ "x.json",
		"{\"version\": \"1\", \"tags\": [], \"rules\": [\n"
		"{\"id\": \"a\", \"action\": \"deny\", \"operations\": [\"*\"], \"scope\": "
		"\"agent\",\n"
		" \"patterns\": [\"*\", \"a.example/v1\", \"git push\", \"*://b.example/x\"]},\n"
		"{\"id\": \"b\", \"action\": \"allow\", \"target\": \"url\", \"methods\": "
		"[\"GET\"],\n"
		" \"patterns\": [\"https://a.example/*\"], \"scope\": \"skill\"}],\n"
		"\"fsConstraints\": {\"allowedPaths\": [\"/a\"], \"deniedPatterns\": "
		"[\"*.key\"]},\n"
		"\"networkConstraints\": {\"allowedHosts\": [\"a\"], \"deniedHosts\": [\"*\", "
		"\"b\"],\n"
		" \"allowedPorts\": [80]}}" },
	{ "x.yaml", "allowed_roots: [/a, ~/b]\nallowed_commands: [git push]\n"
		    "allowed_hosts: [a.example]\nsession_id: x\nuser_id: y\n" },
};

static int read_document(size_t i, struct manifest *m, struct error *e)
{
	return manifest_read(m, MANIFEST_UNKNOWN, documents[i].file, documents[i].text,
		strlen(documents[i].text), e);
}

static void test_reading(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(documents); i++) {
		auto_manifest whole = { 0 };

		assert_int_equal(read_document(i, &whole, NULL), 0);
		failing_did = true;
		for (long n = 0; failing_did; n++) {
			auto_manifest m = { 0 };
			struct error e = { 0 };
			int r;

			failing_start(n);
			r = read_document(i, &m, &e);
			failing_stop();
			if (r < 0 ? r != -ENOMEM || m.permissions
				  : !same_permissions(m.permissions, whole.permissions))
				fail_msg("%zu, call %ld: %d, %s", i, n, r, e.text);
		}
	}
}

static void test_adding_rules(void **state)
{
	static const char first[] = "{\"defaultAction\": \"allow\"}";
	auto_manifest whole = { 0 };

	(void)state;
	assert_int_equal(read_document(5, &whole, NULL), 0);
	failing_did = true;
	for (long n = 0; failing_did; n++) {
		auto_manifest m = { 0 };
		int r;

		assert_int_equal(
			manifest_read(&m, MANIFEST_UNKNOWN, "a.json", first, strlen(first), NULL),
			0);
		failing_start(n);
		r = manifest_add_rules(
			&m, "b.json", documents[5].text, strlen(documents[5].text), NULL);
		failing_stop();
		assert_true(r == 0 || r == -ENOMEM);
		assert_int_equal(m.permissions->n_rules, r < 0 ? 0 : whole.permissions->n_rules);
	}
}

static void test_printing(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(documents); i++) {
		auto_manifest m = { 0 };
		bool failed = true;

		assert_int_equal(read_document(i, &m, NULL), 0);
		for (long n = 0; failed; n++) {
			auto_buffer yaml_text = { 0 }, json_text = { 0 };

			failing_start(n);
			permissions_print_yaml(m.permissions, &yaml_text);
			permissions_print_json(m.permissions, &json_text);
			failing_stop();
			failed = yaml_text.failed || json_text.failed;
			assert_int_equal(failed, failing_did);
		}
	}
}

static void test_modes(void **state)
{
	static const char *const extra[] = { "/b" };
	int r = -ENOMEM;

	(void)state;
	for (long n = 0; r < 0; n++) {
		auto_permissions *p = permissions_new();

		failing_start(n);
		r = agent_mode_permissions(AGENT_MODE_RX, "/a", extra, 1, p, NULL);
		failing_stop();
		assert_int_equal(r, failing_did ? -ENOMEM : 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reading),
		cmocka_unit_test(test_adding_rules),
		cmocka_unit_test(test_printing),
		cmocka_unit_test(test_modes),
	};

	return cmocka_run_group_tests_name("manifest-memory", tests, NULL, NULL);
}
