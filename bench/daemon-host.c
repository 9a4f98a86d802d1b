/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon-host.h"

#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "measure.h"
#include "processes.h"

enum { HOST_PATIENCE_MS = 20000, HOST_PARTS_MAX = 16 };

static void daemon_host_read(const char *folder, const char *name, char *out, size_t size)
{
	char path[128];
	ssize_t n = -1;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, out, size - 1);
		(void)close(fd);
	}
	out[n > 0 ? n : 0] = '\0';
}

/* Whatever ends the benchmark ends the daemon, too. */
static pid_t daemon_host_running;

static void daemon_host_stop(void)
{
	if (daemon_host_running <= 0)
		return;
	(void)kill(daemon_host_running, SIGTERM);
	(void)waitpid(daemon_host_running, NULL, 0);
	daemon_host_running = 0;
}

/* "… ready: http://127.0.0.1:PORT …" */
static void daemon_host_wait(struct daemon_host *h)
{
	static const char address[] = "127.0.0.1:";
	char text[4096];

	for (int i = 0; i < HOST_PATIENCE_MS; i++) {
		daemon_host_read(h->place, "log", text, sizeof(text));
		const char *ready = strstr(text, "ready: ");
		const char *port = ready && strchr(ready, '\n') ? strstr(ready, address) : NULL;
		if (port) {
			h->port = (uint16_t)strtoul(port + sizeof(address) - 1, NULL, 10);
			daemon_host_read(h->runtime, "corral/token", h->token, sizeof(h->token));
			h->token[strcspn(h->token, "\n")] = '\0';
			return;
		}
		(void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
	measure_die("corrald is not ready");
}

void daemon_host_start(struct daemon_host *h, const char *corrald)
{
	const char *const argv[] = { corrald, "--port", "0", NULL };
	char log[64];

	*h = (struct daemon_host){ .place = "/tmp/bench-daemon-XXXXXX" };
	if (!mkdtemp(h->place))
		measure_die("no folder in /tmp");
	(void)snprintf(h->runtime, sizeof(h->runtime), "%s/run", h->place);
	(void)snprintf(h->nothing, sizeof(h->nothing), "%s/nothing", h->place);
	(void)snprintf(h->project, sizeof(h->project), "%s/project", h->place);
	(void)snprintf(log, sizeof(log), "%s/log", h->place);
	if (mkdir(h->runtime, 0700) < 0 || mkdir(h->nothing, 0700) < 0 ||
		mkdir(h->project, 0700) < 0 || chdir(h->project) < 0 ||
		setenv("HOME", h->place, 1) < 0 || setenv("XDG_RUNTIME_DIR", h->runtime, 1) < 0 ||
		unsetenv("XDG_STATE_HOME") < 0 || unsetenv("XDG_CONFIG_HOME") < 0 ||
		unsetenv("XDG_CACHE_HOME") < 0 || unsetenv("NOTIFY_SOCKET") < 0 ||
		unsetenv("LISTEN_FDS") < 0 || unsetenv("JOURNAL_STREAM") < 0)
		measure_die("no folders for a daemon");
	int files[] = { open("/dev/null", O_RDWR | O_CLOEXEC), -1,
		open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) };
	files[1] = files[0];
	h->pid = files[0] < 0 || files[2] < 0 ? -1 : measure_spawn(argv, files);
	if (h->pid < 0)
		measure_die("cannot start corrald");
	daemon_host_running = h->pid;
	(void)atexit(daemon_host_stop);
	(void)close(files[0]);
	(void)close(files[2]);
	daemon_host_wait(h);
}

static int daemon_host_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

void daemon_host_end(struct daemon_host *h)
{
	daemon_host_stop();
	(void)chdir("/");
	(void)nftw(h->place, daemon_host_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* Itself and its parts, not `corral` that answers a question for a moment. */
static size_t daemon_host_parts(const struct daemon_host *h, pid_t parts[HOST_PARTS_MAX])
{
	parts[0] = h->pid;
	return 1 + processes_children(h->pid, "corrald-", parts + 1, HOST_PARTS_MAX - 1);
}

size_t daemon_host_pss_kb(const struct daemon_host *h)
{
	pid_t parts[HOST_PARTS_MAX];
	size_t kb = 0;

	for (size_t n = daemon_host_parts(h, parts); n > 0; n--)
		kb += processes_pss_kb(parts[n - 1]);
	return kb;
}

double daemon_host_processor(const struct daemon_host *h)
{
	pid_t parts[HOST_PARTS_MAX];
	double seconds = 0;

	for (size_t n = daemon_host_parts(h, parts); n > 0; n--)
		seconds += processes_processor(parts[n - 1]);
	return seconds;
}
