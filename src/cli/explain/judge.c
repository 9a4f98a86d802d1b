/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Was that call denied by the sandbox? Three places are asked: the tree inside, the host, and the
 * policy. What the command has not inside but has on the host, and which the policy does not grant,
 * was denied. What the host would have refused as well (no such file, no permission) was not denied
 * by us, and most of it is programs looking around.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/explain/internal.h"
#include "host/links.h"
#include "host/planted.h"

/* EAGAIN: another process of the machine renamed or mounted something meanwhile. */
enum { TRIES = 16 };

struct judge_question {
	const struct run *run;
	const struct sight *sight;
	char path[PATH_BYTES]; /* as the command named it, normal */
	char real[PATH_BYTES]; /* as the host has it, without links */
	struct stat host;
	bool exists; /* on the host: then `host` is filled */
	struct denial *denial;
	char *target; /* the denial's path */
};

/* Paths */

/* The folder of a path: the length of its name, without the slash unless it is the root. */
static size_t folder_len(const char *path)
{
	size_t len = (size_t)(strrchr(path, '/') - path);

	return len ? len : 1;
}

static void explain_judge_folder_of(const char *path, char out[PATH_BYTES])
{
	size_t len = folder_len(path);

	memcpy(out, path, len);
	out[len] = '\0';
}

static int check_hop(void *run, const char *path)
{
	return run_explain_acts(run, path) ? -EREMOTE : 0;
}

/* Not into places where a look has effects (explain/host.c). */
static int explain_judge_follow(const struct run *r, const char *path, char out[PATH_BYTES])
{
	char normal[PATH_BYTES];
	size_t len;
	int err = path_normalize(path, strlen(path), normal, &len);

	if (err == 0)
		err = check_hop((void *)r, normal);
	return err < 0 ? err : links_follow(path, check_hop, (void *)r, out);
}

bool run_explain_is_planted(const struct run *r, const char *path, char real[PATH_BYTES])
{
	struct planted planted;

	if (explain_judge_follow(r, path, real) < 0)
		return false;
	return planted_find(path, r->load.variables.values[VARIABLE_HOME], &planted) == 1 &&
	       strcmp(planted.real, real) == 0;
}

/* Where the path leads on the host; its last part is not followed if it is meant itself. */
static int find_real(struct judge_question *q, bool itself)
{
	char folder[PATH_BYTES];
	const char *name;
	int n;

	if (!itself || strcmp(q->path, "/") == 0)
		return explain_judge_follow(q->run, q->sight->path, q->real);
	explain_judge_folder_of(q->path, folder);
	if (run_explain_acts(q->run, q->path) || explain_judge_follow(q->run, folder, q->real) < 0)
		return -ELOOP;
	name = strrchr(q->path, '/');
	n = snprintf(folder, sizeof(folder), "%s%s", q->real[1] ? q->real : "", name);
	if (n >= (int)sizeof(folder))
		return -ENAMETOOLONG;
	memcpy(q->real, folder, (size_t)n + 1);
	return check_hop((void *)q->run, q->real);
}

/* Is it there inside? Links are followed there as the command's would be. */
static int open_inside(const struct sight *s, const char *path, bool itself)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | (itself ? O_NOFOLLOW : 0),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int fd, tries = TRIES;

	do
		fd = (int)syscall(SYS_openat2, s->root, path, &how, sizeof(how));
	while (fd < 0 && errno == EAGAIN && --tries > 0);
	return fd < 0 ? -errno : fd;
}

static bool has_inside(const struct judge_question *q, const char *path, bool itself)
{
	auto_fd fd = open_inside(q->sight, path, itself);

	/* What cannot be looked at now is not said to be missing. */
	return fd >= 0 || (fd != -ENOENT && fd != -ENOTDIR && fd != -EACCES && fd != -ELOOP);
}

static bool is_inside(const struct judge_question *q, bool itself)
{
	return has_inside(q, q->sight->path, itself);
}

static bool is_masked(const struct judge_question *q)
{
	const struct plan_entry *entry = plan_find(q->run->plan, q->real);

	return entry && entry->kind == PLAN_MASK;
}

/* In a folder of the sandbox's own, whatever the host has there: it is there, or can be made. */
static bool explain_judge_is_private(const struct judge_question *q)
{
	const struct plan_entry *entry = plan_find(q->run->plan, q->real);
	const struct sight *s = q->sight;
	const bool makes = s->kind == NOTIFY_MAKE || (s->kind == NOTIFY_OPEN && s->extra & O_CREAT);
	char folder[PATH_BYTES];

	if (!entry || entry->kind != PLAN_TMP)
		return false;
	explain_judge_folder_of(q->path, folder);
	return is_inside(q, true) || (makes && has_inside(q, folder, false));
}

