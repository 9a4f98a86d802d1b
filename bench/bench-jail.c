/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox costs: one command in a session that stands, a session set up and torn down, and
 * `corral run` from nothing, also of a skill, each with /bin/true, against posix_spawn() of it and
 * against bubblewrap; and what the system calls alone cost that these need (floor.c).
 *
 *     bench-jail CORRAL WARDEN FLOOR [ROUNDS]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <corral/sandbox.h>

#include "measure.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const char *const true_argv[] = { "/bin/true", NULL };

struct setting {
	struct corral_builder *builder;
	struct corral_sandbox *sandbox;
	const char *run[8], *skill[8], *floor[8], *floor_session[8];
	const char *bwrap[64];
	int null[3];
};

static struct corral_error *error;

static double bare(void *context)
{
	const struct setting *s = context;

	return measure_command(true_argv, s->null);
}

/* As a program does that wants the output: two pipes, read to their end. */
static double bare_captured(void *context)
{
	const struct setting *s = context;
	int out[2], err[2], status;
	double start = measure_now();
	char bytes[4096];

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = measure_spawn(true_argv, (int[]){ s->null[0], out[1], err[1] });
	(void)close(out[1]);
	(void)close(err[1]);
	while (read(out[0], bytes, sizeof(bytes)) > 0 || read(err[0], bytes, sizeof(bytes)) > 0)
		;
	(void)close(out[0]);
	(void)close(err[0]);
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
		return -1;
	return measure_now() - start;
}

static double execute(const struct setting *s, const struct corral_call *call)
{
	double start = measure_now();
	struct corral_result *result = NULL;
	int r = corral_sandbox_execute_argv(s->sandbox, true_argv, call, &result, &error);
	int code = r < 0 ? -1 : corral_result_exit_code(result);

	corral_result_free(result);
	if (code != 0) {
		(void)fprintf(stderr, "bench: %s\n", error ? corral_error_message(error) : "?");
		return -1;
	}
	return measure_now() - start;
}

static double warm(void *context)
{
	const struct setting *s = context;
	struct corral_call call = CORRAL_CALL;

	call.stdio = s->null;
	return execute(s, &call);
}

static double warm_captured(void *context)
{
	return execute(context, NULL);
}

/* Until it stands, or until it is gone again with everything in it. */
static double build(const struct setting *s, bool and_free)
{
	double start = measure_now(), stands;
	struct corral_sandbox *sandbox = NULL;

	if (corral_builder_build(s->builder, &sandbox, &error) < 0) {
		(void)fprintf(stderr, "bench: %s\n", corral_error_message(error));
		return -1;
	}
	stands = measure_now();
	corral_sandbox_free(sandbox);
	return (and_free ? measure_now() : stands) - start;
}

static double set_up(void *context)
{
	return build(context, false);
}

static double set_up_and_free(void *context)
{
	return build(context, true);
}

static double cold(void *context)
{
	const struct setting *s = context;

	return measure_command(s->run, s->null);
}

static double cold_skill(void *context)
{
	const struct setting *s = context;

	return measure_command(s->skill, s->null);
}

static double floor_run(void *context)
{
	const struct setting *s = context;

	return measure_command(s->floor, s->null);
}

