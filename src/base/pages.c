/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	POPULATE_WRITE = 23, /* of madvise(), since Linux 5.14 */
	AT_TOP = 2048,       /* larger than what was freed before, so it comes from the rest */
};

/* Whole pages of it; those that are there already stay as they are. */
static void pages_ahead(uintptr_t begin, uintptr_t end)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	begin &= ~(page - 1);
	end &= ~(page - 1);
	if (begin < end)
		(void)madvise((void *)begin, end - begin, POPULATE_WRITE);
}

void pages_ahead_of_stack(size_t size)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	pages_ahead(here > size ? here - size : 0, here);
}

void pages_ahead_of_heap(size_t most)
{
	const uintptr_t end = (uintptr_t)sbrk(0);
	void *p = malloc(AT_TOP);
	const uintptr_t begin = (uintptr_t)p;

	free(p);
	/* An allocation may be elsewhere: a sanitizer's is. */
	if (p && begin < end && end - begin <= most)
		pages_ahead(begin, end);
}
