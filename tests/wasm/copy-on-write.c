/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many pages a call costs: copy-on-write MODULE, compiled by `corral-wasm compile`. The engine
 * and the calls are the worker's own, without a sandbox. For each word a call is made, and the
 * answer printed with the pages that were touched for the first time, in thousands, rounded.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "wasm/instance.h"

enum { WARM = 4, THOUSAND = 1000 };

static long faults(void)
{
	struct rusage u;

	return getrusage(RUSAGE_SELF, &u) < 0 ? -1 : u.ru_minflt;
}

int main(int argc, char **argv)
{
	static const char *const words[] = { "--", "module" };
	auto_arena a = { 0 };
	struct streams streams = { .is_kept = true };
	struct host_call host = { .connection = { .fd = -1 } };
	struct worker_options o;
	struct error e = { 0 };
	struct loaded l = { .imports = { .host = &host, .streams = &streams },
		.streams = &streams };

	int r = worker_options_read(&o, words, 2, &a, &e);

	o.serves = true;
	if (argc < 2 || r < 0 || loaded_open(&l, &o, argv[1], &e) != 0) {
		printf("%s\n", e.text);
		return 1;
	}
	for (int i = 2; i < argc; i++) {
		long before = 0, after = 0;
		auto_buffer answer = { 0 };
		char input[64];

		(void)snprintf(input, sizeof(input), "{\"do\": \"%s\"}", argv[i]);
		/* What the engine does once is not counted. */
		for (int k = 0; k < WARM; k++) {
			buffer_clear(&answer);
			before = faults();
			if (instance_call(&l, input, strlen(input), &answer, &e) != 0) {
				printf("%s\n", e.text);
				return 1;
			}
			after = faults();
		}
		printf("%s %s %s\n", argv[i], buffer_text(&answer),
			after - before < THOUSAND / 4   ? "few pages"
			: after - before > 4 * THOUSAND ? "thousands of pages"
							: "some pages");
	}
	loaded_close(&l);
	streams_deinit(&streams);
	return 0;
}
