/* SPDX-License-Identifier: Apache-2.0 */
/* Answers and requests of a token endpoint: what was rewritten reads back with the new tokens, and
 * has none of the old ones; and what is a refresh names the token. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inject/tokens.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const texts[LEND_TOKENS_MAX] = { "placeholder-A", "placeholder-R",
	"placeholder-I" };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_answer(enum tokens_form form, const char *text, size_t len)
{
	struct tokens t = { 0 }, again = { 0 };
	auto_buffer out = { 0 };
	const char *why = NULL;
	bool has[LEND_TOKENS_MAX];
	int r = tokens_read(&t, form, text, len, &why);

	require(!why == (r >= 0));
	for (int i = 0; i < LEND_TOKENS_MAX; i++)
		has[i] = r == 1 && t.values[i];
	if (r == 1) {
		require(has[0] || has[1] || has[2]);
		require(tokens_print(&t, texts, &out) == 0);
		require(tokens_read(&again, form, out.data, out.len, &why) == 1);
		for (int i = 0; i < LEND_TOKENS_MAX; i++)
			require(has[i] == !!again.values[i] &&
				(!has[i] || strcmp(again.values[i], texts[i]) == 0));
	}
	tokens_deinit(&again);
	tokens_deinit(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;

	if (size > TOKENS_REQUEST_MAX)
		return 0;
	fuzz_answer(TOKENS_JSON, text, size);
	fuzz_answer(TOKENS_FORM, text, size);
	require(tokens_request(text, size, NULL) != TOKENS_REFRESH);
	if (tokens_request(text, size, "ghr_x") == TOKENS_REFRESH)
		require(memmem(text, size, "x", 1));
	return 0;
}
