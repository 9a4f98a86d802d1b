/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHM_INFO, MSG_INFO and SEM_INFO sum up what is in the IPC namespace of who asks, which is the
 * sandbox's: the pages of all segments that are there, attached or not, and all messages. A memfd
 * is known by its name in /proc/PID/fd, which no other file can have: it begins with "/memfd:", and
 * the sandbox's root is no folder that commands write to. Its blocks are the memory that it has.
 *
 * Not seen: a memfd on its way through a socket, and pages of shared memory that are not mapped any
 * more while the rest of it is. Only the kernel can tell whose those are (a cgroup).
 */
#include "jail/limits/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stddef.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/limits/internal.h"

#define SCRATCH "/dev" /* a folder of it, in every sandbox */

enum {
	SEMAPHORE_BYTES = 64,
	MESSAGE_BYTES = 64,        /* of a message by itself */
	OBJECT_BYTES = 256,        /* of a segment, queue or set by itself, about */
	DESCRIPTORS_MAX = 1 << 18, /* of all processes: a look must end */
};

/*
 * SysV objects: the kernel sums them up itself. Its numbers are ints, and are taken as unsigned: of
 * messages a namespace has no more than 32,000 queues of 16 KB, which only the host can change.
 * 0: there are none, or the kernel has no SysV IPC.
 */
static int objects_sysv_error(void)
{
	return errno == ENOSYS ? 0 : -errno;
}

static int objects_add_segments(struct objects *o)
{
	struct shm_info all;

	if (shmctl(0, SHM_INFO, (void *)&all) < 0)
		return objects_sysv_error();
	o->has_sysv = all.used_ids > 0;
	o->bytes += (uint64_t)(all.shm_rss + all.shm_swp) * (uint64_t)sysconf(_SC_PAGESIZE);
	o->bytes += (unsigned)all.used_ids * (uint64_t)OBJECT_BYTES;
	return 0;
}

static int objects_add_messages(struct objects *o)
{
	struct msginfo all;

	if (msgctl(0, MSG_INFO, (void *)&all) < 0)
		return objects_sysv_error();
	/* Queues, messages in them, and their bytes. */
	o->bytes += (unsigned)all.msgpool * (uint64_t)OBJECT_BYTES;
	o->bytes += (unsigned)all.msgmap * (uint64_t)MESSAGE_BYTES;
	o->bytes += (unsigned)all.msgtql;
	return 0;
}

static int objects_add_semaphores(struct objects *o)
{
	struct seminfo all;

	if (semctl(0, 0, SEM_INFO, &all) < 0)
		return objects_sysv_error();
	/* Sets, and semaphores in them. */
	o->bytes += (unsigned)all.semusz * (uint64_t)OBJECT_BYTES;
	o->bytes += (unsigned)all.semaem * (uint64_t)SEMAPHORE_BYTES;
	return 0;
}

/* The file system in memory. */

uint64_t objects_scratch(void)
{
	struct statfs fs;

	if (statfs(SCRATCH, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return 0;
	return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

int objects_begin(struct objects *o, uint64_t scratch_before)
{
	static int (*const adders[])(struct objects *) = { objects_add_segments,
		objects_add_messages, objects_add_semaphores };
	uint64_t scratch = objects_scratch();
	struct stat st;
	int r = 0;

	o->bytes = scratch > scratch_before ? scratch - scratch_before : 0;
	if (o->n_memfds > 0)
		memset(o->memfds, 0, sizeof(o->memfds));
	o->n_memfds = 0;
	o->n_descriptors = 0;
	o->has_sysv = false;
	o->scratch = o->bytes > 0 && stat(SCRATCH, &st) == 0 ? st.st_dev : 0;
	for (size_t i = 0; r == 0 && i < ROWS(adders); i++)
		r = adders[i](o);
	return r;
}

/* memfds. */

/* Its slot, or the free one where it would be: there are twice as many as are used. */
static size_t objects_slot(const struct objects *o, dev_t dev, ino_t ino)
{
	size_t at = (size_t)(((uint64_t)ino ^ dev) * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (at %= OBJECTS_SLOTS; o->memfds[at].used; at = (at + 1) % OBJECTS_SLOTS)
		if (o->memfds[at].ino == ino && o->memfds[at].dev == dev)
			break;
	return at;
}

static int objects_add_descriptor(int folder, const char *name, void *context)
{
	static const char prefix[] = "/memfd:";
	struct objects *o = context;
	char text[sizeof(prefix)];
	struct stat st;
	size_t at;

	if (name[0] < '0' || name[0] > '9' || o->n_descriptors++ > DESCRIPTORS_MAX ||
		readlinkat(folder, name, text, sizeof(text)) < (ssize_t)sizeof(text) - 1 ||
		memcmp(text, prefix, sizeof(prefix) - 1) != 0 || fstatat(folder, name, &st, 0) < 0)
		return 0;
	at = objects_slot(o, st.st_dev, st.st_ino);
	if (o->memfds[at].used)
		return 0;
	o->bytes += (uint64_t)st.st_blocks * 512;
	if (o->n_memfds == OBJECTS_MEMFDS_MAX)
		return 0;
	o->memfds[at] = (struct objects_memfd){ true, st.st_dev, st.st_ino };
	o->n_memfds++;
	return 0;
}

int objects_add_process(struct objects *o, int proc_fd, const char *pid)
{
	char path[32];
	auto_fd folder = -1;

	tally_path(path, pid, "fd");
	folder = openat(proc_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (folder < 0)
		return errno == EACCES ? 0 : -errno;
	return tally_walk(folder, objects_add_descriptor, o);
}

/* "7f0a-7f0b rw-s 00000000 00:01 1234     /memfd:x (deleted)" */
bool objects_has_mapping(const struct objects *o, const char *line)
{
	unsigned major_number, minor_number;
	const char *p = line;
	uint64_t ino;

	for (unsigned i = 0; i < 3; i++) {
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	major_number = (unsigned)tally_hex(&p);
	if (*p++ != ':')
		return false;
	minor_number = (unsigned)tally_hex(&p);
	ino = tally_number(p);
	p += strspn(p, " ");
	p += strcspn(p, " ");
	p += strspn(p, " ");
	if (o->scratch != 0 && makedev(major_number, minor_number) == o->scratch)
		return true;
	if (strncmp(p, "/memfd:", 7) == 0)
		return o->memfds[objects_slot(o, makedev(major_number, minor_number), (ino_t)ino)]
			.used;
	/* Those that can be attached are all in the table, also when they are removed already. */
	return o->has_sysv && major_number == 0 && strncmp(p, "/SYSV", 5) == 0;
}
