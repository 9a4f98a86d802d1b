/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "policy/format/test/test-manifest.h"

static void test_sample(void **state)
{
	auto_buffer text = { 0 };
	auto_manifest m = { 0 };

	(void)state;
	load_sample("gmail-sender.manifest.yaml", &text);
	assert_int_equal(manifest_read(&m, MANIFEST_UNKNOWN, "manifest.yaml", buffer_text(&text),
				 text.len, NULL),
		0);
	assert_int_equal(m.kind, MANIFEST_NANOCRAB);
	assert_string_equal(m.name, "gmail-sender");
	assert_string_equal(m.version, "0.1.0");
	assert_string_equal(m.description, "Sends mail through the Gmail API");
	assert_string_equal(m.wasm_file, "skill.wasm");
	assert_string_equal(m.wasm_export, "handle");
	assert_int_equal(m.permissions->n_guest_paths, 2);
	assert_int_equal(m.permissions->limits.values[LIMIT_FUEL], 1000000);
	assert_int_equal(m.permissions->network.rate.count, 10);
	assert_int_equal(m.permissions->n_services, 0);
	assert_null(m.extra);
	check_round_trip(m.permissions);
}

/* Hosts for requests are not hosts for sockets. */
static void test_sockets(void **state)
{
	static const struct {
		const char *text;
		bool has_sockets;
	} rows[] = {
		{ "capabilities: {http: {enabled: true, allowed_hosts: [a.example]}}", false },
		{ "capabilities: {network_socket: {enabled: false, allowed_hosts: [a.example]}}",
			false },
		{ "capabilities: {network_socket: {enabled: true, allowed_hosts: [a.example]}}",
			true },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_manifest m = { 0 };

		assert_int_equal(manifest_read(&m, MANIFEST_NANOCRAB, NULL, rows[i].text,
					 strlen(rows[i].text), NULL),
			0);
		assert_int_equal(m.has_sockets, rows[i].has_sockets);
	}
}

#define HTTP(rest) "capabilities: {http: {enabled: true, " rest "}}"
#define ALLOW(rest) "network:\n  allow:\n" rest "exec: []\n"

static const struct reading readings[] = {
	{ "wasm: {file: a.wasm, export: run, sha256: ignored}", "exec: []\n" },
	{ "capabilities: {}", "exec: []\n" },
	/* Ports: those of HTTP, unless some are given. */
	{ HTTP("allowed_hosts: [a.example]"), ALLOW("    - a.example:443\n    - a.example:80\n") },
	{ HTTP("allowed_hosts: [\"A.example:8080\", \"b.example:*\"]"),
		ALLOW("    - a.example:8080\n    - b.example:*\n") },
	{ HTTP("allowed_hosts: [\"*\"]"), ALLOW("    - \"*:443\"\n    - \"*:80\"\n") },
	{ HTTP("allowed_hosts: [\"*.a.example\", \"https://b.example/v1/*\"]"),
		ALLOW("    - \"*.a.example:443\"\n    - \"*.a.example:80\"\n"
		      "    - https://b.example/v1/*\n") },
	{ HTTP("allowed_hosts: [10.0.0.1]"), ALLOW("    - 10.0.0.1:443\n    - 10.0.0.1:80\n") },
	{ HTTP("allowed_hosts: [\"a.example:443\"], denied_hosts: [B.example, "
	       "\"https://a.example/admin/**\"]"),
		"network:\n  allow:\n    - a.example:443\n  deny:\n    - b.example:*\n"
		"    - https://a.example/admin/**\nexec: []\n" },
	{ HTTP("methods: [GET], rate_limit: 5/s, max_request_size: 64K"),
		"network:\n  rate_limit: 5/s\n  max_request_size: 64K\n  methods:\n    - GET\n"
		"exec: []\n" },
	/* What is not enabled grants nothing and limits nothing. */
	{ "capabilities: {http: {enabled: false, allowed_hosts: [a.example], methods: [GET]}}",
		"exec: []\n" },
	{ "capabilities: {email: {enabled: false, allowed_recipients: [a@example.com]}}",
		"exec: []\n" },
	{ "capabilities: {filesystem: {enabled: false, paths: [{guest: /, host: ., mode: rw}]}}",
		"exec: []\n" },
	{ "capabilities: {network_socket: {enabled: false}}", "exec: []\n" },
	/* Folders */
	{ "capabilities: {filesystem: {enabled: true, paths: ["
	  "{guest: /a, host: data, mode: ro}, {guest: /b, host: ././x/, mode: rw},"
	  "{guest: /c, host: ., mode: r}, {guest: /d, host: /srv/d, mode: rw},"
	  "{guest: /e, host: ~/e, mode: r}, {guest: /f, host: /, mode: r}]}}",
		"fs:\n  read:\n    - $HOME/e/**\n    - $SKILL_DIR/**\n    - $SKILL_DIR/data/**\n"
		"    - /**\n  write:\n    - $SKILL_DIR/x/**\n    - /srv/d/**\nexec: []\n"
		"guest_paths:\n"
		"  - guest: /a\n    host: $SKILL_DIR/data\n    mode: ro\n"
		"  - guest: /b\n    host: $SKILL_DIR/x\n    mode: rw\n"
		"  - guest: /c\n    host: $SKILL_DIR\n    mode: ro\n"
		"  - guest: /d\n    host: /srv/d\n    mode: rw\n"
		"  - guest: /e\n    host: $HOME/e\n    mode: ro\n"
		"  - guest: /f\n    host: /\n    mode: ro\n" },
	{ "capabilities: {filesystem: {enabled: true}}", "exec: []\n" },
	/* Services */
	{ "capabilities: {email: {allowed_recipients: [b@x.example, a@x.example], enabled: true},"
	  " browser: {enabled: true, allowed_domains: [\"*.Example.com\"]}}",
		"exec: []\nservices:\n  browser:\n    access:\n      - navigate\n      - "
		"screenshot\n      - eval\n    domains:\n"
		"      - \"*.example.com\"\n  email:\n    access: send\n    recipients:\n"
		"      - a@x.example\n      - b@x.example\n" },
	{ "capabilities: {email: {enabled: true}}",
		"exec: []\nservices:\n  email:\n    access: send\n" },
	/* Sockets go where they are told, on any port. */
	{ "capabilities: {network_socket: {enabled: true, allowed_hosts: [a.example, "
	  "\"udp://b.example:53\"]}}",
		ALLOW("    - a.example:*\n    - udp://b.example:53\n") },
	{ "wasm: {}\nlimits: {max_memory: 64MB, max_execution_time: 30s, max_fuel: 7}",
		"exec: []\nlimits:\n  timeout: 30s\n  fuel: 7\n  wasm_memory: 64M\n" },
};

