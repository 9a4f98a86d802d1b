/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host program that loads skills and calls them (corral/skill.h), as its words say, one after the
 * other:
 *
 * - load DIR, free, reload: prints the version, or what went wrong
 * - call INPUT: prints the status and the answer; stderr goes to standard error
 * - layer JSON, time MS, arg WORD, workers N, unapproved: for what comes after them; an empty layer
 *   takes it away
 * - threads N INPUT: N threads, each of which calls once; prints how many answered what
 * - crowd N MARK NEXT: N threads call; when the file MARK is there, NEXT is run by sh, the skill is
 *   loaded again and called once; then the threads are waited for
 * - churn N NEXT: N threads call without end while NEXT is run by sh and the skill is loaded again,
 * ten times; each answer is of a version that was there then
 * - entry DIR WORD: corral_sandbox_run_skill_entry() with one argument
 * - pids, kill: prints the processes of the workers; kills them, and waits for that
 * - sh LINE: runs a line outside
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <corral/skill.h>

enum { THREADS_MAX = 1024, ARGS_MAX = 16, PATH_MAX_BYTES = 4096, CHURN_RELOADS = 10 };

static struct corral_skill *skill;
static struct corral_permissions *layer;
static unsigned workers;
static bool unapproved;
static uint64_t time_ms;
static const char *args[ARGS_MAX + 1];
static size_t n_args;

static void fail(const char *what, int r, struct corral_error *e)
{
	printf("%s %d %s\n", what, r, e ? corral_error_message(e) : strerror(-r));
	corral_error_free(e);
}

static int configure(void *context, struct corral_builder *b)
{
	(void)context;
	return unapproved ? corral_builder_allow_unapproved_skill(b) : 0;
}

/* By sh, outside of any sandbox. */
static void run_line(const char *line)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)line, NULL };
	pid_t pid;

	(void)fflush(stdout);
	if (posix_spawn(&pid, "/bin/sh", NULL, NULL, argv, environ) == 0)
		(void)waitpid(pid, NULL, 0);
}

static void load(const char *dir)
{
	struct corral_skill_options o = CORRAL_SKILL_OPTIONS;
	struct corral_error *e = NULL;
	int r;

	o.configure = configure;
	o.workers = workers;
	r = corral_skill_load(&skill, dir, &o, &e);
	if (r < 0)
		fail("load", r, e);
}

static void reload(void)
{
	struct corral_error *e = NULL;
	int r = corral_skill_reload(skill, &e);

	if (r < 0)
		fail("reload", r, e);
	else
		printf("reload %d version %llu\n", r,
			(unsigned long long)corral_skill_version(skill));
}

static int call_once(const char *input, struct corral_result **ret, struct corral_error **e)
{
	struct corral_skill_request r = CORRAL_SKILL_REQUEST;

	r.input = input;
	r.input_len = strlen(input);
	r.args = n_args ? args : NULL;
	r.timeout_ms = time_ms;
	r.permissions = layer;
	return corral_skill_call(skill, &r, ret, e);
}

static void print_result(const char *what, struct corral_result *result)
{
	size_t len;
	const char *text = corral_result_stdout(result, &len);

	printf("%s %d %s", what, corral_result_exit_code(result), text);
	if (len == 0 || text[len - 1] != '\n')
		printf("\n");
	(void)fputs(corral_result_stderr(result, NULL), stderr);
	(void)fflush(stderr);
}

static void call(const char *input)
{
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int r = call_once(input, &result, &e);

	if (r < 0) {
		fail("call", r, e);
		return;
	}
	print_result("call", result);
	corral_result_free(result);
}

static void entry(const char *dir, const char *word)
{
	const char *const words[] = { word, NULL };
	struct corral_builder *b = NULL;
	struct corral_sandbox *s = NULL;
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int r = corral_builder_from_manifest(&b, dir, &e);

	if (r == 0 && unapproved)
		r = corral_builder_allow_unapproved_skill(b);
	if (r == 0)
		r = corral_builder_build(b, &s, &e);
	if (r == 0)
		r = corral_sandbox_run_skill_entry(s, dir, NULL, words, NULL, &result, &e);
	if (r < 0)
		fail("entry", r, e);
	else
		print_result("entry", result);
	corral_result_free(result);
	corral_sandbox_free(s);
	corral_builder_free(b);
}

/* Many threads */

struct caller {
	pthread_t thread;
	const char *input;
	char *answer;
	struct caller *others; /* of churn: calls until `stop` */
};
static struct caller callers[THREADS_MAX];
static atomic_bool stop;
static atomic_size_t called;
static atomic_uint churned, wrong;

