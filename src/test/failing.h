/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Functions that fail on request. The linker leads each call of a function that a test lists under
 * 'wrap' (meson.build) to __wrap_NAME, which FAILING defines: it fails once the countdown has run
 * out, and calls the real one otherwise.
 *
 *     FAILING_CALLOC
 *
 *     for (long n = 0;; n++) {
 *             failing_start(n);
 *             r = run();
 *             if (!failing_stop())
 *                     break;
 *             assert_int_equal(r, -ENOMEM);
 *     }
 */
#include <stdbool.h>
#include <stddef.h>

/* Calls until one fails; -1: none will. */
static long failing_in = -1;
/* From there on all do, until failing_stop(). */
static bool failing_stays;
/* One did. */
static bool failing_did;

/* The next n calls succeed, the one after them fails. */
static inline void failing_start(long n)
{
	failing_in = n;
	failing_did = false;
}

/* No further call fails. Returns whether one did. */
static inline bool failing_stop(void)
{
	failing_in = -1;
	return failing_did;
}

static inline bool failing_now(void)
{
	if (failing_in != 0) {
		failing_in -= failing_in > 0;
		return false;
	}
	failing_in = failing_stays ? 0 : -1;
	failing_did = true;
	return true;
}

/* clang-format off */
#define FAILING_AS(failure, type, name, parameters, ...)                                           \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		return failing_now() ? (failure) : __real_##name(__VA_ARGS__);                     \
	}
/* clang-format on */
#define FAILING(type, name, parameters, ...) FAILING_AS(NULL, type, name, parameters, __VA_ARGS__)

#define FAILING_MALLOC FAILING(void *, malloc, (size_t size), size)
#define FAILING_CALLOC FAILING(void *, calloc, (size_t n, size_t size), n, size)
#define FAILING_REALLOC FAILING(void *, realloc, (void *p, size_t size), p, size)
#define FAILING_REALLOCARRAY \
	FAILING(void *, reallocarray, (void *p, size_t n, size_t size), p, n, size)
#define FAILING_ALIGNED_ALLOC \
	FAILING(void *, aligned_alloc, (size_t align, size_t size), align, size)
