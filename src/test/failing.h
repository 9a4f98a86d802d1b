/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Functions that fail on request. The linker leads each call of a function that a test lists under
 * 'wrap' (meson.build) to __wrap_NAME, which FAILING defines: it returns NULL once the countdown
 * has run out, and calls the real one otherwise.
 *
 *     FAILING(void *, calloc, (size_t n, size_t size), n, size)
 *
 *     for (failing_in = 0; (r = run()) == -ENOMEM; failing_in = ++n)
 *             ...
 */
#include <stdbool.h>
#include <stddef.h>

/* Calls until one fails; -1: none will. */
static long failing_in = -1;
/* One did. */
static bool failing_did;

static inline bool failing_now(void)
{
	if (failing_in < 0 || failing_in-- > 0)
		return false;
	failing_did = true;
	return true;
}

/* clang-format off */
#define FAILING(type, name, parameters, ...)                                                       \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return failing_now() ? NULL : __real_##name(__VA_ARGS__);                          \
	}
/* clang-format on */
