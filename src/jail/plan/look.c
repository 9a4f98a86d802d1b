/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is there, and what the policy says of it. Nearly every path has no link in it; only if one
 * is found is the path walked step by step.
 *
 * A mount knows two rights, to read and to write as well, and so two questions make an answer. What
 * no entry grants and what an entry forbids are distinguished: the essentials may stand where
 * nothing is granted, never where something is forbidden.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "host/links.h"
#include "host/planted.h"
#include "jail/plan/internal.h"

int plan_look_at(const char *path, struct plan_place *ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	auto_fd fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	ret->exists = true;
	ret->is_dir = S_ISDIR(st.st_mode);
	ret->is_socket = S_ISSOCK(st.st_mode);
	ret->names = ret->is_dir ? 1 : st.st_nlink;
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	return 0;
}

bool plan_look_is_absent(int code)
{
	return code == ENOENT || code == ENOTDIR || code == EACCES || code == EPERM;
}

int plan_look_each(struct planner *p, const char *folder, plan_look_found *found, void *data)
{
	DIR *dir = opendir(folder);
	int code = dir || plan_look_is_absent(errno) ? 0 : errno, r = 0;

	while (dir && r == 0) {
		const struct dirent *d;

		errno = 0;
		d = readdir(dir);
		if (!d) {
			code = errno;
			break;
		}
		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			r = found(p, d->d_name, data);
	}
	if (dir)
		(void)closedir(dir);
	return code ? error_set(p->error, -code, NULL, "%s cannot be read: %s", folder,
			      strerror(code))
		    : r;
}

/* Looking at places */

/* What is not there, as far as a command can tell; code is 0 where it is. */
static int plan_look_absent(struct planner *p, struct plan_place *place, int code)
{
	place->hidden = place->hidden || code == -EACCES || code == -EPERM;
	if (code == 0 || plan_look_is_absent(-code) || code == -ENAMETOOLONG || code == -ELOOP)
		return 0;
	return error_set(p->error, code, place->where, "cannot examine %s: %s", place->path,
		strerror(-code));
}

static int plan_look_add_hop(void *data, const char *link, const char *target)
{
	struct planner *p = data;
	struct plan_hop hop = {
		.path = arena_strdup(&p->arena, link),
		.target = target ? arena_strdup(&p->arena, target) : NULL,
	};

	if (!hop.path || (target && !hop.target))
		return -ENOMEM;
	return ARENA_PUSH(&p->arena, p->hops, p->n_hops, p->cap_hops, hop);
}

static int plan_look_walk(struct planner *p, struct plan_place *place)
{
	char end[PATH_BYTES];
	int r;

	place->first_link = p->n_hops;
	r = plan_seen_walk(p, place->path, plan_look_add_hop, end);
	if (r < 0)
		return r == -ENOMEM ? r : plan_look_absent(p, place, r);
	place->n_links = p->n_hops - place->first_link;
	place->real = arena_strdup(&p->arena, end);
	return place->real ? plan_look_absent(p, place, plan_seen_at(p, place->real, place))
			   : -ENOMEM;
}

/* Questions to the policy */

static int plan_look_decide(const struct planner *p, const struct request *r, struct decision *d,
	struct plan_answer *ret)
{
	int err = policy_decide(p->policy, r, d);

	*ret = (struct plan_answer){ PLAN_NONE, PLAN_NONE, NULL, NULL };
	return err < 0 ? error_set(p->error, err, NULL, "the policy cannot decide about %s",
				 r->target)
		       : 0;
}

/* A rule, or a deny list, of any layer. */
static bool plan_look_is_forbidden(const struct planner *p, const struct request *r,
	const struct decision *d, struct plan_answer *a)
{
	if (d->verdict == VERDICT_ALLOW)
		return false;
	a->source = d->source;
	a->baseline = d->why == DECISION_BASELINE ? d->baseline : NULL;
	if (d->why == DECISION_BASELINE || d->why == DECISION_RULE)
		return true;
	/* The strictest verdict was one of several: another layer may have a reason of its own. */
	for (size_t i = 0; d->n_deny > 1 && i < policy_layers(p->policy); i++) {
		struct decision one;

		if (policy_decide_layer(p->policy, i, r, &one) < 0)
			return true;
		if (one.verdict != VERDICT_ALLOW && one.why == DECISION_RULE) {
			a->source = one.source;
			return true;
		}
	}
	a->source = NULL;
	return false;
}

