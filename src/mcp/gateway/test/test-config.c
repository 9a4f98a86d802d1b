/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"
#include "mcp/gateway/config.h"

static void test_whole(void **state)
{
	static const char text[] = "servers:\n"
				   "  notes:\n"
				   "    command: [~/bin/server, --all]\n"
				   "    options: [--read, ~/notes]\n"
				   "    timeout: 2m\n"
				   "    result_max: 64K\n"
				   "    tools:\n"
				   "      allow: [read_*]\n"
				   "  git:\n"
				   "    command: [mcp-server-git]\n";
	struct gateway_config c;

	(void)state;
	assert_int_equal(
		gateway_config_read(&c, "g.yaml", text, strlen(text), "/home/me", NULL), 0);
	assert_int_equal(c.n, 2);
	assert_string_equal(c.servers[0].name, "notes");
	assert_string_equal(c.servers[0].command[0], "/home/me/bin/server");
	assert_string_equal(c.servers[0].command[1], "--all");
	assert_null(c.servers[0].command[2]);
	assert_string_equal(c.servers[0].options[1], "/home/me/notes");
	assert_int_equal(c.servers[0].timeout_ms, 120000);
	assert_int_equal(c.servers[0].result_max, 64 << 10);
	assert_true(c.servers[0].rules[GATEWAY_TOOL].has_allow &&
		    !c.servers[1].rules[GATEWAY_TOOL].has_allow);
	assert_null(c.servers[1].options[0]);
	gateway_config_deinit(&c);
}

#define SERVER(name, rest) "servers:\n  " name ":\n    command: [x]\n" rest

static const struct {
	const char *text, *part;
} refused[] = {
	{ "", "a map `servers` is expected" },
	{ "servers: {}\n", "a map `servers` is expected" },
	{ "server: {}\n", "a map `servers` is expected" },
	{ SERVER("a", "") "other: 1\n", "unknown key `other`" },
	{ SERVER("A", ""), "cannot be the name" },
	{ SERVER("a_b", ""), "cannot be the name" },
	{ SERVER("a__b", ""), "cannot be the name" },
	{ SERVER("-a", ""), "cannot be the name" },
	{ SERVER("abcdefghijklmnopqrstuvwxyz", ""), "cannot be the name" },
	{ SERVER("corral", ""), "no server can be called corral" },
	{ SERVER("a", "    comand: [y]\n"), "unknown key" },
	{ SERVER("a", "    timeout: 0\n"), "timeout" },
	{ SERVER("a", "    timeout: often\n"), "timeout" },
	{ SERVER("a", "    result_max: 100M\n"), "result_max" },
	{ SERVER("a", "    options: [--, y]\n"), "`--` stands before" },
	{ "servers: {a: {command: x}}\n", "command" },
	{ "servers: {a: {command: []}}\n", "needs a `command`" },
	{ "servers: {a: {command: ['']}}\n", "is empty" },
	{ "servers: {a: {options: [x]}}\n", "needs a `command`" },
	{ "servers: {a: {url: 'https://x.example', command: [x]}}\n",
		"both a `command` and a `url`" },
	{ "servers: {a: {url: 'http://x.example'}}\n", "on this machine alone" },
	{ "servers: {a: {url: 'https://x.example/?token=1'}}\n", "a secret in its query" },
	{ "servers: {a: {url: 'https://me:pw@x.example/'}}\n", "a name or a password" },
	{ "servers: {a: {url: ''}}\n", "no URL of a server" },
	{ "servers: {a: {url: [x]}}\n", "url" },
	{ "servers: {a: {url: 'https://x.example', secret: 'A=b'}}\n", "the name of a secret" },
	{ "servers: {a: {url: 'https://x.example', secret: '--net'}}\n", "the name of a secret" },
	{ "servers: {a: {url: 'http://localhost:1', secret: A}}\n", "secrets go over https" },
	{ "servers: {a: {url: 'https://x.example', headers: {Authorization: x}}}\n",
		"carries a secret" },
	{ "servers: {a: {url: 'https://x.example', headers: {A: [x]}}}\n", "is a text" },
	{ "servers: {a: {url: 'https://x.example', headers: {A: \"b\\nc: d\"}}}\n",
		"control character" },
	{ "servers: {a: {url: 'https://x.example', headers: [x]}}\n", "headers" },
	{ SERVER("a", "    secret: A\n"), "for servers with a `url`" },
	{ SERVER("a", "    headers: {A: b}\n"), "for servers with a `url`" },
	{ "servers: {a: 5}\n", "is a map" },
	{ SERVER("a", "    tools: [x]\n"), "tools" },
	{ SERVER("a", "    tools: {alow: [x]}\n"), "unknown key `alow`" },
	{ SERVER("a", "    tools: {allow: x}\n"), "is a list" },
	{ SERVER("a", "    tools: {allow: ['']}\n"), "a rule is" },
	{ SERVER("a", "    tools: {allow: [{arguments: {}}]}\n"), "a rule is" },
	{ SERVER("a", "    tools: {allow: [{name: x, args: {}}]}\n"), "unknown key `args`" },
	{ SERVER("a", "    tools: {deny: [{name: x, arguments: {typ: string}}]}\n"), "no keyword" },
	{ SERVER("a", "    tools: true\n"), "tools" },
	{ SERVER("a", "    prompts: all\n"), "`prompts` is true, or a map" },
	{ SERVER("a", "    prompts: [a]\n"), "`prompts` is true, or a map" },
	{ SERVER("a", "    resources: 1\n"), "`resources` is true, or a map" },
	{ SERVER("a", "    resources: {alow: [x]}\n"), "unknown key `alow`" },
	{ SERVER("a", "    resources: {allow: ['']}\n"), "the URI of a resource" },
	{ SERVER("a", "    resources: {allow: [{name: x, arguments: {}}]}\n"), "no arguments" },
	{ SERVER("a", "    prompts: {deny: [{name: x, arguments: {typ: string}}]}\n"),
		"no keyword" },
};

