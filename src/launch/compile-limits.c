/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/compile-limits.h"

#include <errno.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "codec/unit.h"

/* docs/wasm-abi.md has them. */
enum {
	SECONDS_EACH = 10,
	SECONDS_PER_MIB = 2,
	SECONDS_MOST = 60,
	MIB_EACH = 256,
	MIB_PER_MIB = 32,
	MIB_MOST = 1024,
	SECONDS_GIVEN_MOST = 24 * 3600,
	/* A machine with many others at work gives a compiler a tenth of a processor. */
	WAIT_FACTOR = 10,
	WAIT_EACH_MS = 60000,
};

static uint64_t compile_limits_scale(uint64_t mib, uint64_t each, uint64_t per, uint64_t most)
{
	return mib >= most / per || each + mib * per > most ? most : each + mib * per;
}

/* The user's own value, if there is one: 1. */
static int compile_limits_given(const char *name, int parse(const char *, uint64_t *),
	const char *expected, uint64_t *ret, struct error *e)
{
	const char *text = secure_getenv(name);

	if (!text || !*text)
		return 0;
	if (parse(text, ret) < 0 || *ret == 0)
		return error_set(e, -EINVAL, NULL, "invalid value of %s: `%.100s` (expected %s)",
			name, text, expected);
	return 1;
}

int compile_limits_get(struct compile_limits *ret, size_t module_bytes, struct error *e)
{
	const uint64_t mib = ((uint64_t)module_bytes + (1 << 20) - 1) >> 20;
	struct compile_limits l = {
		.seconds = compile_limits_scale(mib, SECONDS_EACH, SECONDS_PER_MIB, SECONDS_MOST),
		.memory = compile_limits_scale(mib, MIB_EACH, MIB_PER_MIB, MIB_MOST) << 20,
	};
	uint64_t ms = 0;
	int r = compile_limits_given(
		COMPILE_LIMITS_TIME, unit_parse_duration, "a time such as 90s or 5m", &ms, e);

	if (r > 0)
		l.seconds = ms >= SECONDS_GIVEN_MOST * UINT64_C(1000) ? SECONDS_GIVEN_MOST
								      : (ms + 999) / 1000;
	if (r >= 0)
		r = compile_limits_given(COMPILE_LIMITS_MEMORY, unit_parse_size,
			"a size such as 512M or 4G", &l.memory, e);
	if (r < 0)
		return r;
	l.wait_ms = WAIT_EACH_MS + l.seconds * WAIT_FACTOR * 1000;
	*ret = l;
	return 0;
}

int compile_limits_time_is_up(const struct compile_limits *l, const char *module, struct error *e)
{
	(void)error_set(e, -EFBIG, NULL,
		"compiling %s needs more than %llu s of processor time, the limit for a module of "
		"this size",
		module, (unsigned long long)l->seconds);
	error_hint(e, "if you trust it, set " COMPILE_LIMITS_TIME "=%llus in corral's environment",
		(unsigned long long)l->seconds * 4);
	return -EFBIG;
}

int compile_limits_memory_is_up(const struct compile_limits *l, const char *module, struct error *e)
{
	auto_buffer now = { 0 }, more = { 0 };

	unit_print_size(l->memory, &now);
	unit_print_size(l->memory > UINT64_MAX / 8 ? l->memory : l->memory * 4, &more);
	(void)error_set(e, -EFBIG, NULL,
		"compiling %s needs more than %s of memory, the limit for a module of this size",
		module, buffer_text(&now));
	error_hint(e, "if you trust it, set " COMPILE_LIMITS_MEMORY "=%s in corral's environment",
		buffer_text(&more));
	return -EFBIG;
}