static int plan_look_ask_path(const struct planner *p, const char *path, struct plan_answer *ret)
{
	struct request r = { .op = OPERATION_FS_READ, .target = path };
	struct decision d;
	bool readable;
	int err = plan_look_decide(p, &r, &d, ret);

	if (err < 0)
		return err;
	readable = d.verdict == VERDICT_ALLOW;
	if (plan_look_is_forbidden(p, &r, &d, ret))
		return 0;
	r.op = OPERATION_FS_WRITE;
	err = plan_look_decide(p, &r, &d, ret);
	if (err < 0)
		return err;
	ret->limit = plan_look_is_forbidden(p, &r, &d, ret) ? PLAN_READ : PLAN_WRITE;
	if (readable)
		ret->grant = d.verdict == VERDICT_ALLOW ? PLAN_WRITE : PLAN_READ;
	return 0;
}

int plan_look_ask_socket(const struct planner *p, const char *path, struct plan_answer *ret)
{
	char target[PATH_BYTES + 8];
	struct request r = { .op = OPERATION_NET_CONNECT, .target = target };
	struct decision d;
	int err;

	(void)snprintf(target, sizeof(target), "unix:%s", path);
	err = plan_look_decide(p, &r, &d, ret);
	if (err < 0 || plan_look_is_forbidden(p, &r, &d, ret))
		return err;
	ret->limit = PLAN_WRITE;
	ret->grant = d.verdict == VERDICT_ALLOW ? PLAN_WRITE : PLAN_NONE;
	return 0;
}

int plan_look_ask_masked(const struct planner *p, const char *path, struct plan_answer *ret)
{
	const struct request r = { .op = OPERATION_FS_READ, .target = path };

	*ret = (struct plan_answer){ PLAN_NONE, PLAN_NONE, NULL, NULL };
	for (size_t i = 0; i < policy_layers(p->policy); i++) {
		struct decision one;

		if (policy_decide_layer(p->policy, i, &r, &one) < 0)
			return error_set(
				p->error, -EINVAL, NULL, "the policy cannot decide about %s", path);
		if (one.verdict != VERDICT_ALLOW && one.why == DECISION_RULE) {
			ret->source = one.source;
			return 0;
		}
	}
	ret->limit = PLAN_READ;
	return 0;
}

/* A name in it that no pattern has. */
static int plan_look_ask_inside(const struct planner *p, const char *path, struct plan_answer *ret)
{
	size_t len = path[1] ? strlen(path) : 0, n = strlen(p->probe);
	char below[PATH_BYTES];

	if (len + 1 + n >= sizeof(below)) {
		*ret = (struct plan_answer){ PLAN_NONE, PLAN_NONE, NULL, NULL };
		return 0;
	}
	memcpy(below, path, len);
	below[len] = '/';
	memcpy(below + len + 1, p->probe, n + 1);
	return plan_look_ask_path(p, below, ret);
}

/* The lesser of what is said of the folder itself and of what is in it. */
static int plan_look_ask_whole(const struct planner *p, const char *path,
	const struct plan_answer *self, struct plan_answer *ret)
{
	struct plan_answer inside = { 0 };
	int r = plan_look_ask_inside(p, path, &inside);

	if (r < 0)
		return r;
	*ret = inside.limit < self->limit ? inside : *self;
	ret->grant = plan_least(self->grant, inside.grant);
	return 0;
}

const char *plan_look_who(struct planner *p, const struct plan_answer *a)
{
	const char *text = NULL;

	if (a->baseline)
		text = arena_printf(&p->arena, "the baseline (%s)", a->baseline);
	else if (a->source && a->source->in->id)
		text = arena_printf(
			&p->arena, "the rule %s (%s)", a->source->in->id, a->source->grant->all[0]);
	else if (a->source)
		text = arena_printf(
			&p->arena, "%s (%s)", a->source->in->name, a->source->grant->all[0]);
	return text ? text : "the policy";
}

/* Asking about places */

/* What comes from elsewhere than the policy: what it adds, and what it takes. */
static void plan_look_adjust(
	const struct planner *p, const struct plan_place *place, struct plan_answer *a)
{
	bool denied = place->runs == PLAN_RUNS_NOT;
	bool wanted = place->origin == PLAN_FROM_EXEC ||
		      (place->origin == PLAN_FROM_ESSENTIALS && place->special == PLAN_ORDINARY);

	if (place->origin == PLAN_FROM_SOCKETS || place->origin == PLAN_FROM_HIDDEN)
		a->limit = PLAN_NONE;
	if (place->origin == PLAN_FROM_GUARDED || (place->origin == PLAN_FROM_EXEC && !denied))
		a->limit = plan_least(a->limit, PLAN_READ);
	/* With a list a mount that runs nothing is enough; without, a copy of it could run. */
	if (denied && !p->plan->exec_listed)
		a->limit = PLAN_NONE;
	if (wanted && !denied)
		a->grant = plan_most(a->grant, PLAN_READ);
}

