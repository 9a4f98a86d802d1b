/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a file in pieces, over minutes, to a draft (draft.h). What an attacker who may write in
 * the folder can do meanwhile, and what comes of it:
 *
 *     moves the folder elsewhere          it is not committed
 *     deletes, moves or replaces the part what is committed is the file that was written, by its
 *                                         descriptor; if that has no name any more, nothing is
 *     writes into the part, or cuts it    not committed if its size is another; the rest is theirs
 *                                         to do, before the commit as after it
 *
 * And before a save that goes on where an earlier one ended: in the part's place is
 *
 *     a link, a FIFO, a device            it is looked at before it is opened, and not opened
 *     a second name of another file       refused: it has two names. A file that was moved there
 *                                         has one, and whoever moved it may delete it
 *     a file of another user              refused
 *     a mount                             left alone: the save has no part
 *
 * What is refused is deleted (a name in that folder, never what it leads to), and the save begins
 * anew. The part's own name must be one that the policy lets be written.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "codec/encoding.h"
#include "lib/api/handles.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/draft.h"
#include "lib/enclave/internal.h"

struct corral_save {
	struct enclave_call call; /* its texts are our own */
	char *actor, *target;
	struct enclave_place place;
	struct draft draft;
	uint64_t bytes, max_bytes;
	int64_t modified_ns;
	mode_t mode; /* of a new file */
	int ended;   /* 1: it was reported; < 0: and by this error */
};

/* Parts */

/* Clipped where a name could not be longer: the hash is of all of it. */
static bool save_part_name(const char *name, const char *resume, char out[NAME_MAX + 1])
{
	enum { HASH = 8, CLIP = 200 };
	unsigned char hash[crypto_generichash_BYTES_MIN];
	crypto_generichash_state state;
	char hex[2 * HASH + 1];

	if (crypto_generichash_init(&state, NULL, 0, sizeof(hash)) < 0 ||
		crypto_generichash_update(&state, (const unsigned char *)name, strlen(name) + 1) <
			0 ||
		crypto_generichash_update(&state, (const unsigned char *)resume, strlen(resume)) <
			0 ||
		crypto_generichash_final(&state, hash, sizeof(hash)) < 0)
		return false;
	encoding_hex(hash, HASH, hex);
	(void)snprintf(out, NAME_MAX + 1, ".%.*s.%s.corral-part", CLIP, name, hex);
	return true;
}

/* The policy alone: no question is asked. */
static bool save_part_is_allowed(const struct corral_save *s, const char *name)
{
	struct enclave_call c = s->call;
	char path[PATH_BYTES];
	const struct request r = { .op = OPERATION_FS_WRITE, .target = path };
	int n = snprintf(path, sizeof(path), "%.*s%s", (int)(s->place.name - s->place.path),
		s->place.path, name);

	c.private = enclave_private_has(c.enclave, s->place.folder);
	return n < (int)sizeof(path) && enclave_look(&c, &r, 1) == VERDICT_ALLOW;
}

static bool save_part_fits(const struct corral_save *s, int fd, struct stat *ret)
{
	return fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_nlink == 1 &&
	       ret->st_uid == geteuid() && (uint64_t)ret->st_size <= s->max_bytes;
}

/* 1: it is to be continued. 0: it is not there, or gone now. -EBUSY: another save has it, or it is
 * a mount. */
