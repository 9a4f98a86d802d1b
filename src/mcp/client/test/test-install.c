/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "mcp/client/client.h"

static const char *const readonly[] = { "--profile", "readonly", NULL };
static const char *const none[] = { NULL };

static struct client_install install_for(const char *client)
{
	return (struct client_install){ .client = client_find(client),
		.name = "corral",
		.program = "/bin/corral",
		.options = none,
		.wraps = true,
		.wrap_options = none };
}

static int install(const struct client_install *in, struct arena *a, const char *text,
	struct buffer *out, struct client_changes *ret, struct error *e)
{
	const struct client_text old = { "f", text, strlen(text) };

	return client_install(in, a, &old, out, ret, e);
}

/* Ours, and each of the others wrapped, in files as people have them. */
static const struct row {
	const char *client, *old, *new;
} rows[] = {
	{ "claude", "",
		"{\n  \"mcpServers\": {\n    \"corral\": {\n      \"type\": \"stdio\",\n"
		"      \"command\": \"/bin/corral\",\n      \"args\": [\"mcp\", \"serve\"]\n    "
		"}\n  }\n}\n" },
	{ "claude", "{}",
		"{\n  \"mcpServers\": {\n    \"corral\": {\n      \"type\": \"stdio\",\n"
		"      \"command\": \"/bin/corral\",\n      \"args\": [\"mcp\", \"serve\"]\n    "
		"}\n  }\n}" },
	{ "claude", "{\"a\":1}",
		"{\"a\":1, \"mcpServers\": {\"corral\": {\"type\": \"stdio\", \"command\": "
		"\"/bin/corral\", "
		"\"args\": [\"mcp\", \"serve\"]}}}" },
	{ "claude", "{\r\n\t\"mcpServers\": { }\r\n}\r\n",
		"{\r\n\t\"mcpServers\": {\r\n\t\t\"corral\": {\r\n\t\t\t\"type\": \"stdio\",\r\n"
		"\t\t\t\"command\": \"/bin/corral\",\r\n\t\t\t\"args\": [\"mcp\", "
		"\"serve\"]\r\n\t\t}\r\n\t }\r\n}\r\n" },
	{ "vscode",
		"\xef\xbb\xbf{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": {\n\t\t\t\"command\": \"x "
		"y\", // why\n"
		"\t\t\t\"env\": {\"K\": \"v\", \"1K\": \"\"}\n\t\t}, // last\n\t},\n}\n",
		"\xef\xbb\xbf{\n\t// mine\n\t\"servers\": {\n\t\t\"a\": {\n\t\t\t\"args\": "
		"[\"mcp\", \"wrap\", "
		"\"--env\", \"K\", \"--\", \"x y\"],\n\t\t\t\"command\": \"/bin/corral\", // why\n"
		"\t\t\t\"env\": {\"K\": \"v\", \"1K\": \"\"}\n\t\t}, // last\n\t\t\"corral\": "
		"{\n\t\t\t\"type\": "
		"\"stdio\",\n\t\t\t\"command\": \"/bin/corral\",\n\t\t\t\"args\": [\"mcp\", "
		"\"serve\"]\n\t\t},\n\t},\n}\n" },
	{ "cursor",
		"{\"mcpServers\": {\"a\": {\"command\": \"c\\u0061t\", \"args\": []}, \"h\": "
		"{\"url\": \"https://x\"}}}",
		"{\"mcpServers\": {\"a\": {\"command\": \"/bin/corral\", \"args\": [\"mcp\", "
		"\"wrap\", \"--\", "
		"\"c\\u0061t\"]}, \"h\": {\"url\": \"https://x\"}, \"corral\": {\"command\": "
		"\"/bin/corral\", "
		"\"args\": [\"mcp\", \"serve\"]}}}" },
	{ "opencode",
		"{\n  \"mcp\": {\n    \"a\": {\n      \"type\": \"local\",\n      \"command\": [\n "
		"       \"bun\", // b\n"
		"        \"x\"\n      ]\n    }\n  }\n}\n",
		"{\n  \"mcp\": {\n    \"a\": {\n      \"type\": \"local\",\n      \"command\": [\n "
		"       \"/bin/corral\", "
		"\"mcp\", \"wrap\", \"--\",\n        \"bun\", // b\n        \"x\"\n      ]\n    "
		"},\n    \"corral\": {\n"
		"      \"type\": \"local\",\n      \"command\": [\"/bin/corral\", \"mcp\", "
		"\"serve\"],\n"
		"      \"enabled\": true\n    }\n  }\n}\n" },
	{ "opencode", "{\"mcp\": {\"timeout\": 5, \"servers\": { }}}",
		"{\"mcp\": {\"timeout\": 5, \"servers\": {\"corral\": {\"type\": \"local\", "
		"\"command\": "
		"[\"/bin/corral\", \"mcp\", \"serve\"], \"enabled\": true} }}}" },
	{ "opencode", "{\"mcp\": {\"servers\": {\"command\": [\"x\"]}}}",
		"{\"mcp\": {\"servers\": {\"command\": [\"/bin/corral\", \"mcp\", \"wrap\", "
		"\"--\", \"x\"]}, "
		"\"corral\": {\"type\": \"local\", \"command\": [\"/bin/corral\", \"mcp\", "
		"\"serve\"], "
		"\"enabled\": true}}}" },
	{ "openclaw",
		"{\n  // c\n  mcp: { servers: { a: { command: 'uvx', args: ['b',] } } },\n}\n",
		"{\n  // c\n  mcp: { servers: { a: { command: \"/bin/corral\", args: [\"mcp\", "
		"\"wrap\", \"--\", 'uvx', "
		"'b',] }, \"corral\": {\"command\": \"/bin/corral\", \"args\": [\"mcp\", "
		"\"serve\"]} } },\n}\n" },
	{ "gemini", "{\n  \"theme\": \"x\" // y\n}\n",
		"{\n  \"theme\": \"x\", // y\n  \"mcpServers\": {\n    \"corral\": {\n"
		"      \"command\": \"/bin/corral\",\n      \"args\": [\"mcp\", \"serve\"]\n    "
		"}\n  }\n}\n" },
	{ "codex", "",
		"[mcp_servers.corral]\ncommand = \"/bin/corral\"\nargs = [\"mcp\", \"serve\"]\n" },
	{ "codex", "model = 'x' # y",
		"model = 'x' # y\n\n[mcp_servers.corral]\ncommand = \"/bin/corral\"\nargs = "
		"[\"mcp\", \"serve\"]\n" },
	{ "codex",
		"[mcp_servers.\"a b\"]\r\ncommand = 'npx' # c\r\nargs = [ \"-y\", # d\r\n]\r\n"
		"[mcp_servers.\"a b\".env]\r\nK = \"v\"\r\n[mcp_servers.h]\r\nurl = "
		"\"https://x\"\r\n",
		"[mcp_servers.\"a b\"]\r\ncommand = \"/bin/corral\" # c\r\nargs = [ \"mcp\", "
		"\"wrap\", \"--env\", \"K\", "
		"\"--\", 'npx', \"-y\", # d\r\n]\r\n[mcp_servers.\"a b\".env]\r\nK = "
		"\"v\"\r\n[mcp_servers.h]\r\n"
		"url = \"https://x\"\r\n\r\n[mcp_servers.corral]\r\ncommand = "
		"\"/bin/corral\"\r\nargs = [\"mcp\", \"serve\"]\r\n" },
	{ "codex", "[mcp_servers.a]\nenv_vars = [\"K\", \"L-\"]\ncommand = \"x\"\nargs = []\n",
		"[mcp_servers.a]\nenv_vars = [\"K\", \"L-\"]\ncommand = \"/bin/corral\"\nargs = "
		"[\"mcp\", \"wrap\", "
		"\"--env\", \"K\", \"--\", \"x\"]\n\n[mcp_servers.corral]\ncommand = "
		"\"/bin/corral\"\n"
		"args = [\"mcp\", \"serve\"]\n" },
	{ "codex", "[mcp_servers]\n  a.command = \"x\"\nb = {command = \"y\"}\n",
		"[mcp_servers]\n  a.args = [\"mcp\", \"wrap\", \"--\", \"x\"]\n  a.command = "
		"\"/bin/corral\"\n"
		"b = {args = [\"mcp\", \"wrap\", \"--\", \"y\"], command = \"/bin/corral\"}\n\n"
		"[mcp_servers.corral]\ncommand = \"/bin/corral\"\nargs = [\"mcp\", \"serve\"]\n" },
};

static void check_back(const struct client_install *in, struct arena *a, const struct row *row,
	const struct buffer *new, const struct client_changes *changes)
{
	const char *wrapped[8] = { NULL };
	const struct client_text now = { "f", buffer_text(new), new->len };
	struct client_installed was = { in->client, in->name, wrapped,
		{ "f", row->old, strlen(row->old) }, true };
	struct client_changes undone = { 0 };
	auto_buffer back = { 0 };
	struct error e = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < changes->n; i++)
		if (changes->items[i].kind == CLIENT_WRAPPED)
			wrapped[n++] = changes->items[i].server;
	assert_int_equal(client_uninstall(&was, a, &now, &back, &undone, &e), 0);
	assert_int_equal(undone.n, n + 1);
	if (row->old[0] || in->client->dialect == PLACES_TOML)
		assert_string_equal(buffer_text(&back), row->old);
}