static void *call_in_thread(void *data)
{
	struct caller *c = data;
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	char text[512];

	atomic_fetch_add(&called, 1);
	if (call_once(c->input, &result, &e) < 0)
		(void)snprintf(text, sizeof(text), "%s\n", e ? corral_error_message(e) : "error");
	else
		(void)snprintf(text, sizeof(text), "%d %s", corral_result_exit_code(result),
			corral_result_stdout(result, NULL));
	c->answer = strdup(text);
	corral_error_free(e);
	corral_result_free(result);
	return NULL;
}

static size_t start(size_t n, void *(*run)(void *), const char *input)
{
	size_t i = 0;

	for (; i < n && i < THREADS_MAX; i++) {
		callers[i] = (struct caller){ .input = input };
		if (pthread_create(&callers[i].thread, NULL, run, &callers[i]) != 0)
			break;
	}
	return i;
}

static int compare_answers(const void *a, const void *b)
{
	return strcmp(((const struct caller *)a)->answer, ((const struct caller *)b)->answer);
}

/* Each different answer once, with how many gave it. */
static void finish(size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)pthread_join(callers[i].thread, NULL);
	qsort(callers, n, sizeof(callers[0]), compare_answers);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i; k < n && strcmp(callers[i].answer, callers[k].answer) == 0;)
			k++;
		printf("%zu times %s", k - i, callers[i].answer);
	}
	for (size_t i = 0; i < n; i++)
		free(callers[i].answer);
}

/* How often threads other than this one have run; false: one of them runs. */
static bool are_asleep(unsigned long *ret_times)
{
	DIR *tasks = opendir("/proc/self/task");
	bool asleep = tasks != NULL;
	const struct dirent *task;

	*ret_times = 0;
	while (asleep && (task = readdir(tasks))) {
		char path[sizeof("/proc/self/task//status") + NAME_MAX], line[256];
		FILE *status;

		if (task->d_name[0] == '.' || strtol(task->d_name, NULL, 10) == getpid())
			continue;
		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/status", task->d_name);
		status = fopen(path, "re");
		while (status && fgets(line, sizeof(line), status)) {
			const char *times = strstr(line, "ctxt_switches:");

			if (strncmp(line, "State:\t", 7) == 0)
				asleep = asleep && line[7] == 'S';
			if (times)
				*ret_times += strtoul(times + strlen("ctxt_switches:"), NULL, 10);
		}
		asleep = asleep && status;
		if (status)
			(void)fclose(status);
	}
	if (tasks)
		(void)closedir(tasks);
	return asleep;
}

/* Until that many calls were made, and none of them goes on by itself. */
static void wait_for_calls(size_t n)
{
	unsigned long before, after;

	for (int i = 0; i < 1200; i++) {
		const bool was_asleep = atomic_load(&called) >= n && are_asleep(&before);

		(void)usleep(50 * 1000);
		if (was_asleep && are_asleep(&after) && after == before)
			return;
	}
	printf("the calls do not wait\n");
}

static void crowd(size_t n, const char *mark, const char *next)
{
	size_t started = start(n, call_in_thread, "{}");

	for (int i = 0; i < 6000 && access(mark, F_OK) != 0; i++)
		(void)usleep(10000);
	if (access(mark, F_OK) != 0)
		printf("no mark\n");
	wait_for_calls(started);
	run_line(next);
	reload();
	call("{}");
	(void)fflush(stdout);
	/* What those that run wait for. */
	run_line("touch go");
	finish(started);
}

/* The answer has the version in it; a folder's content has the number that it was given. */
static void *churn_in_thread(void *data)
{
	(void)data;
	while (!atomic_load(&stop)) {
		struct corral_result *result = NULL;
		uint64_t before = corral_skill_version(skill), after;
		const char *found;
		unsigned long long version = 0;

		if (call_once("{}", &result, NULL) < 0) {
			(void)atomic_fetch_add(&wrong, 1);
			continue;
		}
		after = corral_skill_version(skill);
		found = strstr(corral_result_stdout(result, NULL), "\"result\": ");
		if (found)
			version = strtoull(found + strlen("\"result\": "), NULL, 10);
		if (version < before || version > after)
			(void)atomic_fetch_add(&wrong, 1);
		(void)atomic_fetch_add(&churned, 1);
		corral_result_free(result);
	}
	return NULL;
}