/* Of a server over HTTP: the words of `corral mcp remote`. */
static void test_remote(void **state)
{
	static const char text[] = "servers: {a: {url: 'https://x.example/mcp', secret: TOKEN, "
				   "headers: {X-A: 'b c', X-N: 5}, options: [--timeout, 1h]}}\n";
	static const char *const words[] = { "https://x.example/mcp", "--secret", "TOKEN",
		"--header", "X-A: b c", "--header", "X-N: 5" };
	struct gateway_config c;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(gateway_config_read(&c, "a.yaml", text, sizeof(text) - 1, NULL, &e), 0);
	assert_true(c.servers[0].is_remote);
	for (size_t i = 0; i < ROWS(words); i++)
		assert_string_equal(c.servers[0].command[i], words[i]);
	assert_null(c.servers[0].command[ROWS(words)]);
	assert_string_equal(c.servers[0].options[0], "--timeout");
	gateway_config_deinit(&c);
}

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++) {
		struct gateway_config c;
		struct error e = { 0 };

		assert_int_equal(gateway_config_read(&c, "g.yaml", refused[i].text,
					 strlen(refused[i].text), NULL, &e),
			-EINVAL);
		if (!strstr(e.text, refused[i].part) || !e.file[0])
			fail_msg("%s: %s", refused[i].text, e.text);
		assert_int_equal(c.n, 0);
	}
}

/* The rules of a server, a call, and what becomes of it. */
static const struct {
	const char *tools, *tool, *arguments;
	enum verdict verdict, best;
} decided[] = {
	{ "{}", "a", NULL, VERDICT_ALLOW, VERDICT_ALLOW },
	{ "{allow: []}", "a", NULL, VERDICT_DENY, VERDICT_DENY },
	{ "{allow: [a]}", "a", "{}", VERDICT_ALLOW, VERDICT_ALLOW },
	{ "{allow: [a]}", "b", NULL, VERDICT_DENY, VERDICT_DENY },
	{ "{allow: [a]}", "A", NULL, VERDICT_DENY, VERDICT_DENY },
	{ "{allow: ['read_*', 'w?']}", "read_file", NULL, VERDICT_ALLOW, VERDICT_ALLOW },
	{ "{allow: ['read_*', 'w?']}", "wx", NULL, VERDICT_ALLOW, VERDICT_ALLOW },
	{ "{allow: ['read_*', 'w?']}", "w", NULL, VERDICT_DENY, VERDICT_DENY },
	{ "{allow: ['*a*b*c']}", "xaxbxbxc", NULL, VERDICT_ALLOW, VERDICT_ALLOW },
	{ "{allow: ['*a*b*c']}", "xaxbxbxcx", NULL, VERDICT_DENY, VERDICT_DENY },
	{ "{allow: ['*'], deny: [a]}", "a", NULL, VERDICT_DENY, VERDICT_DENY },
	{ "{deny: [a], allow: ['*'], ask: [a]}", "a", NULL, VERDICT_DENY, VERDICT_DENY },
	{ "{allow: ['*'], ask: [a]}", "a", NULL, VERDICT_ASK, VERDICT_ASK },
	{ "{ask: [a]}", "b", NULL, VERDICT_ALLOW, VERDICT_ALLOW },
	{ "{allow: [b], ask: [a]}", "a", NULL, VERDICT_ASK, VERDICT_ASK },
	{ "{deny: [{name: a, arguments: {required: [force]}}]}", "a", "{\"force\":1}", VERDICT_DENY,
		VERDICT_ALLOW },
	{ "{deny: [{name: a, arguments: {required: [force]}}]}", "a", NULL, VERDICT_ALLOW,
		VERDICT_ALLOW },
	{ "{allow: [{name: a, arguments: {properties: {p: {type: string, pattern: '^/x/'}}, "
	  "required: [p]}}]}",
		"a", "{\"p\":\"/x/1\"}", VERDICT_ALLOW, VERDICT_ALLOW },
	{ "{allow: [{name: a, arguments: {properties: {p: {type: string, pattern: '^/x/'}}, "
	  "required: [p]}}]}",
		"a", "{\"p\":[\"/x/1\"]}", VERDICT_DENY, VERDICT_ALLOW },
	{ "{allow: [{name: a, arguments: {properties: {p: {type: string, pattern: '^/x/'}}, "
	  "required: [p]}}]}",
		"a", "{\"q\":\"/x/1\"}", VERDICT_DENY, VERDICT_ALLOW },
	{ "{allow: [{name: a}]}", "a", "{\"q\":1}", VERDICT_ALLOW, VERDICT_ALLOW },
};