static bool explain_judge_may(const struct run *r, enum operation op, const char *target)
{
	return policy_allows(r->policy, &(struct request){ .op = op, .target = target });
}

/* The host would let the user do that; what it would not is no matter of the sandbox. */
static bool host_lets(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

/* Answers */

/* The name that the command used, as long as it leads to the same: a grant of it makes its links,
 * too. If that is granted already, then where it leads is what is missing. */
static const char *either(const struct judge_question *q, const char *path, const char *real)
{
	char leads_to[PATH_BYTES];
	bool same =
		explain_judge_follow(q->run, path, leads_to) == 0 && strcmp(leads_to, real) == 0;

	return same && !explain_judge_may(q->run, OPERATION_FS_READ, path) ? path : real;
}

static int denied(struct judge_question *q, enum denial_kind kind, const char *path, bool is_folder)
{
	/* Places in which programs look, and do without. */
	static const char *const quiet[] = { "/sys", "/run/nscd", "/var/run/nscd", "/run/systemd",
		"/etc/locale.alias", NULL };

	bool is_quiet = strstr(q->real, "/__pycache__");
	struct planted planted;

	for (size_t i = 0; quiet[i]; i++)
		is_quiet |= path_is_below(q->real, quiet[i]);
	memmove(q->target, path, strlen(path) + 1);
	*q->denial = (struct denial){
		.kind = kind,
		.path = q->target,
		.is_folder = is_folder,
		.is_quiet = is_quiet,
		.is_linked = strcmp(q->path, q->real) != 0 &&
			     planted_find(q->path, q->run->load.variables.values[VARIABLE_HOME],
				     &planted) == 1,
	};
	return EXPLAIN_DENIED;
}

static bool look_on_host(const struct run *r, const char *path, struct stat *ret)
{
	char real[PATH_BYTES];

	return explain_judge_follow(r, path, real) == 0 && lstat(real, ret) == 0;
}

/* As much of a word as exists, if it leads on from the folder. */
static bool leads_on(
	const struct run *r, const char *word, const char *folder, char out[PATH_BYTES])
{
	struct stat st;
	size_t len;

	if (path_normalize(word, strlen(word), out, &len) < 0 || !path_is_below(out, folder))
		return false;
	while (strcmp(out, folder) != 0 && !look_on_host(r, out, &st))
		out[folder_len(out)] = '\0';
	return strcmp(out, folder) != 0;
}

/*
 * Some programs walk along a path from its start, so that all they were ever seen to ask for is a
 * folder far above what they want. Their arguments often have the rest: the deepest part of it that
 * exists. Some cut the argument itself for that, so that one is looked at with the next as well.
 */
static void deepen(const struct judge_question *q, char folder[PATH_BYTES])
{
	char file[64], words[PATH_BYTES], both[2 * PATH_BYTES], found[PATH_BYTES];
	size_t n, len;

	(void)snprintf(file, sizeof(file), "/proc/%d/cmdline", (int)q->sight->pid);
	n = explain_read(file, words, sizeof(words));
	for (size_t i = 0; i < n; i += len + 1) {
		len = strlen(words + i);
		(void)snprintf(both, sizeof(both), "%s/%s", words + i,
			i + len < n ? words + i + len + 1 : "");
		if (words[i] == '/' && (leads_on(q->run, words + i, folder, found) ||
					       leads_on(q->run, both, folder, found))) {
			memcpy(folder, found, strlen(found) + 1);
			return;
		}
	}
}

/* A folder on the way, which was not asked for itself. */
static int denied_on_the_way(struct judge_question *q, enum denial_kind kind)
{
	struct stat st;
	int r = denied(q, kind, either(q, q->path, q->real), true);

	deepen(q, q->target);
	q->denial->is_folder = !look_on_host(q->run, q->target, &st) || S_ISDIR(st.st_mode);
	q->denial->is_look = true;
	return r;
}

/* Reading */

static int judge_read(struct judge_question *q, bool is_look)
{
	bool is_folder = S_ISDIR(q->host.st_mode);
	int r;

	if (!q->exists || (is_inside(q, q->sight->itself) && (is_look || !is_masked(q))))
		return 0;
	if (!is_look && !host_lets(q->real, R_OK))
		return 0;
	/* It is granted, so the name is what is missing, or the host has just made it. */
	if (explain_judge_may(q->run, OPERATION_FS_READ, q->real) &&
		strcmp(q->path, q->real) == 0 && !is_masked(q))
		return 0;
	if (is_look && is_folder)
		return denied_on_the_way(q, DENIAL_READ);
	r = denied(q, DENIAL_READ, either(q, q->path, q->real), is_folder);
	q->denial->is_look = is_look;
	return r;
}

/* Writing */

static int denied_file(struct judge_question *q)
{
	if (!host_lets(q->real, W_OK))
		return 0;
	return denied(q, DENIAL_WRITE, either(q, q->path, q->real), S_ISDIR(q->host.st_mode));
}

/* A file that is to be made in the home itself, which is never granted: by its name, or by that of
 * the file which a temporary file or a lock is beside. Such a file can be made, and replaced. */
static bool explain_judge_home_file(
	const struct judge_question *q, const char *folder, char ret[PATH_BYTES])
{
	static const char *const beside[] = { ".lock", ".tmp", ".temp", ".new", "~" };
	char *name;

	if (strcmp(folder, q->run->plan->home_real) != 0 || q->sight->kind != NOTIFY_OPEN ||
		!(q->sight->extra & O_CREAT))
		return false;
	memcpy(ret, q->real, strlen(q->real) + 1);
	name = strrchr(ret, '/') + 1;
	for (size_t i = 0; i < ROWS(beside); i++) {
		char *end = strstr(name, beside[i]);

		if (end && end > name + 1)
			*end = '\0';
	}
	return true;
}

/* A folder gets or loses a name. */
static int denied_folder(struct judge_question *q)
{
	char folder[PATH_BYTES], named[PATH_BYTES], file[PATH_BYTES];

	explain_judge_folder_of(q->real, folder);
	explain_judge_folder_of(q->path, named);
	if (!host_lets(folder, W_OK | X_OK))
		return 0;
	/* The folder is granted: then it is about this one name in it. */
	if (explain_judge_may(q->run, OPERATION_FS_WRITE, folder))
		return denied(q, DENIAL_WRITE, q->real, q->exists && S_ISDIR(q->host.st_mode));
	if (explain_judge_home_file(q, folder, file))
		return denied(q, DENIAL_WRITE, file, false);
	return denied(q, DENIAL_WRITE, either(q, named, folder), true);
}

enum explain_skill run_explain_skill(const struct run *r, const char *path)
{
	const struct plan_entry *entry;

	if (!r->options.skill || !path_is_below(path, r->skill.path))
		return EXPLAIN_NO_SKILL;
	entry = plan_find(r->plan, path);
	if (!entry)
		return EXPLAIN_NO_SKILL;
	if (entry->copied)
		return EXPLAIN_SKILL_COPY;
	return entry->kind == PLAN_BIND && !entry->exec ? EXPLAIN_SKILL_LIVE : EXPLAIN_NO_SKILL;
}

/*
 * A file that is granted by itself is a mount: it can be changed, but neither be removed nor be
 * replaced by another that is renamed to it, as most programs save their settings. With its folder
 * it can.
 */
static bool explain_judge_is_mount(const struct judge_question *q)
{
	const enum notify_kind kind = q->sight->kind;
	const struct plan_entry *entry = plan_at(q->run->plan, q->real);

	return (kind == NOTIFY_MAKE || kind == NOTIFY_REMOVE) && q->exists && entry &&
	       entry->kind == PLAN_BIND && !entry->is_dir && entry->writable && !entry->stands_in;
}

static int denied_replacement(struct judge_question *q)
{
	char folder[PATH_BYTES];
	int r;

	explain_judge_folder_of(q->real, folder);
	r = denied(q, DENIAL_WRITE, folder, true);
	q->denial->is_replaced = true;
	return r;
}

static int judge_write(struct judge_question *q)
{
	if (explain_judge_is_mount(q))
		return denied_replacement(q);
	/* A skill's copy is not written, whatever the policy says. */
	if (explain_judge_is_private(q)) {
		memcpy(q->target, q->path, strlen(q->path) + 1);
		return q->sight->kind == NOTIFY_MAKE ? EXPLAIN_MADE : EXPLAIN_NOTHING;
	}
	if (explain_judge_may(q->run, OPERATION_FS_WRITE, q->real) &&
		run_explain_skill(q->run, q->real) != EXPLAIN_SKILL_COPY)
		return 0;
	switch (q->sight->kind) {
	case NOTIFY_MAKE:
		/* "mkdir -p" makes what is there. */
		if (!q->exists || !S_ISDIR(q->host.st_mode))
			return denied_folder(q);
		return is_inside(q, false) ? 0 : denied_on_the_way(q, DENIAL_WRITE);
	case NOTIFY_REMOVE:
		return q->exists ? denied_folder(q) : 0;
	case NOTIFY_OPEN:
		if (!q->exists)
			return q->sight->extra & O_CREAT ? denied_folder(q) : 0;
		/* To be made anew: what is there inside is there, and the rest is a mistake. */
		if (q->sight->extra & O_CREAT && q->sight->extra & O_EXCL && is_inside(q, true))
			return 0;
		return denied_file(q);
	default:
		return q->exists ? denied_file(q) : 0;
	}
}

/* Opening */

static bool opens_for_writing(uint64_t flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || flags & (O_CREAT | O_TRUNC);
}

/* Programs */

const char *run_explain_name(const char *path)
{
	return strrchr(path, '/') + 1;
}

static int explain_judge_look_at(struct judge_question *q, const struct sight *s);

/* A loader has to be there; a script's program has to be one that may run. */
static int judge_interpreter(struct judge_question *q)
{
	char path[PATH_BYTES];
	struct sight sight = *q->sight;
	enum explain_interpreter kind = run_explain_interpreter(q->real, path);
	int r;

	/* One that is a script itself is not followed: that is not used in practice. */
	if (kind == EXPLAIN_NO_INTERPRETER || (kind == EXPLAIN_SCRIPT && sight.extra))
		return EXPLAIN_RUNS;
	sight.path = path;
	sight.kind = kind == EXPLAIN_LOADER ? NOTIFY_OPEN : NOTIFY_EXEC;
	sight.extra = kind == EXPLAIN_LOADER ? O_RDONLY : 1;
	sight.itself = false;
	r = explain_judge_look_at(q, &sight);
	return r == EXPLAIN_NOTHING && kind == EXPLAIN_LOADER ? EXPLAIN_RUNS : r;
}

static int judge_exec(struct judge_question *q)
{
	const struct run *r = q->run;
	bool may_run = explain_judge_may(r, OPERATION_EXEC, q->real);

	if (!q->exists || !S_ISREG(q->host.st_mode) || !host_lets(q->real, X_OK))
		return 0;
	for (size_t i = 0; !may_run && i < r->plan->n_programs; i++)
		may_run = strcmp(r->plan->programs[i], q->real) == 0;
	if (may_run && is_inside(q, false))
		return run_explain_skill(r, q->real) == EXPLAIN_SKILL_LIVE
			       ? denied(q, DENIAL_EXEC, q->real, false)
			       : judge_interpreter(q);
	/* By one name, whichever of /bin and /usr/bin it was looked for in. */
	if (!may_run && r->plan->exec_listed)
		return find_real(q, true) == 0 ? denied(q, DENIAL_EXEC, q->real, false) : 0;
	return is_inside(q, false) ? 0 : denied(q, DENIAL_READ, either(q, q->path, q->real), false);
}

/* In a folder of the command's PATH. */
static bool explain_judge_is_in_path(const struct run *r, const char *path)
{
	size_t len = folder_len(path);

	for (size_t i = 0; i < r->n_env; i++) {
		if (strncmp(r->env[i], "PATH=", 5) != 0)
			continue;
		for (const char *p = r->env[i] + 5; *p;) {
			size_t n = strcspn(p, ":");

			if (n == len && strncmp(p, path, n) == 0)
				return true;
			p += n + (p[n] == ':');
		}
	}
	return false;
}

/*
 * Who asks whether a file can be run wants to run it; so do shells, which ask in each folder of
 * PATH whether it is there. Without a list of programs it only has to be there to be read.
 */
static bool explain_judge_is_for_program(const struct judge_question *q)
{
	const struct sight *s = q->sight;
	bool asks = s->kind == NOTIFY_ACCESS && s->extra & X_OK;

	return q->exists && S_ISREG(q->host.st_mode) && host_lets(q->real, X_OK) &&
	       (asks || (q->run->plan->exec_listed && explain_judge_is_in_path(q->run, q->path)));
}

/*
 * A repository around the working folder. git looks for .git in the folder and in those above it,
 * and gives up where a mount begins, which is where the working folder is granted; so it is looked
 * for further up here. What it needs is the repository as a whole.
 */
static bool explain_judge_is_repository(const struct judge_question *q, char folder[PATH_BYTES])
{
	static const char *const names[] = { ".git", ".hg", ".jj", ".svn" };
	const char *name = run_explain_name(q->path);
	char there[PATH_BYTES];
	bool is_one = false;
	struct stat st = { 0 };

	for (size_t i = 0; i < ROWS(names); i++)
		is_one = is_one || strcmp(name, names[i]) == 0;
	explain_judge_folder_of(q->real, folder);
	if (!is_one || !path_is_below(q->run->cwd, folder))
		return false;
	while (folder[1] && (snprintf(there, sizeof(there), "%s/%s", folder, name) >= PATH_BYTES ||
				    run_explain_acts(q->run, there) || lstat(there, &st) < 0))
		folder[folder_len(folder)] = '\0';
	return folder[1] && !explain_judge_may(q->run, OPERATION_FS_READ, folder);
}

static int judge_look(struct judge_question *q)
{
	char folder[PATH_BYTES];
	int r;

	if (explain_judge_is_repository(q, folder)) {
		r = denied(q, DENIAL_READ, folder, true);
		q->denial->is_look = true;
		return r;
	}
	if (!explain_judge_is_for_program(q))
		return judge_read(q, true);
	r = judge_exec(q);
	if (r == EXPLAIN_DENIED)
		q->denial->is_look = true;
	return r;
}

/* A socket with a name. */
static int judge_connect(struct judge_question *q)
{
	char name[PATH_BYTES + 8];

	if (!q->exists || !S_ISSOCK(q->host.st_mode) || (is_inside(q, false) && !is_masked(q)))
		return 0;
	(void)snprintf(name, sizeof(name), "unix:%s", q->real);
	if (strlen(name) >= PATH_BYTES || !host_lets(q->real, W_OK) ||
		explain_judge_may(q->run, OPERATION_NET_CONNECT, name))
		return 0;
	return denied(q, DENIAL_CONNECT, name, false);
}

static int explain_judge_look_at(struct judge_question *q, const struct sight *s)
{
	bool itself = s->itself || s->kind == NOTIFY_MAKE || s->kind == NOTIFY_REMOVE;
	size_t len;
	int r;

	q->sight = s;
	if (path_normalize(s->path, strlen(s->path), q->path, &len) < 0 || find_real(q, itself) < 0)
		return 0;
	/* Of the sandbox's own making: other processes, the kernel's settings, the usual devices.
	 */
	if (path_is_below(q->path, "/proc") || path_is_below(q->real, "/proc") ||
		(path_is_below(q->real, "/dev") && (s->kind != NOTIFY_OPEN || is_inside(q, false))))
		return 0;
	q->exists = lstat(q->real, &q->host) == 0;
	switch (s->kind) {
	case NOTIFY_LOOK:
		return judge_look(q);
	case NOTIFY_ACCESS:
		r = judge_look(q);
		if (r != 0 || !(s->extra & W_OK))
			return r;
		r = judge_write(q);
		if (r == EXPLAIN_DENIED)
			q->denial->is_look = true;
		return r;
	case NOTIFY_OPEN:
		if (s->extra & O_PATH)
			return judge_read(q, true);
		return opens_for_writing(s->extra) ? judge_write(q) : judge_read(q, false);
	case NOTIFY_EXEC:
		return judge_exec(q);
	case NOTIFY_CONNECT:
		return judge_connect(q);
	case NOTIFY_CHANGE:
	case NOTIFY_MAKE:
	case NOTIFY_REMOVE:
		return judge_write(q);
	case NOTIFY_NAMESPACE:
	case NOTIFY_NONE:
		break;
	}
	return 0;
}

int run_explain_judge(
	const struct run *r, const struct sight *s, struct denial *ret, char path[PATH_BYTES])
{
	struct judge_question q = { .run = r, .denial = ret, .target = path };
	struct sight sight = *s;
	/* What is there may still not be written, or be run. */
	const uint64_t more = r->plan->exec_listed ? W_OK | X_OK : W_OK;

	if (s->kind == NOTIFY_NAMESPACE)
		return run_explain_sandbox(s, ret, path);
	if (!s->path)
		return s->address ? run_explain_loopback(r, s, ret, path) : EXPLAIN_NOTHING;
	if (s->kind == NOTIFY_LOOK || (s->kind == NOTIFY_ACCESS && !(s->extra & more)) ||
		(s->kind == NOTIFY_OPEN && !opens_for_writing(s->extra))) {
		auto_fd fd = open_inside(s, s->path, s->itself);
		struct stat st;

		/* It only reads what is there, and no cover: those have no permissions at all.
		 * Most calls are such, and need no more than this. */
		if (fd >= 0 && fstat(fd, &st) == 0 && st.st_mode & ALLPERMS)
			return EXPLAIN_NOTHING;
	}
	/* For programs it counts the interpreters that were followed. */
	if (s->kind == NOTIFY_EXEC)
		sight.extra = 0;
	return explain_judge_look_at(&q, &sight);
}
