/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes, in both languages: tokens that lie in the text, in order of their lines. */
#include <stdlib.h>

#include "advice/code/code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int language = CODE_PYTHON; language <= CODE_JAVASCRIPT; language++) {
		auto_arena a = { .budget = (size_t)256 << 20 };
		struct code_tokens t = { 0 };

		if (code_read(&t, &a, (enum code_language)language, (const char *)data, size) < 0)
			abort();
		for (size_t i = 0; i < t.n; i++) {
			if (t.items[i].start > size || t.items[i].len > size - t.items[i].start)
				abort();
			if (t.items[i].line == 0 || t.items[i].line > size + 1)
				abort();
		}
		if (t.n > CODE_TOKENS_MAX + 1)
			abort();
	}
	return 0;
}
