/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brokers of sandboxes that a host program makes (corral_builder_with_broker). argv[1] is
 * corral-broker; the commands inside are this program again.
 */
#include "test/unit.h"

#include <corral/sandbox.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"

enum { PROCESSES = 64, WAIT_MS = 20000 };

static char self[4096], broker[4096];

/* Inside: prints what the broker answers to the request. */
static int call(const char *request)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("SANDBOX_SOCKET");
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[4096];
	ssize_t n;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path ? path : "");
	if (!path || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return path ? 3 : 4;
	if (dprintf(fd, "%s\n", request) < 0)
		return 5;
	n = read(fd, text, sizeof(text));
	return n > 0 && write(1, text, (size_t)n) == n ? 0 : 6;
}

/* The parent of a process that lives and has that name; 0: it is not so. */
static pid_t parent_of(const char *pid, const char *name)
{
	char path[300], line[256] = "";
	const char *after;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "re");
	if (f && !fgets(line, sizeof(line), f))
		line[0] = '\0';
	if (f)
		(void)fclose(f);
	after = strrchr(line, ')');
	return after && after[2] != 'Z' && strstr(line, name) ? (pid_t)strtol(after + 3, NULL, 10)
							      : 0;
}

/* The brokers of our sandboxes: children of our wardens. */
static size_t find_brokers(pid_t ret[PROCESSES])
{
	const struct dirent *entry;
	DIR *all = opendir("/proc");
	size_t n = 0;

	assert_non_null(all);
	while ((entry = readdir(all)) && n < PROCESSES) {
		char warden[16];

		(void)snprintf(warden, sizeof(warden), "%d",
			(int)parent_of(entry->d_name, "(corral-broker)"));
		if (parent_of(warden, "(corral-warden)") == getpid())
			ret[n++] = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	(void)closedir(all);
	return n;
}

static bool await_brokers(size_t wanted)
{
	pid_t pids[PROCESSES];

	for (int i = 0; i < WAIT_MS / 10 && find_brokers(pids) != wanted; i++)
		(void)usleep(10000);
	return find_brokers(pids) == wanted;
}

static struct corral_builder *builder(void)
{
	struct corral_builder *b = NULL;

	assert_int_equal(corral_builder_new(&b), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/**"), 0);
	assert_int_equal(corral_builder_with_broker(b, NULL), 0);
	return b;
}

static struct corral_sandbox *build(struct corral_builder *b)
{
	struct corral_sandbox *s = NULL;
	struct corral_error *e = NULL;

	if (corral_builder_build(b, &s, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	corral_builder_free(b);
	return s;
}

/* The exit code; out: what it printed, for the caller to free. */
static int run(struct corral_sandbox *s, const char *request, char **out)
{
	const char *const argv[] = { self, "call", request, NULL };
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int code;

	if (corral_sandbox_execute_argv(s, argv, NULL, &result, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	code = corral_result_exit_code(result);
	if (out)
		*out = strdup(corral_result_stdout(result, NULL));
	corral_result_free(result);
	return code;
}

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define READ                                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fs.read\",\"params\":{\"path\":\"/etc/" \
	"hostname\"}}"

static void answers(void **state)
{
	struct corral_sandbox *s = build(builder());
	pid_t pids[PROCESSES];
	char *text = NULL;

	(void)state;
	assert_int_equal(find_brokers(pids), 1);
	assert_int_equal(run(s, PING, &text), 0);
	assert_non_null(strstr(text, "\"pong\":true"));
	free(text);
	corral_sandbox_free(s);
	assert_true(await_brokers(0));
}

/* A warden that is confined cannot start it again: calls are refused, and commands run. */
static void goes_on_without(void **state)
{
	struct corral_sandbox *s = build(builder());
	pid_t pids[PROCESSES];

	(void)state;
	assert_int_equal(run(s, PING, NULL), 0);
	assert_int_equal(find_brokers(pids), 1);
	assert_int_equal(kill(pids[0], SIGKILL), 0);
	assert_true(await_brokers(0));
	for (int i = 0; i < WAIT_MS / 10 && run(s, PING, NULL) != 3; i++)
		(void)usleep(10000);
	assert_int_equal(run(s, PING, NULL), 3);
	corral_sandbox_free(s);
}

/* A broker keeps its permissions: with others there is another. */
static void has_the_permissions_of_now(void **state)
{
	static const char less[] = "{\"fs\": {\"read\": [\"/**\"], \"deny\": [\"/etc/hostname\"]}}";
	struct corral_sandbox *s = build(builder());
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;
	char *text = NULL;

	(void)state;
	assert_int_equal(run(s, READ, &text), 0);
	if (!strstr(text, "\"content\""))
		fail_msg("%s", text);
	free(text);
	assert_int_equal(corral_permissions_parse(&p, "less", less, sizeof(less) - 1, &e), 0);
	if (corral_sandbox_update(s, (const struct corral_permissions *const[]){ p }, 1, NULL, &e) <
		0)
		fail_msg("%s", corral_error_message(e));
	corral_permissions_free(p);
	assert_int_equal(run(s, READ, &text), 0);
	if (!strstr(text, "-32001") && !strstr(text, "-32007"))
		fail_msg("%s", text);
	free(text);
	assert_true(await_brokers(1));
	corral_sandbox_free(s);
	assert_true(await_brokers(0));
}

static void says_what_is_missing(void **state)
{
	static const struct {
		const char *program;
		int code;
		const char *text;
	} rows[] = {
		{ "/no/such/broker", -ENOENT, "/no/such/broker" },
		{ "/etc/passwd", -EACCES, "/etc/passwd" },
		{ "/bin/false", -ECONNRESET, "the broker exited with status 1" },
	};
	const char *before = strdup(getenv("CORRAL_BROKER"));

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct corral_builder *b = NULL;
		struct corral_sandbox *s = NULL;
		struct corral_error *e = NULL;

		assert_int_equal(setenv("CORRAL_BROKER", rows[i].program, 1), 0);
		b = builder();
		assert_int_equal(corral_builder_build(b, &s, &e), rows[i].code);
		if (!strstr(corral_error_message(e), rows[i].text))
			fail_msg("%s", corral_error_message(e));
		corral_error_free(e);
		corral_builder_free(b);
	}
	assert_int_equal(setenv("CORRAL_BROKER", before, 1), 0);
	free((void *)(uintptr_t)before);
	assert_true(await_brokers(0));
}

static void is_not_there_unless_asked_for(void **state)
{
	struct corral_builder *b = NULL;
	struct corral_sandbox *s;
	pid_t pids[PROCESSES];

	(void)state;
	assert_int_equal(corral_builder_new(&b), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/**"), 0);
	s = build(b);
	assert_int_equal(find_brokers(pids), 0);
	assert_int_equal(run(s, PING, NULL), 4);
	corral_sandbox_free(s);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(goes_on_without),
		cmocka_unit_test(has_the_permissions_of_now),
		cmocka_unit_test(says_what_is_missing),
		cmocka_unit_test(is_not_there_unless_asked_for),
	};

	/* Not return: no sanitizer can look for leaks where there is no looking at oneself. */
	if (argc == 3 && strcmp(argv[1], "call") == 0)
		_exit(call(argv[2]));
	if (argc != 2 || !realpath(argv[1], broker) || setenv("CORRAL_BROKER", broker, 1) < 0 ||
		unsetenv("SANDBOX_SOCKET") < 0 ||
		readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
