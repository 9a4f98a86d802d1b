/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a broker costs the sandbox that has one: a session built with it and without, `corral run`
 * from nothing with it and without, in turn; the first call of a session against the second, as the
 * front is started with it; and the memory of the broker's processes.
 *
 *     bench-broker CORRAL WARDEN BROKER CALLER [ROUNDS]
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <corral/sandbox.h>

#include "measure.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

struct setting {
	struct corral_builder *builder;
	const char *run[8];
	int null[3];
};

static struct corral_error *error;

/* Until its first command could start. */
static double broker_set_up(void *context)
{
	const struct setting *s = context;
	double start = measure_now(), stands;
	struct corral_sandbox *sandbox = NULL;

	if (corral_builder_build(s->builder, &sandbox, &error) < 0) {
		(void)fprintf(stderr, "bench: %s\n", corral_error_message(error));
		return -1;
	}
	stands = measure_now();
	corral_sandbox_free(sandbox);
	return stands - start;
}

/* From start to end. */
static double broker_cold(void *context)
{
	const struct setting *s = context;

	return measure_command(s->run, s->null);
}

/* A ping by sandbox-call, inside. */
static double broker_ping(struct corral_sandbox *sandbox)
{
	const char *const argv[] = { "sandbox-call", "ping", NULL };
	const double start = measure_now();
	struct corral_result *result = NULL;
	double took;

	if (corral_sandbox_execute_argv(sandbox, argv, NULL, &result, &error) < 0)
		measure_die(corral_error_message(error));
	took = measure_now() - start;
	if (corral_result_exit_code(result) != 0)
		measure_die("a call of the broker failed");
	corral_result_free(result);
	return took;
}

/* The last of so many calls in a session. */
static double broker_call(const struct setting *s, unsigned n)
{
	struct corral_sandbox *sandbox = NULL;
	double took = 0;

	if (corral_builder_build(s->builder, &sandbox, &error) < 0)
		measure_die(corral_error_message(error));
	while (n-- > 0)
		took = broker_ping(sandbox);
	corral_sandbox_free(sandbox);
	return took;
}

static double broker_first_call(void *context)
{
	return broker_call(context, 1);
}

static double broker_second_call(void *context)
{
	return broker_call(context, 2);
}

static void broker_make(
	struct setting *s, const char *corral, const char *warden, const char *folder, bool broker)
{
	const char *const run[] = { corral, "run", broker ? "--broker" : "--no-broker", "--",
		"/bin/true", NULL };

	memcpy(s->run, run, sizeof(run));
	for (size_t i = 0; i < 3; i++)
		s->null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (s->null[2] < 0 || corral_builder_new(&s->builder) < 0)
		measure_die("out of memory");
	(void)corral_builder_warden(s->builder, warden);
	(void)corral_builder_work_dir(s->builder, folder);
	(void)corral_builder_allow_fs_read(s->builder, "/usr/{,**}");
	(void)corral_builder_allow_fs_read(s->builder, "/bin/{,**}");
	(void)corral_builder_allow_fs_write(s->builder, "$WORK_DIR/{,**}");
	if (broker)
		(void)corral_builder_with_broker(s->builder, NULL);
}

/* A line "Name: value" of a file in /proc; 0: there is none. */
static size_t broker_field(const char *pid, const char *file, const char *name, char out[64])
{
	char path[320], line[256];
	size_t value = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, file);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, strlen(name)) != 0)
			continue;
		value = strtoul(line + strlen(name), NULL, 10);
		(void)snprintf(
			out, 64, "%s", line + strlen(name) + strspn(line + strlen(name), " \t"));
		out[strcspn(out, "\n")] = '\0';
		break;
	}
	if (f)
		(void)fclose(f);
	return value;
}

/* Of its processes together, in MB: each page by its share. Needs root, as they are not to be
 * looked into. */
static double broker_memory(const struct setting *s)
{
	struct corral_sandbox *sandbox = NULL;
	const struct dirent *entry;
	size_t kb = 0;
	char text[64];
	DIR *all;

	if (corral_builder_build(s->builder, &sandbox, &error) < 0)
		measure_die(corral_error_message(error));
	/* With its front, which comes with the first call. */
	(void)broker_ping(sandbox);
	all = opendir("/proc");
	while (all && (entry = readdir(all))) {
		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		(void)broker_field(entry->d_name, "status", "Name:", text);
		if (strcmp(text, "corral-broker") == 0 || strcmp(text, "corral-front") == 0)
			kb += broker_field(entry->d_name, "smaps_rollup", "Pss:", text);
	}
	if (all)
		(void)closedir(all);
	corral_sandbox_free(sandbox);
	return (double)kb / 1024;
}

int main(int argc, char **argv)
{
	struct setting without = { 0 }, with = { 0 };
	char folder[] = "/tmp/bench-broker-XXXXXX";
	size_t rounds = argc > 5 ? strtoul(argv[5], NULL, 10) : 300;
	bool met = true;

	if (argc < 5 || rounds < 10 || rounds > MEASURE_ROUNDS_MAX)
		measure_die("usage: bench-broker CORRAL WARDEN BROKER CALLER [ROUNDS]");
	const char *corral = measure_path(argv[1]), *warden = measure_path(argv[2]);
	if (setenv("CORRAL_BROKER", measure_path(argv[3]), 1) < 0 ||
		setenv("CORRAL_SANDBOX_CALL", measure_path(argv[4]), 1) < 0 ||
		setenv("CORRAL_WARDEN", warden, 1) < 0)
		measure_die("out of memory");
	if (!mkdtemp(folder) || chdir(folder) < 0)
		measure_die("no folder in /tmp");
	broker_make(&without, corral, warden, folder, false);
	broker_make(&with, corral, warden, folder, true);

	struct measure kinds[] = {
		{ .name = "session built", .run = broker_set_up, .context = &without },
		{ .name = "session built, with a broker", .run = broker_set_up, .context = &with },
		{ .name = "corral run -- /bin/true", .run = broker_cold, .context = &without },
		{ .name = "corral run --broker -- /bin/true",
			.run = broker_cold,
			.context = &with },
		{ .name = "the second call", .run = broker_second_call, .context = &with },
		{ .name = "the first call", .run = broker_first_call, .context = &with },
	};

	measure_all(kinds, N(kinds), rounds);
	measure_print(kinds, N(kinds));
	met &= measure_judge_value("a broker costs a session",
		1e3 * (measure_median(&kinds[1]) - measure_median(&kinds[0])), "ms", 1);
	(void)measure_judge_value("a broker costs a run, with its end",
		1e3 * (measure_median(&kinds[3]) - measure_median(&kinds[2])), "ms", 0);
	(void)measure_judge_value("the first call of a session costs",
		1e3 * (measure_median(&kinds[5]) - measure_median(&kinds[4])), "ms", 0);
	if (geteuid() == 0)
		met &= measure_judge_value("memory of a broker", broker_memory(&with), "MB", 6);
	corral_builder_free(without.builder);
	corral_builder_free(with.builder);
	(void)chdir("/");
	(void)rmdir(folder);
	return met ? 0 : 1;
}
