/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/test/test.h"

#include <errno.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/utf8.h"
#include "codec/json.h"
#include "codec/yaml.h"

/* What is read, as JSON. */
static const struct {
	const char *text, *json;
} accepted[] = {
	{ "", "null" },
	{ "# only a comment\n", "null" },
	{ "---\n", "null" },
	{ "---\n...\n", "null" },
	{ "--- x\n...\n", "\"x\"" },
	{ "%YAML 1.2\n---\nx", "\"x\"" },
	{ "\xef\xbb\xbfk: 1", "{\"k\":1}" },
	{ "\xef\xbb\xbf", "null" },
	{ "a: 1\r\nb:\r\n  - x\r\n", "{\"a\":1,\"b\":[\"x\"]}" },
	/* Plain scalars have the core schema's types. */
	{ "[~, null, Null, NULL, '', \"\"]", "[null,null,null,null,\"\",\"\"]" },
	{ "a:\nb: ", "{\"a\":null,\"b\":null}" },
	{ "[true, True, TRUE, false, False, FALSE]", "[true,true,true,false,false,false]" },
	{ "[yes, no, on, off, y, n, Yes, NO]",
		"[\"yes\",\"no\",\"on\",\"off\",\"y\",\"n\",\"Yes\",\"NO\"]" },
	{ "[1, -1, 1.5, 1e3, 1.0]", "[1,-1,1.5,1e3,1.0]" },
	{ "['1', \"true\", 'null', '~']", "[\"1\",\"true\",\"null\",\"~\"]" },
	{ "[2024-01-01, 1.2.3, 10.0.0.1]", "[\"2024-01-01\",\"1.2.3\",\"10.0.0.1\"]" },
	{ "a: |\n  1\nb: >\n  true\n  x\nc: |-\n  null\n",
		"{\"a\":\"1\\n\",\"b\":\"true x\\n\",\"c\":\"null\"}" },
	{ "a: one\n  two\n\n  three\n", "{\"a\":\"one two\\nthree\"}" },
	/* Keys are text, whatever they look like. */
	{ "1: a\ntrue: b\n~: c\n\"\": d\n", "{\"1\":\"a\",\"true\":\"b\",\"~\":\"c\",\"\":\"d\"}" },
	{ "? a\n: b\n? c\n", "{\"a\":\"b\",\"c\":null}" },
	{ "\"<<\": 1", "{\"<<\":1}" },
	{ "!!str <<: 2", "{\"<<\":2}" },
	{ "{a, b: 1}", "{\"a\":null,\"b\":1}" },
	{ "[a: 1, b]", "[{\"a\":1},\"b\"]" },
	{ "- - a\n  - b\n- c: d\n  e: f\n- []\n", "[[\"a\",\"b\"],{\"c\":\"d\",\"e\":\"f\"},[]]" },
	{ "a:\n- x\n- y\n", "{\"a\":[\"x\",\"y\"]}" },
	/* Escapes. */
	{ "\"\\x41\\u00e9\\U0001d11e\\t\\/\\e\"", "\"A\xc3\xa9\xf0\x9d\x84\x9e\\t/\\u001b\"" },
	{ "'it''s'", "\"it's\"" },
	/* Tags. */
	{ "!!str 1", "\"1\"" },
	{ "!!str", "\"\"" },
	{ "!!int 1", "1" },
	{ "!!int '0x1F'", "\"0x1F\"" },
	{ "!!float 1", "1" },
	{ "!!float 1.5", "1.5" },
	{ "!!bool \"True\"", "true" },
	{ "!!null ''", "null" },
	{ "!!seq [!!map {a: 1}]", "[{\"a\":1}]" },
	{ "!<tag:yaml.org,2002:str> 1", "\"1\"" },
	{ "%TAG !y! tag:yaml.org,2002:\n---\n!y!str 1", "\"1\"" },
	/* Anchors and aliases. */
	{ "a: &x 1\nb: *x", "{\"a\":1,\"b\":1}" },
	{ "a: &x [1, {k: v}]\nb: *x\nc: [*x]", "{\"a\":[1,{\"k\":\"v\"}],\"b\":[1,{\"k\":\"v\"}],"
					       "\"c\":[[1,{\"k\":\"v\"}]]}" },
	{ "[&x ~, *x, &y True, *y]", "[null,null,true,true]" },
	{ "[&x 1, *x, &x 2, *x]", "[1,1,2,2]" },
	{ "[&x [], *x, &y {}, *y]", "[[],[],{},{}]" },
	{ "&unused a", "\"a\"" },
	/* Not tabs as indentation. */
	{ "a:\t1\nb: \"x\ty\"\t# c", "{\"a\":1,\"b\":\"x\\ty\"}" },
	/* JSON is YAML. */
	{ "{\"a\": [1, true, null, \"x\\n\"], \"b\": {}}",
		"{\"a\":[1,true,null,\"x\\n\"],\"b\":{}}" },
};

