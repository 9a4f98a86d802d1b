// SPDX-License-Identifier: Apache-2.0
/* Shared memory, semaphores and queues of the host, of both kinds. */
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <unistd.h>

#include "attempt.h"

static key_t key(void)
{
	return (key_t)scene_number("ipc-key");
}

static int attach(int id)
{
	char *p = id < 0 ? (void *)-1 : shmat(id, NULL, SHM_RDONLY);

	if (p == (void *)-1)
		return verdict(-1);
	return has_canary(p, 64) ? verdict(0) : HELD;
}

static int shm_key(const struct attempt *a)
{
	(void)a;
	return attach(shmget(key(), 0, 0));
}

static int shm_id(const struct attempt *a)
{
	(void)a;
	return attach((int)scene_number("shmid"));
}

static int sem_key(const struct attempt *a)
{
	struct sembuf op = { .sem_op = 1 };
	int id = semget(key(), 0, 0);

	(void)a;
	return verdict(id < 0 ? -1 : semop(id, &op, 1));
}

static int sem_id(const struct attempt *a)
{
	struct sembuf op = { .sem_op = 1 };

	(void)a;
	return verdict(semop((int)scene_number("semid"), &op, 1));
}

static int receive(int id)
{
	struct {
		long type;
		char text[64];
	} m;
	ssize_t n = id < 0 ? -1 : msgrcv(id, &m, sizeof(m.text), 0, IPC_NOWAIT);

	if (n < 0)
		return verdict(-1);
	return has_canary(m.text, (size_t)n) ? verdict(0) : HELD;
}

static int msg_key(const struct attempt *a)
{
	(void)a;
	return receive(msgget(key(), 0));
}

static int msg_id(const struct attempt *a)
{
	(void)a;
	return receive((int)scene_number("msgid"));
}

static int sysv_list(const struct attempt *a)
{
	char line[512];
	FILE *f = fopen("/proc/sysvipc/shm", "re");

	(void)a;
	if (!f)
		return verdict(-1);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, format(" %ld ", (long)key())))
			return verdict(0);
	note("nothing of the host");
	return HELD;
}

static int posix_shm(const struct attempt *a)
{
	(void)a;
	return canary_fd(shm_open(format("/%s", scene("abstract")), O_RDONLY, 0));
}

static int posix_shm_write(const struct attempt *a)
{
	(void)a;
	return verdict(shm_open(format("/%s", scene("abstract")), O_RDWR, 0));
}

static int posix_queue(const struct attempt *a)
{
	char text[8192];
	mqd_t q;
	ssize_t n;

	(void)a;
	if (!scene_has("mq")) {
		note("no message queues in this kernel");
		return ABSENT;
	}
	q = mq_open(scene("mq"), O_RDONLY | O_NONBLOCK);
	if (q == (mqd_t)-1)
		return verdict(-1);
	n = mq_receive(q, text, sizeof(text), NULL);
	return n > 0 && has_canary(text, (size_t)n) ? verdict(0) : HELD;
}

static const struct attempt table[] = {
	{ "ipc-shm-key", "default", "", "shared memory of the host by its key", shm_key, NULL },
	{ "ipc-shm-id", "default", "", "shared memory of the host by its number", shm_id, NULL },
	{ "ipc-sem-key", "default", "", "semaphores of the host by their key", sem_key, NULL },
	{ "ipc-sem-id", "default", "", "semaphores of the host by their number", sem_id, NULL },
	{ "ipc-msg-key", "default", "", "a queue of the host by its key", msg_key, NULL },
	{ "ipc-msg-id", "default", "", "a queue of the host by its number", msg_id, NULL },
	{ "ipc-list", "default", "", "/proc/sysvipc lists what the host has", sysv_list, NULL },
	{ "ipc-posix-shm", "default", "", "a file of the host in /dev/shm", posix_shm, NULL },
	{ "ipc-posix-shm-write", "default", "", "the same for writing", posix_shm_write, NULL },
	{ "ipc-posix-queue", "default", "", "a POSIX queue of the host", posix_queue, NULL },
};
THEME(ipc, "Shared memory, semaphores, queues", table);