static int save_part_take(struct corral_save *s, const char *name)
{
	auto_fd fd = -1, opened = -1;
	struct stat st;
	int r = beneath_open_in(s->place.folder, name, &fd);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (enclave_private_is_mount_point(s->call.enclave, s->place.folder, fd))
		return -EBUSY;
	if (!save_part_fits(s, fd, &st) || beneath_reopen(fd, O_RDWR, &opened) < 0)
		return unlinkat(s->place.folder, name, 0) < 0 ? -errno : 0;
	if (flock(opened, LOCK_EX | LOCK_NB) < 0)
		return -EBUSY;
	/* What was locked may have been committed meanwhile. */
	if (!save_part_fits(s, opened, &st) || lseek(opened, 0, SEEK_END) != st.st_size)
		return -EBUSY;
	s->draft.fd = fd_take(&opened);
	s->bytes = (uint64_t)st.st_size;
	s->modified_ns = (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
	return 1;
}

static int save_part_make(struct corral_save *s, const char *name, mode_t mode)
{
	int fd = openat(s->place.folder, name,
		O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, mode);

	if (fd < 0)
		return -errno;
	s->draft.fd = fd;
	return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 1;
}

/* Whatever is wrong with a part, the save goes on without one. */
static void save_part_begin(struct corral_save *s, const char *resume, mode_t mode)
{
	char name[NAME_MAX + 1];
	int r;

	if (!resume || !save_part_name(s->place.name, resume, name) ||
		!save_part_is_allowed(s, name))
		return;
	r = save_part_take(s, name);
	if (r == 0)
		r = save_part_make(s, name, mode);
	if (r == 1)
		memcpy(s->draft.part, name, sizeof(name));
	else
		fd_close(&s->draft.fd);
}

/* Beginning */

static int save_make(struct corral_save *s, const char *resume)
{
	auto_enclave_suspend rights = enclave_private_suspend(s->call.enclave);
	mode_t mode = s->place.fd >= 0 ? 0600 : s->mode;

	s->draft.folder = s->place.folder;
	save_part_begin(s, resume, mode);
	return s->draft.fd < 0 ? draft_make(&s->draft, mode) : 0;
}

static int save_keep_texts(struct corral_save *s)
{
	s->actor = strdup(s->call.actor);
	s->target = strdup(s->call.target);
	if (!s->actor || !s->target)
		return -ENOMEM;
	s->call.actor = s->actor;
	s->call.target = s->target;
	return 0;
}

static int save_begin(struct corral_save *s, const struct corral_save_options *o, const char *path,
	const struct corral_by *by, struct corral_error **e)
{
	struct enclave_call *c = &s->call;
	int r;

	enclave_begin(c, c->enclave, by, AUDIT_FS_WRITE, path);
	r = save_keep_texts(s);
	if (r < 0)
		return enclave_done(c, r, e);
	r = enclave_place_find(c, OPERATION_FS_WRITE, ENCLAVE_NAME, &s->place, e);
	if (r == 0 && s->place.fd >= 0)
		r = enclave_file_check(c, &s->place.st, e);
	if (r < 0)
		return r;
	s->max_bytes = o->max_bytes ? o->max_bytes : c->enclave->max_file_bytes;
	s->mode = (o->mode ? o->mode : ENCLAVE_FILE_MODE) & DRAFT_MODE_BITS;
	r = save_make(s, o->resume);
	return r < 0 ? enclave_done(c, r, e) : 0;
}

int corral_enclave_fs_save(struct corral_save **ret, struct corral_enclave *enclave,
	const struct corral_by *by, const char *path, const struct corral_save_options *o,
	struct corral_error **e)
{
	struct corral_save_options known = { .size = sizeof(known) };
	struct corral_save *s = calloc(1, sizeof(*s));
	struct error error = { 0 };
	int r = s ? handles_read_options(&known, sizeof(known), o, "corral_save_options",
			    "{ .size = sizeof(struct corral_save_options) }", &error)
		  : -ENOMEM;

	if (r < 0) {
		free(s);
		return handles_error(e, &error, r);
	}
	s->call.enclave = enclave;
	s->place.folder = s->place.fd = s->draft.folder = s->draft.fd = -1;
	r = save_begin(s, &known, path, by, e);
	if (r < 0) {
		s->ended = r;
		corral_save_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

uint64_t corral_save_bytes(const struct corral_save *s)
{
	return s->bytes;
}

int64_t corral_save_modified(const struct corral_save *s)
{
	return s->modified_ns;
}

/* Going on */

/* It came to nothing, and the log has it. */
static int save_fail(struct corral_save *s, int r)
{
	s->ended = r;
	return r;
}

static int save_check(struct corral_save *s, struct corral_error **e)
{
	struct error error = { 0 };

	return s->ended ? handles_error(e, &error,
				  error_set(&error, -EINVAL, NULL,
					  "%.256s: this save has ended already", s->call.target))
			: 0;
}

int corral_save_write(struct corral_save *s, const void *data, size_t len, struct corral_error **e)
{
	int r = save_check(s, e);

	if (r < 0)
		return r;
	if (len > s->max_bytes - s->bytes) {
		r = save_fail(s, enclave_refuse(&s->call, -EFBIG, e,
					 "the file is larger than the limit of %llu bytes",
					 (unsigned long long)s->max_bytes));
		corral_save_discard(s);
		return r;
	}
	r = file_write_all(s->draft.fd, data, len);
	if (r < 0)
		return save_fail(s, enclave_done(&s->call, r, e));
	s->bytes += len;
	return 0;
}

int corral_save_restart(struct corral_save *s, struct corral_error **e)
{
	int r = save_check(s, e);

	if (r < 0)
		return r;
	if (ftruncate(s->draft.fd, 0) < 0 || lseek(s->draft.fd, 0, SEEK_SET) < 0)
		return save_fail(s, enclave_done(&s->call, -errno, e));
	s->bytes = 0;
	s->modified_ns = 0;
	return 0;
}

/* Committing */

/* The policy of now, for what took its time. An approval is for the whole of it. */
static int save_permit(struct corral_save *s, struct corral_error **e)
{
	const struct request both[] = {
		{ .op = OPERATION_FS_WRITE, .target = s->call.target },
		{ .op = OPERATION_FS_WRITE, .target = s->place.path },
	};
	bool same = strcmp(s->call.target, s->place.path) == 0;
	enum verdict verdict = enclave_look(&s->call, both + same, same ? 1 : 2);

	if (verdict == VERDICT_ALLOW || (verdict == VERDICT_ASK && s->call.approved))
		return 0;
	return enclave_permit(&s->call, both + same, same ? 1 : 2, e);
}

static int save_check_folder(struct corral_save *s, struct corral_error **e)
{
	size_t len = (size_t)(s->place.name - s->place.path);
	char folder[PATH_BYTES];
	auto_fd there = -1;
	int r;

	/* Without the slash, but for that of the root. */
	memcpy(folder, s->place.path, len);
	folder[len > 1 ? len - 1 : 1] = '\0';
	r = beneath_lies_at(s->place.root, s->place.folder, folder);
	if (r < 0)
		return enclave_done(&s->call, r, e);
	if (r == 0)
		return enclave_refuse(
			&s->call, -EBUSY, e, "its folder was moved while it was written");
	if (beneath_open_in(s->place.folder, s->place.name, &there) == 0 &&
		enclave_private_is_mount_point(s->call.enclave, s->place.folder, there))
		return enclave_refuse(&s->call, -EBUSY, e, "something is mounted there");
	return 0;
}

/* 0: it is what was written. */
static int save_check_draft(struct corral_save *s, struct corral_error **e)
{
	struct stat st;

	if (fstat(s->draft.fd, &st) < 0)
		return enclave_done(&s->call, -errno, e);
	if ((uint64_t)st.st_size != s->bytes || st.st_nlink > 1 ||
		(s->draft.part[0] && st.st_nlink == 0))
		return enclave_refuse(&s->call, -EBUSY, e,
			"another program changed or removed it while it was written");
	/* Whoever may write in the folder may have changed the mode of a part, never to more. */
	if (s->draft.part[0] && s->place.fd < 0 && fchmod(s->draft.fd, st.st_mode & s->mode) < 0)
		return enclave_done(&s->call, -errno, e);
	return 0;
}

static void save_drop_part(struct corral_save *s)
{
	auto_enclave_suspend rights = enclave_private_suspend(s->call.enclave);

	if (draft_has_part(&s->draft))
		(void)unlinkat(s->draft.folder, s->draft.part, 0);
	s->draft.part[0] = '\0';
}

static int save_put(struct corral_save *s)
{
	auto_enclave_suspend rights = enclave_private_suspend(s->call.enclave);
	int r = draft_put(&s->draft, s->place.name, s->place.fd >= 0 ? &s->place.st : NULL);

	/* The part was a second name of it. */
	if (r == 0)
		save_drop_part(s);
	return r;
}

int corral_save_commit(struct corral_save *s, struct corral_error **e)
{
	int r = save_check(s, e);

	if (r < 0)
		return r;
	r = save_permit(s, e);
	if (r == 0)
		r = save_check_folder(s, e);
	if (r == 0)
		r = save_check_draft(s, e);
	if (r < 0)
		return save_fail(s, r);
	r = save_put(s);
	if (r == 0)
		s->call.sent = s->bytes;
	s->ended = r < 0 ? r : 1;
	return enclave_place_done(&s->call, &s->place, r, e);
}

void corral_save_discard(struct corral_save *s)
{
	if (s->ended != 1)
		save_drop_part(s);
	if (!s->ended) {
		enclave_tell(&s->call, AUDIT_FAILED, s->call.rule, "it was discarded");
		s->ended = -ECANCELED;
	}
}

void corral_save_free(struct corral_save *s)
{
	if (!s)
		return;
	if (!s->ended) {
		enclave_tell(&s->call, AUDIT_FAILED, s->call.rule, "it was not completed");
		s->ended = -ECANCELED;
	}
	if (s->bytes == 0)
		corral_save_discard(s);
	draft_deinit(&s->draft);
	enclave_place_deinit(&s->place);
	free(s->actor);
	free(s->target);
	free(s);
}
