// SPDX-License-Identifier: Apache-2.0
/*
 * attempt NAME            tries one thing; the exit status is an enum outcome
 * attempt --many NAME…    tries several, each in a process of its own with a time limit, and prints
 *                         one line for each: NAME, status (128+n: killed by signal n), note
 * attempt --list          prints the tables: theme, name, set, needs, idea; by tabs
 * attempt --ran           exits with RAN: the program that should not have run
 * attempt --which         exits with RAN if its file is called `unlisted`
 * attempt --uid           exits with RAN if it runs as another user than it was started by
 * attempt --caps          exits with RAN if it has any capability
 * attempt --granted       exits with 0 if it reaches the server that the set `relay` grants
 * attempt --handle FILE   prints the file's handle for open_by_handle_at()
 *
 * Exit statuses lie in a small space, so that what the sandbox itself exits with (124 and up) can
 * be told from what an attempt found.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"

#define SECONDS 120 /* for one attempt; none needs more than one or two on an idle machine */

static const struct theme *const themes[] = { &theme_files, &theme_readonly, &theme_deny,
	&theme_proc, &theme_process, &theme_mount, &theme_namespace, &theme_kernel, &theme_device,
	&theme_socket, &theme_family, &theme_relay, &theme_exec, &theme_fd, &theme_env, &theme_ipc,
	&theme_own, &theme_limit, &theme_tty, &theme_race, &theme_outside };

/* Shared with the child of --many. */
static char *note_text;
#define NOTE_SIZE 256

static const struct attempt *find(const char *name)
{
	for (size_t t = 0; t < sizeof(themes) / sizeof(*themes); t++)
		for (size_t i = 0; i < themes[t]->n; i++)
			if (!strcmp(themes[t]->attempts[i].name, name))
				return &themes[t]->attempts[i];
	broken("no attempt is called %s", name);
}

static void list(void)
{
	for (size_t t = 0; t < sizeof(themes) / sizeof(*themes); t++)
		for (size_t i = 0; i < themes[t]->n; i++) {
			const struct attempt *a = &themes[t]->attempts[i];

			printf("%s\t%s\t%s\t%s\t%s\n", themes[t]->title, a->name, a->set, a->needs,
				a->idea);
		}
}

static int run(const struct attempt *a)
{
	scene("ws"); /* reads the file, before the attempt goes elsewhere */
	return a->run(a);
}

static void one_of_many(const char *name)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		broken("fork: %s", strerror(errno));
	if (pid == 0) {
		setpgid(0, 0);
		alarm(SECONDS);
		_exit(run(find(name)));
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			broken("waitpid: %s", strerror(errno));
	printf("%s\t%d\t%s\n", name,
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), note_text);
	fflush(stdout);
	note_text[0] = '\0';
}

static void print_handle(const char *path)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = { .h.handle_bytes = MAX_HANDLE_SZ };
	int mount;

	if (name_to_handle_at(AT_FDCWD, path, &u.h, &mount, 0) < 0)
		exit(1);
	printf("%d:", u.h.handle_type);
	for (unsigned i = 0; i < u.h.handle_bytes; i++)
		printf("%02x", u.h.f_handle[i]);
	printf("\n");
}

static bool has_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	return syscall(SYS_capget, &head, data) == 0 && (data[0].effective || data[1].effective);
}

static bool is_unlisted(void)
{
	char path[4096] = "";

	return readlink("/proc/self/exe", path, sizeof(path) - 1) > 0 && strstr(path, "/unlisted");
}