static void test_accepted(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(accepted); i++) {
		auto_document d = { 0 };
		auto_buffer out = { 0 };
		struct error e = { 0 };
		const char *text = accepted[i].text;
		int r = yaml_read(&d, NULL, 1, text, strlen(text), &e);

		if (r < 0)
			fail_msg("<%s>: %u:%u: %s", text, e.line, e.column, e.text);
		json_print(&out, d.root, JSON_COMPACT);
		assert_string_equal(buffer_text(&out), accepted[i].json);
	}
}

#define CORE_TAGS "only !!str"

static const struct refusal refused[] = {
	/* The bytes. */
	{ TEXT("\xff\xfek\0"), -EINVAL, 1, 1, "byte 0xff is not UTF-8", "UTF-16" },
	{ TEXT("a\0:\0 \0"), -EINVAL, 1, 2, "NUL byte", "UTF-16" },
	{ TEXT("a: b\nc: \xc0\x80"), -EINVAL, 2, 4, "byte 0xc0 is not UTF-8", "only UTF-8" },
	{ TEXT("a: \x07"), -EINVAL, 1, 4, "U+0007 cannot stand", "\\u0007" },
	{ TEXT("a: \x7f"), -EINVAL, 1, 4, "U+007F cannot stand", "\\u007f" },
	{ TEXT("a: \xc2\x80"), -EINVAL, 1, 4, "U+0080 cannot stand", "\\u0080" },
	{ TEXT("a: \xef\xbb\xbf"), -EINVAL, 1, 4, "U+FEFF cannot stand", "\\ufeff" },
	{ TEXT("\xef\xbb\xbf\xef\xbb\xbf"), -EINVAL, 1, 1, "U+FEFF cannot stand", "\\ufeff" },
	{ TEXT("a: \xef\xbf\xbe"), -EINVAL, 1, 4, "U+FFFE cannot stand", "\\ufffe" },
	{ TEXT("# c\xe2\x80\xa8net: x"), -EINVAL, 1, 4, "U+2028 is a line break", "\\u2028" },
	{ TEXT("a: \xe2\x80\xa9"), -EINVAL, 1, 4, "U+2029 is a line break", "\\u2029" },
	{ TEXT("a: \xc2\x85"), -EINVAL, 1, 4, "U+0085 is a line break", "\\u0085" },
	{ TEXT("# c\rallow: x"), -EINVAL, 1, 4, "carriage return", "LF or CRLF" },
	{ TEXT("a: b\r"), -EINVAL, 1, 5, "carriage return", "LF or CRLF" },
	{ TEXT("a: \"x\\0y\""), -EINVAL, 1, 4, "NUL character", NULL },
	{ TEXT("\"\\x00\": 1"), -EINVAL, 1, 1, "NUL character", NULL },
	{ TEXT("!!str \"1\\0\""), -EINVAL, 1, 1, "NUL character", NULL },
	{ TEXT("!!int \"1\\0\""), -EINVAL, 1, 1, "\"1\" is not what its tag says", NULL },
	{ TEXT("!!bool \"true\\0x\""), -EINVAL, 1, 1, "\"true\" is not what its tag says", NULL },
	{ TEXT("!!null \"\\0\""), -EINVAL, 1, 1, "\"\" is not what its tag says", NULL },
	/* The structure. */
	{ TEXT("a\n---\nb"), -EINVAL, 2, 1, "second document", "one document" },
	{ TEXT("---\na\n...\n---\n"), -EINVAL, 4, 1, "second document", "one document" },
	{ TEXT("a: 1\nb: 2\na: 3"), -EINVAL, 3, 1,
		"duplicate key \"a\", which stands at line 1, column 1 already", NULL },
	{ TEXT("{1: a, '1': b}"), -EINVAL, 1, 8, "duplicate key \"1\"", NULL },
	{ TEXT("[a]: b"), -EINVAL, 1, 1, "expected text as a key, found a list", NULL },
	{ TEXT("? {a: b}\n: c"), -EINVAL, 1, 3, "expected text as a key, found a map", NULL },
	{ TEXT("a: &x b\n*x : c"), -EINVAL, 2, 1, "expected text as a key, found *x", NULL },
	{ TEXT("&x a: b"), -EINVAL, 1, 1, "an anchor cannot name a key", NULL },
	{ TEXT("a: &x {b: c}\nd:\n  <<: *x"), -EINVAL, 3, 3, "merge keys", "write the entries" },
	{ TEXT("a: *x"), -EINVAL, 1, 4, "no anchor &x stands before this alias", "* needs quotes" },
	{ TEXT("- *x\n- &x 1"), -EINVAL, 1, 3, "no anchor &x", "* needs quotes" },
	{ TEXT("&x [1, *x]"), -EINVAL, 1, 8, "*x stands inside what it names", NULL },
	{ TEXT("a: &x\n  b: [{c: *x}]"), -EINVAL, 2, 11, "*x stands inside what it names", NULL },
	/* Tags. */
	{ TEXT("!!binary aGk="), -EINVAL, 1, 1, "unknown tag \"tag:yaml.org,2002:binary\"",
		CORE_TAGS },
	{ TEXT("a: !x 1"), -EINVAL, 1, 4, "unknown tag \"!x\"", CORE_TAGS },
	{ TEXT("! 1"), -EINVAL, 1, 1, "unknown tag \"!\"", CORE_TAGS },
	{ TEXT("!x [1]"), -EINVAL, 1, 1, "unknown tag \"!x\"", CORE_TAGS },
	{ TEXT("!!set {a}"), -EINVAL, 1, 1, "unknown tag \"tag:yaml.org,2002:set\"", CORE_TAGS },
	{ TEXT("!!map [a]"), -EINVAL, 1, 1, "2002:map\" does not fit a list", NULL },
	{ TEXT("!!seq {a}"), -EINVAL, 1, 1, "2002:seq\" does not fit a map", NULL },
	{ TEXT("!!int 1: a"), -EINVAL, 1, 1, "2002:int\" does not fit a key", NULL },
	{ TEXT("!!int 1.5"), -EINVAL, 1, 1, "\"1.5\" is not what its tag says", NULL },
	{ TEXT("!!int x"), -EINVAL, 1, 1, "\"x\" is not what its tag says", NULL },
	{ TEXT("!!float true"), -EINVAL, 1, 1, "\"true\" is not what its tag says", NULL },
	{ TEXT("!!bool yes"), -EINVAL, 1, 1, "\"yes\" is not what its tag says", NULL },
	{ TEXT("!!null x"), -EINVAL, 1, 1, "\"x\" is not what its tag says", NULL },
	{ TEXT("!!seq x"), -EINVAL, 1, 1, "\"x\" is not what its tag says", NULL },
	{ TEXT("!y!str x"), -EINVAL, 1, 1, "unknown tag", CORE_TAGS },
	{ TEXT("%TAG !! tag:evil,2000:\n---\n!!str x"), -EINVAL, 3, 1, "unknown tag \"tag:evil",
		CORE_TAGS },
	/* libyaml's complaints, in our words. */
	{ TEXT("a: b: c"), -EINVAL, 1, 5, "a ':' cannot stand here", "in quotes" },
	{ TEXT("a:\n\tb: c"), -EINVAL, 2, 1, "expected a key or a value", "with a tab" },
	{ TEXT("a:\n  b: c\n\td: e"), -EINVAL, 3, 1, "a tab cannot indent YAML", "with a tab" },
	{ TEXT("a:\n  - b\n \t- c"), -EINVAL, 3, 2, "a tab cannot indent YAML", "with a tab" },
	{ TEXT("a: @b"), -EINVAL, 1, 4, "expected a key or a value", "@, ` or %" },
	{ TEXT("a: [b, c\nd: e"), -EINVAL, 2, 2,
		"expected ',' or ']' in the list that starts at line 1, column 4", "closing ]" },
	{ TEXT("a: {b: c\nd: e"), -EINVAL, 2, 2,
		"expected ',' or '}' in the map that starts at line 1, column 4", "closing }" },
	{ TEXT("a: [b"), -EINVAL, 1, 6, "expected ',' or ']'", "closing ]" },
	{ TEXT("a: \"b\nc: d\n"), -EINVAL, 1, 4, "text that starts here is never closed", "quote" },
	{ TEXT("a: 'b"), -EINVAL, 1, 4, "text that starts here is never closed", "quote" },
	{ TEXT("a: \"b\n---\n\""), -EINVAL, 2, 1, "a line of --- or ...", "indent the line" },
	{ TEXT("a: \"\\d\""), -EINVAL, 1, 5, "unknown escape", "single quotes" },
	{ TEXT("a: \"\\xzz\""), -EINVAL, 1, 7, "expected hexadecimal digits", "single quotes" },
	{ TEXT("a: \"\\ud800\""), -EINVAL, 1, 7, "stands for no character", "surrogate" },
	{ TEXT("a: 1\nb\nc: 2"), -EINVAL, 2, 1, "expected ':' after this key", "\"key: value\"" },
	{ TEXT("a: 1\n  b: 2"), -EINVAL, 2, 4, "a ':' cannot stand here", "indentation" },
	{ TEXT("  a: 1\n b: 2"), -EINVAL, 2, 2, "expected the end of the text", "indented alike" },
	{ TEXT("a:\n  - b\n  c: d"), -EINVAL, 3, 3,
		"expected '- ', or the end of the list that starts at line 2, column 3",
		"indentation" },
	{ TEXT("a:\n  b: c\n  - d"), -EINVAL, 3, 3, "expected another key", "indentation" },
	{ TEXT("a: - b"), -EINVAL, 1, 4, "a '-' cannot stand here", "own line" },
	{ TEXT("a: ? b"), -EINVAL, 1, 4, "a key cannot stand here", "indentation" },
	{ TEXT("a: ["), -EINVAL, 1, 5, "expected a value", NULL },
	{ TEXT("- *.example.com"), -EINVAL, 1, 3, "expected a name after & or *", "* or & needs" },
	{ TEXT("a: |\n \t\n\tb"), -EINVAL, 2, 2, "a tab cannot indent YAML", "with a tab" },
	{ TEXT("%YAML 3.0\n--- a"), -EINVAL, 1, 1, "version 1.1 or 1.2", NULL },
	{ TEXT("%FOO\n--- a"), -EINVAL, 1, 5,
		"not YAML: found unknown directive name while scanning a directive", NULL },
	{ TEXT("a: !<x"), -EINVAL, 1, 7,
		"not YAML: did not find the expected '>' while scanning a tag", NULL },
};

