/* SPDX-License-Identifier: Apache-2.0 */
/* Answers that are kept: what is read is written as the same lines, and grants nothing else. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/ask/kept.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_kept_check(const struct ask_kept *k)
{
	static const char *const options[] = { "--read", "--write", "--exec" };
	bool is_known = false;

	for (size_t i = 0; i < 3; i++)
		is_known = is_known || strcmp(options[i], k->option) == 0;
	if (!is_known || !ask_kept_is_plain(k->value) || k->word > ASK_WORD_DAY ||
		k->about.kind == ASK_KIND_NONE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ask_kept all[ASK_KEPT_MAX], again[ASK_KEPT_MAX];
	auto_buffer text = { 0 };
	auto_buffer written = { 0 };
	size_t n = 0, n_again = 0;

	buffer_add(&text, data, size);
	buffer_addc(&text, '\0');
	if (!text.failed && ask_kept_read(text.data, "/p", all, &n) == 0) {
		for (size_t i = 0; i < n; i++)
			fuzz_kept_check(&all[i]);
		ask_kept_write("/p", all, n, &written);
		buffer_addc(&written, '\0');
		if (written.failed || ask_kept_read(written.data, "/p", again, &n_again) < 0 ||
			n != n_again)
			abort();
		for (size_t i = 0; i < n; i++)
			if (strcmp(all[i].value, again[i].value) != 0 ||
				all[i].word != again[i].word ||
				!ask_subject_is_same(&all[i].about, &again[i].about) ||
				strcmp(all[i].project, again[i].project) != 0 ||
				all[i].until_s != again[i].until_s)
				abort();
	}
	return 0;
}
