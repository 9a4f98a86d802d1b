/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Tells of names that appear, vanish or change in folders of the host: by inotify, and where no
 * more of that is to be had, by dnotify. A user has 128 inotify instances on most machines, for all
 * programs and all namespaces together; dnotify has no limit but the descriptors of a process. It
 * names the folder alone, so that whoever hears of it looks at everything in there.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/inotify.h>
#include <sys/types.h>

#include "base/error.h"

/* What may happen in a folder, and to a file or folder itself. */
enum {
	CHANGES_IN = IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_MOVED_FROM,
	CHANGES_SELF = IN_MOVE_SELF | IN_DELETE_SELF | IN_ATTRIB,
};

struct session_changed {
	int wd;
	uint32_t mask;    /* of inotify; all of CHANGES_IN and CHANGES_SELF if that is not known */
	const char *name; /* in the folder; "": itself; NULL: it is not known, look at all */
};

/* Negative: it could not be dealt with. */
typedef int changes_heed(void *data, const struct session_changed *change);

struct changes_watch {
	int wd; /* by dnotify: a descriptor of the folder */
	unsigned users;
	/* By dnotify: */
	bool armed; /* tells of events; else it is only held */
	bool heard; /* of one that was not heeded yet */
	dev_t dev;
	ino_t ino;
};

struct changes {
	int fd; /* to be polled */
	bool by_folder;
	struct changes_watch *watches;
	size_t n, cap;
};

/* Of a struct changes that is zero. Not by inotify if `by_folder`. */
int changes_open(struct changes *c, bool by_folder, struct error *e);
void changes_close(struct changes *c);
/*
 * Watches what is at a path, links not followed, for the events in `mask`. Returns its number,
 * which is the same for one inode; each is to be dropped as often as it was got. -EACCES: it may
 * not be read. By dnotify, IN_ATTRIB asks for the folder above, in which the name may come to mean
 * another file; and what asks for no event of a folder is only held for changes_at().
 */
int changes_watch(struct changes *c, const char *path, uint32_t mask);
void changes_drop(struct changes *c, int wd);
/* By dnotify: what became of a folder at a path. 0: it is there; else IN_DELETE or IN_MOVED_FROM.
 */
uint32_t changes_at(const struct changes *c, int wd, const char *path);
/*
 * Calls `heed` for each change until there is none left or it returns a negative value, which is
 * returned. -EOVERFLOW: some were lost.
 */
int changes_read(struct changes *c, changes_heed *heed, void *data);