static void test_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(refused); i++) {
		struct document d = { .root = (struct node *)state };
		struct error e = { 0 };
		int r = yaml_read(&d, "f.yaml", 1, refused[i].text, refused[i].len, &e);

		check_refusal(&refused[i], r, &e);
		assert_string_equal(e.file, "f.yaml");
		assert_null(d.root);
		assert_null(d.arena.chunks);
		assert_int_equal(yaml_read(&d, NULL, 1, refused[i].text, refused[i].len, NULL), r);
	}
}

static void test_first_line(void **state)
{
	struct error e = { 0 };
	auto_document d = { 0 };

	(void)state;
	assert_int_equal(yaml_read(&d, "f", 10, TEXT("a: 1\nb: @"), &e), -EINVAL);
	assert_true(e.line == 11 && e.column == 4);
	assert_int_equal(yaml_read(&d, "f", 10, TEXT("a: 1\na: 2"), &e), -EINVAL);
	assert_true(e.line == 11 && e.column == 1);
	assert_non_null(strstr(e.text, "line 10, column 1"));
	assert_int_equal(yaml_read(&d, "f", 10, TEXT("a: 1\nb: \r"), &e), -EINVAL);
	assert_true(e.line == 11 && e.column == 4);
	assert_int_equal(yaml_read(&d, "f", 10, NULL, 0, &e), 0);
	assert_true(d.root->line == 10 && d.root->column == 1);
}

