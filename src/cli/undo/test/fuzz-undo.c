/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes as the files of a record. What is accepted prints and reads back the same, and has no path
 * that leads out of the folder.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/undo/internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_path(const char *path)
{
	if (!*path || *path == '/' || strcmp(path, "..") == 0 || strncmp(path, "../", 3) == 0 ||
		strstr(path, "/../") || strstr(path, "//"))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct undo u = UNDO_EMPTY, again = UNDO_EMPTY;
	auto_buffer one = { 0 }, two = { 0 };

	if (undo_read_changes(&u, (const char *)data, size) == 0) {
		for (size_t i = 0; i < u.changes.n; i++)
			check_path(u.changes.items[i].path);
		undo_print_changes(&u, &one);
		if (undo_read_changes(&again, buffer_text(&one), one.len) < 0)
			abort();
		undo_print_changes(&again, &two);
		if (one.len != two.len || memcmp(one.data, two.data, one.len) != 0)
			abort();
	}
	undo_deinit(&u);
	undo_deinit(&again);
	if (undo_read_before(&u, (const char *)data, size) == 0)
		for (size_t i = 0; i < u.before.n; i++)
			check_path(u.before.items[i].path);
	undo_deinit(&u);
	(void)undo_read_run(&u, (const char *)data, size, NULL);
	undo_deinit(&u);
	return 0;
}
