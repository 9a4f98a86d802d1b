/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the files of this folder share. */
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/path.h"
#include "cli/undo/undo.h"

/* The working folder itself, among the paths below it. */
#define UNDO_ROOT "."

/* state.c: one name below the working folder */

/*
 * The folder that a name is in, held while names of one folder come one after the other. It is
 * opened below the root by openat2(): no link is followed, no other file system entered.
 */
struct undo_place {
	int root, folder; /* the root is borrowed */
	char path[PATH_BYTES];
};
#define UNDO_PLACE(fd) ((struct undo_place){ .root = (fd), .folder = -1 })
void undo_place_close(struct undo_place *p);
#define auto_place __attribute__((cleanup(undo_place_close))) struct undo_place

/* A descriptor that stays the place's, of the folder that has `path`, whose last name is *ret. */
int undo_place_find(struct undo_place *p, const char *path, const char **ret);
/* Opens a folder below the root for reading; "" is the root. */
int undo_open_folder(int root, const char *path);
/* Opens a file there if it is a regular one. Does not block. */
int undo_open_file(int folder, const char *name, struct undo_state *ret);
int undo_look_fd(int fd, struct undo_state *ret);
/* What is there, without its hash; .kind is UNDO_NONE if nothing is. */
int undo_look(struct undo_place *p, struct arena *a, const char *path, struct undo_state *ret);
int undo_look_at(int folder, const char *name, struct arena *a, struct undo_state *ret);
/* The hash of a file, or of a part of one: in the arena. */
int undo_hash_file(
	int fd, uint64_t at, uint64_t size, struct arena *a, const unsigned char **ret_hash);
/* The same of the file at a path, and its attributes. */
int undo_hash_path(struct undo_place *p, struct undo *u, const char *path, struct undo_state *s);
/* The same object, not written since: by inode, size, times. */
bool undo_is_untouched(const struct undo_state *a, const struct undo_state *b);
/* The same for who uses it: kind, content, mode, attributes. Both have hashes, or none is asked
 * for. */
bool undo_is_alike(const struct undo_state *a, const struct undo_state *b);

/* attributes.c */
/* Those of the user, in the arena; NULL: not known. *ret_more: it has others, or too many. */
const char *undo_attributes_look(struct undo *u, int fd, bool *ret_more);
bool undo_attributes_are_valid(const char *text);
/* Gives a file these, and no others of the user. fd may be of O_PATH. */
int undo_attributes_put(int fd, const char *text);
/* Where one of them is not known, they are. */
static inline bool undo_attributes_are_same(const struct undo_state *a, const struct undo_state *b)
{
	return !a->attributes || !b->attributes || strcmp(a->attributes, b->attributes) == 0;
}

/* opened.c: folders that are opened for a while */
struct undo_folder {
	const char *path;
	uint32_t mode;
	struct timespec mtime;
};
struct undo_opened {
	struct undo_folder *items;
	size_t n, cap;
	const struct undo_step
		*steps; /* those with a step of their own are not remembered; or NULL */
};
/* Makes our own folder one that we may enter and write. remember: it gets its mode and time back.
 */
int undo_opened_add(struct undo_opened *o, struct undo *u, const char *path, int fd);
/* The same for each folder above a path, from the top. */
int undo_opened_above(struct undo_opened *o, struct undo *u, const char *path);
void undo_opened_end(struct undo_opened *o, int root);
/* chmod() of what an O_PATH descriptor is of. */
int undo_chmod(int fd, uint32_t mode);

/* walk.c */
int undo_walk(struct undo *u, const struct undo_options *o, struct error *e);
const struct undo_entry *undo_list_find(const struct undo_list *l, const char *path);
int undo_list_index(struct undo_list *l);

/* pack.c: the file `data` */
int undo_pack(struct undo *u, struct error *e);
/* Frees what no change needs. */
void undo_pack_trim(struct undo *u);

/* changes.c: compares the folder with what was kept. */
int undo_find_changes(struct undo *u, struct error *e);
/* The place of a path in the list; SIZE_MAX: it is not there. */
size_t undo_changes_find(const struct undo_changes *c, const char *path);
void undo_changes_sort(struct undo_changes *c);

