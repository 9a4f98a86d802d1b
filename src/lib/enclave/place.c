/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One name after the other: the one that the caller gave, and each that a link makes of it. A name
 * is judged first, and looked up only if the policy allows it: whoever asks for something denied
 * does not learn whether it is there, not by a link either. In the end all is permitted once more
 * by one policy, the name that was given and the place where the thing is.
 *
 * Where the policy says "ask", somebody is asked about a name before it is looked up, and agrees to
 * exactly that. So that name must be the thing itself: a link after it is not followed.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/fd.h"
#include "host/links.h"
#include "host/own.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/internal.h"

struct search {
	struct enclave_call *call;
	enum operation op;
	enum enclave_wanted wanted;
	struct enclave_place *place;
	bool permitted;   /* place->path was approved, or the policy changed meanwhile */
	bool is_private;  /* place->path leads to a private place; of what was opened: it lies there
			   */
	bool was_private; /* the same of the name that was given */
};

/* Links, and things that change while they are looked at. */
enum { STEPS_MAX = BENEATH_LINKS_MAX };

void enclave_place_deinit(struct enclave_place *p)
{
	fd_close(&p->folder);
	fd_close(&p->fd);
}

/* The name that was given, and where we are now: that is what somebody may be asked about. */
static int permit_place(struct search *s, struct corral_error **e)
{
	const struct request both[] = {
		{ .op = s->op, .target = s->call->target },
		{ .op = s->op, .target = s->place->path },
	};
	bool same = strcmp(s->call->target, s->place->path) == 0;
	int r;

	s->call->private = same ? s->is_private : s->was_private | s->is_private << 1;
	r = enclave_permit(s->call, both + same, same ? 1 : 2, e);
	s->permitted = r == 0;
	return r;
}

/*
 * Where a name is looked up that was judged. The sandbox's tree has what was granted when it was
 * built; what a person agreed to since then is the host's.
 */
static int search_root(const struct search *s)
{
	const struct corral_enclave *enclave = s->call->enclave;
	const struct request r = { .op = s->op, .target = s->place->path };

	if (!enclave->looks_outside)
		return enclave->root;
	return (s->permitted && s->call->approved) || enclave_is_agreed(s->call, &r)
		       ? BENEATH_HOST
		       : enclave->root;
}

static int judge_name(struct search *s, struct corral_error **e)
{
	const struct request r = { .op = s->op, .target = s->place->path };

	s->is_private = false;
	s->call->private = 0;
	if (enclave_look(s->call, &r, 1) == VERDICT_ALLOW)
		return 0;
	s->is_private = enclave_private_reaches(s->call->enclave, r.target);
	s->call->private = s->is_private;
	if (s->is_private && enclave_look(s->call, &r, 1) == VERDICT_ALLOW)
		return 0;
	return permit_place(s, e);
}

/* Before a name is looked up, but for the question whether it is on a private place. */
static int judge_place(struct search *s, struct corral_error **e)
{
	int r = judge_name(s, e);

	s->place->root = search_root(s);
	/* Whatever the session has of its own under that name, the host's was agreed to. */
	if (s->place->root != s->call->enclave->root)
		s->is_private = false;
	return r;
}

/* Looking. 0: found; 1: there is a link to be followed first. */

static int open_at(int root, const char *path, int *ret, struct stat *st)
{
	int r = beneath_open(root, path, ret);

	if (r < 0)
		return r == -ELOOP ? 1 : r;
	if (fstat(*ret, st) < 0)
		return -errno;
	return S_ISLNK(st->st_mode);
}

/* The path of the folder, "/" for what lies in the root; and the name. -EISDIR: it is the root. */
static int split_path(const char *path, char folder[PATH_BYTES], const char **ret_name)
{
	size_t len = (size_t)(strrchr(path, '/') - path);

	if (!path[1])
		return -EISDIR;
	memcpy(folder, path, len + 1);
	folder[len ? len : 1] = '\0';
	*ret_name = path + len + 1;
	return 0;
}

