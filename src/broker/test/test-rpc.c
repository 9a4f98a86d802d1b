/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "broker/rpc.h"

/* Reads a line, and answers each call with its refusal, or with "NAME ok". */
static void answer(const char *line, unsigned channel, struct buffer *out)
{
	auto_document d = { 0 };
	struct rpc_refusal why;
	struct error e = { 0 };
	const struct node *n;

	if (rpc_read(&d, line, strlen(line), &e, &why) != 0) {
		rpc_print_refusal(out, NULL, false, &why);
		return;
	}
	n = d.root->type == NODE_LIST ? d.root->first : d.root;
	for (; n; n = n->next) {
		struct rpc_call c;
		int r = rpc_call_read(&d, n, channel, &c, &e, &why);

		assert_true(r == 0 || r == 1);
		if (r == 1 && c.id)
			rpc_print_refusal(out, c.id, c.by_shield, &why);
		else
			buffer_printf(out, "%s %s", c.id ? c.id : "(none)",
				r ? "refused" : method_called(c.method, c.by_shield));
		buffer_addc(out, '|');
	}
}

static void check(const char *line, unsigned channel, const char *wanted)
{
	auto_buffer out = { 0 };

	answer(line, channel, &out);
	if (!strstr(buffer_text(&out), wanted))
		fail_msg("%s\n  gives  %s\n  wanted %s", line, buffer_text(&out), wanted);
}

#define CALL(rest) "{\"jsonrpc\":\"2.0\",\"id\":1," rest "}"

static void test_requests(void **state)
{
	static const struct {
		const char *line, *wanted;
	} cases[] = {
		{ CALL("\"method\":\"ping\""), "1 ping|" },
		{ CALL("\"method\":\"ping\",\"params\":{}"), "1 ping|" },
		{ CALL("\"method\":\"fs.read\",\"params\":{\"path\":\"/a\"}"), "1 fs.read|" },
		{ CALL("\"method\":\"file_read\",\"params\":{\"path\":\"/a\"}"), "1 file_read|" },
		/* Ids are given back as they were written. */
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"a\\\"b\",\"method\":\"ping\"}",
			"\"a\\\"b\" ping|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "null ping|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.50,\"method\":\"ping\"}", "1.50 ping|" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":123456789012345678901234567890,\"method\":\"ping\"}",
			"123456789012345678901234567890 ping|" },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}", "(none) ping|" },
		{ "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},7,"
		  "{\"jsonrpc\":\"2.0\",\"method\":\"ping\"}]",
			"1 ping|{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++)
		check(cases[i].line, CHANNEL_SOCKET, cases[i].wanted);
}

static void test_what_is_no_request(void **state)
{
	static const struct {
		const char *line, *wanted;
	} cases[] = {
		{ "", "\"id\":null,\"error\":{\"code\":-32700" },
		{ "{", "-32700" },
		{ "{}{}", "-32700" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ping\"}", "-32700" },
		{ CALL("\"method\":\"ping\",\"params\":{\"echo\":\"a\",\"echo\":\"b\"}"),
			"-32700" },
		{ "\"\xff\"", "-32700" },
		{ "7", "-32600" },
		{ "[]", "a batch has 1 to 1000 calls" },
		{ "{\"id\":1,\"method\":\"ping\"}", "\"id\":1,\"error\":{\"code\":-32600" },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"ping\"}", "-32600" },
		{ "{\"jsonrpc\":\"1.0\",\"method\":\"ping\"}",
			"\"id\":null,\"error\":{\"code\":-32600" },
		{ CALL("\"method\":7"), "-32600" },
		{ CALL("\"method\":\"ping\",\"channel\":\"http\""), "a request has no `channel`" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}",
			"\"id\":null,\"error\":{\"code\":-32600" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", "-32600" },
		{ CALL("\"method\":\"pong\""), "\"code\":-32601" },
		{ CALL("\"method\":\"fs.rеad\""), "\"code\":-32601" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++)
		check(cases[i].line, CHANNEL_SOCKET, cases[i].wanted);
}

