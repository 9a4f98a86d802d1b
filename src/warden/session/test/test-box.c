/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "warden/session/test/test-box.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/limits/rlimits.h"
#include "warden/session/internal.h"

static struct plan_entry entries[] = {
	{ .kind = PLAN_DIR, .path = "/etc" },
	{ .kind = PLAN_FILE, .path = "/etc/passwd", .text = "u:x:0:0::/home/u:/bin/sh\n" },
	{ .kind = PLAN_DIR, .path = "/home" },
	{ .kind = PLAN_TMP, .path = "/home/u", .exec = true },
	{ .kind = PLAN_TMP, .path = "/tmp", .exec = true },
	{ .kind = PLAN_BIND, .path = "/usr", .is_dir = true, .exec = true },
};
static const char *const roots[] = { "/bin", "/lib", "/lib64", "/sbin" };
static struct plan_entry all[16];
static char targets[4][256];

/* Where the host has links into /usr the jail has the same; where it has folders, binds. */
static size_t add_root(size_t n, size_t i)
{
	struct plan_entry *e = &all[n];
	struct stat st;
	ssize_t len;

	if (lstat(roots[i], &st) < 0)
		return n;
	*e = (struct plan_entry){ .path = roots[i], .is_dir = true, .exec = true };
	e->kind = S_ISLNK(st.st_mode) ? PLAN_LINK : PLAN_BIND;
	e->dev = st.st_dev;
	e->ino = st.st_ino;
	len = S_ISLNK(st.st_mode) ? readlink(roots[i], targets[i], sizeof(targets[i]) - 1) : 0;
	targets[i][len < 0 ? 0 : len] = '\0';
	e->text = targets[i];
	return n + 1;
}

void box_plan(struct plan *p)
{
	size_t n = ROWS(entries);
	struct stat st;

	assert_int_equal(stat("/usr", &st), 0);
	memcpy(all, entries, sizeof(entries));
	all[n - 1].dev = st.st_dev;
	all[n - 1].ino = st.st_ino;
	for (size_t i = 0; i < 4; i++)
		n = add_root(n, i);
	*p = (struct plan){ .entries = all, .n = n, .home = "/home/u" };
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		p->limits.values[i] = LIMIT_NONE;
}

static void on_event(void *context, const struct session_event *event)
{
	struct seen *seen = context;

	/* Of the network, and told at any time. */
	if (event->kind == SESSION_RECORD) {
		seen->n_records++;
		(void)snprintf(seen->target, sizeof(seen->target), "%s", event->record->target);
		(void)snprintf(seen->program, sizeof(seen->program), "%s", event->record->program);
		return;
	}
	assert_true(seen->n < BOX_EVENTS);
	if (event->refusal.text)
		(void)snprintf(seen->texts[seen->n], 256, "%s", event->refusal.text);
	seen->events[seen->n++] = *event;
}

void box_until(struct session *s, struct seen *seen, size_t n)
{
	for (int i = 0; i < BOX_ROUNDS && seen->n < n; i++) {
		struct pollfd p = { .fd = session_fd(s), .events = POLLIN };

		assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
		if (session_dispatch(s) < 0)
			return;
	}
	assert_true(seen->n >= n);
}

void box_await_spare(struct session *s)
{
	while (s->n_spares == 0 || s->n_asked > 0) {
		struct pollfd p = { .fd = session_fd(s), .events = POLLIN };

		assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
		assert_int_equal(session_dispatch(s), 0);
	}
}

struct session *box_open(const struct plan *p, struct seen *seen, bool single)
{
	const struct session_options o = { .single = single };
	const struct session_handler h = { .event = on_event, .context = seen };
	struct session *s = NULL;
	struct error e = { 0 };

	if (session_prepare(&s, &o, &e) < 0 || session_build(s, p, &h, &e) < 0)
		fail_msg("%s (%s)", e.text, e.hint);
	return s;
}

struct session *box_begin(const struct plan *p, struct seen *seen)
{
	const struct session_options o = { .single = true };
	const struct session_handler h = { .event = on_event, .context = seen };
	struct session *s = NULL;
	struct error e = { 0 };

	if (session_prepare(&s, &o, &e) < 0 || session_build_begin(s, p, &h, &e) < 0)
		fail_msg("%s (%s)", e.text, e.hint);
	return s;
}

struct start box_shell(const char **argv, const char *line)
{
	static const char *env[] = { "PATH=/usr/bin:/bin", NULL };

	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = line;
	argv[3] = NULL;
	return (struct start){
		.cwd = "/", .program = "/bin/sh", .argv = argv, .n_argv = 3, .env = env, .n_env = 1
	};
}