/* Until it stands: its end is not counted. */
static double floor_set_up(void *context)
{
	const struct setting *s = context;
	int in[2], out[2], status;
	double start = measure_now(), seconds;
	char byte;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = measure_spawn(s->floor_session, (int[]){ in[0], out[1], s->null[2] });
	(void)close(in[0]);
	(void)close(out[1]);
	ssize_t n = read(out[0], &byte, 1);
	seconds = measure_now() - start;
	(void)close(in[1]);
	(void)close(out[0]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && n == 1 ? seconds : -1;
}

static double bubblewrap(void *context)
{
	const struct setting *s = context;

	return measure_command(s->bwrap, s->null);
}

/* The system read-only, /etc, its own /proc, /dev and /tmp, no network, the folder writable. */
static void make_bwrap(struct setting *s, const char *folder)
{
	static const char *const fixed[] = { "bwrap", "--unshare-all", "--die-with-parent",
		"--new-session", "--clearenv", "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc",
		"/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs",
		"/dev/shm" };
	static const char *const old[] = { "/bin", "/sbin", "/lib", "/lib64", "/lib32" };
	static char targets[N(old)][64];
	size_t n = 0;

	for (; n < N(fixed); n++)
		s->bwrap[n] = fixed[n];
	for (size_t i = 0; i < N(old); i++) {
		ssize_t len = readlink(old[i], targets[i], sizeof(targets[i]) - 1);

		if (len < 0 && access(old[i], F_OK) < 0)
			continue;
		s->bwrap[n++] = len < 0 ? "--ro-bind" : "--symlink";
		s->bwrap[n++] = len < 0 ? old[i] : targets[i];
		s->bwrap[n++] = old[i];
	}
	s->bwrap[n++] = "--bind";
	s->bwrap[n++] = folder;
	s->bwrap[n++] = folder;
	s->bwrap[n++] = "--chdir";
	s->bwrap[n++] = folder;
	s->bwrap[n++] = "/bin/true";
	s->bwrap[n] = NULL;
}

/* A skill of ten files, 100 KB, whose entry is a copy of /bin/true; in the working folder. */
static void make_skill(void)
{
	static const char *const argv[] = { "/bin/sh", "-c",
		"set -e; mkdir -p skill/lib; cd skill; cp /bin/true .; chmod 755 true; "
		"i=0; while [ $i -lt 8 ]; do head -c 10000 /dev/zero >lib/$i; i=$((i+1)); done; "
		"printf 'name: x\\ndescription: y\\nentry: \"true\"\\npermissions: {fs: {read: "
		"[$SKILL_DIR/**, /usr/**, /bin/**, /lib/**, /lib64/**]}}\\n' >skill.yaml",
		NULL };

	if (measure_command(argv, NULL) < 0)
		measure_die("no skill could be made");
}

static void remove_skill(void)
{
	static const char *const argv[] = { "/bin/rm", "-rf", "skill", NULL };

	(void)measure_command(argv, NULL);
}

static void make(struct setting *s, char *const *programs, const char *folder)
{
	const char *corral = measure_path(programs[0]), *warden = measure_path(programs[1]),
		   *floor = measure_path(programs[2]);
	const char *const run[] = { corral, "run", "--", "/bin/true", NULL };
	const char *const skill[] = { corral, "run", "--yes", "--skill", "skill", NULL };
	const char *const floor_run_argv[] = { floor, "run", folder, NULL };
	const char *const floor_session[] = { floor, "stand", folder, NULL };

	if (chdir(folder) < 0)
		measure_die(folder);
	memcpy(s->run, run, sizeof(run));
	memcpy(s->skill, skill, sizeof(skill));
	memcpy(s->floor, floor_run_argv, sizeof(floor_run_argv));
	memcpy(s->floor_session, floor_session, sizeof(floor_session));
	make_skill();
	make_bwrap(s, folder);
	for (size_t i = 0; i < 3; i++)
		s->null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (s->null[2] < 0 || corral_builder_new(&s->builder) < 0)
		measure_die("out of memory");
	(void)corral_builder_warden(s->builder, warden);
	(void)corral_builder_work_dir(s->builder, folder);
	(void)corral_builder_allow_fs_read(s->builder, "/usr/{,**}");
	(void)corral_builder_allow_fs_read(s->builder, "/bin/{,**}");
	(void)corral_builder_allow_fs_write(s->builder, "$WORK_DIR/{,**}");
	if (corral_builder_build(s->builder, &s->sandbox, &error) < 0)
		measure_die(corral_error_message(error));
}

static bool have_bwrap(const struct setting *s)
{
	return measure_command(s->bwrap, s->null) >= 0;
}

int main(int argc, char **argv)
{
	struct setting s = { 0 };
	char folder[] = "/tmp/bench-jail-XXXXXX";
	size_t rounds = argc > 4 ? strtoul(argv[4], NULL, 10) : 300;

	if (argc < 4 || rounds < 10 || rounds > MEASURE_ROUNDS_MAX)
		measure_die("usage: bench-jail CORRAL WARDEN FLOOR [ROUNDS]");
	if (!mkdtemp(folder))
		measure_die("no folder in /tmp");
	make(&s, argv + 1, folder);

	struct measure kinds[] = {
		{ .name = "posix_spawn /bin/true", .run = bare, .context = &s },
		{ .name = "warm session, /bin/true", .run = warm, .context = &s },
		{ .name = "posix_spawn, output captured", .run = bare_captured, .context = &s },
		{ .name = "warm session, output captured", .run = warm_captured, .context = &s },
		{ .name = "session built", .run = set_up, .context = &s },
		{ .name = "session built and freed", .run = set_up_and_free, .context = &s },
		{ .name = "corral run -- /bin/true, cold", .run = cold, .context = &s },
		{ .name = "corral run --skill, 10 files, cold", .run = cold_skill, .context = &s },
		{ .name = "floor, a session set up", .run = floor_set_up, .context = &s },
		{ .name = "floor, /bin/true, cold", .run = floor_run, .context = &s },
		{ .name = "bwrap … /bin/true, cold", .run = bubblewrap, .context = &s },
	};
	const struct measure_ratio ratios[] = {
		{ "warm /bin/true : posix_spawn", &kinds[1], &kinds[0], 1.15 },
		{ "the same, output captured", &kinds[3], &kinds[2], 0 },
		{ "session set-up : posix_spawn", &kinds[4], &kinds[0], 5 },
		{ "the same, and freed", &kinds[5], &kinds[0], 0 },
		{ "corral run, cold : posix_spawn", &kinds[6], &kinds[0], 0 },
		{ "corral run --skill : corral run", &kinds[7], &kinds[6], 0 },
		{ "floor of a session : posix_spawn", &kinds[8], &kinds[0], 0 },
		{ "session set-up : its floor", &kinds[4], &kinds[8], 0 },
		{ "corral run, cold : its floor", &kinds[6], &kinds[9], 0 },
		{ "bwrap : posix_spawn", &kinds[10], &kinds[0], 0 },
		{ "floor of a cold run : bwrap", &kinds[9], &kinds[10], 0 },
		{ "corral run, cold : bwrap", &kinds[6], &kinds[10], 0.75 },
	};
	/* What needs bwrap stands last in both. */
	bool others = have_bwrap(&s);
	bool met = true;

	measure_all(kinds, N(kinds) - !others, rounds);
	measure_print(kinds, N(kinds) - !others);
	for (size_t i = 0; i < N(ratios) - (others ? 0 : 3); i++)
		met &= measure_judge(&ratios[i]);
	if (!others)
		(void)puts("corral run, cold : bwrap: skipped, bubblewrap does not work here");
	corral_sandbox_free(s.sandbox);
	corral_builder_free(s.builder);
	remove_skill();
	(void)chdir("/");
	(void)rmdir(folder);
	return met ? 0 : 1;
}
