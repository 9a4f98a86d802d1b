/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What pipes as standard input and output cost: their bytes are copied through pipes of Corral's
 * own. A gigabyte through `cat` between two pipes, bare and inside; and the shortest command with
 * pipes and with /dev/null, which goes in as it is.
 *
 *     bench-stdio CORRAL [ROUNDS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "measure.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static int null[3];

static double run(void *context)
{
	const char *const argv[] = { "/bin/sh", "-c", context, NULL };

	return measure_command(argv, null);
}

static bool run_all(const char *corral, size_t rounds)
{
	static const char *const names[] = { "1 GB by pipes, bare", "1 GB by pipes, inside",
		"true, /dev/null, inside", "true, pipes, inside" };
	char lines[N(names)][8192];
	struct measure kinds[N(names)] = { 0 };
	bool met;

	(void)snprintf(lines[0], sizeof(lines[0]), "head -c 1G /dev/zero | cat | cat");
	(void)snprintf(
		lines[1], sizeof(lines[1]), "head -c 1G /dev/zero | '%s' run -- cat | cat", corral);
	/* The same programs around it. */
	(void)snprintf(lines[2], sizeof(lines[2]),
		": | ('%s' run -- /bin/true </dev/null >/dev/null) | cat", corral);
	(void)snprintf(lines[3], sizeof(lines[3]), ": | '%s' run -- /bin/true | cat", corral);
	for (size_t i = 0; i < N(names); i++)
		kinds[i] = (struct measure){
			.name = names[i], .run = run, .context = lines[i], .every = i < 2 ? 5 : 0
		};
	measure_all(kinds, N(kinds), rounds);
	measure_print(kinds, N(kinds));
	met = measure_judge(&(struct measure_ratio){
		"1 GB by pipes, inside : bare", &kinds[1], &kinds[0], 1.5 });
	met &= measure_judge(
		&(struct measure_ratio){ "true, pipes : /dev/null", &kinds[3], &kinds[2], 1.1 });
	return met;
}

int main(int argc, char **argv)
{
	char root[] = "/tmp/bench-stdio-XXXXXX";
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 50;

	if (argc < 2 || rounds < 25 || rounds > MEASURE_ROUNDS_MAX)
		measure_die("usage: bench-stdio CORRAL [ROUNDS], 25 at least");
	for (size_t i = 0; i < 3; i++)
		null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	const char *corral = measure_path(argv[1]);
	if (null[2] < 0 || !mkdtemp(root) || chdir(root) < 0)
		measure_die("no folder in /tmp");
	bool met = run_all(corral, rounds);
	(void)rmdir(root);
	return met ? 0 : 1;
}