static void churn(size_t n, const char *next)
{
	size_t started = start(n, churn_in_thread, "{}");

	for (int i = 0; i < CHURN_RELOADS; i++) {
		struct corral_error *e = NULL;
		unsigned before = atomic_load(&churned);
		int r;

		run_line(next);
		r = corral_skill_reload(skill, &e);
		if (r != 1)
			fail("reload", r, e);
		while (atomic_load(&churned) < before + 20)
			(void)usleep(1000);
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(callers[i].thread, NULL);
	printf("churn: version %llu, %s, %u wrong\n",
		(unsigned long long)corral_skill_version(skill),
		atomic_load(&churned) >= 200 ? "many calls" : "few calls", atomic_load(&wrong));
}

/* The parent of a process, if its name is this; 0 if there is none. */
static int parent_of(int pid, char *name, size_t room)
{
	char path[64], text[512], *end;
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	end = strrchr(text, ')');
	if (!end)
		return 0;
	*end = '\0';
	(void)snprintf(name, room, "%s", strchr(text, '(') + 1);
	return (int)strtol(end + 4, NULL, 10);
}

static bool is_below(int pid)
{
	char name[64];

	while (pid > 1 && pid != getpid())
		pid = parent_of(pid, name, sizeof(name));
	return pid == getpid();
}

static int worker_found(int pid, bool kills)
{
	if (kills)
		(void)kill(pid, SIGKILL);
	else
		printf(" %d", pid);
	return 1;
}

/* Prints the processes of workers, or kills them; how many there are. */
static int each_worker(bool kills)
{
	DIR *d = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	while (d && (entry = readdir(d))) {
		int pid = isdigit((unsigned char)entry->d_name[0])
				  ? (int)strtol(entry->d_name, NULL, 10)
				  : 0;
		char name[64] = "";

		if (pid > 0 && parent_of(pid, name, sizeof(name)) > 0 &&
			strcmp(name, "corral-wasm") == 0 && is_below(pid))
			n += worker_found(pid, kills);
	}
	if (d)
		(void)closedir(d);
	return n;
}

static void set_layer(const char *text)
{
	struct corral_error *e = NULL;
	int r = 0;

	corral_permissions_free(layer);
	layer = NULL;
	if (text[0])
		r = corral_permissions_parse(&layer, "layer", text, strlen(text), &e);
	if (r < 0)
		fail("layer", r, e);
}

/* Words with one argument, or none. */
static bool do_word(const char *word, const char *next)
{
	if (strcmp(word, "load") == 0)
		load(next);
	else if (strcmp(word, "call") == 0)
		call(next);
	else if (strcmp(word, "layer") == 0)
		set_layer(next);
	else if (strcmp(word, "time") == 0)
		time_ms = strtoull(next, NULL, 10);
	else if (strcmp(word, "workers") == 0)
		workers = (unsigned)strtoul(next, NULL, 10);
	else if (strcmp(word, "arg") == 0 && n_args < ARGS_MAX)
		args[n_args++] = next;
	else if (strcmp(word, "sh") == 0)
		run_line(next);
	else
		return false;
	return true;
}

static bool do_alone(const char *word)
{
	if (strcmp(word, "free") == 0) {
		corral_skill_free(skill);
		skill = NULL;
	} else if (strcmp(word, "reload") == 0)
		reload();
	else if (strcmp(word, "pids") == 0)
		(void)(printf("pids"), each_worker(false), printf("\n"));
	else if (strcmp(word, "kill") == 0)
		for (int i = 0; i < 1000 && each_worker(true) > 0; i++)
			(void)usleep(10000);
	else if (strcmp(word, "unapproved") == 0)
		unapproved = true;
	else
		return false;
	return true;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		(void)fflush(stdout);
		if (do_alone(argv[i]))
			continue;
		if (i + 1 < argc && do_word(argv[i], argv[i + 1])) {
			i++;
		} else if (i + 2 < argc && strcmp(argv[i], "threads") == 0) {
			finish(start(strtoul(argv[i + 1], NULL, 10), call_in_thread, argv[i + 2]));
			i += 2;
		} else if (i + 2 < argc && strcmp(argv[i], "churn") == 0) {
			churn(strtoul(argv[i + 1], NULL, 10), argv[i + 2]);
			i += 2;
		} else if (i + 2 < argc && strcmp(argv[i], "entry") == 0) {
			entry(argv[i + 1], argv[i + 2]);
			i += 2;
		} else if (i + 3 < argc && strcmp(argv[i], "crowd") == 0) {
			crowd(strtoul(argv[i + 1], NULL, 10), argv[i + 2], argv[i + 3]);
			i += 3;
		} else {
			printf("unknown word %s\n", argv[i]);
			return 2;
		}
	}
	corral_skill_free(skill);
	corral_permissions_free(layer);
	return 0;
}
