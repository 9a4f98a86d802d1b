/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a command left in its private folders: the home, /tmp, and whatever else is empty and its
 * own. They vanish with it, and a person who finds settings gone the next day does not know why. So
 * the files are counted when all processes of the command are dead, and a line says which would
 * have been kept by which grant.
 *
 * The folder of private folders comes from the sandbox as a descriptor (session_take_own()). It
 * shows the file system in memory by itself, without what is mounted on it inside: there is nothing
 * of the host below it, and no link is followed. A command chooses names, depth and number; so the
 * look has bounds for both names and folders, breadth first, and says where there was more.
 *
 * Caches and temporary files of known kinds are no loss and are not counted.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/getdents.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/run/internal.h"
#include "codec/json-writer.h"
#include "policy/baseline.h"

/* Bounds of one look, over all private folders. */
enum { NAMES_MAX = 16384, FOLDERS_MAX = 1024 };
/* The size of an empty folder in memory. */
enum { EMPTY_BYTES = 40 };
/* Of a line for a person. */
enum { NAMED_MAX = 3 };

/* Names that stand for nothing which a person would miss; of a folder all that is in it. */
static const char *const passing[] = { "*.lock", "*.lck", "*.tmp", "*.tmp.*", "*.temp", "*.pid",
	"*.sock", "*.swp", "*~", ".#*", "*.pyc", "__pycache__", ".nfs*", ".X*-lock", ".X11-unix",
	".ICE-unix", "core", "core.[0-9]*" };
static const char *const passing_in_home[] = { ".cache", ".npm/_cacache", ".npm/_logs", ".npm/_npx",
	".npm/_update-notifier-last-checked", ".cargo/registry", ".cargo/git", ".cargo/.*",
	".rustup/tmp", "go/pkg", ".m2/repository", ".gradle/caches", ".gradle/daemon",
	".bun/install/cache", ".local/share/pnpm/store", ".nv", ".fontconfig", ".dbus", ".pki",
	".*_history", ".viminfo*", ".lesshst*", ".wget-hsts", ".rnd", ".config/go/telemetry",
	".config/configstore" };
static const char *const passing_in_tmp[] = { "tmp*", "*-tmp*", "cc??????.*", "go-build*", "pip-*",
	"npm-*", "node-compile-cache", "v8-compile-cache*", "jiti", "tsx-*", "uv-*", "rustc*",
	"cargo-*", "pytest-of-*", "hsperfdata_*", "bun-*", "bunx-*", "claude-*", "clr-debug-pipe*",
	"perf-*.map", "jest_*", "vite-*", "yarn--*", "gemini-*", "codex-*" };

static bool run_private_matches(const char *const *rows, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(rows[i], path, FNM_PATHNAME) == 0)
			return true;
	return false;
}

/* One private folder that is looked through. */
struct private_look {
	struct run *run;
	const char *base;   /* where it is for the command */
	const char *number; /* its name in the folder of all */
	bool is_home;
	struct private_folder {
		const char *path; /* below the base; "" is itself */
	} * folders;
	size_t n, cap;
	size_t names, *n_folders; /* left */
};

static bool run_private_is_passing(const struct private_look *l, const char *path, const char *name)
{
	return run_private_matches(passing, ROWS(passing), name) ||
	       (l->is_home ? run_private_matches(passing_in_home, ROWS(passing_in_home), path)
			   : run_private_matches(passing_in_tmp, ROWS(passing_in_tmp), path));
}

/* How much of a path below the home a grant would name: "~/.claude", "~/.config/x". */
static size_t run_private_group_length(const char *path)
{
	static const char *const shared[] = { ".config/", ".local/share/", ".local/state/",
		".local/", ".var/app/", ".cache/" };
	size_t start = 0;

	for (size_t i = 0; start == 0 && i < ROWS(shared); i++)
		if (strncmp(path, shared[i], strlen(shared[i])) == 0)
			start = strlen(shared[i]);
	return start + strcspn(path + start, "/");
}

