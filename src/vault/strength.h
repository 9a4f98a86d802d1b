/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * How hard a value is to guess. A command can send guesses to a host that sends back what it gets,
 * and stars say which is right (inject/masking.h); for a value of a service that is hopeless, for a
 * word it is not.
 */
#include <stdbool.h>
#include <stddef.h>

/* At most this many bits, counted from its length and the kinds of its characters. */
enum { STRENGTH_WEAK_BITS = 60 };

unsigned strength_bits(const void *value, size_t len);
bool strength_is_weak(const void *value, size_t len);