static int look_in_folder(struct search *s)
{
	struct enclave_place *p = s->place;
	char folder[PATH_BYTES];
	int r = split_path(p->path, folder, &p->name);

	if (r == 0)
		r = open_at(p->root, folder, &p->folder, &p->st);
	if (r != 0)
		return r;
	if (!S_ISDIR(p->st.st_mode))
		return -ENOTDIR;
	r = beneath_open_in(p->folder, p->name, &p->fd);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (fstat(p->fd, &p->st) < 0)
		return -errno;
	return s->wanted == ENCLAVE_NAME && S_ISLNK(p->st.st_mode);
}

static int search_look(struct search *s)
{
	const struct corral_enclave *enclave = s->call->enclave;
	auto_enclave_suspend rights = enclave_private_suspend(enclave);
	struct enclave_place *p = s->place;

	enclave_place_deinit(p);
	return s->wanted == ENCLAVE_THING ? open_at(p->root, p->path, &p->fd, &p->st)
					  : look_in_folder(s);
}

/* Following: puts what the first link says into the path. 0: there is none any more. */

static int follow_folder(int root, struct enclave_place *p)
{
	char folder[PATH_BYTES], next[PATH_BYTES];
	const char *name;
	int r = split_path(p->path, folder, &name), n;

	if (r == 0)
		r = beneath_next(root, folder, next, NULL);
	if (r <= 0)
		return r;
	/* The name points into what is written over. */
	n = snprintf(folder, sizeof(folder), "%s/%s", next[1] ? next : "", name);
	if (n >= (int)sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(p->path, folder, (size_t)n + 1);
	return 1;
}

static int search_follow(struct search *s)
{
	const struct corral_enclave *enclave = s->call->enclave;
	auto_enclave_suspend rights = enclave_private_suspend(enclave);
	char next[PATH_BYTES];
	int r;

	if (s->wanted == ENCLAVE_ENTRY)
		return follow_folder(s->place->root, s->place);
	r = beneath_next(s->place->root, s->place->path, next, NULL);
	if (r == 1)
		memcpy(s->place->path, next, strlen(next) + 1);
	return r;
}

/* Saying no */

static int fail_search(struct search *s, int code, struct corral_error **e)
{
	static const struct {
		int code, tell;
		const char *text;
	} reasons[] = {
		{ -ENOSYS, -ENOSYS, "the enclave needs openat2() (Linux 5.6) and /proc" },
		{ -ELOOP, -ELOOP, "a link in /proc cannot be resolved safely" },
		{ -EXDEV, -ELOOP, "a symbolic link in the path contains \"..\" after a name" },
		{ -EBUSY, -EBUSY, "it was moved while it was being resolved" },
	};

	for (size_t i = 0; i < ROWS(reasons); i++) {
		if (reasons[i].code == code)
			return enclave_refuse(s->call, reasons[i].tell, e, "%s", reasons[i].text);
	}
	return enclave_done(s->call, code, e);
}

/* From one name to the next. 0: look there. */
static int next_name(struct search *s, struct corral_error **e)
{
	int r;

	if (s->permitted)
		return enclave_refuse(s->call, -EACCES, e,
			"%s contains a symbolic link, but the approval is for that path itself",
			s->place->path);
	r = search_follow(s);
	if (r < 0)
		return fail_search(s, r, e);
	return r == 1 ? judge_place(s, e) : 0;
}

/* What was found */

/* A name belongs to its folder, and what has it must not be another mount. */
static bool found_is_private(const struct search *s)
{
	const struct enclave_place *p = s->place;
	const struct corral_enclave *enclave = s->call->enclave;

	return (p->folder < 0 || enclave_private_has(enclave, p->folder)) &&
	       (p->fd < 0 || enclave_private_has(enclave, p->fd));
}

struct guarded {
	const char *written; /* without links */
	bool is_met;
};

static int guarded_meet(void *data, const char *link, const char *target)
{
	struct guarded *g = data;

	(void)target;
	g->is_met = g->is_met || path_is_below(link, g->written);
	return 0;
}

/* It, what is in it, a folder on the way to it; also by where links on that way lie, and lead. */
static bool guarded_has(const char *guarded, const char *written)
{
	struct guarded g = { .written = written };
	char end[PATH_BYTES];

	return path_is_below(guarded, written) || path_is_below(written, guarded) ||
	       links_walk(guarded, guarded_meet, &g, end) < 0 || g.is_met ||
	       path_is_below(end, written) || path_is_below(written, end);
}

/* On the host nothing is mounted over what no command may see or change. */
static int check_outside(const struct search *s, struct corral_error **e)
{
	const struct corral_enclave *enclave = s->call->enclave;
	const char *path = s->place->path;

	/* The baseline has the usual places only. */
	if (own_has(path, s->op == OPERATION_FS_WRITE))
		return enclave_refuse(s->call, -EACCES, e, "it belongs to Corral itself");
	for (size_t i = 0; s->op == OPERATION_FS_WRITE && i < enclave->n_guarded; i++)
		if (guarded_has(enclave->guarded[i], path))
			return enclave_refuse(s->call, -EACCES, e,
				"%s decides about other commands, and stays as it is",
				enclave->guarded[i]);
	return 0;
}

static int check_found(const struct search *s, struct corral_error **e)
{
	const struct enclave_place *p = s->place;
	const struct corral_enclave *enclave = s->call->enclave;
	int r = p->root == BENEATH_HOST ? check_outside(s, e) : 0;

	if (r < 0)
		return r;

	if (enclave_private_is_proc(enclave, p->folder < 0 ? p->fd : p->folder) ||
		(p->fd >= 0 && enclave_private_is_proc(enclave, p->fd)))
		return enclave_refuse(s->call, -ELOOP, e, "it lies in /proc");
	if (p->folder >= 0 && p->fd >= 0 &&
		enclave_private_is_mount_point(enclave, p->folder, p->fd))
		return enclave_refuse(s->call, -EBUSY, e,
			"something is mounted there, as on a file that is granted by itself; "
			"grant its folder");
	return 0;
}

static int permit_found(struct search *s, struct corral_error **e)
{
	bool is_private = found_is_private(s);
	int r = 0;

	if (s->permitted && s->is_private && !is_private)
		return fail_search(s, -EBUSY, e);
	s->is_private = is_private;
	if (!s->permitted)
		r = permit_place(s, e);
	return r < 0 ? r : check_found(s, e);
}

int enclave_place_find(struct enclave_call *c, enum operation op, enum enclave_wanted wanted,
	struct enclave_place *ret, struct corral_error **e)
{
	struct search s = { .call = c, .op = op, .wanted = wanted, .place = ret };
	size_t len = strnlen(c->target, PATH_BYTES);
	int r;

	ret->folder = ret->fd = -1;
	ret->root = c->enclave->root;
	if (len == PATH_BYTES)
		return enclave_refuse(c, -ENAMETOOLONG, e, "the path is too long");
	if (!path_is_normal(c->target, len))
		return enclave_refuse(c, -EINVAL, e,
			"the path must be absolute, without \".\", \"..\" or double slashes");
	memcpy(ret->path, c->target, len + 1);
	r = judge_place(&s, e);
	s.was_private = s.is_private;
	for (unsigned i = 0; r == 0 && i <= STEPS_MAX; i++) {
		r = search_look(&s);
		if (r == 0)
			return permit_found(&s, e);
		if (r < 0)
			return fail_search(&s, r, e);
		r = next_name(&s, e);
	}
	return r < 0 ? r : enclave_refuse(c, -ELOOP, e, "too many levels of symbolic links");
}

int enclave_place_done(
	struct enclave_call *c, const struct enclave_place *p, int r, struct corral_error **e)
{
	char reason[PATH_BYTES + 64];

	if (r < 0 || strcmp(c->target, p->path) == 0)
		return enclave_done(c, r, e);
	(void)snprintf(reason, sizeof(reason), "symbolic links resolve to %s%s", p->path,
		c->approved ? ", and it was approved" : "");
	enclave_tell(c, AUDIT_ALLOWED, c->rule, reason);
	return r;
}