/* Columns count bytes though libyaml counts characters, and no end of a line confuses them. */
static void test_places(void **state)
{
	static const char text[] = "\xef\xbb\xbf\xc3\xa9\xe2\x82\xac: &a x\r\n"
				   "\"\xf0\x9d\x84\x9e\": [\xc3\xa9, y]\n"
				   "k:\n"
				   "  - *a\n"
				   "  - {\xc3\xa9: z}\n";
	auto_document d = { 0 };
	const struct node *x, *flow, *k;

	(void)state;
	assert_int_equal(yaml_read(&d, "f", 1, TEXT(text), NULL), 0);
	x = d.root->first;
	flow = x->next;
	k = flow->next;
	assert_true(x->key_line == 1 && x->key_column == 1);
	assert_true(x->line == 1 && x->column == 8);
	assert_true(flow->key_line == 2 && flow->key_column == 1);
	assert_true(flow->line == 2 && flow->column == 9);
	assert_true(flow->last->line == 2 && flow->last->column == 14);
	assert_true(k->key_line == 3 && k->key_column == 1 && k->line == 4 && k->column == 3);
	/* A copy stands where the alias does. */
	assert_true(k->first->line == 4 && k->first->column == 5);
	assert_true(k->last->first->key_column == 6 && k->last->first->column == 10);
}

