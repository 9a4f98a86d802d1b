/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What --explain costs: the same commands under `corral run` with and without it, in turn. The
 * worst is a program that does little but open files.
 *
 *     bench-explain CORRAL [ROUNDS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum { WORDS_MAX = 12 };

static int null[3];

struct work {
	const char *name;
	const char *argv[5];
	double target; /* of the ratio */
};

static const struct work works[] = {
	{ "true", { "/bin/true" }, 1.6 },
	{ "python3 -c 'import json'", { "/usr/bin/python3", "-c", "import json" }, 1.5 },
	{ "grep -r /usr/include", { "/usr/bin/grep", "-r", "stdio", "/usr/include" }, 4.5 },
};

static double run(void *context)
{
	return measure_command(context, null);
}

/* CORRAL run [--explain] -- … */
static void make_words(
	const char *words[WORDS_MAX], const char *corral, bool explain, const struct work *w)
{
	size_t n = 0;

	words[n++] = corral;
	words[n++] = "run";
	if (explain)
		words[n++] = "--explain";
	words[n++] = "--";
	for (size_t i = 0; i < N(w->argv) && w->argv[i]; i++)
		words[n++] = w->argv[i];
	words[n] = NULL;
}

static bool run_all(const char *corral, size_t rounds)
{
	static const char *words[2 * N(works)][WORDS_MAX];
	struct measure kinds[2 * N(works)] = { 0 };
	char labels[2 * N(works)][64];
	bool met = true;

	for (size_t i = 0; i < N(kinds); i++) {
		make_words(words[i], corral, i % 2, &works[i / 2]);
		(void)snprintf(labels[i], sizeof(labels[i]), "%s%s", works[i / 2].name,
			i % 2 ? ", explained" : "");
		kinds[i] = (struct measure){
			.name = labels[i], .run = run, .context = (void *)words[i]
		};
	}
	measure_all(kinds, N(kinds), rounds);
	measure_print(kinds, N(kinds));
	for (size_t i = 0; i < N(works); i++) {
		char what[64];

		(void)snprintf(what, sizeof(what), "%s, with : without", works[i].name);
		met &= measure_judge(&(struct measure_ratio){
			what, &kinds[2 * i + 1], &kinds[2 * i], works[i].target });
	}
	return met;
}

int main(int argc, char **argv)
{
	char root[] = "/tmp/bench-explain-XXXXXX";
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 30;

	if (argc < 2 || rounds < 5 || rounds > MEASURE_ROUNDS_MAX)
		measure_die("usage: bench-explain CORRAL [ROUNDS]");
	for (size_t i = 0; i < 3; i++)
		null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	const char *corral = measure_path(argv[1]);
	if (null[2] < 0 || !mkdtemp(root) || chdir(root) < 0)
		measure_die("no folder in /tmp");
	bool met = run_all(corral, rounds);
	(void)rmdir(root);
	return met ? 0 : 1;
}
