/* SPDX-License-Identifier: Apache-2.0 */
/* hold-inspector FOLDER: the process that reads skills (cli/skill/confined.h), with a task that
 * waits until it is killed. */
#include <stdio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "cli/skill/confined.h"

enum { HOLD_MS = 600000 };

static int hold(void *data)
{
	(void)data;
	return pause();
}

int main(int argc, char **argv)
{
	const char *const reads[] = { argc > 1 ? argv[1] : "/", NULL };
	const struct confined c = { .reads = reads, .ms = HOLD_MS, .max = 1000 };
	auto_buffer out = { 0 };
	struct error e = { 0 };

	return confined_run(&c, hold, NULL, &out, &e) < 0;
}
