/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file `data`: the content of all kept files, one behind the other. One file, because making
 * ten thousand costs more than copying what is in them. Large files are cloned where the file
 * system shares blocks (FICLONERANGE, which wants whole blocks, so they begin at one), else copied
 * by the kernel; small ones go through a buffer.
 *
 * A file that is written while it is read is read again. One that does not stand still is not kept,
 * and the reason is its entry's.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/undo/internal.h"

enum { BLOCK = 4096, BUFFER = 1 << 20, SMALL = 1 << 16, TRIES = 3 };

static const char why_moving[] = "it is being written";
static const char why_closed[] = "it cannot be read";
static const char why_limit[] = "over the limit";

struct pack {
	struct undo *undo;
	uint64_t at; /* where the buffer goes to */
	char *bytes; /* BUFFER of them */
	size_t len;  /* in the buffer */
	bool no_clone, no_copy;
};

static int pack_flush(struct pack *p)
{
	int r = p->len ? file_write_all(p->undo->data, p->bytes, p->len) : 0;

	p->at += r == 0 ? p->len : 0;
	p->len = 0;
	return r;
}

/* 1: not here. */
static int pack_clone(struct pack *p, int fd, uint64_t size)
{
	struct file_clone_range range = { .src_fd = fd,
		.dest_offset = (p->at + BLOCK - 1) / BLOCK * BLOCK };

	if (p->no_clone)
		return 1;
	if (ioctl(p->undo->data, FICLONERANGE, &range) < 0) {
		p->no_clone = errno != EIO;
		return errno == ENOSPC || errno == EDQUOT ? -errno : 1;
	}
	p->at = range.dest_offset + size;
	return lseek(p->undo->data, (off_t)p->at, SEEK_SET) < 0 ? -errno : 0;
}

