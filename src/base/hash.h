/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * FNV-1a: for tables of a bounded size, in which a collision costs time and nothing else. Where
 * foreign names fill a table without a bound, a keyed hash belongs
 * (policy/network/hostset-names.h).
 */
#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325)

static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}