void box_start(struct session *s, uint64_t id, const char *line, int out, uint64_t ms)
{
	const char *argv[4];
	struct start start = box_shell(argv, line);
	struct error e = { 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int stdio[3] = { null, out >= 0 ? out : null, 2 };

	start.timeout_ms = ms;
	/* A pipe for this command alone: whoever reads it does not dispatch meanwhile. */
	start.flags = START_OWN_STDOUT;
	if (session_start(s, id, &start, stdio, &e) < 0)
		fail_msg("%s", e.text);
	(void)close(null);
}

int box_run(struct session *s, struct seen *seen, uint64_t id, const char *line)
{
	seen->n = 0;
	box_start(s, id, line, -1, 0);
	box_until(s, seen, 1);
	if (seen->events[0].kind == SESSION_REFUSED)
		fail_msg("%s", seen->texts[0]);
	box_until(s, seen, 2);
	assert_int_equal(seen->events[0].kind, SESSION_STARTED);
	assert_int_equal(seen->events[1].kind, SESSION_EXITED);
	assert_int_equal(seen->events[1].report.signal, 0);
	return seen->events[1].report.exit_code;
}

void cover_write(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

struct plan_entry cover_entry(enum plan_kind kind, const char *path, bool writable, bool over)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return (struct plan_entry){ .kind = kind,
		.path = path,
		.is_dir = S_ISDIR(st.st_mode),
		.writable = writable,
		.over = over,
		.dev = st.st_dev,
		.ino = st.st_ino };
}

void cover_make(struct cover *c)
{
	size_t n;

	box_plan(&c->plan);
	n = c->plan.n;
	memcpy(c->entries, c->plan.entries, n * sizeof(c->entries[0]));
	(void)snprintf(c->folder, sizeof(c->folder), "/tmp/test-session.XXXXXX");
	assert_non_null(mkdtemp(c->folder));
	(void)snprintf(c->secret, sizeof(c->secret), "%s/secret", c->folder);
	(void)snprintf(c->kept, sizeof(c->kept), "%s/kept", c->folder);
	cover_write(c->secret, "old secret");
	cover_write(c->kept, "old");
	c->entries[n++] = cover_entry(PLAN_BIND, c->folder, true, false);
	c->entries[n++] = cover_entry(PLAN_BIND, c->kept, false, true);
	c->entries[n++] = cover_entry(PLAN_MASK, c->secret, false, true);
	c->plan.entries = c->entries;
	c->plan.n = n;
}

void cover_remove(struct cover *c)
{
	(void)unlink(c->secret);
	(void)unlink(c->kept);
	assert_int_equal(rmdir(c->folder), 0);
}

int cover_run(struct session *s, struct seen *seen, const struct cover *c, const char *format)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "cd %s && ", c->folder);
	(void)snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s", format);
	return box_run(s, seen, 1, line);
}

/* As an editor saves. */
void cover_replace(const char *path, const char *text)
{
	char other[128];

	(void)snprintf(other, sizeof(other), "%s.new", path);
	cover_write(other, text);
	assert_int_equal(rename(other, path), 0);
}

/* Processes, from outside. */

static bool is_child(pid_t pid, const pid_t *parents, size_t n)
{
	char path[64], text[512];
	const char *p;
	ssize_t len;
	long parent;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (len <= 0)
		return false;
	text[len] = '\0';
	p = strrchr(text, ')');
	/* ") S 123": a zombie is nobody's. */
	if (!p || p[2] == 'Z')
		return false;
	parent = strtol(p + 4, NULL, 10);
	for (size_t i = 0; i < n; i++)
		if (parents[i] == parent)
			return true;
	return false;
}

static bool has(const pid_t *pids, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Adds the children of the first `parents` of them. */
static size_t add_children(pid_t *pids, size_t parents, size_t n)
{
	DIR *proc = opendir("/proc");
	struct dirent *d;

	assert_non_null(proc);
	while ((d = readdir(proc)) && n < BOX_FAMILY) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 0 && !has(pids, n, pid) && is_child(pid, pids, parents))
			pids[n++] = pid;
	}
	(void)closedir(proc);
	return n;
}

static size_t without_root(pid_t *pids, size_t n)
{
	memmove(pids, pids + 1, (n - 1) * sizeof(*pids));
	return n - 1;
}

size_t box_children(pid_t root, pid_t pids[BOX_FAMILY])
{
	pids[0] = root;
	return without_root(pids, add_children(pids, 1, 1));
}

size_t box_family(pid_t root, pid_t pids[BOX_FAMILY])
{
	size_t n = 1;
	size_t before;

	pids[0] = root;
	do {
		before = n;
		n = add_children(pids, n, n);
	} while (n > before);
	return without_root(pids, n);
}

void box_hold(struct box_hold *h, pid_t root)
{
	pid_t pids[BOX_FAMILY];
	size_t n = box_family(root, pids);

	h->n = 0;
	/* A descriptor for each: more than the usual soft limit of 1,024 has room for. */
	rlimits_raise_files();
	for (size_t i = 0; i < n; i++) {
		int fd = (int)syscall(SYS_pidfd_open, pids[i], 0);

		if (fd >= 0)
			h->fds[h->n++] = fd;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &h->since);
}

double box_await_end(struct box_hold *h)
{
	struct timespec now;

	for (size_t i = 0; i < h->n; i++) {
		struct pollfd p = { .fd = h->fds[i], .events = POLLIN };

		if (poll(&p, 1, BOX_PATIENCE_MS) != 1)
			fail_msg("a process lives on");
		(void)close(h->fds[i]);
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - h->since.tv_sec) * 1e3 +
	       (double)(now.tv_nsec - h->since.tv_nsec) / 1e6;
}

void box_settle(struct session *s, struct seen *seen)
{
	enum { MORE = 10, FIRST = 1000 };

	seen->n = 0;
	for (uint64_t i = 0; i < MORE; i++)
		box_start(s, FIRST + i, "exit 0", -1, 0);
	box_until(s, seen, 2 * MORE);
}

size_t box_read(int fd, char *text, size_t size)
{
	size_t n = 0;
	ssize_t more;

	while (n + 1 < size && (more = read(fd, text + n, size - 1 - n)) > 0)
		n += (size_t)more;
	text[n] = '\0';
	return n;
}

int box_capture(struct session *s, struct seen *seen, uint64_t id, const char *line, char *text,
	size_t size)
{
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	seen->n = 0;
	box_start(s, id, line, pipes[1], 0);
	(void)close(pipes[1]);
	/* No more than a pipe holds: nobody reads before it ended. */
	box_until(s, seen, 2);
	(void)box_read(pipes[0], text, size);
	(void)close(pipes[0]);
	assert_int_equal(seen->events[1].kind, SESSION_EXITED);
	return seen->events[1].report.exit_code;
}