/* manifest.c */
void undo_print_run(const struct undo *u, struct buffer *out);
void undo_print_before(const struct undo *u, struct buffer *out);
void undo_print_changes(const struct undo *u, struct buffer *out);
/* -EINVAL: damaged. -ENOTSUP with a sentence: another version. Texts are copied to the arena. */
int undo_read_run(struct undo *u, const char *data, size_t len, struct error *e);
int undo_read_before(struct undo *u, const char *data, size_t len);
int undo_read_changes(struct undo *u, const char *data, size_t len);

/* store.c */
struct undo_row {
	uint32_t number;
	int64_t started;
	bool is_active, is_ended, is_readable, is_taken_back;
	uint64_t bytes; /* on disk */
	const char *folder, *command;
	struct undo_changes changes; /* just the counts */
	struct error fault;          /* why it cannot be read */
};
struct undo_rows {
	struct undo_row *items; /* oldest first */
	size_t n, cap;
};
/* Makes the record, with its lock and the file `run`. */
int undo_store_begin(struct undo *u, struct error *e);
int undo_store_put(const struct undo *u, const char *name, const struct buffer *text);
/* Removes the record. */
void undo_store_drop(struct undo *u);
/* The run was taken back: removes the record, but for what the undo removed. */
void undo_store_retire(struct undo *u);
/* An undo took so many bytes out of the folder. */
void undo_store_add_removed(const struct undo *u, uint64_t bytes);
/* Where it put them; false: it did not. */
bool undo_store_removed(int record, uint32_t number, char out[PATH_BYTES]);
/* All of them; an empty list if there is no store. */
int undo_store_list(struct arena *a, struct undo_rows *ret, struct error *e);
/* Opens and locks one, and reads it; with `changes` found if its run was killed. */
int undo_store_open(struct undo *u, uint32_t number, struct error *e);

/* Removes a record as it is. -EEXIST: an undo left something in it, and may_lose is not set. */
int undo_store_forget(uint32_t number, bool may_lose, struct error *e);

/* repository.c: judges git's folders as a whole, when each change has been judged by itself. */
struct undo_step;
void undo_judge_repositories(const struct undo_changes *c, struct undo_step *steps);

/* restore.c */
enum undo_judgement {
	UNDO_CHANGED_SINCE, /* zero: nothing is done with it */
	UNDO_TO_DO,
	UNDO_DONE, /* it is as it was before the run */
	UNDO_FAILED,
	UNDO_STAYS, /* on purpose, and nothing is missing without it */
	UNDO_JUDGEMENTS,
};
struct undo_step {
	enum undo_judgement is;
	struct undo_state now;
	const char *why; /* for people, where it cannot be taken back */
	bool is_lossy;   /* what is removed or replaced cannot be kept */
};
/* Opens the folder again, and judges each change; steps has u->changes.n items. */
int undo_judge(struct undo *u, struct undo_step *steps, struct error *e);
/*
 * Takes back what is to do; steps say what became of it. may_lose: also where what is removed turns
 * out to be one that cannot be kept (those with .is_lossy are known before).
 */
void undo_restore(struct undo *u, struct undo_step *steps, bool may_lose);

/* removed.c: keeps what an undo takes out of the folder */
struct undo_removed {
	struct undo_place place; /* its root is ours; -1: not open */
	uint64_t limit, bytes;
	size_t names;
};
/* Marks what is more than fits. */
void undo_judge_removed(const struct undo *u, struct undo_step *steps);
/* Moves it to the record, if there is something to lose. Negative errno: it is still there. */
int undo_removed_take(struct undo_removed *k, const struct undo *u, int folder, const char *name,
	const char *path);
void undo_removed_end(struct undo_removed *k);

/* audit.c: puts an undo, or that a run is forgotten, into the user's log; what: "3 changes taken
 * back". */
void undo_audit(uint32_t number, const char *folder, const char *what, bool is_done);

/* show.c */
struct output;
struct json_writer;
void undo_show(struct output *o, const struct undo *u, const struct undo_step *steps);
void undo_show_left(struct output *o, const struct undo *u, const struct undo_step *steps);
void undo_show_json(struct json_writer *w, const struct undo *u, const struct undo_step *steps);
void undo_show_time(struct output *o, int64_t ns);
extern const char *const undo_what_names[UNDO_WHATS];
