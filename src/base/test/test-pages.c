/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/pages.h"

enum { PAGES = 16 };

/* Whether this kernel can do it at all. */
static bool can_populate(void)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool can;

	assert_ptr_not_equal(p, MAP_FAILED);
	can = madvise(p, page, 23) == 0;
	(void)munmap(p, page);
	return can;
}

static size_t count_present(uintptr_t begin, size_t n)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	size_t present = 0;

	begin &= ~(page - 1);
	for (size_t i = 0; i < n; i++) {
		unsigned char is_there = 0;

		if (mincore((void *)(begin + i * page), page, &is_there) == 0)
			present += is_there & 1;
	}
	return present;
}

static void test_stack(void **state)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	(void)state;
	/* Larger pages: more of them than there is stack. */
	pages_ahead_of_stack(PAGES * page);
	if (can_populate() && PAGES * page <= 64 << 10)
		assert_true(count_present(here - (PAGES - 2) * page, PAGES - 2) >= PAGES - 3);
}

/* Larger than the stack may be: nothing happens, and nothing breaks. */
static void test_no_stack(void **state)
{
	(void)state;
	pages_ahead_of_stack(SIZE_MAX);
	pages_ahead_of_stack((size_t)1 << 40);
	pages_ahead_of_stack(0);
}

static void test_heap(void **state)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	void *first = malloc(1);
	const uintptr_t end = (uintptr_t)sbrk(0);
	const bool is_there = (uintptr_t)first < end; /* a sanitizer's heap is not */

	(void)state;
	free(first);
	pages_ahead_of_heap(0);
	pages_ahead_of_heap((size_t)1 << 20);
	/* The last page before the end is the last one of the rest. */
	if (can_populate() && is_there)
		assert_true(count_present(end - page, 1) == 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stack),
		cmocka_unit_test(test_no_stack),
		cmocka_unit_test(test_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
