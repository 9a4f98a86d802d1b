// SPDX-License-Identifier: Apache-2.0
/*
 * The process outside that attempts are after. It has a canary in its memory, environment,
 * arguments and in an open file, listens on sockets of all kinds, and owns shared memory,
 * semaphores and queues.
 *
 *     victim CANARY OUT WORKSPACE NAME KEY [SOCKET…]
 *
 * It prints where things are as KEY=VALUE, then "ready"; later "log NAME" when the attempt NAME
 * reached it. A line on its standard input is answered by "synced" once everything that came before
 * was logged; end of file ends it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <mqueue.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "signals.h"

enum kind { LISTENER, DATAGRAM, FIFO, SIGNALS, CONTROL };
static struct pollfd fds[32];
static enum kind kinds[32];
static unsigned n_fds;
static const char *canary;
static char scratch[64];

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(1);
}

static void watch(int fd, enum kind kind)
{
	if (n_fds == 32)
		die("too many");
	fds[n_fds] = (struct pollfd){ .fd = fd, .events = POLLIN };
	kinds[n_fds++] = kind;
}

static void serve(int type, const struct sockaddr *address, socklen_t n)
{
	int fd = socket(address->sa_family, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, address, n) < 0)
		die("bind");
	if (type != SOCK_DGRAM && listen(fd, 128) < 0)
		die("listen");
	watch(fd, type == SOCK_DGRAM ? DATAGRAM : LISTENER);
}

static void serve_unix(int type, const char *path)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	size_t n = strlen(path);

	if (n >= sizeof(un.sun_path))
		die("path too long");
	memcpy(un.sun_path, path, n);
	if (un.sun_path[0] == '@')
		un.sun_path[0] = '\0';
	serve(type, (struct sockaddr *)&un,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
	if (path[0] != '@')
		chmod(path, 0777);
}

static void serve_inet(int type, const char *key)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(in);

	serve(type, (struct sockaddr *)&in, sizeof(in));
	getsockname(fds[n_fds - 1].fd, (struct sockaddr *)&in, &n);
	printf("%s=%d\n", key, ntohs(in.sin_port));
}

/* What the set `relay` grants, and the same port of another address, which it does not. */
static void serve_granted(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t n = sizeof(in);

	serve_inet(SOCK_STREAM, "granted");
	getsockname(fds[n_fds - 1].fd, (struct sockaddr *)&in, &n);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1);
	serve(SOCK_STREAM, (struct sockaddr *)&in, sizeof(in));
}

/* An address that the host has beside loopback's; without one the attempt says so. */
static void serve_own(void)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) < 0)
		return;
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct sockaddr_in in;
		socklen_t n = sizeof(in);
		char text[INET_ADDRSTRLEN];

		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
			i->ifa_flags & IFF_LOOPBACK)
			continue;
		memcpy(&in, i->ifa_addr, sizeof(in));
		in.sin_port = 0;
		serve(SOCK_STREAM, (struct sockaddr *)&in, sizeof(in));
		getsockname(fds[n_fds - 1].fd, (struct sockaddr *)&in, &n);
		printf("own=%s\nown-port=%d\n",
			inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text)), ntohs(in.sin_port));
		break;
	}
	freeifaddrs(all);
}

static void serve_inet6(void)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	socklen_t n = sizeof(in);
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&in, n) < 0 || listen(fd, 8) < 0)
		return; /* no IPv6 here: the attempt says so */
	getsockname(fd, (struct sockaddr *)&in, &n);
	watch(fd, LISTENER);
	printf("tcp6=%d\n", ntohs(in.sin6_port));
}

static void make_sockets(const char *out, const char *ws, const char *name, char **more)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/stream.sock", out);
	serve_unix(SOCK_STREAM, path);
	snprintf(path, sizeof(path), "%s/dgram.sock", out);
	serve_unix(SOCK_DGRAM, path);
	snprintf(path, sizeof(path), "%s/seq.sock", out);
	serve_unix(SOCK_SEQPACKET, path);
	snprintf(path, sizeof(path), "%s/host-stream.sock", ws);
	serve_unix(SOCK_STREAM, path);
	snprintf(path, sizeof(path), "%s/host-dgram.sock", ws);
	serve_unix(SOCK_DGRAM, path);
	snprintf(path, sizeof(path), "@%s", name);
	serve_unix(SOCK_STREAM, path);
	snprintf(path, sizeof(path), "@%s-dgram", name);
	serve_unix(SOCK_DGRAM, path);
	for (; *more; more++)
		serve_unix(SOCK_STREAM, *more);
	serve_inet(SOCK_STREAM, "tcp");
	serve_inet(SOCK_DGRAM, "udp");
	serve_inet6();
	serve_granted();
	serve_own();
}

static int shm_id = -1, sem_id = -1, msg_id = -1;
static char ipc_name[128];

static void remove_ipc(void)
{
	shmctl(shm_id, IPC_RMID, NULL);
	semctl(sem_id, 0, IPC_RMID);
	msgctl(msg_id, IPC_RMID, NULL);
	shm_unlink(ipc_name);
	mq_unlink(ipc_name);
}

