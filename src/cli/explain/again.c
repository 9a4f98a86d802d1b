/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/explain/again.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "host/state-cache.h"

enum { RECORD_BYTES = 64, RECORDS_MAX = 256, RECORD_SECONDS = 24 * 60 * 60 };

static const char again_folder[] = "failed";

/* FORMAT_FAILED, and what it says. */
static const char *const again_texts[] = {
	[AGAIN_WATCH] = "corral failed 1 watch\n",
	[AGAIN_IN_VAIN] = "corral failed 1 in-vain\n",
};

void again_name(const char *folder, const char *const *words, size_t n, char ret[AGAIN_NAME])
{
	/* Each with its end, so that `a b` is not `ab`. */
	uint64_t hash = hash_bytes(HASH_START, folder, strlen(folder) + 1);

	for (size_t i = 0; i < n; i++)
		hash = hash_bytes(hash, words[i], strlen(words[i]) + 1);
	(void)snprintf(ret, AGAIN_NAME, "%016" PRIx64, hash);
}

enum again again_parse(const void *text, size_t len)
{
	for (size_t i = 0; i < ROWS(again_texts); i++)
		if (again_texts[i] && strlen(again_texts[i]) == len &&
			memcmp(again_texts[i], text, len) == 0)
			return (enum again)i;
	return AGAIN_NONE;
}

enum again again_next(enum again was, bool is_watched, bool has_failed, bool is_denied)
{
	if (!has_failed)
		return AGAIN_NONE;
	if (is_denied)
		return AGAIN_WATCH;
	return is_watched || was == AGAIN_IN_VAIN ? AGAIN_IN_VAIN : AGAIN_WATCH;
}

bool again_is_answer(const char *program, int exit_code)
{
	static const char *const programs[] = { "grep", "egrep", "fgrep", "zgrep", "rg", "ag",
		"diff", "cmp", "test", "[", "false", "pgrep", "pidof", "which", "expr" };
	const char *slash = strrchr(program, '/');

	for (size_t i = 0; exit_code == 1 && i < ROWS(programs); i++)
		if (strcmp(slash ? slash + 1 : program, programs[i]) == 0)
			return true;
	return false;
}

/* The folder is not looked at: nearly every run finds no record, and the record's own rights say
 * whose it is. */
enum again again_read(const char *name)
{
	char path[PATH_BYTES], text[RECORD_BYTES];
	const time_t now = time(NULL);
	auto_fd fd = -1;
	struct stat st;
	size_t len, size = 0;

	if (!state_cache_path(again_folder, path))
		return AGAIN_NONE;
	len = strlen(path);
	if (snprintf(path + len, sizeof(path) - len, "/%s", name) >= (int)(sizeof(path) - len))
		return AGAIN_NONE;
	fd = state_cache_open_file(AT_FDCWD, path, sizeof(text), &size);
	if (fd < 0 || !state_cache_read(fd, text, size) || fstat(fd, &st) < 0 ||
		st.st_mtime > now || now - st.st_mtime > RECORD_SECONDS)
		return AGAIN_NONE;
	return again_parse(text, size);
}

void again_keep(const char *name, enum again now)
{
	auto_fd folder = state_cache_open(again_folder, now != AGAIN_NONE);

	if (folder < 0)
		return;
	if (now == AGAIN_NONE) {
		(void)unlinkat(folder, name, 0);
		return;
	}
	state_cache_trim(folder, strlen(again_texts[now]), RECORDS_MAX, UINT64_MAX);
	(void)state_cache_put(folder, name, again_texts[now], strlen(again_texts[now]));
}