/* A tree as JSON, and its canonical YAML. */
static const struct {
	const char *json, *yaml;
} printed[] = {
	{ "null", "null\n" },
	{ "true", "true\n" },
	{ "-1.5e3", "-1.5e3\n" },
	{ "[]", "[]\n" },
	{ "{}", "{}\n" },
	{ "[1, true, null, \"a\"]", "- 1\n- true\n- null\n- a\n" },
	{ "{\"a\": {}, \"b\": [], \"c\": null}", "a: {}\nb: []\nc: null\n" },
	{ "{\"a\": [\"x\", \"z\"], \"b\": {\"c\": {\"d\": 1}}}",
		"a:\n  - x\n  - z\nb:\n  c:\n    d: 1\n" },
	{ "[[1, [2, []]], {\"a\": [3], \"b\": 4}, [{}]]",
		"- - 1\n  - - 2\n    - []\n- a:\n    - 3\n  b: 4\n- - {}\n" },
	/* Text that reads as something else. */
	{ "[\"\", \"~\", \"null\", \"True\", \"1\", \"0x1F\", \".5\", \"1e5\", \".inf\"]",
		"- \"\"\n- \"~\"\n- \"null\"\n- \"True\"\n- \"1\"\n- \"0x1F\"\n- \".5\"\n"
		"- \"1e5\"\n- \".inf\"\n" },
	{ "[\"yes\", \"No\", \"y\", \"off\", \"<<\", \"=\"]",
		"- \"yes\"\n- \"No\"\n- \"y\"\n- \"off\"\n- \"<<\"\n- \"=\"\n" },
	{ "{\"1\": \"a\", \"true\": \"b\", \"\": \"c\", \"<<\": 1}",
		"\"1\": a\n\"true\": b\n\"\": c\n\"<<\": 1\n" },
	/* Text that is fine as it is. */
	{ "[\"/home/**\", \"git push:*\", \"a:b\", \"https://x.org:443/\", \"10.0.0.0/8\", \"-x\"]",
		"- /home/**\n- git push:*\n- a:b\n- https://x.org:443/\n- 10.0.0.0/8\n- -x\n" },
	{ "[\"--flag\", \"a#b\", \"it's\", \"a \\\"b\\\"\", \"a, b\", \"a]\", \"\\\\d\", "
	  "\"$HOME\"]",
		"- --flag\n- a#b\n- it's\n- a \"b\"\n- a, b\n- a]\n- \\d\n- $HOME\n" },
	{ "[\"h\xc3\xa9llo\", \"\xe2\x82\xac\", \"\xf0\x9f\x98\x80\", \"<=\"]",
		"- h\xc3\xa9llo\n- \xe2\x82\xac\n- \xf0\x9f\x98\x80\n- <=\n" },
	/* Text that YAML's signs would spoil. */
	{ "[\" a\", \"a \", \"a: b\", \"a:\", \"a #b\", \"#a\", \"-\", \"- a\", \"---\", \"...\"]",
		"- \" a\"\n- \"a \"\n- \"a: b\"\n- \"a:\"\n- \"a #b\"\n- \"#a\"\n- \"-\"\n- \"- "
		"a\"\n"
		"- \"---\"\n- \"...\"\n" },
	{ "[\"*.org\", \"&a\", \"!a\", \"|\", \">a\", \"%a\", \"@a\", \"`a`\", \"[a\", \"{a\", "
	  "\"?\"]",
		"- \"*.org\"\n- \"&a\"\n- \"!a\"\n- \"|\"\n- \">a\"\n- \"%a\"\n- \"@a\"\n- "
		"\"`a`\"\n"
		"- \"[a\"\n- \"{a\"\n- \"?\"\n" },
	{ "[\"'a'\", \"\\\"a\\\"\", \":a\", \",a\", \"]\", \"}\"]",
		"- \"'a'\"\n- \"\\\"a\\\"\"\n- \":a\"\n- \",a\"\n- \"]\"\n- \"}\"\n" },
	{ "[\"a\\nb\\n\", \"\\t\", \"\\r\\\\\\u0007\", "
	  "\"\\u007f\\u0085\\u2028\\ufeff\\ufffe\\uffff\"]",
		"- \"a\\nb\\n\"\n- \"\\t\"\n- \"\\r\\\\\\x07\"\n"
		"- \"\\x7f\\x85\\u2028\\ufeff\\ufffe\\uffff\"\n" },
	{ "[\"\\udb40\\udc01\", \"\\u202e\", \"\xf0\x9f\xbf\xbe\"]",
		"- \"\\U000e0001\"\n- \"\\u202e\"\n- \xf0\x9f\xbf\xbe\n" },
	{ "{\"a b\": 1, \"a: b\": 2, \"---\": 3, \"?\": 4, \"-a\": {\"#\": []}}",
		"a b: 1\n\"a: b\": 2\n\"---\": 3\n\"?\": 4\n-a:\n  \"#\": []\n" },
	{ "\"---\"", "\"---\"\n" },
	{ "\"a\\nb\"", "\"a\\nb\"\n" },
};