static void make_ipc(key_t key, const char *name)
{
	struct {
		long type;
		char text[64];
	} message = { .type = 1 };
	char *p;
	mqd_t queue;
	int fd;

	shm_id = shmget(key, 4096, IPC_CREAT | 0600);
	sem_id = semget(key, 1, IPC_CREAT | 0600);
	msg_id = msgget(key, IPC_CREAT | 0600);
	snprintf(ipc_name, sizeof(ipc_name), "/%s", name);
	atexit(remove_ipc);
	if (shm_id < 0 || sem_id < 0 || msg_id < 0 || (p = shmat(shm_id, NULL, 0)) == (void *)-1)
		die("sysv");
	snprintf(p, 4096, "%s", canary);
	snprintf(message.text, sizeof(message.text), "%s", canary);
	for (int i = 0; i < 4; i++)
		if (msgsnd(msg_id, &message, sizeof(message.text), 0) < 0)
			die("msgsnd");
	printf("shmid=%d\nsemid=%d\nmsgid=%d\n", shm_id, sem_id, msg_id);
	fd = shm_open(ipc_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, canary, strlen(canary)) < 0)
		die("shm_open");
	queue = mq_open(ipc_name, O_RDWR | O_CREAT | O_CLOEXEC, 0600, NULL);
	if (queue != (mqd_t)-1 && mq_send(queue, canary, strlen(canary), 0) == 0)
		printf("mq=%s\n", ipc_name);
}

static void make_signals(void)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (int i = 0; i < N_SIGNALS; i++)
		sigaddset(&set, SIGRTMIN + i);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC);
	if (fd < 0)
		die("signalfd");
	watch(fd, SIGNALS);
}

static void make_files(const char *out)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/fifo", out);
	mkfifo(path, 0600);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		die("fifo");
	watch(fd, FIFO);
	snprintf(path, sizeof(path), "%s/held-open", out);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, canary, strlen(canary)) < 0)
		die("held-open");
}

/* What an attempt sends is its name, up to a newline. */
static void log_names(char *text, ssize_t n)
{
	if (n <= 0)
		return;
	text[n] = '\0';
	for (char *save, *name = strtok_r(text, "\n", &save); name;
		name = strtok_r(NULL, "\n", &save))
		printf("log %s\n", name);
}

static void greet(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char text[128];

	if (fd < 0)
		return;
	if (send(fd, canary, strlen(canary), MSG_NOSIGNAL) > 0 && poll(&p, 1, 500) > 0)
		log_names(text, recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT));
	close(fd);
}

static void handle(unsigned i)
{
	struct signalfd_siginfo si;
	char text[4096];

	switch (kinds[i]) {
	case LISTENER:
		greet(fds[i].fd);
		break;
	case DATAGRAM:
	case FIFO:
		log_names(text, read(fds[i].fd, text, sizeof(text) - 1));
		break;
	case SIGNALS:
		if (read(fds[i].fd, &si, sizeof(si)) == sizeof(si))
			printf("log %s\n", signal_names[(int)si.ssi_signo - SIGRTMIN]);
		break;
	case CONTROL:
		if (read(fds[i].fd, text, sizeof(text)) <= 0)
			exit(0);
		printf("synced\n");
		break;
	}
}

/* The control comes last, when nothing else is waiting. */
static void loop(void)
{
	for (;;) {
		bool other = false;

		fflush(stdout);
		if (poll(fds, n_fds, -1) < 0 && errno != EINTR)
			die("poll");
		for (unsigned i = 0; i < n_fds; i++)
			if (kinds[i] != CONTROL && fds[i].revents) {
				handle(i);
				other = true;
			}
		for (unsigned i = 0; i < n_fds && !other; i++)
			if (kinds[i] == CONTROL && fds[i].revents)
				handle(i);
	}
}

/* A pid that a namespace with few processes does not have, so that it can't be met there by chance.
 */
static void far_pid(void)
{
	for (int i = 0; i < 5000; i++) {
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid == 0) {
			if (getpid() > 3000)
				return;
			_exit(0);
		}
		if (pid > 3000)
			_exit(0); /* the child goes on */
		waitpid(pid, NULL, 0);
	}
	die("no pid above 3000");
}

int main(int argc, char **argv)
{
	if (argc < 6)
		return 2;
	far_pid();
	setpgid(0, 0);
	canary = strdup(argv[1]);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	if (chdir(argv[2]) < 0)
		die("chdir");
	make_signals();
	make_files(argv[2]);
	make_sockets(argv[2], argv[3], argv[4], argv + 6);
	make_ipc((key_t)strtol(argv[5], NULL, 0), argv[4]);
	watch(0, CONTROL);
	printf("victim=%d\nmemory=%lu\nscratch=%lu\nready\n", getpid(), (unsigned long)canary,
		(unsigned long)scratch);
	loop();
}