static void test_decided(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(decided); i++) {
		auto_document arguments = { 0 };
		auto_buffer text = { 0 };
		struct gateway_config c;
		struct gateway_decision d;
		struct error e = { 0 };
		const char *json = decided[i].arguments;

		buffer_printf(&text, SERVER("s", "    tools: %s\n"), decided[i].tools);
		if (gateway_config_read(&c, "g.yaml", text.data, text.len, NULL, &e) < 0)
			fail_msg("%s: %s", decided[i].tools, e.text);
		if (json)
			assert_int_equal(json_read(&arguments, NULL, json, strlen(json), NULL), 0);
		d = gateway_decide(
			c.servers, GATEWAY_TOOL, decided[i].tool, json ? arguments.root : NULL);
		if (d.verdict != decided[i].verdict ||
			gateway_best(c.servers, GATEWAY_TOOL, decided[i].tool) != decided[i].best)
			fail_msg("%s: %s %s: %d", decided[i].tools, decided[i].tool,
				json ? json : "", d.verdict);
		assert_non_null(d.reason);
		gateway_config_deinit(&c);
	}
}

/* What there is beside tools is denied, unless the file has it. */
static const struct {
	const char *text, *name;
	enum gateway_kind kind;
	enum verdict verdict;
} offered[] = {
	{ "", "p", GATEWAY_PROMPT, VERDICT_DENY },
	{ "", "a:b", GATEWAY_RESOURCE, VERDICT_DENY },
	{ "    tools: {allow: ['*']}\n", "p", GATEWAY_PROMPT, VERDICT_DENY },
	{ "    prompts: true\n", "p", GATEWAY_PROMPT, VERDICT_ALLOW },
	{ "    prompts: true\n", "a:b", GATEWAY_RESOURCE, VERDICT_DENY },
	{ "    prompts: false\n", "p", GATEWAY_PROMPT, VERDICT_DENY },
	{ "    prompts: {}\n", "p", GATEWAY_PROMPT, VERDICT_ALLOW },
	{ "    prompts: {ask: [p]}\n", "p", GATEWAY_PROMPT, VERDICT_ASK },
	{ "    prompts: {allow: [q]}\n", "p", GATEWAY_PROMPT, VERDICT_DENY },
	{ "    resources: true\n", "a:b", GATEWAY_RESOURCE, VERDICT_ALLOW },
	{ "    resources: {allow: ['a:*']}\n", "a:b", GATEWAY_RESOURCE, VERDICT_ALLOW },
	{ "    resources: {allow: ['a:*']}\n", "b:a:b", GATEWAY_RESOURCE, VERDICT_DENY },
	{ "    resources: {deny: ['file:*']}\n", "file:///etc/passwd", GATEWAY_RESOURCE,
		VERDICT_DENY },
};

static void test_offered(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(offered); i++) {
		auto_buffer text = { 0 };
		struct gateway_config c;

		buffer_printf(&text, SERVER("s", "%s"), offered[i].text);
		assert_int_equal(
			gateway_config_read(&c, "g.yaml", text.data, text.len, NULL, NULL), 0);
		if (gateway_decide(c.servers, offered[i].kind, offered[i].name, NULL).verdict !=
				offered[i].verdict ||
			gateway_best(c.servers, offered[i].kind, offered[i].name) !=
				offered[i].verdict)
			fail_msg("%s: %s", offered[i].text, offered[i].name);
		gateway_config_deinit(&c);
	}
}

/* Where patterns look, a text that would take them long is denied, allowed as it may be. */
static void test_long(void **state)
{
	static const char text[] =
		SERVER("s", "    tools: {deny: [{name: a, arguments: {properties: {p: {type: "
			    "string, pattern: z$}}}}]}\n");
	struct gateway_config c;
	auto_arena a = { 0 };
	char *value = arena_alloc(&a, GATEWAY_TEXT_MAX + 2);
	struct node *map = node_new(&a, NODE_MAP);

	(void)state;
	assert_int_equal(gateway_config_read(&c, "g", text, strlen(text), NULL, NULL), 0);
	memset(value, 'x', GATEWAY_TEXT_MAX + 1);
	node_put(&a, map, "p", node_new_text(&a, value));
	assert_int_equal(gateway_decide(c.servers, GATEWAY_TOOL, "a", map).verdict, VERDICT_DENY);
	map = node_new(&a, NODE_MAP);
	node_put(&a, map, "p", node_new_text(&a, value + 1));
	assert_int_equal(gateway_decide(c.servers, GATEWAY_TOOL, "a", map).verdict, VERDICT_ALLOW);
	gateway_config_deinit(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole),
		cmocka_unit_test(test_remote), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_decided), cmocka_unit_test(test_offered),
		cmocka_unit_test(test_long) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
