/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/sysvipc shows the IPC namespace of who opens it, which is the sandbox's; its lines have the
 * bytes of each segment that are there, attached or not, and of each queue of messages. A memfd is
 * known by its name in /proc/PID/fd, which no other file can have: it begins with "/memfd:", and
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
	OBJECT_BYTES = 256,        /* of a segment, queue or set by itself, about */
	DESCRIPTORS_MAX = 1 << 18, /* of all processes: a look must end */
};

/* SysV objects. */

/* Which columns of a line count, and how much each of its units is. */
struct objects_table {
	const char *file;
	struct {
		unsigned column;
		unsigned bytes;
	} counted[2];
};

static const struct objects_table tables[] = {
	{ "sysvipc/shm", { { 14, 1 }, { 15, 1 } } }, /* rss, swap */
	{ "sysvipc/msg", { { 3, 1 }, { 4, 64 } } }, /* cbytes, qnum: with a head for each message */
	{ "sysvipc/sem", { { 3, SEMAPHORE_BYTES } } },
};

struct objects_reading {
	const struct objects_table *table;
	struct objects *objects;
	uint64_t enough;
};

static bool objects_take_line(const char *line, void *context)
{
	struct objects_reading *r = context;
	const char *p = line + strspn(line, " ");

	/* The heads of the columns. */
	if (strncmp(p, "key", 3) == 0)
		return true;
	for (unsigned column = 0; *p; column++) {
		for (size_t i = 0; i < ROWS(r->table->counted); i++)
			if (r->table->counted[i].bytes && r->table->counted[i].column == column)
				r->objects->bytes += tally_number(p) * r->table->counted[i].bytes;
		p += strcspn(p, " ");
		p += strspn(p, " ");
	}
	r->objects->bytes += OBJECT_BYTES;
	r->objects->has_sysv = r->objects->has_sysv || r->table == &tables[0];
	return r->objects->bytes <= r->enough;
}

/* The file system in memory. */

uint64_t objects_scratch(void)
{
	struct statfs fs;

	if (statfs(SCRATCH, &fs) < 0 || fs.f_type != TMPFS_MAGIC)
		return 0;
	return (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
}

int objects_begin(struct objects *o, int proc_fd, uint64_t scratch_before, uint64_t enough)
{
	uint64_t scratch = objects_scratch();
	struct stat st;

	o->bytes = scratch > scratch_before ? scratch - scratch_before : 0;
	if (o->n_memfds > 0)
		memset(o->memfds, 0, sizeof(o->memfds));
	o->n_memfds = 0;
	o->n_descriptors = 0;
	o->has_sysv = false;
	o->scratch = o->bytes > 0 && stat(SCRATCH, &st) == 0 ? st.st_dev : 0;
	for (size_t i = 0; i < ROWS(tables) && o->bytes <= enough; i++) {
		struct objects_reading reading = { &tables[i], o, enough };
		int r = tally_read_lines(proc_fd, tables[i].file, objects_take_line, &reading);

		/* A kernel without SysV IPC has no such objects. */
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
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