static void test_install(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		auto_buffer new = { 0 }, twice = { 0 };
		struct client_changes changes = { 0 }, again = { 0 };
		struct client_install in = install_for(rows[i].client);
		struct error e = { 0 };
		const int r = install(&in, &a, rows[i].old, &new, &changes, &e);

		if (r < 0)
			print_message("row %zu: %s\n", i, e.text);
		assert_int_equal(r, 0);
		assert_string_equal(buffer_text(&new), rows[i].new);
		check_back(&in, &a, &rows[i], &new, &changes);
		assert_int_equal(install(&in, &a, buffer_text(&new), &twice, &again, &e), 0);
		assert_string_equal(buffer_text(&twice), rows[i].new);
	}
}

/* What is refused, with the line. */
static void test_refusals(void **state)
{
	static const struct {
		const char *client, *old;
		int code;
		uint32_t line;
	} refused[] = {
		{ "claude", "{\n  // c\n}", -EINVAL, 2 },
		{ "claude", "[]", -EINVAL, 1 },
		{ "claude", "{\n\"mcpServers\": []}", -EINVAL, 2 },
		{ "claude", "{\"mcpServers\": {},\n\"mcpServers\": {}}", -EINVAL, 2 },
		{ "claude", "{\"mcpServers\": {\n\"corral\": {\"command\": \"evil\"}}}", -EEXIST,
			2 },
		{ "claude", "{\"mcpServers\": {\"corral\": 1}}", -EEXIST, 1 },
		{ "claude",
			"{\"mcpServers\": {\"corral\": {\"command\": \"/usr/bin/corral\", "
			"\"args\": [\"mcp\", "
			"\"serve\", \"--profile\", \"offline\"]}}}",
			-EEXIST, 1 },
		{ "openclaw", "{mcp: {servers: 'x'}}", -EINVAL, 1 },
		{ "codex", "a = 1\na = 2\n", -EINVAL, 2 },
		{ "codex", "mcp_servers = { a = { command = \"x\" } }\n", -EINVAL, 1 },
		{ "codex", "mcp_servers = 1\n", -EINVAL, 1 },
		{ "codex", "[[mcp_servers]]\n", -EINVAL, 1 },
		{ "codex", "[mcp_servers.corral]\ncommand = \"x\"\n", -EEXIST, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++) {
		auto_arena a = { 0 };
		auto_buffer new = { 0 };
		struct client_changes changes = { 0 };
		struct client_install in = install_for(refused[i].client);
		struct error e = { 0 };

		if (install(&in, &a, refused[i].old, &new, &changes, &e) != refused[i].code)
			print_message("row %zu: %s\n", i, e.text);
		assert_int_equal(
			install(&in, &a, refused[i].old, &new, &changes, &e), refused[i].code);
		assert_true(e.text[0] != '\0');
		assert_int_equal(e.line, refused[i].line);
	}
}

/* Servers that stay as they are. */
static void test_left(void **state)
{
	static const char *const servers[] = { "{\"url\": \"https://x\"}",
		"{\"httpUrl\": \"https://x\"}", "{}", "1", "{\"command\": 1}",
		"{\"command\": \"x\", \"args\": \"y\"}", "{\"command\": \"x\", \"args\": [1]}",
		"{\"command\": \"/usr/bin/corral\", \"args\": [\"mcp\", \"wrap\", \"--\", \"x\"]}",
		"{\"command\": \"corral\", \"args\": [\"mcp\", \"gateway\", \"--\", \"f\"]}",
		"{\"command\": \"corral\", \"args\": [\"mcp\", \"serve\"]}" };

	(void)state;
	for (size_t i = 0; i < ROWS(servers); i++) {
		auto_arena a = { 0 };
		auto_buffer old = { 0 }, new = { 0 };
		struct client_changes changes = { 0 };
		struct client_install in = install_for("gemini");
		struct error e = { 0 };

		buffer_printf(&old, "{\"mcpServers\": {\"a\": %s}}", servers[i]);
		assert_int_equal(install(&in, &a, buffer_text(&old), &new, &changes, &e), 0);
		assert_int_equal(changes.n, 2);
		assert_int_equal(changes.items[1].kind, CLIENT_LEFT);
		assert_non_null(changes.items[1].why);
		assert_non_null(strstr(buffer_text(&new), servers[i]));
	}
}

/* A second install: the options that it names, and else those that are there. */
static void test_again(void **state)
{
	static const char old[] =
		"{\"mcpServers\": {\"corral\": {\"args\": [\"mcp\", \"serve\", \"--profile\", "
		"\"readonly\"], \"command\": \"/old/corral\", \"timeout\": 5}}}";
	auto_arena a = { 0 };
	auto_buffer new = { 0 };
	struct client_changes changes = { 0 };
	struct client_install in = install_for("claude");
	struct error e = { 0 };

	(void)state;
	in.is_ours = true;
	assert_int_equal(install(&in, &a, old, &new, &changes, &e), 0);
	assert_int_equal(changes.items[0].kind, CLIENT_UPDATED);
	assert_string_equal(buffer_text(&new),
		"{\"mcpServers\": {\"corral\": {\"args\": [\"mcp\", \"serve\", \"--profile\", "
		"\"readonly\"], \"command\": \"/bin/corral\", \"timeout\": 5}}}");
	buffer_clear(&new);
	changes.n = 0;
	in.has_options = true;
	assert_int_equal(install(&in, &a, old, &new, &changes, &e), 0);
	assert_string_equal(buffer_text(&new),
		"{\"mcpServers\": {\"corral\": {\"args\": [\"mcp\", \"serve\"], "
		"\"command\": \"/bin/corral\", \"timeout\": 5}}}");
	changes.n = 0;
	/* One that runs without a list of arguments is not ours, whatever is recorded. */
	assert_int_equal(
		install(&in, &a, "{\"mcpServers\": {\"corral\": {\"command\": \"/bin/corral\"}}}",
			&new, &changes, &e),
		-EEXIST);
	in.options = readonly;
	buffer_clear(&new);
	assert_int_equal(install(&in, &a, old, &new, &changes, &e), 0);
	assert_non_null(strstr(buffer_text(&new), "readonly"));
}

/* The file was changed since: only what is ours goes. */
static void test_changed(void **state)
{
	static const char *const wrapped[] = { "a", "b", "gone", NULL };
	static const struct {
		const char *now, *then;
		bool existed;
	} changed[] = {
		{ "{\"mcpServers\": {\"corral\": {\"command\": \"/x/corral\", \"args\": [\"mcp\", "
		  "\"serve\"]},\n"
		  "\"a\": {\"command\": \"/x/corral\", \"args\": [\"mcp\", \"wrap\", \"--net\", "
		  "\"h:1\", \"--\", \"x\", "
		  "\"--\", \"y\"]},\n\"b\": {\"command\": \"mine\"}, \"new\": {}}}",
			"{\"mcpServers\": {\n\"a\": {\"command\": \"x\", \"args\": [\"--\", "
			"\"y\"]},\n"
			"\"b\": {\"command\": \"mine\"}, \"new\": {}}}",
			true },
		{ "{\"mcpServers\": {\"corral\": {\"command\": \"evil\"}}}",
			"{\"mcpServers\": {\"corral\": {\"command\": \"evil\"}}}", true },
		{ "{\"x\": 1, \"mcpServers\": {\"corral\": {\"command\": \"corral\", \"args\": "
		  "[\"mcp\", \"serve\"]}}}",
			"{\"x\": 1}", false },
		{ "{}", "{}", true },
		{ "{\"mcpServers\": {\"a\": {\"command\": \"corral\", \"args\": [\"mcp\", "
		  "\"wrap\", \"--\"]}}}",
			"{\"mcpServers\": {\"a\": {\"command\": \"corral\", \"args\": [\"mcp\", "
			"\"wrap\", \"--\"]}}}",
			true },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(changed); i++) {
		auto_arena a = { 0 };
		auto_buffer back = { 0 };
		struct client_changes undone = { 0 };
		const struct client_installed was = { client_find("claude"), "corral", wrapped,
			{ "f", "{\"mcpServers\": {\"a\": {\"args\": []}}}", 32 },
			changed[i].existed };
		const struct client_text now = { "f", changed[i].now, strlen(changed[i].now) };
		struct error e = { 0 };

		assert_int_equal(client_uninstall(&was, &a, &now, &back, &undone, &e), 0);
		assert_string_equal(buffer_text(&back), changed[i].then);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_install),
		cmocka_unit_test(test_refusals), cmocka_unit_test(test_left),
		cmocka_unit_test(test_again), cmocka_unit_test(test_changed) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
