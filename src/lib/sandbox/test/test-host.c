/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library as a guest: what the host does with signals, children, threads and descriptors is the
 * host's matter, and what dies on the other side does not take the host with it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/sandbox/test/test-common.h"
#include "test/fds.h"

enum { THREADS = 8, COMMANDS = 50 };

/* Nothing is left behind: neither descriptors nor children, zombies included. */
static void exercise(void)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	struct corral_result *r;

	c.input = "x";
	c.input_len = 1;
	for (int i = 0; i < 5; i++) {
		r = test_run(s, "cat; exit 3", &c);
		assert_int_equal(corral_result_exit_code(r), 3);
		assert_string_equal(corral_result_stdout(r, NULL), "x");
		corral_result_free(r);
	}
	corral_sandbox_free(s);
}

static void check_clean(void)
{
	size_t fds = count_fds();
	int children = test_count_children(NULL, NULL);

	exercise();
	assert_int_equal(count_fds(), fds);
	assert_int_equal(test_count_children(NULL, NULL), children);
}

static void test_nothing_left(void **state)
{
	(void)state;
	check_clean();
}

static void test_sigchld_ignored(void **state)
{
	(void)state;
	assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
	check_clean();
	assert_true(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
}

static _Atomic int reaped;

/* As many programs have it. */
static void reap_all(int signal)
{
	int saved = errno;

	(void)signal;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		reaped++;
	errno = saved;
}

static void test_sigchld_handled(void **state)
{
	struct sigaction action = { .sa_handler = reap_all };

	(void)state;
	assert_int_equal(sigaction(SIGCHLD, &action, NULL), 0);
	/* The library may be faster than the handler, but not each time. */
	for (int i = 0; i < 100 && reaped == 0; i++)
		check_clean();
	assert_true(signal(SIGCHLD, SIG_DFL) != SIG_ERR);
	assert_true(reaped >= 1);
}

/* Signals keep coming while the library waits. */
static void on_alarm(int signal)
{
	(void)signal;
}

static void test_interrupted(void **state)
{
	const struct sigaction action = { .sa_handler = on_alarm };
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM };
	const struct itimerspec often = { { 0, 300000 }, { 0, 300000 } };

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &often, NULL), 0);
	exercise();
	assert_int_equal(timer_delete(timer), 0);
	assert_true(signal(SIGALRM, SIG_DFL) != SIG_ERR);
}

/* Everything that the host has open and forgot to mark stays outside. */
static void test_descriptors_stay(void **state)
{
	struct corral_sandbox *s;
	pid_t warden = 0;
	char path[64];
	int leak = open("/etc/passwd", O_RDONLY), high;
	DIR *dir;
	struct dirent *entry;
	char target[128];

	(void)state;
	high = fcntl(leak, F_DUPFD, 200);
	assert_true(leak >= 0 && high >= 200);
	s = test_sandbox();
	assert_true(test_count_children("corral-warden", &warden) >= 1);
	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)warden);
	dir = opendir(path);
	/* It hides from all but root. */
	while (dir && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);

		target[n > 0 ? n : 0] = '\0';
		assert_string_not_equal(target, "/etc/passwd");
	}
	if (dir)
		(void)closedir(dir);
	test_prints(s,
		"for n in 3 4 5 6 7 8 9 200; do test -e /proc/self/fd/$n && echo $n; done; :", "",
		0);
	(void)close(leak);
	(void)close(high);
	corral_sandbox_free(s);
}

/* A host with much memory is never copied. */

static _Atomic int forks;

static void count_fork(void)
{
	forks++;
}

static void test_never_forks(void **state)
{
	enum { BYTES = 300 << 20 };
	char *much = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(much != MAP_FAILED);
	(void)memset(much, 1, BYTES);
	assert_int_equal(pthread_atfork(count_fork, NULL, NULL), 0);
	exercise();
	assert_int_equal(forks, 0);
	assert_int_equal(munmap(much, BYTES), 0);
}

