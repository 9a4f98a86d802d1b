/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cpu.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#include "base/array.h"
#include "base/buffer.h"

#ifdef __x86_64__
#include <cpuid.h>

static void cpu_features_native(struct buffer *out)
{
	/* Leaf and part; and which registers tell of features, not of this core or moment. */
	static const struct {
		uint32_t leaf, part;
		bool registers[4];
	} rows[] = {
		{ 1, 0, { false, false, true, true } },
		{ 7, 0, { false, true, true, true } },
		{ 7, 1, { true, false, false, true } },
		{ 0x80000001, 0, { false, false, true, true } },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		uint32_t r[4] = { 0 };

		(void)__get_cpuid_count(rows[i].leaf, rows[i].part, &r[0], &r[1], &r[2], &r[3]);
		for (size_t k = 0; k < ROWS(r); k++) {
			const uint32_t bits = rows[i].registers[k] ? r[k] : 0;

			buffer_add(out, &bits, sizeof(bits));
		}
	}
}
#else
static void cpu_features_native(struct buffer *out)
{
	(void)out;
}
#endif

void cpu_features(struct buffer *out)
{
	const unsigned long words[] = { getauxval(AT_HWCAP), getauxval(AT_HWCAP2) };

	buffer_add(out, words, sizeof(words));
	cpu_features_native(out);
}