/*
 * A link that commands may replace, or that an earlier one could have made, grants nothing that its
 * end does not; and whoever may write in its folder may replace it.
 */
static int plan_look_distrust(struct planner *p, struct plan_place *place)
{
	for (size_t i = 0; i < place->n_links; i++) {
		struct plan_hop *hop = &p->hops[place->first_link + i];
		const char *link = hop->path;
		enum plan_access grant = place->answer.grant, there = place->there.grant;
		size_t len = (size_t)(strrchr(link, '/') - link);
		const char *folder = arena_strndup(&p->arena, link, len ? len : 1);
		struct plan_answer a;
		int r = folder ? plan_look_ask_inside(p, folder, &a) : -ENOMEM;

		if (r < 0)
			return r;
		hop->planted = hop->target && planted_is_possible(link, p->plan->home_real);
		if (a.grant < PLAN_WRITE && !hop->planted)
			continue;
		/* In a folder that may be written, the link is granted with the folder. */
		if (place->astray)
			break;
		if (a.grant < PLAN_WRITE ? grant > there : grant > PLAN_NONE && there == PLAN_NONE)
			place->astray = place->first_link + i + 1;
		else
			place->answer.grant = plan_least(grant, there);
	}
	return 0;
}

/* About a path: itself, and, of a folder or what may become one, with all that is in it. */
static int plan_look_ask_both(const struct planner *p, const struct plan_place *place,
	const char *path, struct plan_answer *self, struct plan_answer *ret)
{
	bool is_one = place->special == PLAN_DOOR || place->special == PLAN_MASKED;
	int r = place->special == PLAN_DOOR     ? plan_look_ask_socket(p, path, self)
		: place->special == PLAN_MASKED ? plan_look_ask_masked(p, path, self)
						: plan_look_ask_path(p, path, self);

	*ret = *self;
	return r == 0 && !is_one && (!place->exists || place->is_dir)
		       ? plan_look_ask_whole(p, path, self, ret)
		       : r;
}

int plan_look_ask(struct planner *p, struct plan_place *place)
{
	struct plan_answer self;
	int r;

	place->unasked = false;
	/* What is not there matters only where something forbids it. */
	if (place->special == PLAN_PRIVATE ||
		(!place->exists && place->special == PLAN_ORDINARY &&
			place->origin != PLAN_FROM_POLICY && place->origin != PLAN_FROM_BASELINE &&
			place->origin != PLAN_FROM_HIDDEN && place->runs != PLAN_RUNS_NOT))
		return 0;
	r = plan_look_ask_both(p, place, place->path, &place->self, &place->answer);
	plan_look_adjust(p, place, &place->self);
	plan_look_adjust(p, place, &place->answer);
	if (r == 0 && place->n_links > 0)
		r = plan_look_ask_both(p, place, place->real, &self, &place->there);
	if (r < 0 || place->n_links == 0)
		return r;
	/* What is forbidden where the links lead is forbidden. */
	if (place->there.limit < place->answer.limit) {
		place->answer.limit = place->there.limit;
		place->answer.source = place->there.source;
		place->answer.baseline = place->there.baseline;
	}
	return place->origin == PLAN_FROM_POLICY ? plan_look_distrust(p, place) : 0;
}

/* Most rules of a long list are about what is not there. */
static bool plan_look_can_wait(const struct plan_place *place)
{
	return place->origin == PLAN_FROM_POLICY && !place->exists && !place->hidden &&
	       !place->writes && place->special == PLAN_ORDINARY && place->n_links == 0 &&
	       place->runs != PLAN_RUNS_NOT;
}

int plan_look(struct planner *p)
{
	int r = 0;

	for (; r == 0 && p->n_ready < p->n; p->n_ready++) {
		struct plan_place *place = &p->places[p->n_ready];

		place->real = place->path;
		r = plan_seen_at(p, place->path, place);
		r = r == -ELOOP ? plan_look_walk(p, place) : plan_look_absent(p, place, r);
		if (place->is_program && place->is_dir)
			place->exists = false;
		place->unasked = r == 0 && plan_look_can_wait(place);
		if (place->unasked)
			place->self.limit = place->answer.limit = PLAN_WRITE;
		else if (r == 0)
			r = plan_look_ask(p, place);
	}
	return r;
}
