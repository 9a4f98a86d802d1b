/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/redact/redact.h"
#include "base/array.h"
#include "base/buffer.h"

/* Values of variables: each begins, ends, contains or overlaps another, or needs an encoding. */
static const char *const canaries[] = { "canary", "canary-in-a-mine", "aryca", "mine-canary",
	"p@ss/w:rd?", "correct horse", "quo\"te\\d", "new\nline", "\xff\xfe\xfd\xfc", "50%+x=y&z",
	"://user:", "Bearer-x", "====", "ca%6eary" };

static struct redactor *make(void)
{
	struct redactor *r = NULL;

	assert_int_equal(redactor_new(&r), 0);
	for (size_t i = 0; i < ROWS(canaries); i++)
		assert_int_equal(redactor_add(r, "SOME_VARIABLE", canaries[i]), 0);
	return r;
}

static void check(struct redactor *r, const char *text, const char *want)
{
	auto_buffer out = { 0 };

	redact_text(r, text, &out);
	if (strcmp(buffer_text(&out), want) != 0)
		fail_msg("<%s>: got <%s>, want <%s>", text, buffer_text(&out), want);
}

struct row {
	const char *text, *want;
};

static const struct row with_values[] = {
	{ "canary", "[redacted]" },
	{ "canary!", "[redacted]!" },
	{ "a canary", "a [redacted]" },
	{ "canar", "canar" },
	{ "Canary", "Canary" },
	{ "canarycanary", "[redacted]" },
	{ "canary canary", "[redacted] [redacted]" },
	{ "canary-in-a-min", "[redacted]-in-a-min" },
	{ "canary-in-a-mine", "[redacted]" },
	{ "canary-in-a-mine-canary.", "[redacted]." },
	{ "xarycax", "x[redacted]x" },
	{ "/home/u/canary/f", "/home/u/[redacted]/f" },
	{ "x=p@ss/w:rd?", "x=[redacted]" },
	{ "x=p%40ss%2Fw%3ard%3F&y", "x=[redacted]&y" },
	{ "p@ss%2fw:rd?", "[redacted]" },
	{ "%63%61%6e%61%72%79", "[redacted]" },
	{ "%63anary%2", "[redacted]%2" },
	{ "a+correct+horse+b", "a+[redacted]+b" },
	{ "correct%20horse", "[redacted]" },
	{ "50%+x=y&z", "[redacted]" },
	{ "50%25%2Bx%3Dy%26z", "[redacted]" },
	{ "\"quo\\\"te\\\\d\"", "\"[redacted]\"" },
	{ "new\\nline", "[redacted]" },
	{ "new\\x0aline", "[redacted]" },
	{ "\\xff\\xfe\\xfd\\xfc", "[redacted]" },
	{ "", "" },
	{ "can", "can" },
};

static void test_values(void **state)
{
	struct redactor *r = make();

	(void)state;
	for (size_t i = 0; i < ROWS(with_values); i++)
		check(r, with_values[i].text, with_values[i].want);
	redactor_free(r);
}