static void run_private_count(const struct private_look *l, const char *path)
{
	struct run_private *p = &l->run->private;
	const size_t len = l->is_home ? run_private_group_length(path) : strcspn(path, "/");
	struct run_private_group group = { .is_folder = path[len] == '/', .is_home = l->is_home };
	char full[PATH_BYTES];

	(void)snprintf(full, sizeof(full), "%s/%.*s", l->base, (int)len, path);
	p->n_files++;
	for (size_t i = 0; i < p->n_groups; i++)
		if (strcmp(p->groups[i].path, full) == 0)
			return;
	group.path =
		p->n_groups < RUN_PRIVATE_GROUPS ? arena_strdup(l->run->call->arena, full) : NULL;
	if (group.path)
		p->groups[p->n_groups++] = group;
}

/* A file that was granted: what became of it is said elsewhere. */
static bool run_private_is_put_back(const struct run *r, const char *path)
{
	for (size_t i = 0; i < r->replaced.n; i++)
		if (strcmp(r->replaced.items[i].path, path) == 0)
			return true;
	return false;
}

/* A name in a folder; what the plan has put there is no matter of the command. */
static int run_private_take(
	struct private_look *l, const char *folder, const struct getdents_entry *e)
{
	char path[PATH_BYTES], full[PATH_BYTES];
	const struct plan_entry *planned;
	struct private_folder next;

	if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
		return 0;
	l->names--;
	if (snprintf(path, sizeof(path), "%s%s%s", folder, *folder ? "/" : "", e->name) >=
			(int)sizeof(path) ||
		snprintf(full, sizeof(full), "%s/%s", l->base, path) >= (int)sizeof(full)) {
		l->run->private.is_cut = true;
		return 0;
	}
	planned = plan_at(l->run->plan, full);
	/* In place of a link there may be a file of the command's. */
	if (planned && planned->kind == PLAN_LINK && e->type != DT_LNK)
		planned = NULL;
	if ((planned && planned->kind != PLAN_DIR) || run_private_is_put_back(l->run, full) ||
		run_private_is_passing(l, path, e->name))
		return 0;
	if (e->type == DT_REG || e->type == DT_LNK)
		run_private_count(l, path);
	if (e->type != DT_DIR)
		return 0;
	next.path = arena_strdup(l->run->call->arena, path);
	return next.path ? ARENA_PUSH(l->run->call->arena, l->folders, l->n, l->cap, next)
			 : -ENOMEM;
}

int run_private_open(int own, const char *number, const char *path, uint64_t flags)
{
	const struct open_how how = { .flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV };
	char name[PATH_BYTES];
	long fd;

	if (snprintf(name, sizeof(name), "%s%s%s", number, *path ? "/" : "", path) >=
		(int)sizeof(name))
		return -ENAMETOOLONG;
	fd = syscall(SYS_openat2, own, name, &how, sizeof(how));
	return fd < 0 ? -errno : (int)fd;
}

static int run_private_read(struct private_look *l, const char *folder)
{
	char bytes[1 << 14] __attribute__((aligned(8)));
	auto_fd fd =
		run_private_open(l->run->private.own, l->number, folder, O_RDONLY | O_DIRECTORY);
	long n;

	/* A command may take the rights to its own folders away. */
	if (fd < 0)
		l->run->private.is_cut = true;
	while (fd >= 0 && (n = syscall(SYS_getdents64, fd, bytes, sizeof(bytes))) > 0) {
		for (long at = 0; at < n;) {
			const struct getdents_entry *e = (const void *)(bytes + at);
			int r;

			if (l->names == 0) {
				l->run->private.is_cut = true;
				return 0;
			}
			r = run_private_take(l, folder, e);
			if (r < 0)
				return r;
			at += e->len;
		}
	}
	return 0;
}

static int run_private_search(struct private_look *l)
{
	int r = run_private_read(l, "");

	for (size_t i = 0; r == 0 && i < l->n; i++) {
		if (*l->n_folders == 0 || l->names == 0) {
			l->run->private.is_cut = true;
			break;
		}
		--*l->n_folders;
		r = run_private_read(l, l->folders[i].path);
	}
	return r;
}

