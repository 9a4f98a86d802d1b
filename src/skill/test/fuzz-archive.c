/* SPDX-License-Identifier: Apache-2.0 */
/* The copy of a skill: whatever the bytes are, what is read of them lies in them, and leads down.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "skill/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char *start = (const char *)data, *end = start + len;
	struct skill_archive_entry entry;
	struct skill_archive a;

	if (skill_archive_open_bytes(&a, data, len) < 0)
		return 0;
	require(path_is_normal(a.path, strlen(a.path)));
	while (skill_archive_next(&a.records, &entry) == 1) {
		const char *bytes = entry.data;

		require(path_is_normal(entry.path, strlen(entry.path)) && entry.path[1]);
		require(bytes >= start && bytes <= end && entry.size <= (size_t)(end - bytes));
		require(entry.type <= SKILL_LINK && entry.nanoseconds < 1000000000);
		require(entry.type != SKILL_LINK || strlen(bytes) + 1 == entry.size);
	}
	return 0;
}
