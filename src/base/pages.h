/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Memory that is about to be written, asked for at once: a page fault for each page takes more than
 * twice as long. A kernel that cannot do it (before 5.14), or does not want to, changes nothing.
 */
#include <stddef.h>

/* The stack below the caller. The kernel gives a new program 128 KiB of it; ask for less. */
void pages_ahead_of_stack(size_t size);
/* What the heap has left without growing, at most so much. */
void pages_ahead_of_heap(size_t most);
