/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "mcp/seal.h"

enum { NOW = 1000, TTL = 500 };

static struct mcp_claims sample(void)
{
	struct mcp_claims c = { .n = 2 };

	mcp_digest("user 1", 6, c.principal);
	mcp_digest("read_file a", 11, c.request);
	c.answers[0] = (struct mcp_answered){ .op = 1, .is_allowed = true };
	c.answers[1] = (struct mcp_answered){ .op = 2 };
	return c;
}

static enum mcp_seal_fault open_text(struct mcp_seal *s, const struct buffer *text,
	const struct mcp_claims *c, uint64_t now, struct mcp_claims *ret)
{
	return mcp_seal_open(s, text->data, text->len, c->principal, c->request, now, ret);
}

static void test_once(void **state)
{
	const struct mcp_claims c = sample();
	struct mcp_claims got = { 0 };
	auto_buffer text = { 0 };
	struct mcp_seal s;

	(void)state;
	assert_int_equal(mcp_seal_init(&s), 0);
	mcp_seal_close(&s, &c, NOW, TTL, &text);
	assert_int_equal(open_text(&s, &text, &c, NOW + TTL - 1, &got), MCP_SEAL_GOOD);
	assert_int_equal(got.n, 2);
	assert_true(got.answers[0].is_allowed && !got.answers[1].is_allowed);
	assert_int_equal(open_text(&s, &text, &c, NOW, &got), MCP_SEAL_USED);
	mcp_seal_deinit(&s);
}

/* Each bit of the text, each length, another key. */
static void test_altered(void **state)
{
	const struct mcp_claims c = sample();
	struct mcp_claims got = { 0 };
	auto_buffer text = { 0 };
	struct mcp_seal s, other;

	(void)state;
	assert_int_equal(mcp_seal_init(&s), 0);
	assert_int_equal(mcp_seal_init(&other), 0);
	mcp_seal_close(&s, &c, NOW, TTL, &text);
	for (size_t i = 0; i < text.len; i++) {
		const char was = text.data[i];

		text.data[i] = was == 'A' ? 'B' : 'A';
		/* The last character may have bits that no byte has. */
		if (open_text(&s, &text, &c, NOW, &got) != MCP_SEAL_ALTERED)
			fail_msg("character %zu of %zu does not count", i, text.len);
		text.data[i] = was;
	}
	for (size_t i = 0; i < text.len; i++)
		assert_int_equal(mcp_seal_open(&s, text.data, i, c.principal, c.request, NOW, &got),
			MCP_SEAL_ALTERED);
	assert_int_equal(open_text(&other, &text, &c, NOW, &got), MCP_SEAL_ALTERED);
	assert_int_equal(got.n, 0);
	assert_int_equal(open_text(&s, &text, &c, NOW, &got), MCP_SEAL_GOOD);
}

static void test_of_another(void **state)
{
	const struct mcp_claims c = sample();
	struct mcp_claims other = c, got = { 0 };
	auto_buffer text = { 0 };
	struct mcp_seal s;

	(void)state;
	assert_int_equal(mcp_seal_init(&s), 0);
	mcp_seal_close(&s, &c, NOW, TTL, &text);
	mcp_digest("user 2", 6, other.principal);
	assert_int_equal(open_text(&s, &text, &other, NOW, &got), MCP_SEAL_PRINCIPAL);
	other = c;
	mcp_digest("read_file b", 11, other.request);
	assert_int_equal(open_text(&s, &text, &other, NOW, &got), MCP_SEAL_REQUEST);
	assert_int_equal(got.n, 0);
	/* Who tries does not use it up. */
	assert_int_equal(open_text(&s, &text, &c, NOW, &got), MCP_SEAL_GOOD);
}

static void test_expired(void **state)
{
	const struct mcp_claims c = sample();
	struct mcp_claims got = { 0 };
	auto_buffer text = { 0 };
	struct mcp_seal s;

	(void)state;
	assert_int_equal(mcp_seal_init(&s), 0);
	mcp_seal_close(&s, &c, NOW, TTL, &text);
	assert_int_equal(open_text(&s, &text, &c, NOW + TTL, &got), MCP_SEAL_EXPIRED);
	/* Whatever a clock says afterwards. */
	assert_int_equal(open_text(&s, &text, &c, NOW, &got), MCP_SEAL_USED);
	assert_int_equal(got.n, 0);
}

static void test_many(void **state)
{
	const struct mcp_claims c = sample();
	struct buffer texts[MCP_SEALED_MAX + 1] = { 0 };
	struct mcp_claims got;
	struct mcp_seal s;

	(void)state;
	assert_int_equal(mcp_seal_init(&s), 0);
	for (size_t i = 0; i < ROWS(texts); i++)
		mcp_seal_close(&s, &c, NOW + i, TTL, &texts[i]);
	assert_int_equal(open_text(&s, &texts[0], &c, NOW, &got), MCP_SEAL_USED);
	for (size_t i = 1; i < ROWS(texts); i++)
		assert_int_equal(open_text(&s, &texts[i], &c, NOW, &got), MCP_SEAL_GOOD);
	for (size_t i = 0; i < ROWS(texts); i++)
		buffer_deinit(&texts[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_once),
		cmocka_unit_test(test_altered), cmocka_unit_test(test_of_another),
		cmocka_unit_test(test_expired), cmocka_unit_test(test_many) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
