/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes, as a document, a script, a program or data: findings that lie in the text. */
#include <stdlib.h>
#include <string.h>

#include "advice/scan/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "SKILL.md", "a.sh", "a.py", "a.js", "package.json",
		"requirements.txt", "data.yaml" };
	static struct arena automaton;
	static struct scan_match match;
	const char *text = (const char *)data;
	size_t lines = 1;

	/* Once: it is the same for every input. */
	if (!match.nodes && scan_match_init(&match, &automaton) < 0)
		abort();

	for (size_t i = 0; i < size; i++)
		lines += data[i] == '\n';
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		auto_arena a = { .budget = (size_t)256 << 20 };
		struct skill_findings f = { 0 };

		if (scan_bytes(&match, &a, names[i], text, size, &f) < 0 ||
			f.n > SKILL_SCAN_PER_FILE_MAX)
			abort();
		for (size_t k = 0; k < f.n; k++) {
			if (f.items[k].line > lines || !f.items[k].check[0] ||
				strlen(f.items[k].excerpt) > SKILL_SCAN_EXCERPT_MAX)
				abort();
		}
	}
	return 0;
}