/* SIGPIPE is not raised, and one that the host has pending is left to it. */
static void test_no_sigpipe(void **state)
{
	static char data[1 << 20];
	struct corral_sandbox *s = test_sandbox();
	struct corral_call c = CORRAL_CALL;
	sigset_t set, pending;

	(void)state;
	c.input = data;
	c.input_len = sizeof(data);
	corral_result_free(test_run(s, "exec 0<&-; :", &c));
	assert_int_equal(sigemptyset(&set), 0);
	assert_int_equal(sigaddset(&set, SIGPIPE), 0);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, NULL), 0);
	assert_int_equal(raise(SIGPIPE), 0);
	corral_result_free(test_run(s, "exec 0<&-; :", &c));
	assert_int_equal(sigpending(&pending), 0);
	assert_int_equal(sigismember(&pending, SIGPIPE), 1);
	assert_int_equal(sigwaitinfo(&set, NULL), SIGPIPE);
	corral_result_free(test_run(s, "exec 0<&-; :", &c));
	assert_int_equal(sigpending(&pending), 0);
	assert_int_equal(sigismember(&pending, SIGPIPE), 0);
	assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &set, NULL), 0);
	corral_sandbox_free(s);
}

/* Threads */

struct job {
	struct corral_sandbox *sandbox;
	int number;
	_Atomic int *wrong;
};

static int keep_chunk(void *context, enum corral_stream stream, const void *data, size_t len)
{
	char *to = context;

	(void)stream;
	(void)strncat(to, data, len);
	return 0;
}

static bool run_one(struct job *j, int i)
{
	struct corral_call c = CORRAL_CALL;
	struct corral_result *r = NULL;
	char line[64], expected[32], heard[64] = "";
	bool fine;

	(void)snprintf(line, sizeof(line), "read -r x; echo %d $x; exit %d", j->number, i);
	(void)snprintf(expected, sizeof(expected), "%d %d\n", j->number, i);
	(void)snprintf(line + 60, 4, "%d", i);
	c.input = line + 60;
	c.input_len = strlen(line + 60);
	if (i % 4 == 3) {
		c.output = keep_chunk;
		c.context = heard;
	}
	if (corral_sandbox_execute(j->sandbox, line, &c, &r, NULL) < 0)
		return false;
	fine = corral_result_exit_code(r) == i &&
	       strcmp(c.output ? heard : corral_result_stdout(r, NULL), expected) == 0;
	corral_result_free(r);
	return fine;
}

static void *work(void *data)
{
	struct job *j = data;

	for (int i = 0; i < COMMANDS; i++)
		*j->wrong += !run_one(j, i);
	return NULL;
}

static void test_threads(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_stats stats;
	_Atomic int wrong = 0;
	struct job jobs[THREADS];
	pthread_t threads[THREADS];
	size_t fds = count_fds();

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		jobs[i] = (struct job){ .sandbox = s, .number = i, .wrong = &wrong };
		assert_int_equal(pthread_create(&threads[i], NULL, work, &jobs[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(wrong, 0);
	corral_sandbox_stats(s, &stats, sizeof(stats));
	assert_int_equal(stats.commands, THREADS * COMMANDS);
	assert_int_equal(stats.running, 0);
	assert_int_equal(stats.sessions, 1);
	/* An init that the session lent may have come meanwhile, or gone. */
	assert_true(count_fds() <= fds + 1);
	corral_sandbox_free(s);
}

/* Two threads wait for one process; both get its result. */
static void *await(void *data)
{
	struct corral_result *r = NULL;
	int code = -1;

	if (corral_process_wait(data, -1, &r, NULL) == 0)
		code = corral_result_exit_code(r);
	corral_result_free(r);
	return (void *)(intptr_t)code;
}

static void test_two_waiters(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_process *p = NULL;
	struct corral_call c = CORRAL_CALL;
	pthread_t threads[2];
	void *code;

	(void)state;
	c.flags = CORRAL_CALL_INPUT;
	assert_int_equal(corral_process_start_line(&p, s, "read -r x; exit 6", &c, NULL), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, await, p), 0);
	assert_int_equal(corral_process_write(p, "\n", 1), 1);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(threads[i], &code), 0);
		assert_int_equal((intptr_t)code, 6);
	}
	corral_process_free(p);
	corral_sandbox_free(s);
}

/* Deaths */

static unsigned lost;

