/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Brokers of sandboxes that a host program makes (corral_builder_with_broker). argv[1] is
 * corral-broker; the commands inside are this program again.
 */
#include "test/unit.h"

#include <arpa/inet.h>
#include <corral/audit.h>
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
#include "test/scratch.h"

enum { PROCESSES = 64, WAIT_MS = 60000 };

#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"
#define READ                                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fs.read\",\"params\":{\"path\":\"/etc/" \
	"hostname\"}}"

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

/* The same by HTTP; "-": with another token. */
static int call_by_http(const char *token)
{
	const char *url = getenv("SANDBOX_HTTP_URL"), *own = getenv("SANDBOX_TOKEN");
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[4096];
	ssize_t n;

	if (!url || !own || strncmp(url, "http://127.0.0.1:", 17) != 0)
		return 4;
	address.sin_port = htons((uint16_t)strtoul(url + 17, NULL, 10));
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return 3;
	if (dprintf(fd,
		    "POST /rpc HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nAuthorization: Bearer %s\r\n"
		    "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		    ntohs(address.sin_port), strcmp(token, "-") ? own : token, strlen(PING),
		    PING) < 0)
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

static pid_t parent_of_number(pid_t pid, const char *name)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%d", (int)pid);
	return parent_of(text, name);
}

/* Processes of that name of our sandboxes: children of our wardens, or of what those left behind.
 */
static size_t find_processes(const char *name, pid_t ret[PROCESSES])
{
	static const char *const between[] = { "(corral-broker)", "(corral-keeper)" };
	const struct dirent *entry;
	DIR *all = opendir("/proc");
	size_t n = 0;

	assert_non_null(all);
	while ((entry = readdir(all)) && n < PROCESSES) {
		pid_t parent = parent_of(entry->d_name, name);

		/* A child of a broker has its name until it has one of its own. */
		if (strcmp(name, between[0]) == 0 && parent_of_number(parent, between[0]))
			continue;
		for (size_t i = 0; i < ROWS(between); i++)
			if (parent_of_number(parent, between[i]))
				parent = parent_of_number(parent, between[i]);
		if (parent && parent_of_number(parent, "(corral-warden)") == getpid())
			ret[n++] = (pid_t)strtol(entry->d_name, NULL, 10);
	}
	(void)closedir(all);
	return n;
}

static size_t find_brokers(pid_t ret[PROCESSES])
{
	return find_processes("(corral-broker)", ret);
}