static void test_parameters(void **state)
{
	static const struct {
		const char *line, *wanted;
	} cases[] = {
		{ CALL("\"method\":\"fs.read\""), "fs.read needs the parameter `path`" },
		{ CALL("\"method\":\"fs.read\",\"params\":[\"/a\"]"), "`params` must be a map" },
		{ CALL("\"method\":\"fs.read\",\"params\":{\"paht\":\"/a\"}"),
			"did you mean `path`?" },
		{ CALL("\"method\":\"fs.read\",\"params\":{\"xyz\":1}"), "it has: path, encoding" },
		{ CALL("\"method\":\"fs.read\",\"params\":{\"path\":7}"),
			"parameter `path` must be a path of at most 4095 bytes, not a number" },
		{ CALL("\"method\":\"fs.read\",\"params\":{\"path\":\"\"}"),
			"must be a path of at most 4095 bytes" },
		{ CALL("\"method\":\"fs.read\",\"params\":{\"path\":\"/"
		       "a\",\"encoding\":\"utf-16\"}"),
			"must be one of utf-8, utf8, base64, hex" },
		{ CALL("\"method\":\"fs.write\",\"params\":{\"path\":\"/a\",\"content\":\"!\","
		       "\"encoding\":\"base64\"}"),
			"parameter `content`: it is not base64" },
		{ CALL("\"method\":\"fs.write\",\"params\":{\"path\":\"/a\",\"content\":\"\","
		       "\"mode\":512}"),
			"from 0 to 511" },
		{ CALL("\"method\":\"fs.write\",\"params\":{\"path\":\"/a\",\"content\":\"\","
		       "\"mode\":-1}"),
			"must be a whole number" },
		{ CALL("\"method\":\"fs.write\",\"params\":{\"path\":\"/a\",\"content\":\"\","
		       "\"mode\":4.5}"),
			"must be a whole number" },
		{ CALL("\"method\":\"fs.list\",\"params\":{\"path\":\"/a\",\"recursive\":1}"),
			"must be true or false" },
		{ CALL("\"method\":\"fs.list\",\"params\":{\"path\":\"/a\",\"pattern\":\"*\"}"),
			"fs.list has no parameter `pattern`" },
		{ CALL("\"method\":\"file_list\",\"params\":{\"path\":\"/a\",\"glob\":\"*\"}"),
			"\"code\":1003" },
		{ CALL("\"method\":\"exec\",\"params\":{\"command\":\"ls\",\"args\":[1]}"),
			"must be a list of texts" },
		{ CALL("\"method\":\"exec\",\"params\":{\"command\":\"ls\",\"args\":{\"a\":\"b\"}"
		       "}"),
			"must be a list of texts" },
		{ CALL("\"method\":\"exec\",\"params\":{\"command\":\"ls\",\"env\":{\"A\":1}}"),
			"must be a map of texts" },
		{ CALL("\"method\":\"events_batch\",\"params\":{\"events\":{}}"),
			"must be a list of maps" },
		{ CALL("\"method\":\"events_batch\",\"params\":{\"events\":[{},1]}"),
			"must be a list of maps" },
		{ CALL("\"method\":\"http_request\",\"params\":{\"url\":\"http://a\","
		       "\"method\":\"CONNECT\"}"),
			"must be one of GET, HEAD" },
		/* A notification is never answered, whatever is wrong with it. */
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"fs.read\"}", "(none) refused|" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++)
		check(cases[i].line, CHANNEL_SOCKET, cases[i].wanted);
}

static void test_http_refuses_the_rest(void **state)
{
	static const char *const names[] = { "exec", "exec.run", "file_write", "fs.write",
		"fs.delete", "fs.stat", "network.download", "env.get", "policy_check",
		"events_batch", "secret_inject", "skill_install", "skill_uninstall" };

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++) {
		auto_buffer line = { 0 };

		buffer_printf(&line, CALL("\"method\":\"%s\",\"params\":{}"), names[i]);
		check(buffer_text(&line), CHANNEL_HTTP, "cannot be called by HTTP");
		check(buffer_text(&line), CHANNEL_HTTP,
			strchr(names[i], '_') || strcmp(names[i], "exec") == 0 ? "\"code\":1008"
									       : "\"code\":-32001");
	}
	check(CALL("\"method\":\"file_read\",\"params\":{\"path\":\"/a\"}"), CHANNEL_HTTP,
		"1 file_read|");
}

