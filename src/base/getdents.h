/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* An entry of a folder as getdents64(2) writes it, for callers that need no DIR. */
#include <stddef.h>
#include <stdint.h>

struct getdents_entry {
	uint64_t ino;
	int64_t next;
	unsigned short len; /* of this entry; the next one follows */
	unsigned char type;
	char name[];
};
_Static_assert(offsetof(struct getdents_entry, name) == 19, "linux_dirent64");