static bool await_brokers(size_t wanted)
{
	pid_t pids[PROCESSES];

	for (int i = 0; i < WAIT_MS / 10; i++) {
		if (find_brokers(pids) == wanted)
			return true;
		(void)usleep(10000);
	}
	return false;
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
static int run_by(struct corral_sandbox *s, const char *way, const char *request, char **out)
{
	const char *const argv[] = { self, way, request, NULL };
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

static int run(struct corral_sandbox *s, const char *request, char **out)
{
	return run_by(s, "call", request, out);
}

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

/* Until a call ends like that. */
static void await_code(struct corral_sandbox *s, int code)
{
	for (int i = 0; i < WAIT_MS / 10 && run(s, PING, NULL) != code; i++)
		(void)usleep(10000);
	assert_int_equal(run(s, PING, NULL), code);
}

/* The broker that is there after the one of that number. */
static pid_t await_another(pid_t before)
{
	pid_t pids[PROCESSES] = { 0 };

	for (int i = 0; i < WAIT_MS / 10; i++) {
		if (find_brokers(pids) == 1 && pids[0] != before)
			return pids[0];
		(void)usleep(10000);
	}
	fail_msg("there is no other broker");
	return 0;
}

static pid_t await_one(const char *name)
{
	pid_t pids[PROCESSES] = { 0 };

	for (int i = 0; i < WAIT_MS / 10; i++) {
		if (find_processes(name, pids) == 1)
			return pids[0];
		(void)usleep(10000);
	}
	fail_msg("there is not one %s", name);
	return 0;
}

/* A warden is confined, and has left a process that starts it again: a few times. Then calls are
 * refused, and commands run. */
static void is_started_again(void **state)
{
	struct corral_sandbox *s = build(builder());
	pid_t fronts[PROCESSES], last = 0;

	(void)state;
	for (int i = 0; i < 4; i++) {
		last = await_another(last);
		await_code(s, 0);
		/* The other half, which the broker itself replaces. */
		assert_int_equal(kill(await_one("(corral-front)"), SIGKILL), 0);
		await_code(s, 0);
		assert_int_equal(kill(last, SIGKILL), 0);
	}
	assert_true(await_brokers(0));
	await_code(s, 3);
	corral_sandbox_free(s);
	for (int i = 0; i < WAIT_MS / 10 && find_processes("(corral-keeper)", fronts) > 0; i++)
		(void)usleep(10000);
	assert_int_equal(find_processes("(corral-keeper)", fronts), 0);
}

/* Without the keeper it stays dead, and nothing waits. */
static void goes_on_without(void **state)
{
	struct corral_sandbox *s = build(builder());
	pid_t pids[PROCESSES];

	(void)state;
	assert_int_equal(run(s, PING, NULL), 0);
	assert_int_equal(kill(await_one("(corral-keeper)"), SIGKILL), 0);
	assert_int_equal(find_brokers(pids), 1);
	assert_int_equal(kill(pids[0], SIGKILL), 0);
	await_code(s, 3);
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

/* Grants and sections that the host gives reach the broker, and what is wrong is said by calls. */
static void has_services_of_the_host(void **state)
{
	static const char request[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
				      "\"notifications.send\",\"params\":{\"title\":\"x\"}}";
	char folder[] = "/tmp/corral-backends-XXXXXX", program[64];
	struct corral_builder *b = builder();
	struct corral_sandbox *s;
	char *out = NULL;

	(void)state;
	/* It is not started: the configuration is read before. */
	assert_non_null(mkdtemp(folder));
	(void)snprintf(program, sizeof(program), "%s/corral-desktop", folder);
	assert_int_equal(symlink("/bin/false", program), 0);
	assert_int_equal(setenv("CORRAL_BACKENDS", folder, 1), 0);
	assert_int_equal(corral_builder_allow_service(b, "no such"), -EINVAL);
	corral_builder_free(b);
	b = builder();
	assert_int_equal(corral_builder_services(b, "a: {"), -EINVAL);
	corral_builder_free(b);
	b = builder();
	assert_int_equal(corral_builder_services(b, "notifications:\n  colour: red\n"), 0);
	s = build(b);
	assert_int_equal(run(s, request, &out), 0);
	assert_non_null(strstr(out, "-32001"));
	free(out);
	corral_sandbox_free(s);
	b = builder();
	assert_int_equal(corral_builder_allow_service(b, "notifications.send"), 0);
	assert_int_equal(corral_builder_services(b, "notifications:\n  colour: red\n"), 0);
	s = build(b);
	assert_int_equal(run(s, request, &out), 0);
	if (!strstr(out, "-32005") || !strstr(out, "services:2: unknown key `colour`"))
		fail_msg("%s", out);
	free(out);
	corral_sandbox_free(s);
	assert_int_equal(unlink(program), 0);
	assert_int_equal(rmdir(folder), 0);
}

static void serves_http(void **state)
{
	struct corral_builder *b = builder();
	struct corral_sandbox *s, *other;
	char *text = NULL;

	(void)state;
	s = build(builder());
	assert_int_equal(run_by(s, "http", "own", NULL), 4);
	corral_sandbox_free(s);
	assert_int_equal(corral_builder_broker_http(b), 0);
	s = build(b);
	assert_int_equal(run_by(s, "http", "own", &text), 0);
	assert_non_null(strstr(text, "HTTP/1.1 200"));
	assert_non_null(strstr(text, "\"pong\":true"));
	free(text);
	assert_int_equal(run_by(s, "http", "-", &text), 0);
	assert_non_null(strstr(text, "HTTP/1.1 401"));
	free(text);
	/* Another sandbox has another token, and the same port. */
	b = builder();
	assert_int_equal(corral_builder_broker_http(b), 0);
	other = build(b);
	assert_int_equal(run_by(other, "http", "own", &text), 0);
	assert_non_null(strstr(text, "HTTP/1.1 200"));
	free(text);
	corral_sandbox_free(other);
	corral_sandbox_free(s);
}

/* Whether these words are in that file. */
static bool has(const char *path, const char *words)
{
	static char bytes[1 << 20];
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(bytes, 1, sizeof(bytes), f) : 0;

	if (f)
		(void)fclose(f);
	return memmem(bytes, n, words, strlen(words));
}

/* One that does not reach the log's folder. */
static struct corral_builder *builder_without(const char *folder)
{
	struct corral_builder *b = NULL;
	struct corral_permissions *p = NULL;
	char text[256];
	int n = snprintf(text, sizeof(text),
		"{\"fs\":{\"read\":[\"/**\"],\"deny\":[\"%s\",\"%s/**\"]}}", folder, folder);

	assert_int_equal(corral_permissions_parse(&p, "policy", text, (size_t)n, NULL), 0);
	assert_int_equal(corral_builder_from_permissions(&b, p), 0);
	corral_permissions_free(p);
	assert_int_equal(corral_builder_with_broker(b, NULL), 0);
	return b;
}

static void is_in_the_log(void **state)
{
	char folder[] = "/tmp/corral-library-XXXXXX", path[128], other[128], wal[160];
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
	struct corral_audit *audit = NULL;
	struct corral_builder *b;
	struct corral_sandbox *s = NULL;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/log", folder);
	(void)snprintf(other, sizeof(other), "%s/key", folder);
	o.path = path;
	o.session = "of-this-host";
	assert_int_equal(corral_audit_new(&audit, &o, NULL), 0);
	b = builder_without(folder);
	assert_int_equal(corral_builder_with_audit(b, corral_audit_sandbox, audit), 0);
	s = build(b);
	assert_int_equal(run(s, READ, NULL), 0);
	corral_sandbox_free(s);
	assert_int_equal(corral_audit_free(audit, NULL), 0);
	assert_true(has(path, "/etc/hostname"));
	assert_true(has(path, "of-this-host"));
	/* The host writes it, wherever its key is. */
	o.key_path = other;
	(void)snprintf(path, sizeof(path), "%s/other", folder);
	assert_int_equal(corral_audit_new(&audit, &o, NULL), 0);
	b = builder_without(folder);
	assert_int_equal(corral_builder_with_audit(b, corral_audit_sandbox, audit), 0);
	s = build(b);
	assert_int_equal(run(s, READ, NULL), 0);
	/* It was told before the command ended. SQLite keeps it beside the log first. */
	assert_int_equal(corral_audit_flush(audit, NULL), 0);
	(void)snprintf(wal, sizeof(wal), "%s-wal", path);
	assert_true(has(wal, "/etc/hostname"));
	corral_sandbox_free(s);
	assert_int_equal(corral_audit_free(audit, NULL), 0);
	assert_true(has(path, "/etc/hostname"));
	(void)scratch_remove(folder);
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
		cmocka_unit_test(is_started_again),
		cmocka_unit_test(goes_on_without),
		cmocka_unit_test(has_the_permissions_of_now),
		cmocka_unit_test(says_what_is_missing),
		cmocka_unit_test(is_not_there_unless_asked_for),
		cmocka_unit_test(has_services_of_the_host),
		cmocka_unit_test(serves_http),
		cmocka_unit_test(is_in_the_log),
	};

	/* Not return: no sanitizer can look for leaks where there is no looking at oneself. */
	if (argc == 3 && strcmp(argv[1], "call") == 0)
		_exit(call(argv[2]));
	if (argc == 3 && strcmp(argv[1], "http") == 0)
		_exit(call_by_http(argv[2]));
	if (argc != 2 || !realpath(argv[1], broker) || setenv("CORRAL_BROKER", broker, 1) < 0 ||
		unsetenv("SANDBOX_SOCKET") < 0 ||
		readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 2;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