static void test_readings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(readings); i++)
		check_manifest(MANIFEST_UNKNOWN, "manifest.yaml", &readings[i]);
}

static void test_refusals(void **state)
{
	static const struct refusal rows[] = {
		{ "wasm: {file: x.wasm}\nsignature: abc", 2, 12, "nothing checks a signature here",
			"approved by its content" },
		{ "capabilities: []", 1, 15, "`capabilities` must be a map, not a list", NULL },
		{ "capabilities: {htp: {}}", 1, 16, "did you mean `capabilities.http`?", NULL },
		{ "capabilities: {http: {}}", 1, 22,
			"`capabilities.http`: the key `enabled` is missing", NULL },
		{ "capabilities: {http: true}", 1, 22, "`capabilities.http` must be a map", NULL },
		{ "capabilities: {http: {enabled: \"yes\"}}", 1, 32,
			"`capabilities.http.enabled` must be true or false, not text", NULL },
		{ HTTP("alowed_hosts: []"), 1, 38,
			"did you mean `capabilities.http.allowed_hosts`?", NULL },
		{ HTTP("allowed_hosts: a"), 1, 53, "must be a list", "write" },
		{ HTTP("allowed_hosts: [[]]"), 1, 54, "must be text, not a list", NULL },
		{ HTTP("allowed_hosts: [a b]"), 1, 54, "not a host name", "write" },
		{ HTTP("allowed_hosts: [\"udp://a\"]"), 1, 54, "is not a valid HTTP host", NULL },
		{ HTTP("methods: [get]"), 1, 48, "is no HTTP method", NULL },
		{ HTTP("rate_limit: often"), 1, 50, "is not a rate", NULL },
		/* Mistakes are found in what is switched off, too. */
		{ "capabilities: {http: {enabled: false, allowed_hosts: [a b]}}", 1, 55,
			"not a host name", "write" },
		{ "capabilities: {network_socket: {enabled: true}}", 1, 42,
			"sockets require a list of `allowed_hosts`", "[\"*\"]" },
		{ "capabilities: {network_socket: {enabled: true, allowed_hosts: [[]]}}", 1, 64,
			"must be text, not a list", NULL },
		{ "capabilities: {network_socket: {enabled: 1}}", 1, 42, "must be true or false",
			NULL },
		{ "capabilities: {filesystem: {enabled: true, paths: [{guest: /a, host: ../x, "
		  "mode: r}]}}",
			1, 70, "`../x` must not contain `..`", NULL },
		{ "capabilities: {filesystem: {enabled: true, paths: [{guest: /a, host: \"\", "
		  "mode: r}]}}",
			1, 70, "", "" },
		{ "capabilities: {browser: {enabled: true, allowed_domains: [a b]}}", 1, 59,
			"not a host name", "write" },
		{ "wasm: skill.wasm", 1, 7, "`wasm` must be a map, not text", NULL },
		{ "wasm: {file: []}", 1, 14, "`wasm.file` must be text", NULL },
		{ "wasm: {}\nlimits: {max_memry: 1}", 2, 10, "did you mean `limits.max_memory`?",
			NULL },
		{ "wasm: {}\nlimits: {max_fuel: 1.5}", 2, 20, "is not a valid whole number", NULL },
		{ "wasm: {}\nlimit: {max_fuel: 1}", 2, 1, "did you mean `limits`?", NULL },
		{ "wasm: {}\ncapabilites: {}", 2, 1, "did you mean `capabilities`?", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check_refused(MANIFEST_UNKNOWN, "manifest.yaml", &rows[i]);
}

static void test_extra(void **state)
{
	static const char text[] = "wasm: {}\nauthor: {name: me}\nlicense: MIT\n";
	auto_manifest m = { 0 };

	(void)state;
	assert_int_equal(
		manifest_read(&m, MANIFEST_UNKNOWN, "manifest.yaml", text, strlen(text), NULL), 0);
	assert_int_equal(m.extra->count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_readings),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_extra),
	};

	return cmocka_run_group_tests_name("manifest-nanocrab", tests, NULL, NULL);
}