static void count_lost(void *context, const struct corral_event *event)
{
	(void)context;
	lost += event->kind == CORRAL_EVENT_LOST;
}

static void killed(pid_t (*victim)(void))
{
	struct corral_builder *b = test_builder();
	struct corral_process *p = NULL;
	struct corral_call c = CORRAL_CALL;
	struct corral_sandbox *s;
	struct corral_stats stats;
	struct corral_error *e = NULL;
	char heard[64] = "";
	size_t fds;

	assert_int_equal(corral_builder_with_audit(b, count_lost, NULL), 0);
	lost = 0;
	s = test_build(b);
	test_prints(s, "echo before", "before\n", 0);
	fds = count_fds();
	c.flags = CORRAL_CALL_INPUT;
	c.output = keep_chunk;
	c.context = heard;
	assert_int_equal(corral_process_start_line(&p, s, "echo ready; read -r x", &c, NULL), 0);
	while (!strchr(heard, '\n'))
		assert_int_equal(corral_process_wait(p, 1, NULL, NULL), -EAGAIN);
	assert_int_equal(kill(victim(), SIGKILL), 0);
	assert_int_equal(corral_process_wait(p, 60000, NULL, &e), -ECONNRESET);
	assert_true(corral_error_message(e)[0]);
	corral_error_free(e);
	corral_process_free(p);
	assert_int_equal(lost, 1);
	/* The next one makes a new session. */
	test_prints(s, "echo after", "after\n", 0);
	assert_true(count_fds() <= fds + 1); /* with a lent init, or without */
	corral_sandbox_stats(s, &stats, sizeof(stats));
	assert_int_equal(stats.sessions, 2);
	assert_int_equal(stats.running, 0);
	corral_sandbox_free(s);
	assert_int_equal(test_count_children(NULL, NULL), 0);
}

static pid_t find_warden(void)
{
	pid_t pid = 0;

	assert_int_equal(test_count_children("corral-warden", &pid), 1);
	return pid;
}

static pid_t find_zygote(void)
{
	pid_t pid = test_child_of(find_warden());

	assert_true(pid > 0);
	return pid;
}

static void test_warden_killed(void **state)
{
	(void)state;
	killed(find_warden);
}

static void test_zygote_killed(void **state)
{
	(void)state;
	killed(find_zygote);
}

/* It dies while nobody looks: the next call does not even notice. */
static void test_killed_at_rest(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	pid_t warden = find_warden();
	siginfo_t info;

	(void)state;
	assert_int_equal(kill(warden, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)warden, &info, WEXITED | WNOWAIT), 0);
	test_prints(s, "echo after", "after\n", 0);
	corral_sandbox_free(s);
	assert_int_equal(test_count_children(NULL, NULL), 0);
}

/* No descriptor is left: an error, nothing half-started, and all is well afterwards. */
static void test_no_descriptors(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	struct corral_error *e = NULL;
	size_t fds = count_fds();
	int taken[4096], n = 0;

	(void)state;
	while (n < 4096 && (taken[n] = fcntl(0, F_DUPFD_CLOEXEC, 0)) >= 0)
		n++;
	if (n < 4096) {
		for (int free_ones = 0; free_ones < 6; free_ones++) {
			assert_true(corral_sandbox_execute(s, "true", NULL, NULL, &e) == -EMFILE ||
				    free_ones >= 5);
			corral_error_free(e);
			e = NULL;
			(void)close(taken[--n]);
		}
	}
	while (n > 0)
		(void)close(taken[--n]);
	assert_true(count_fds() <= fds + 1);
	test_prints(s, "echo fine", "fine\n", 0);
	corral_sandbox_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_left),
		cmocka_unit_test(test_sigchld_ignored),
		cmocka_unit_test(test_sigchld_handled),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_descriptors_stay),
		cmocka_unit_test(test_never_forks),
		cmocka_unit_test(test_no_sigpipe),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_two_waiters),
		cmocka_unit_test(test_warden_killed),
		cmocka_unit_test(test_zygote_killed),
		cmocka_unit_test(test_killed_at_rest),
		cmocka_unit_test(test_no_descriptors),
	};

	return cmocka_run_group_tests_name("host", tests, test_make_folder, test_remove_folder);
}