/* What shows by its form; and what only looks so. */
static const struct row by_form[] = {
	{ "https://user:pass@host/p", "https://[redacted]@host/p" },
	{ "https://user@host", "https://[redacted]@host" },
	{ "https://us@er:pa@host/@x", "https://[redacted]@host/@x" },
	{ "https://user:pa/ss@host/p", "https://[redacted]@host/p" },
	{ "https://u:p@h https://u:p@h", "https://[redacted]@h https://[redacted]@h" },
	{ "https://u%3Ap%40@h/", "https://[redacted]@h/" },
	{ "https://host:443/a@b", "https://host:443/a@b" },
	{ "https://[::1]:443/a@b", "https://[::1]:443/a@b" },
	{ "git@github.com:a/b", "git@github.com:a/b" },
	{ "postgres://:pw@h", "postgres://[redacted]@h" },
	{ "http://", "http://" },
	{ "h?token=abc&x=1", "h?token=[redacted]&x=1" },
	{ "h?access_token=abc#f", "h?access_token=[redacted]" },
	{ "h?x=1&sig=a%2Fb&y=2", "h?x=1&sig=[redacted]&y=2" },
	{ "h?X-Amz-Signature=ab&X-Amz-Credential=c",
		"h?X-Amz-Signature=[redacted]&X-Amz-Credential="
		"[redacted]" },
	{ "h?%74oken=abc", "h?%74oken=[redacted]" },
	{ "h?user[password]=abc&y", "h?user[password]=[redacted]&y" },
	{ "h?key=abc&code=5", "h?key=[redacted]&code=[redacted]" },
	{ "key=abc code=5", "key=abc code=5" },
	{ "h?token=", "h?token=" },
	{ "tokens=5 max_tokens=6", "tokens=5 max_tokens=6" },
	{ "Authorization: Bearer abc", "Authorization: [redacted]" },
	{ "authorization:Basic abc\nHost: x", "authorization:[redacted]\nHost: x" },
	{ "Proxy-Authorization: Digest a=\"b\", c=\"d\"", "Proxy-Authorization: [redacted]" },
	{ "-H \"Authorization: Bearer abc\" u", "-H \"Authorization: [redacted]\" u" },
	{ "-H 'Cookie: a=\"b\"; c=d' u", "-H 'Cookie: [redacted]' u" },
	{ "Set-Cookie: a=b; Path=/\r\nX: y", "Set-Cookie: [redacted]\r\nX: y" },
	{ "X-Api-Key: abc def", "X-Api-Key: [redacted] def" },
	{ "PRIVATE-TOKEN: x", "PRIVATE-TOKEN: [redacted]" },
	{ "Bearer abcdefg8", "[redacted]" },
	{ "Bearer authentication", "Bearer authentication" },
	{ "--password=abc -x", "--password=[redacted] -x" },
	{ "--password abc -x", "--password [redacted] -x" },
	{ "--password 'a b' -x", "--password '[redacted]' -x" },
	{ "--password -x", "--password -x" },
	{ "--api-key \"a\\\"b\" c", "--api-key \"[redacted]\" c" },
	{ "-pSECRET -p 22", "-pSECRET -p 22" },
	{ "curl -u me:pw h", "curl -u [redacted] h" },
	{ "curl -u \"me:pw\" h", "curl -u \"[redacted]\" h" },
	{ "'curl -u me:pw' h", "'curl -u [redacted]' h" },
	{ "curl -u 'me:p w' h", "curl -u '[redacted]' h" },
	{ "curl --user=me:pw h", "curl --user=[redacted] h" },
	{ "curl --user='me:pw' h", "curl --user='[redacted]' h" },
	{ "curl -ume:pw h", "curl -u[redacted] h" },
	{ "sudo -u me ls a:b", "sudo -u me ls a:b" },
	{ "sudo -u 'me' ls a:b", "sudo -u 'me' ls a:b" },
	{ "--password -abc9 x", "--password [redacted] x" },
	{ "--password --user x", "--password --user x" },
	{ "--password=a&b x", "--password=[redacted] x" },
	{ "'--password=a \"b' x", "'--password=[redacted]' x" },
	{ "--password=a\"b c\"d x", "--password=[redacted] x" },
	{ "TOKEN='a'\\''b' ls", "TOKEN='[redacted] ls" },
	{ "TOKEN='a'\\\\''b' ls", "TOKEN='[redacted] ls" },
	{ "TOKEN='a'\"'\"'b' ls", "TOKEN='[redacted] ls" },
	{ "TOKEN='a'\\\"'\\\"'b' ls", "TOKEN='[redacted] ls" },
	{ "'--password=a'\\''b c' x", "'--password=[redacted] x" },
	{ "-H 'Cookie: a'\\''b c' u", "-H 'Cookie: [redacted] u" },
	{ "'--user=me:a `b' x", "'--user=[redacted]' x" },
	{ "'--user=me' a:b", "'--user=me' a:b" },
	{ "make 'TOKEN=a &b' ls", "make 'TOKEN=[redacted]' ls" },
	{ "env 'TOKEN=a &b' ls", "env 'TOKEN=[redacted]' ls" },
	{ "sh -ec 'TOKEN=a make test'", "sh -ec 'TOKEN=[redacted] make test'" },
	{ "TOKEN=a\\ b ls", "TOKEN=[redacted] ls" },
	{ "TOKEN=\"a\"b ls", "TOKEN=\"[redacted] ls" },
	{ "'TOKEN=a' ls 'b'", "'TOKEN=[redacted]' ls 'b'" },
	{ "\"TOKEN=a\", \"b\"", "\"TOKEN=[redacted]\", \"b\"" },
	{ "-H 'X-Api-Key: a b' u", "-H 'X-Api-Key: [redacted]' u" },
	{ "https://user:pa'ss@host/p", "https://[redacted]@host/p" },
	{ "https://user:'pass@host/p", "https://[redacted]@host/p" },
	{ "https://user:9a/ss@host/p", "https://[redacted]@host/p" },
	{ "'http://host' 'a@b'", "'http://host' 'a@b'" },
	{ "MY_SECRET=abc ls", "MY_SECRET=[redacted] ls" },
	{ "MY_SECRET='a b' ls", "MY_SECRET='[redacted]' ls" },
	{ "GITHUB_TOKEN: not granted", "GITHUB_TOKEN: not granted" },
	{ "password: abc", "password: [redacted]" },
	{ "{\"token\":\"abc\",\"n\":1}", "{\"token\":\"[redacted]\",\"n\":1}" },
	{ "{\"clientSecret\" : \"a\\\"b\\\\\", \"n\":1}",
		"{\"clientSecret\" : \"[redacted]\", \"n\":1}" },
	{ "{'password': 'abc'}", "{'password': '[redacted]'}" },
	{ "{\"password\":123,\"n\":1}", "{\"password\":[redacted],\"n\":1}" },
	{ "{\\\"token\\\":\\\"abc\\\",\\\"n\\\":1}",
		"{\\\"token\\\":\\\"[redacted]\\\",\\\"n\\\":1}" },
	{ "{\"token\":\"abc", "{\"token\":\"[redacted]" },
	{ "policy.yaml:3: *.example.com:443", "policy.yaml:3: *.example.com:443" },
	{ "/usr/lib/python3/site-packages/secrets.py",
		"/usr/lib/python3/site-packages/secrets.py" },
	{ "-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\n",
		"-----BEGIN PRIVATE KEY[redacted]-----END PRIVATE KEY-----\n" },
	{ "x -----BEGIN RSA PRIVATE KEY-----\nabc", "x -----BEGIN RSA PRIVATE KEY[redacted]" },
	{ "-----BEGIN CERTIFICATE-----\nabc", "-----BEGIN CERTIFICATE-----\nabc" },
	{ "sk-learn-something-quite-long", "sk-learn-something-quite-long" },
	{ "AKIA", "AKIA" },
};