static void check_round_trip(const struct node *root, const struct buffer *text)
{
	auto_document again = { 0 };
	struct error e = { 0 };

	if (yaml_read(&again, NULL, 1, text->data, text->len, &e) != 0)
		fail_msg("<%s>: %u:%u: %s", text->data, e.line, e.column, e.text);
	if (!node_equal(root, again.root))
		fail_msg("<%s> reads as another tree", text->data);
}

static void test_printed(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(printed); i++) {
		auto_document d = { 0 };
		auto_buffer out = { 0 };
		struct error e = { 0 };

		if (json_read(&d, NULL, printed[i].json, strlen(printed[i].json), &e) != 0)
			fail_msg("<%s>: %s", printed[i].json, e.text);
		yaml_print(&out, d.root);
		assert_string_equal(buffer_text(&out), printed[i].yaml);
		check_round_trip(d.root, &out);
	}
}

static void test_accepted_round_trip(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(accepted); i++) {
		auto_document d = { 0 };
		auto_buffer out = { 0 };
		const char *text = accepted[i].text;

		assert_int_equal(yaml_read(&d, NULL, 1, text, strlen(text), NULL), 0);
		yaml_print(&out, d.root);
		check_round_trip(d.root, &out);
	}
}

/* A character alone, after a letter and between two, as key and as value. */
static void check_character(const char *c)
{
	auto_arena a = { 0 };
	auto_buffer text = { 0 }, out = { 0 };
	struct node *root = node_new(&a, NODE_MAP);

	node_put(&a, root, c, node_new_text(&a, c));
	buffer_printf(&text, "a%s", c);
	node_put(&a, root, text.data, node_new_text(&a, text.data));
	buffer_addc(&text, 'b');
	node_put(&a, root, text.data, node_new_text(&a, text.data));
	yaml_print(&out, root);
	check_round_trip(root, &out);
}