static void test_skills_are_not_installed_from_inside(void **state)
{
	(void)state;
	check(CALL("\"method\":\"skill_install\",\"params\":{\"name\":\"x\"}"), CHANNEL_SOCKET,
		"\"code\":1001,\"message\":\"skills are installed from outside the sandbox");
}

static void test_a_batch_is_bounded(void **state)
{
	auto_buffer line = { 0 };

	(void)state;
	buffer_addc(&line, '[');
	for (int i = 0; i < RPC_BATCH_MAX; i++)
		buffer_printf(&line, "%s7", i ? "," : "");
	buffer_adds(&line, "]");
	check(buffer_text(&line), CHANNEL_SOCKET, "a request is a map");
	line.data[line.len - 1] = ',';
	buffer_adds(&line, "7]");
	check(buffer_text(&line), CHANNEL_SOCKET, "a batch has 1 to 1000 calls");
}

static void test_data_is_decoded(void **state)
{
	static const char line[] = CALL("\"method\":\"fs.write\",\"params\":{\"path\":\"/a\","
					"\"encoding\":\"base64\",\"content\":\"AP8=\"}");
	auto_document d = { 0 };
	struct rpc_refusal why;
	struct rpc_call c;
	struct error e;

	(void)state;
	assert_int_equal(rpc_read(&d, line, strlen(line), &e, &why), 0);
	assert_int_equal(rpc_call_read(&d, d.root, CHANNEL_SOCKET, &c, &e, &why), 0);
	assert_int_equal(c.params.v[1].len, 2);
	assert_memory_equal(c.params.v[1].text, "\0\xff", 2);
}

/* Contents of files are longer than any text of a policy may be. */
static void test_large_content(void **state)
{
	auto_buffer line = { 0 }, data = { 0 };
	auto_document d = { 0 };
	struct rpc_refusal why;
	struct rpc_call c;
	struct error e;

	(void)state;
	for (size_t i = 0; i < METHOD_DATA_MAX; i++)
		buffer_addc(&data, 'x');
	buffer_printf(&line,
		CALL("\"method\":\"fs.write\",\"params\":{\"path\":\"/a\","
		     "\"content\":\"%s\"}"),
		data.data);
	assert_int_equal(rpc_read(&d, line.data, line.len, &e, &why), 0);
	assert_int_equal(rpc_call_read(&d, d.root, CHANNEL_SOCKET, &c, &e, &why), 0);
	assert_int_equal(c.params.v[1].len, METHOD_DATA_MAX);
	document_deinit(&d);
	buffer_clear(&line);
	buffer_printf(&line,
		CALL("\"method\":\"fs.write\",\"params\":{\"path\":\"/a\","
		     "\"content\":\"%sx\"}"),
		data.data);
	check(line.data, CHANNEL_SOCKET, "of at most 4194304 bytes");
}

static void test_results(void **state)
{
	const struct method *m = &method_rows[METHOD_FS_READ];
	auto_buffer out = { 0 };
	struct values v = { 0 };

	(void)state;
	v.v[0] = (struct value){ .type = SCHEMA_DATA, .text = "a\n", .len = 2 };
	v.v[2] = value_number(SCHEMA_NUMBER, 2);
	v.v[3] = value_number(SCHEMA_TIME, 1700000000123456789);
	assert_int_equal(rpc_print_result(&out, "7", m, false, -1, &v), 0);
	assert_string_equal(out.data,
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"content\":\"a\\n\",\"encoding\":"
		"\"utf-8\",\"size\":2,\"modified\":\"2023-11-14T22:13:20.123Z\"}}");
	buffer_clear(&out);
	assert_int_equal(rpc_print_result(&out, "\"x\"", m, true, -1, &v), 0);
	assert_string_equal(out.data,
		"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{\"content\":\"a\\n\",\"size\":2,"
		"\"mtime\":\"2023-11-14T22:13:20.123Z\"}}");
	/* Bytes that are no text: base64 if that can be said, else an error, and nothing is lost.
	 */
	buffer_clear(&out);
	v.v[0] = (struct value){ .type = SCHEMA_DATA, .text = "\xff", .len = 1 };
	assert_int_equal(rpc_print_result(&out, "7", m, false, -1, &v), 0);
	assert_non_null(strstr(out.data, "\"content\":\"/w==\",\"encoding\":\"base64\""));
	buffer_clear(&out);
	assert_int_equal(rpc_print_result(&out, "7", m, true, -1, &v), 1);
	assert_non_null(strstr(out.data, "\"code\":1005"));
	assert_non_null(strstr(out.data, "ask for the encoding base64"));
	buffer_clear(&out);
	assert_int_equal(rpc_print_result(&out, "7", m, true, ENCODING_HEX, &v), 0);
	assert_non_null(strstr(out.data, "\"content\":\"ff\""));
}