static void test_forms(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(by_form); i++)
		check(NULL, by_form[i].text, by_form[i].want);
}

/* A key of each known kind, put together here so that nobody takes this file for a leak. */
static const struct {
	const char *beginning;
	size_t least;
} keys[] = { { "AKIA", 16 }, { "ASIA", 16 }, { "AIza", 35 }, { "ghp_", 36 }, { "gho_", 36 },
	{ "ghu_", 36 }, { "ghs_", 36 }, { "ghr_", 36 }, { "github_pat_", 40 }, { "glpat-", 20 },
	{ "hf_", 34 }, { "npm_", 36 }, { "pypi-", 60 }, { "rk_live_", 24 }, { "sk-", 48 },
	{ "sk-proj-", 40 }, { "sk-ant-", 40 }, { "sk_live_", 24 }, { "sk_test_", 24 },
	{ "shpat_", 32 }, { "xoxa-", 20 }, { "xoxb-", 20 }, { "xoxe-", 20 }, { "xoxp-", 20 },
	{ "xoxr-", 20 }, { "xoxs-", 20 }, { "xapp-", 20 }, { "ya29.", 40 }, { "dop_v1_", 64 },
	{ "dckr_pat_", 27 }, { "SG.", 60 }, { "eyJ", 60 } };

static void test_keys(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(keys); i++) {
		auto_buffer text = { 0 };

		buffer_adds(&text, "/a/");
		buffer_adds(&text, keys[i].beginning);
		for (size_t k = 0; k < keys[i].least; k++)
			buffer_addc(&text, "0Ab1"[k % 4]);
		buffer_adds(&text, "?z");
		check(NULL, text.data, "/a/[redacted]?z");
		/* A part of another word. */
		text.data[2] = 'q';
		check(NULL, text.data, text.data);
		memcpy(text.data, "%3D", 3);
		check(NULL, text.data, "%3D[redacted]?z");
	}
}

static const struct {
	const char *name, *value;
	bool kept;
} variables[] = {
	{ "API", "abcd", true },
	{ "API", "abc", false },
	{ "API", "", false },
	{ "API", "abc\n", false },
	{ "API", "abcd\n", true },
	{ "HOME", "/home/u", false },
	{ "LC_ALL", "C.UTF-8", false },
	{ "LC", "C.UTF-8", true },
	{ "HOMES", "/home/u", true },
	{ "FLAG", "true", false },
	{ "FLAG", "truely", true },
};