/* Reads exactly so many bytes. -ESTALE: there are fewer. */
static int pack_read(int fd, char *to, size_t size)
{
	while (size > 0) {
		ssize_t n = read(fd, to, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ESTALE;
		to += n;
		size -= (size_t)n;
	}
	return 0;
}

static int pack_copy(struct pack *p, int fd, uint64_t size)
{
	while (size > 0) {
		size_t part = size < BUFFER ? (size_t)size : BUFFER;
		ssize_t n =
			p->no_copy ? -1 : copy_file_range(fd, NULL, p->undo->data, NULL, part, 0);
		int r;

		if (n == 0)
			return -ESTALE;
		if (n < 0 && !p->no_copy && (errno == ENOSPC || errno == EDQUOT))
			return -errno;
		if (n < 0) {
			p->no_copy = true;
			r = pack_read(fd, p->bytes, part);
			if (r == 0)
				r = file_write_all(p->undo->data, p->bytes, part);
			if (r < 0)
				return r;
			n = (ssize_t)part;
		}
		p->at += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return 0;
}

static int pack_content(struct pack *p, int fd, struct undo_state *s)
{
	uint64_t start;
	int r;

	if (s->size <= SMALL) {
		r = p->len + s->size > BUFFER ? pack_flush(p) : 0;
		s->offset = p->at + p->len;
		if (r == 0)
			r = pack_read(fd, p->bytes + p->len, (size_t)s->size);
		p->len += r == 0 ? (size_t)s->size : 0;
		return r;
	}
	r = pack_flush(p);
	start = p->at;
	if (r == 0)
		r = pack_clone(p, fd, s->size);
	s->offset = r == 0 ? (start + BLOCK - 1) / BLOCK * BLOCK : start;
	return r == 1 ? pack_copy(p, fd, s->size) : r;
}

/* Nothing of a file that was not read to its end stays. */
static int pack_back(struct pack *p, uint64_t at)
{
	if (at >= p->at) {
		p->len = (size_t)(at - p->at);
		return 0;
	}
	p->at = at;
	return lseek(p->undo->data, (off_t)at, SEEK_SET) < 0 ? -errno : 0;
}

static bool pack_is_disk(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EFBIG || r == -EIO || r == -ENOMEM;
}

/* What cannot be kept of them is counted. */
static void pack_look_attributes(struct undo *u, int fd, struct undo_entry *e)
{
	bool has_more;

	e->is.attributes = undo_attributes_look(u, fd, &has_more);
	if (has_more && u->n_attributes++ == 0)
		u->attributes = e->path;
}

/* 0 with .why set: it is not kept. */
static int pack_file(struct pack *p, int folder, const char *name, struct undo_entry *e)
{
	int r = -ESTALE;

	for (int i = 0; r == -ESTALE && i < TRIES; i++) {
		const uint64_t at = p->at + p->len;
		struct undo_state s, then;
		auto_fd fd = undo_open_file(folder, name, &s);

		if (fd < 0)
			return pack_is_disk(fd) ? fd : (e->why = why_closed, 0);
		if (at + s.size >
			p->undo->limit + p->undo->limit / 8 + BLOCK * (uint64_t)UNDO_NAMES_MAX)
			return e->why = why_limit, 0;
		r = pack_content(p, fd, &s);
		if (r == 0 && (undo_look_fd(fd, &then) < 0 || !undo_is_untouched(&s, &then)))
			r = -ESTALE;
		if (r == 0) {
			e->is = s;
			pack_look_attributes(p->undo, fd, e);
		} else if (r == -ESTALE && pack_back(p, at) < 0)
			return -EIO;
	}
	if (r == -ESTALE)
		return e->why = why_moving, 0;
	return r;
}

static int pack_all(struct pack *p)
{
	struct undo_list *l = &p->undo->before;
	auto_place place = UNDO_PLACE(p->undo->root);
	int r = 0;

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		struct undo_entry *e = &l->items[i];
		const char *name;
		int folder;

		if (e->is.kind != UNDO_FILE || e->why)
			continue;
		folder = undo_place_find(&place, e->path, &name);
		if (folder < 0)
			e->why = why_moving;
		else
			r = pack_file(p, folder, name, e);
	}
	return r < 0 ? r : pack_flush(p);
}

static void pack_count(struct undo *u)
{
	u->bytes = u->n_files = u->n_not_kept = 0;
	for (size_t i = 0; i < u->before.n; i++) {
		const struct undo_entry *e = &u->before.items[i];

		u->n_not_kept += e->why != NULL;
		if (e->why || e->is.kind == UNDO_FOLDER)
			continue;
		u->n_files++;
		u->bytes += e->is.kind == UNDO_FILE ? e->is.size : 0;
	}
}

int undo_pack(struct undo *u, struct error *e)
{
	struct pack p = { .undo = u, .bytes = malloc(BUFFER) };
	int r = p.bytes ? 0 : -ENOMEM;

	u->data =
		openat(u->record, "data", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r == 0 && u->data < 0)
		r = -errno;
	if (r == 0)
		r = pack_all(&p);
	/* A try that was given up may have left something behind the end. */
	if (r == 0 && ftruncate(u->data, (off_t)p.at) < 0)
		r = -errno;
	free(p.bytes);
	pack_count(u);
	if (r >= 0)
		return 0;
	(void)error_set(e, r, NULL, "--undo: cannot keep what is in %s: %s; nothing was run",
		u->folder, strerror(-r));
	error_hint(e, r == -ENOSPC || r == -EDQUOT
			      ? "make room where Corral's state is (~/.local/state/corral), or run "
				"it without --undo"
			      : "run it without --undo");
	return r;
}

/* Dropping */

static int pack_by_offset(const void *a, const void *b)
{
	const struct undo_state *const *x = a, *const *y = b;

	return (*x)->offset < (*y)->offset ? -1 : (*x)->offset > (*y)->offset;
}

/* Holes are made of whole blocks; a file system that cannot leaves the record as large as it was.
 */
static void pack_punch(int fd, uint64_t from, uint64_t to)
{
	from = (from + BLOCK - 1) / BLOCK * BLOCK;
	to = to / BLOCK * BLOCK;
	if (to > from)
		(void)fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
			(off_t)(to - from));
}

void undo_pack_trim(struct undo *u)
{
	const struct undo_state **needed = calloc(u->changes.n + 1, sizeof(struct undo_state *));
	size_t n = 0;
	uint64_t at = 0;

	if (!needed)
		return;
	for (size_t i = 0; i < u->changes.n; i++)
		if (u->changes.items[i].before.kind == UNDO_FILE)
			needed[n++] = &u->changes.items[i].before;
	qsort(needed, n, sizeof(struct undo_state *), pack_by_offset);
	for (size_t i = 0; i < n; i++) {
		pack_punch(u->data, at, needed[i]->offset);
		at = needed[i]->offset + needed[i]->size;
	}
	(void)ftruncate(u->data, (off_t)at);
	free(needed);
}