static void test_every_character(void **state)
{
	(void)state;
	for (uint32_t c = 1; c < 0x10100; c++) {
		char bytes[5] = { 0 };

		/* Thousands of ideographs and syllables that nothing treats apart. */
		if (c == 0x3100)
			c = 0xd700;
		if (utf8_encode(c, bytes))
			check_character(bytes);
	}
}

/* Keys up to a length are printed before a colon, longer ones after a question mark. */
static void test_long_keys(void **state)
{
	static const size_t lengths[] = { 249, 250, 251, 1023, 1024, 1025, NODE_SCALAR_MAX };
	static const char *const units[] = { "k", "\x7f", " ", "\n" };

	(void)state;
	for (size_t i = 0; i < ROWS(lengths) * ROWS(units); i++) {
		auto_arena a = { 0 };
		auto_buffer key = { 0 }, out = { 0 };
		struct node *root = node_new(&a, NODE_MAP), *list;

		while (key.len < lengths[i / ROWS(units)])
			buffer_adds(&key, units[i % ROWS(units)]);
		list = node_put(&a, root, key.data, node_new(&a, NODE_LIST));
		node_put(&a, node_append(list, node_new(&a, NODE_MAP)), key.data,
			node_new(&a, NODE_NULL));
		node_put(&a, root, "last", node_new(&a, NODE_MAP));
		yaml_print(&out, root);
		assert_int_equal(out.data[0] == '?', key.len > 250);
		check_round_trip(root, &out);
	}
}

static void test_print_bad_utf8(void **state)
{
	auto_arena a = { 0 };
	auto_buffer out = { 0 };

	(void)state;
	yaml_print(&out, node_new_text(&a, "a\xff"));
	assert_string_equal(buffer_text(&out), "\"a\xef\xbf\xbd\"\n");
}

static int read_buffer(const struct buffer *text, struct error *e)
{
	auto_document d = { 0 };

	return yaml_read(&d, NULL, 1, text->data, text->len, e);
}

static void repeat(struct buffer *out, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		buffer_adds(out, s);
}

static void test_depth(void **state)
{
	static const size_t depths[] = { NODE_DEPTH_MAX, NODE_DEPTH_MAX + 1, 3000, 100000 };
	struct error e = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(depths); i++) {
		auto_buffer flow = { 0 }, block = { 0 };
		int want = depths[i] <= NODE_DEPTH_MAX ? 0 : -E2BIG;

		repeat(&flow, depths[i], "[");
		repeat(&flow, depths[i], "]");
		repeat(&block, depths[i], "- ");
		assert_int_equal(read_buffer(&flow, &e), want);
		assert_int_equal(read_buffer(&block, &e), want);
	}
	assert_string_equal(e.text, "nested more than 64 levels deep");
}

/* An alias deep inside may not carry a deep tree below the bound. */
static void test_alias_depth(void **state)
{
	struct error e = { 0 };

	(void)state;
	for (size_t n = 31; n < 34; n++) {
		auto_buffer text = { 0 };

		/* The outer list, n lists that the anchor names, and n around the alias. */
		buffer_adds(&text, "[ &a ");
		repeat(&text, n, "[");
		repeat(&text, n, "]");
		buffer_adds(&text, ", ");
		repeat(&text, n, "[");
		buffer_adds(&text, "*a");
		repeat(&text, n, "]");
		buffer_addc(&text, ']');
		assert_int_equal(read_buffer(&text, &e), 1 + n + n <= NODE_DEPTH_MAX ? 0 : -E2BIG);
	}
	assert_non_null(strstr(e.text, "64 levels"));
}