static void test_variables(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(variables); i++) {
		struct redactor *r = NULL;

		assert_int_equal(redactor_new(&r), 0);
		assert_int_equal(redactor_add(r, variables[i].name, variables[i].value), 0);
		check(r, variables[i].value,
			!variables[i].kept                 ? variables[i].value
			: strchr(variables[i].value, '\n') ? "[redacted]\n"
							   : "[redacted]");
		redactor_free(r);
	}
}

static void test_many(void **state)
{
	struct redactor *r = NULL;
	char value[32];

	(void)state;
	assert_int_equal(redactor_new(&r), 0);
	for (int i = 0; i < REDACTOR_VALUES_MAX; i++) {
		(void)snprintf(value, sizeof(value), "same-beginning-%d", i);
		assert_int_equal(redactor_add(r, "X", value), 0);
	}
	assert_int_equal(redactor_add(r, "X", "one more"), -E2BIG);
	for (int i = 0; i < REDACTOR_VALUES_MAX; i++) {
		(void)snprintf(value, sizeof(value), "same-beginning-%d", i);
		check(r, value, "[redacted]");
	}
	check(r, "same-beginning-x", "same-beginning-x");
	check(r, "same-beginning-1024", "[redacted]4");
	redactor_free(r);
	redactor_free(NULL);
}

/* A value longer than any piece of it that is kept, at every place around the end of what is
 * written. */
static void test_long(void **state)
{
	enum { VALUE = 10000, ROOM = REDACT_TEXT_MAX + 2 * VALUE };
	static char value[VALUE + 1], text[ROOM + 1];
	struct redactor *r = NULL;

	(void)state;
	for (size_t i = 0; i < VALUE; i++)
		value[i] = (char)('A' + (i * i / 7 + i) % 26);
	assert_int_equal(redactor_new(&r), 0);
	assert_int_equal(redactor_add(r, "X", value), 0);
	for (size_t at = 0; at < ROOM - VALUE; at += 509) {
		auto_buffer out = { 0 };

		memset(text, '.', ROOM);
		memcpy(text + at, value, VALUE);
		redact_text(r, text, &out);
		assert_null(strpbrk(out.data, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
		assert_string_equal(out.data + out.len - strlen("…"), "…");
		assert_int_equal(strstr(out.data, "[redacted]") != NULL, at < REDACT_TEXT_MAX);
	}
	check(r, value, "[redacted]…");
	redactor_free(r);
}

static void test_event(void **state)
{
	struct redactor *r = make();
	auto_buffer out = { 0 }, bytes = { 0 };
	struct audit_event e = { .session = "canary",
		.user = "u",
		.sandbox = "canary1",
		.program = "/bin/canary",
		.target = "https://u:p@h/?q=canary",
		.rule = "env:X=canary",
		.reason = "canary-in-a-mine" };

	(void)state;
	redact_event(r, &e, &out);
	assert_string_equal(e.session, "[redacted]");
	assert_string_equal(e.user, "u");
	assert_string_equal(e.sandbox, "[redacted]1");
	assert_string_equal(e.program, "/bin/[redacted]");
	assert_string_equal(e.target, "https://[redacted]@h/?q=[redacted]");
	assert_string_equal(e.rule, "env:X=[redacted]");
	assert_string_equal(e.reason, "[redacted]");
	audit_event_encode(&e, &bytes);
	assert_null(memmem(bytes.data, bytes.len, "canary", 6));
	redactor_free(r);
}

/* A buffer that failed has no texts to point at. */
static void test_event_without_memory(void **state)
{
	struct buffer out = { .failed = true };
	struct audit_event e = { .target = "token=abc", .reason = "why" };

	(void)state;
	redact_event(NULL, &e, &out);
	assert_string_equal(e.target, "[redacted]");
	assert_string_equal(e.reason, "[redacted]");
}

static uint64_t seed = 88172645463325252u;

static size_t below(size_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)(seed >> 11) % n;
}

/* Pieces that set off every way to look, and that canaries are made of. */
static const char *const pieces[] = { "://", "@", ":", "=", "&", "?", "token", "password", "\"",
	"'", "\\", " ", "\n", "--", "Authorization: ", "cookie:", "%", "%2", "%63", "+", "can",
	"ary", "-in-a-", "mine", "ca", "x", "/", "{", "}", ",", "-----BEGIN ", "PRIVATE KEY-----",
	"-----END ", "sk-", "ghp_", "Bearer ", "é", "\xff", "-u ", "[redacted]" };

static void add_encoded(struct buffer *b, const char *text)
{
	for (; *text; text++) {
		if (below(2))
			buffer_printf(b, below(2) ? "%%%02x" : "%%%02X", (unsigned char)*text);
		else
			buffer_addc(b, *text);
	}
}

static void add_piece(struct buffer *b)
{
	const char *canary = canaries[below(ROWS(canaries))];

	switch (below(8)) {
	case 0:
		buffer_adds(b, canary);
		break;
	case 1:
		add_encoded(b, canary);
		break;
	case 2:
		/* The beginning of one, so that another can begin inside of it. */
		buffer_add(b, canary, below(strlen(canary)));
		break;
	default:
		buffer_adds(b, pieces[below(ROWS(pieces))]);
	}
}

static int hex(char c)
{
	const char *digits = "0123456789abcdef0123456789ABCDEF";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) % 16 : -1;
}

