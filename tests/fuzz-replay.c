/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzzer's function over files, or over the files of folders: what libFuzzer once found
 * stays found, in every build and without clang. It is an error to be given nothing to run.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"

enum { SAMPLE_MAX = 16 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
	auto_buffer sample = { 0 };
	int r = file_read(path, SAMPLE_MAX, &sample);
	uint8_t *exact;

	if (r < 0)
		return r;
	/* In a block of its own size, so that a sanitizer sees the first byte read beyond it. */
	exact = malloc(sample.len ? sample.len : 1);
	if (!exact)
		return -ENOMEM;
	if (sample.len)
		memcpy(exact, sample.data, sample.len);
	(void)LLVMFuzzerTestOneInput(exact, sample.len);
	free(exact);
	return 0;
}

static int replay_folder(DIR *folder, const char *path, unsigned *count)
{
	struct dirent *entry;
	int r = 0;

	while (r == 0 && (entry = readdir(folder))) {
		auto_buffer name = { 0 };

		if (entry->d_name[0] == '.')
			continue;
		buffer_printf(&name, "%s/%s", path, entry->d_name);
		r = name.failed ? -ENOMEM : replay_file(name.data);
		if (r < 0)
			fprintf(stderr, "%s/%s: %s\n", path, entry->d_name, strerror(-r));
		else
			(*count)++;
	}
	return r;
}

static int replay(const char *path, unsigned *count)
{
	DIR *folder = opendir(path);
	int r;

	if (folder) {
		r = replay_folder(folder, path, count);
		(void)closedir(folder);
		return r;
	}
	r = replay_file(path);
	if (r < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(-r));
	else
		(*count)++;
	return r;
}

int main(int argc, char **argv)
{
	unsigned count = 0;

	for (int i = 1; i < argc; i++) {
		if (replay(argv[i], &count) < 0)
			return EXIT_FAILURE;
	}
	printf("%u samples replayed\n", count);
	return count ? EXIT_SUCCESS : EXIT_FAILURE;
}