/* The "billion laughs", as nodes and as text. */
static void test_bombs(void **state)
{
	auto_buffer nodes = { 0 }, bytes = { 0 };
	struct error e = { 0 };

	(void)state;
	buffer_adds(&nodes, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
	for (int i = 1; i < 20; i++) {
		buffer_printf(&nodes, "a%d: &a%d [", i, i);
		for (int j = 0; j < 10; j++)
			buffer_printf(&nodes, "*a%d, ", i - 1);
		buffer_adds(&nodes, "]\n");
	}
	assert_int_equal(read_buffer(&nodes, &e), -E2BIG);
	assert_string_equal(e.text, "more than 200000 values in one document");
	assert_int_equal(e.line, 6);

	buffer_adds(&bytes, "- &a {k: ");
	repeat(&bytes, 60000, "x");
	buffer_adds(&bytes, "}\n");
	repeat(&bytes, 50, "- *a\n");
	assert_int_equal(read_buffer(&bytes, &e), 0);
	repeat(&bytes, 50, "- *a\n");
	assert_int_equal(read_buffer(&bytes, &e), -E2BIG);
	assert_string_equal(e.text, "more than 4194304 bytes with what the aliases repeat");
}

static void test_count(void **state)
{
	auto_buffer text = { 0 };
	struct error e = { 0 };

	(void)state;
	repeat(&text, NODE_COUNT_MAX - 1, "- a\n");
	assert_int_equal(read_buffer(&text, &e), 0);
	buffer_adds(&text, "- a\n");
	assert_int_equal(read_buffer(&text, &e), -E2BIG);
	assert_int_equal(e.line, NODE_COUNT_MAX);
}

static void test_lengths(void **state)
{
	auto_buffer text = { 0 }, large = { 0 };
	struct error e = { 0 };

	(void)state;
	repeat(&text, NODE_SCALAR_MAX, "x");
	assert_int_equal(read_buffer(&text, &e), 0);
	buffer_addc(&text, 'x');
	assert_int_equal(read_buffer(&text, &e), -E2BIG);
	assert_string_equal(e.text, "text of 65537 bytes, at most 65536 are read");
	repeat(&large, NODE_INPUT_MAX / 16 + 1, "# 34567890 2345\n");
	assert_int_equal(read_buffer(&large, &e), -E2BIG);
	assert_non_null(strstr(e.text, "too large"));
}

static void test_anchor_count(void **state)
{
	auto_buffer text = { 0 };
	struct error e = { 0 };

	(void)state;
	for (int i = 0; i < 256; i++)
		buffer_printf(&text, "- &a%d x\n", i);
	buffer_adds(&text, "- &a0 y\n- *a0\n");
	assert_int_equal(read_buffer(&text, &e), 0);
	buffer_adds(&text, "- &more x\n");
	assert_int_equal(read_buffer(&text, &e), -E2BIG);
	assert_string_equal(e.text, "more than 256 anchors in one document");
}

static void test_many_keys(void **state)
{
	auto_buffer text = { 0 };
	struct error e = { 0 };

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		buffer_printf(&text, "common prefix %u: 0\n", i * 7919 % 100000);
	assert_int_equal(read_buffer(&text, &e), 0);
	buffer_adds(&text, "common prefix 0: 0\n");
	assert_int_equal(read_buffer(&text, &e), -EINVAL);
	assert_int_equal(e.line, 100001);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_first_line),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_printed),
		cmocka_unit_test(test_accepted_round_trip),
		cmocka_unit_test(test_every_character),
		cmocka_unit_test(test_long_keys),
		cmocka_unit_test(test_print_bad_utf8),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_alias_depth),
		cmocka_unit_test(test_bombs),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_anchor_count),
		cmocka_unit_test(test_many_keys),
	};

	return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