static void add_decoded(struct buffer *b, const char *text)
{
	for (; *text; text++) {
		if (*text == '%' && hex(text[1]) >= 0 && hex(text[2]) >= 0) {
			buffer_addc(b, (char)(hex(text[1]) << 4 | hex(text[2])));
			text += 2;
		} else {
			buffer_addc(b, *text);
		}
	}
}

static void require_none(const char *text, const struct buffer *out)
{
	for (size_t i = 0; i < ROWS(canaries); i++) {
		if (out->len > 0 && memmem(out->data, out->len, canaries[i], strlen(canaries[i])))
			fail_msg("<%s> in <%s>, of <%s>", canaries[i], out->data, text);
	}
}

/* What is left stood in the text, in this order: nothing is made up. */
static void require_parts(const char *text, const char *out)
{
	const char *const mark = "[redacted]";

	while (*out) {
		const char *end = strstr(out, mark);
		size_t len = end ? (size_t)(end - out) : strlen(out);
		const char *found = memmem(text, strlen(text), out, len);

		if (!found)
			fail_msg("<%s> is not in <%s>", out, text);
		text = found + len;
		out += len + (end ? strlen(mark) : 0);
	}
}

static void test_no_canary_survives(void **state)
{
	struct redactor *r = make();

	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		auto_buffer text = { 0 }, out = { 0 }, decoded = { 0 };

		for (size_t n = below(12); n > 0; n--)
			add_piece(&text);
		redact_text(r, buffer_text(&text), &out);
		require_none(buffer_text(&text), &out);
		add_decoded(&decoded, buffer_text(&out));
		require_none(buffer_text(&text), &decoded);
		require_parts(buffer_text(&text), buffer_text(&out));
	}
	redactor_free(r);
}

/* A text that was clean is not remembered as such when one of its words becomes a secret. */
static void test_becomes_secret(void **state)
{
	struct redactor *r = NULL;

	(void)state;
	assert_int_equal(redactor_new(&r), 0);
	for (unsigned i = 0; i < 3; i++)
		check(r, "GET /later/on", "GET /later/on");
	assert_int_equal(redactor_add(r, "SOME_VARIABLE", "/later"), 0);
	for (unsigned i = 0; i < 3; i++)
		check(r, "GET /later/on", "GET [redacted]/on");
	/* Of the same length, with the same beginning and end. */
	check(r, "12345678 abcd 12345678", "12345678 abcd 12345678");
	assert_int_equal(redactor_add(r, "SOME_VARIABLE", "dcba"), 0);
	check(r, "12345678 abcd 12345678", "12345678 abcd 12345678");
	check(r, "12345678 dcba 12345678", "12345678 [redacted] 12345678");
	redactor_free(r);
}

struct crowd {
	struct redactor *r;
	atomic_uint wrong;
};

static void *redact_many(void *context)
{
	struct crowd *c = context;

	for (unsigned i = 0; i < 50000; i++) {
		const char *const texts[] = { "no secret here", "one canary there",
			"/usr/bin/env" };
		auto_buffer out = { 0 };

		redact_text(c->r, texts[i % 3], &out);
		if (strcmp(buffer_text(&out), i % 3 == 1 ? "one [redacted] there" : texts[i % 3]) !=
			0)
			atomic_fetch_add(&c->wrong, 1);
	}
	return NULL;
}

static void test_threads(void **state)
{
	struct crowd c = { .r = make() };
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < ROWS(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, redact_many, &c), 0);
	for (size_t i = 0; i < ROWS(threads); i++)
		(void)pthread_join(threads[i], NULL);
	assert_int_equal(c.wrong, 0);
	redactor_free(c.r);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_forms),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_event_without_memory),
		cmocka_unit_test(test_no_canary_survives),
		cmocka_unit_test(test_becomes_secret),
		cmocka_unit_test(test_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
