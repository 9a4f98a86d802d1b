/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of a host that may do anything. "@@" stands for a value. However the bytes are cut,
 * and wherever the host pauses, no value goes to the client.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "inject/answers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char value[] = "a-value-that-is-nowhere-else";
static struct masking *values;

static void fuzz_upgraded(void *context, bool accepted)
{
	(void)context;
	(void)accepted;
}

static void fuzz_set_up(void)
{
	if (values)
		return;
	if (masking_new(&values) < 0 || masking_add(values, "TOKEN", value, strlen(value)) < 0)
		abort();
}

static ssize_t fuzz_feed(const struct buffer *in, size_t piece, bool pauses, struct buffer *out)
{
	const struct inject_answers_options o = { .masking = values, .upgraded = fuzz_upgraded };
	struct inject_answers *x;
	size_t start = 0, end = 0;
	ssize_t n = 0;

	if (inject_answers_new(&x, &o) < 0 || inject_answers_expect(x, "GET", false) < 0 ||
		inject_answers_expect(x, "HEAD", false) < 0 ||
		inject_answers_expect(x, "GET", false) < 0)
		abort();
	while (n >= 0 && end < in->len) {
		end = end + piece < in->len ? end + piece : in->len;
		do {
			n = inject_answers_feed(x, (const uint8_t *)in->data + start, end - start,
				end == in->len, out);
			if (n > 0)
				start += (size_t)n;
		} while (n > 0 && start < end);
		if (n >= 0 && pauses && inject_answers_flush(x, out) < 0)
			abort();
	}
	inject_answers_free(x);
	return n < 0 ? n : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_buffer in = { 0 }, whole = { 0 }, parts = { 0 };
	ssize_t a, b;

	if (size < 1)
		return 0;
	fuzz_set_up();
	for (size_t i = 1; i < size; i++) {
		if (i + 1 < size && data[i] == '@' && data[i + 1] == '@') {
			buffer_adds(&in, value);
			i++;
		} else {
			buffer_addc(&in, (char)data[i]);
		}
	}
	a = fuzz_feed(&in, in.len + 1, false, &whole);
	b = fuzz_feed(&in, data[0] % 64 + 1, data[0] & 64, &parts);
	if ((a == 0) != (b == 0))
		abort();
	if (whole.len && memmem(whole.data, whole.len, value, strlen(value)))
		abort();
	if (parts.len && memmem(parts.data, parts.len, value, strlen(value)))
		abort();
	return 0;
}
