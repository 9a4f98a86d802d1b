/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of a command on its way to the user's terminal. The first byte has the rights, the second
 * how the rest is cut into pieces. Whatever comes: the pieces do not matter, what passed passes
 * again unchanged, and nothing that needs a right is in it.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/run/terminal-filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t fuzz_filter(
	struct terminal_rights rights, const char *in, size_t n, size_t step, char *out)
{
	struct terminal_filter *f = calloc(1, sizeof(*f));
	char end[TERMINAL_FILTER_END];
	size_t len = 0;

	if (!f)
		abort();
	f->rights = rights;
	for (size_t at = 0; at < n; at += step)
		len += terminal_filter_run(f, in + at, n - at < step ? n - at : step, out + len);
	if (terminal_filter_pause(f, end) > sizeof(end) ||
		terminal_filter_resume(f, end) > sizeof(end) ||
		terminal_filter_end(f, end) > sizeof(end))
		abort();
	free(f);
	return len;
}

static void fuzz_check(struct terminal_rights rights, const char *out, size_t n)
{
	static const struct {
		const char *bytes;
		size_t n;
	} never[] = { { "\x05", 1 }, { "\x1b_", 2 }, { "\x1b^", 2 }, { "\x1bX", 2 },
		{ "\x1b]1337", 6 }, { "\x1bPtmux", 6 }, { "\xc2\x9d", 2 }, { "\x1b%", 2 },
		{ "\x1b}", 2 }, { "\x1b$", 2 }, { "\x1b[21t", 5 }, { "\x1b[?2l", 5 } };

	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		if (memmem(out, n, never[i].bytes, never[i].n))
			abort();
	}
	if (!rights.clipboard_write && !rights.clipboard_read && memmem(out, n, "\x1b]52;", 5))
		abort();
	if (!rights.questions && memmem(out, n, "\x1b[c", 3))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct terminal_rights rights = { 0 };
	char *first, *second;
	size_t n, m;

	if (size < 2)
		return 0;
	rights.clipboard_read = data[0] & 1;
	rights.clipboard_write = data[0] & 2;
	rights.notifications = data[0] & 4;
	rights.questions = data[0] & 8;
	first = malloc(4 * size + 2 * TERMINAL_FILTER_HELD);
	second = malloc(8 * size + 4 * TERMINAL_FILTER_HELD);
	if (!first || !second)
		abort();
	n = fuzz_filter(rights, (const char *)data + 2, size - 2, size, first);
	if (n > 2 * size + TERMINAL_FILTER_HELD)
		abort();
	fuzz_check(rights, first, n);
	m = fuzz_filter(rights, (const char *)data + 2, size - 2, 1 + data[1] % 64, second);
	if (n != m || memcmp(first, second, n) != 0)
		abort();
	m = fuzz_filter(rights, first, n, n ? n : 1, second);
	/* A stream that was not ended has no end yet. */
	if (m < n || memcmp(first, second, n) != 0)
		abort();
	free(first);
	free(second);
	return 0;
}