/* The kernel counts 20 bytes for each name in a folder in memory, "." and ".." among them
 * (mm/shmem.c): one that has no others does not have to be opened. */
static bool run_private_is_empty(const struct run *r, const char *number)
{
	struct stat st;

	return fstatat(r->private.own, number, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	       st.st_size <= EMPTY_BYTES;
}

void run_private_look(struct run *r)
{
	const struct plan *plan = r->plan;
	size_t names = NAMES_MAX, folders = FOLDERS_MAX;

	for (size_t i = 0; r->private.own >= 0 && i < plan->n; i++) {
		const struct plan_entry *e = &plan->entries[i];
		char number[24];
		struct private_look l = { .run = r,
			.base = e->path,
			.number = number,
			.is_home = path_is_below(e->path, plan->home_real),
			.names = names,
			.n_folders = &folders };

		(void)snprintf(number, sizeof(number), "%zu", i);
		if (e->kind != PLAN_TMP || run_private_is_empty(r, number))
			continue;
		if (run_private_search(&l) < 0)
			r->private.is_cut = true;
		names = l.names;
	}
}

/* For people and programs */

/* "~/x" of what is in the home. */
static void run_private_put_path(const struct run *r, const char *path, struct output *o)
{
	const char *home = r->plan->home_real;

	if (path_is_below(path, home) && strcmp(path, home) != 0) {
		buffer_addc(&o->text, '~');
		path += strlen(home);
	}
	output_foreign(o, path);
}

/* Whether a grant of it would keep it: nothing of /tmp is advised, nor what the baseline forbids.
 */
static bool run_private_is_kept_by_grant(const struct run *r, const struct run_private_group *g)
{
	const struct baseline_home home = baseline_paths_home(r->plan->home_real);

	return g->is_home && baseline_paths_spare(&home, g->path, strlen(g->path));
}

static void run_private_tell_advice(const struct run *r, struct output *o)
{
	const struct run_private *p = &r->private;
	size_t told = 0;

	for (size_t i = 0; i < p->n_groups && told < NAMED_MAX; i++) {
		struct stat st;

		if (!run_private_is_kept_by_grant(r, &p->groups[i]))
			continue;
		buffer_adds(&o->text, told++ ? " " : "; keep them: ");
		if (p->groups[i].is_folder && lstat(p->groups[i].path, &st) < 0) {
			buffer_adds(&o->text, "(mkdir -p ");
			run_private_put_path(r, p->groups[i].path, o);
			buffer_adds(&o->text, " first) ");
		}
		buffer_adds(&o->text, "--write ");
		run_private_put_path(r, p->groups[i].path, o);
	}
}

void run_private_tell(const struct run *r, struct output *o)
{
	const struct run_private *p = &r->private;
	const size_t named = p->n_groups < NAMED_MAX ? p->n_groups : NAMED_MAX;

	if (p->n_files == 0)
		return;
	output_note(o);
	buffer_printf(&o->text,
		"%s%zu file%s written outside the project %s gone: ", p->is_cut ? "more than " : "",
		p->n_files, p->n_files == 1 ? "" : "s",
		p->n_files == 1 && !p->is_cut ? "is" : "are");
	for (size_t i = 0; i < named; i++) {
		buffer_adds(&o->text, i ? ", " : "");
		run_private_put_path(r, p->groups[i].path, o);
		if (p->groups[i].is_folder)
			buffer_addc(&o->text, '/');
	}
	if (p->n_groups > named)
		buffer_adds(&o->text, " …");
	run_private_tell_advice(r, o);
	buffer_addc(&o->text, '\n');
}

void run_private_print(const struct run *r, struct json_writer *w)
{
	const struct run_private *p = &r->private;

	json_open_map(w, "gone");
	json_put_count(w, "files", p->n_files);
	json_put_flag(w, "complete", !p->is_cut);
	json_open_list(w, "paths");
	for (size_t i = 0; i < p->n_groups; i++)
		json_put_text(w, NULL, p->groups[i].path);
	json_close(w);
	json_close(w);
}

void run_private_end(struct run *r)
{
	fd_close(&r->private.own);
}
