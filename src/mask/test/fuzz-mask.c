/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first byte chooses the file. What is shown has no byte of a secret that is long enough to
 * tell, is read again with the same names, and shows itself.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "mask/mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int stand_in(void *data, const struct mask_secret *s, struct buffer *out)
{
	const struct mask *m = data;

	buffer_printf(out, "ZQ-%zu-QZ", (size_t)(s - m->secrets));
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct mask m, again;
	const struct mask_file *file;
	auto_buffer out = { 0 };

	if (size == 0 || size > 4096)
		return 0;
	file = &mask_files[data[0] % mask_files_n];
	if (mask_read(&m, file, (const char *)data + 1, size - 1, NULL) < 0)
		return 0;
	if (mask_print(&m, stand_in, &m, &out, NULL) == 0) {
		for (size_t i = 0; i < m.n; i++)
			require(!strstr(out.data, m.secrets[i].value));
		require(mask_read(&again, file, out.data, out.len, NULL) == 0);
		require(again.n == m.n);
		for (size_t i = 0; i < m.n; i++) {
			char text[32];

			(void)snprintf(text, sizeof(text), "ZQ-%zu-QZ", i);
			require(strcmp(again.secrets[i].key, m.secrets[i].key) == 0);
			require(strcmp(again.secrets[i].value, text) == 0);
		}
		mask_deinit(&again);
	}
	mask_deinit(&m);
	return 0;
}