int main(int argc, char **argv)
{
	note_text =
		mmap(NULL, NOTE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (note_text == MAP_FAILED || argc < 2)
		return BROKEN;
	if (!strcmp(argv[1], "--ran"))
		return RAN;
	if (!strcmp(argv[1], "--which"))
		return is_unlisted() ? RAN : 0;
	if (!strcmp(argv[1], "--uid"))
		return geteuid() != getuid() ? RAN : 0;
	if (!strcmp(argv[1], "--caps"))
		return has_capabilities() ? RAN : 0;
	if (!strcmp(argv[1], "--granted"))
		return relay_granted();
	if (!strcmp(argv[1], "--list"))
		list();
	else if (!strcmp(argv[1], "--handle") && argc == 3)
		print_handle(argv[2]);
	else if (!strcmp(argv[1], "--many"))
		for (int i = 2; i < argc; i++)
			one_of_many(argv[i]);
	else {
		const struct attempt *a = find(argv[1]);
		int result;

		alarm(SECONDS);
		result = run(a);
		fprintf(stderr, "%s: %s\n", a->name, note_text);
		return result;
	}
	return fflush(stdout) ? BROKEN : 0;
}

/* -- what the attempts share ------------------------------------------------------------------ */

void note(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(note_text, NOTE_SIZE, fmt, args);
	va_end(args);
	for (char *p = note_text; *p; p++)
		if (*p == '\n' || *p == '\t' || *p == '#')
			*p = ' ';
}

void broken(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(note_text, NOTE_SIZE, fmt, args);
	va_end(args);
	fprintf(stderr, "broken: %s\n", note_text);
	_exit(BROKEN);
}

char *format(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		abort();
	va_end(args);
	return text;
}

static const char *scene_find(const char *key)
{
	static char text[16384];
	size_t n = strlen(key);

	if (!text[0]) {
		int fd = open("scene", O_RDONLY | O_CLOEXEC);
		ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

		if (got <= 0)
			broken("cannot read the scene: %s", strerror(errno));
		close(fd);
	}
	for (const char *line = text; *line; line++) {
		const char *end = strchrnul(line, '\n');

		if (!strncmp(line, key, n) && line[n] == '=')
			return strndup(line + n + 1, (size_t)(end - line) - n - 1);
		line = end;
		if (!*line)
			break;
	}
	return NULL;
}

bool scene_has(const char *key)
{
	return scene_find(key) != NULL;
}

const char *scene(const char *key)
{
	const char *value = scene_find(key);

	if (!value)
		broken("the scene has no %s", key);
	return value;
}

bool is_inside(void)
{
	return scene_number("keeper") == 1;
}

long scene_number(const char *key)
{
	return strcmp(key, "self") ? strtol(scene(key), NULL, 10) : getpid();
}

char *out_file(const struct attempt *a)
{
	return format("%s/%s", scene("out"), a->name);
}

char *out_made(const struct attempt *a)
{
	return format("%s/%s.made", scene("out"), a->name);
}

char *ro_file(const struct attempt *a)
{
	return format("%s/%s", scene("ro"), a->name);
}

char *work_file(const struct attempt *a)
{
	return format("%s/%s.work", scene("ws"), a->name);
}

int verdict(long result)
{
	if (result >= 0) {
		note("it worked");
		return ESCAPED;
	}
	note("%s", strerrorname_np(errno));
	return errno == ENOSYS ? ABSENT : HELD;
}

int claim(long result)
{
	int v = verdict(result);

	return v == ESCAPED ? DONE : v;
}

int permitted(long result, int wanted)
{
	if (result < 0 && errno == wanted) {
		note("permitted: the kernel got as far as %s", strerrorname_np(wanted));
		return ESCAPED;
	}
	return verdict(result);
}

bool has_canary(const void *data, size_t n)
{
	static const char mark[] = "canary=";
	const char *p = data, *end = p + n;

	while ((p = memmem(p, (size_t)(end - p), mark, sizeof(mark) - 1))) {
		p += sizeof(mark) - 1;
		size_t digits = 0;

		while (digits < 32 && p + digits < end && isxdigit((unsigned char)p[digits]))
			digits++;
		if (digits == 32)
			return true;
	}
	return false;
}

int canary_fd(int fd)
{
	static char data[65537];
	ssize_t n;

	if (fd < 0 || (n = read(fd, data, sizeof(data) - 1)) < 0) {
		int v = verdict(-1);

		if (fd >= 0)
			close(fd);
		return v;
	}
	close(fd);
	data[n] = '\0';
	if (!has_canary(data, (size_t)n)) {
		note("read %zd bytes, no canary", n);
		return HELD;
	}
	note("saw the canary");
	return ESCAPED;
}

int canary_file(const char *path)
{
	return canary_fd(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

void make_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd) < 0)
		broken("cannot make %s: %s", path, strerror(errno));
}

void copy_to(const char *from, int fd)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	char data[65536];
	ssize_t n = -1;

	while (in >= 0 && (n = read(in, data, sizeof(data))) > 0)
		if (write(fd, data, (size_t)n) != n)
			broken("cannot write a copy of %s: %s", from, strerror(errno));
	if (n < 0)
		broken("cannot read %s: %s", from, strerror(errno));
	close(in);
}

void copy_file(const char *from, const char *to)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (fd < 0)
		broken("cannot make %s: %s", to, strerror(errno));
	copy_to(from, fd);
	if (fchmod(fd, 0755) < 0 || close(fd) < 0)
		broken("cannot finish %s: %s", to, strerror(errno));
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			broken("waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int in_child(int (*f)(void *), void *arg)
{
	pid_t pid = fork();

	if (pid < 0)
		broken("fork: %s", strerror(errno));
	if (pid == 0)
		_exit(f(arg));
	return wait_for(pid);
}

int run_program(const char *path, char *const argv[])
{
	int *error = mmap(
		NULL, sizeof(*error), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	if (error == MAP_FAILED || (pid = fork()) < 0)
		broken("fork: %s", strerror(errno));
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		if (null >= 0) {
			dup2(null, 1);
			dup2(null, 2);
		}
		execve(path, argv, environ);
		*error = errno;
		_exit(127);
	}
	status = wait_for(pid);
	return *error ? -*error : status;
}