/* What a back end gives as JSON is one value, whatever it wrote. */
static void test_json_of_back_ends(void **state)
{
	static const struct {
		const char *given, *printed;
	} rows[] = {
		{ "[{\"id\":1,\"t\":\"a\"}]", "[{\"id\":1,\"t\":\"a\"}]" },
		{ " [ 1 ,\n 2 ] ", "[1,2]" },
		{ "[]}}\n{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}", "null" },
		{ "[],\"truncated\":false", "null" },
		{ "[", "null" },
		{ "", "null" },
	};
	const struct method *m = &method_rows[METHOD_REMINDERS_LIST];

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 }, expected = { 0 };
		struct values v = { 0 };

		v.v[0] = (struct value){
			.type = SCHEMA_JSON, .text = rows[i].given, .len = strlen(rows[i].given)
		};
		v.v[1] = (struct value){ .type = SCHEMA_WORDS };
		v.v[2] = value_number(SCHEMA_FLAG, 0);
		v.v[3] = value_number(SCHEMA_NUMBER, 0);
		assert_int_equal(rpc_print_result(&out, "7", m, false, -1, &v), 0);
		buffer_printf(&expected,
			"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"reminders\":%s,\"lists\":[],"
			"\"truncated\":false,\"skipped\":0}}",
			rows[i].printed);
		assert_string_equal(out.data, expected.data);
	}
}

static void test_refusals_travel(void **state)
{
	static const struct value_item allowed[] = { { NULL, "/srv/**" }, { NULL, "/tmp/**" } };
	const struct rpc_refusal sent = { .class = RPC_PERMISSION,
		.message = "reading /etc/shadow is not allowed",
		.rule = "skill.yaml:7",
		.allowed = allowed,
		.n_allowed = 2 };
	struct values v = rpc_refusal_values(&sent), got;
	auto_buffer body = { 0 }, out = { 0 };
	auto_arena a = { 0 };
	struct rpc_refusal r;

	(void)state;
	assert_int_equal(values_encode(rpc_refusal_fields, &v, &body), 0);
	assert_int_equal(values_decode(rpc_refusal_fields, body.data, body.len, &a, &got), 0);
	assert_int_equal(rpc_refusal_read(&got, &r), 0);
	rpc_print_refusal(&out, "1", false, &r);
	assert_string_equal(out.data,
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32001,\"message\":\"reading "
		"/etc/shadow is not allowed\",\"data\":{\"class\":\"permission\",\"rule\":"
		"\"skill.yaml:7\",\"allowed\":[\"/srv/**\",\"/tmp/**\"]}}}");
	got.v[1] = value_text("", 0);
	assert_int_equal(rpc_refusal_read(&got, &r), 0);
	assert_string_equal(r.message, "it was refused without a reason");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_what_is_no_request),
		cmocka_unit_test(test_parameters),
		cmocka_unit_test(test_http_refuses_the_rest),
		cmocka_unit_test(test_skills_are_not_installed_from_inside),
		cmocka_unit_test(test_a_batch_is_bounded),
		cmocka_unit_test(test_data_is_decoded),
		cmocka_unit_test(test_large_content),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_json_of_back_ends),
		cmocka_unit_test(test_refusals_travel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
