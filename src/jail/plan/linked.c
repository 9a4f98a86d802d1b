/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where links lead from the baseline's places. A mask on ~/.ssh hides the links in it, not the
 * files that they lead to; and a home that is not visible at all may have links into what is. There
 * are two kinds:
 *
 *   - links at a place of the baseline or on the way to one, in the user's own home:
 *     `~/.aws -> dot/aws` with ~/dot as the working folder, and `~/.bashrc -> dot/rc`. Where the
 *     home is visible, plan/baseline.c looks at each secret, and plan/look.c follows it. The home
 *     is read once, and so are folders in it on the way to an entry: what is not there costs
 *     nothing.
 *   - links inside a secret folder, visible or not: `~/.ssh/id_ed25519 -> ~/sync/key`; and inside
 *     folders of the home that others run or trust: `~/.config/systemd/user/x.service -> ~/work/x`.
 *
 * What a link leads to becomes a place under the link's own path, which the policy denies; the rest
 * is as with every place that is reached by links. Both searches are bounded (host/linked.h), in
 * the order of the baseline, which has keys first; a note says where a bound was met.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "host/linked.h"
#include "jail/plan/internal.h"
#include "policy/baseline.h"

/*
 * Folders that are not entered: what programs fill with what they can make again, in those folders
 * of the baseline where they do. Elsewhere a user may well keep a key behind such a name.
 */
static const char *const plan_linked_none[] = { NULL };
static const char *const plan_linked_filled[] = { "cache", "Cache", "caches", "logs", "virtenv",
	NULL };
static const char *const plan_linked_git[] = { ".git", "node_modules", NULL };
static const char plan_linked_fillers[][24] = { "~/.kube/**", "~/.aws/**", "~/.azure/**",
	"~/.config/gcloud/**", "~/.oci/**" };

/* Names of one folder that are kept, and folders that are read on the way. */
enum { NAMES_MAX = 16384, LISTS_MAX = 256 };
/* How deep links are looked for in folders that are not secret: editors and services fill these. */
enum { SYSTEM_DEPTH = 3 };
/* Folders that are looked through, each with bounds of its own, and lines about too large ones. */
enum { FOLDERS_MAX = 1024, NOTES_MAX = 16 };

/* A folder or a link; files lead nowhere. */
struct linked_name {
	const char *name;
	bool is_link;
};

/* What is in a folder of the home. */
struct linked_list {
	const char *folder; /* below the home: "", "/.config" */
	struct linked_name *names;
	size_t n, cap;
	bool is_closed; /* it cannot be listed: names are looked up one by one */
};

struct linked_home {
	struct planner *planner;
	/* Which second and third characters names in the home have: most rows are ruled out by
	 * these, before anything else is looked at. */
	uint32_t starts[32];
	struct linked_list lists[LISTS_MAX];
	size_t n;
};

/* Adding */

/* A folder around the home or the working folder: nothing would be left with a mask on it. */
static bool plan_linked_is_wide(struct planner *p, const char *link, const char *end)
{
	const char *work = p->options->variables->values[VARIABLE_WORK_DIR];
	char real[PATH_BYTES];

	return path_is_below(p->plan->home_real, end) || path_is_below(link, end) ||
	       (work && plan_seen_walk(p, work, NULL, real) == 0 && path_is_below(real, end));
}

/* A folder in which links are to be looked for; path: as the policy knows it. */
static int plan_linked_push(
	struct planner *p, const struct baseline_path *entry, const char *path, const char *real)
{
	const char *pattern = baseline_path_pattern(entry);
	size_t len = strlen(pattern);
	struct plan_linked folder = { .entry = entry };

	if (len < 3 || strcmp(pattern + len - 3, "/**") != 0 || p->n_linked == FOLDERS_MAX)
		return 0;
	for (size_t i = 0; i < p->n_linked; i++) {
		if (strcmp(p->linked[i].real, real) == 0)
			return 0;
	}
	folder.path = arena_strdup(&p->arena, path);
	folder.real = arena_strdup(&p->arena, real);
	if (!folder.path || !folder.real)
		return -ENOMEM;
	return ARENA_PUSH(&p->arena, p->linked, p->n_linked, p->cap_linked, folder);
}

/* A path of the baseline, or in a folder of it, that leads somewhere else. link: where that lies.
 */
static int plan_linked_add(struct planner *p, const struct baseline_path *entry, const char *path,
	const char *link, const char *end)
{
	const struct plan_node *node = plan_nodes_find(p, end);
	bool matters = node->kind == PLAN_BIND && (entry->secret || node->access == PLAN_WRITE);
	struct plan_place place = {
		.origin = PLAN_FROM_BASELINE, .entry = entry, .text = baseline_path_pattern(entry)
	};
	struct plan_place there = { 0 };
	int r = plan_seen_at(p, end, &there);

	if (r == -ENOMEM)
		return r;
	if (there.is_dir && plan_linked_is_wide(p, link, end))
		return plan_add_note(p, NULL,
			"%s leads to %s, which cannot be %s as a whole: what is in it is not kept "
			"from commands (remove the link, or let it lead to a smaller folder)",
			path, end, entry->secret ? "masked" : "protected");
	r = there.is_dir ? plan_linked_push(p, entry, path, end) : 0;
	return r < 0 || !matters ? r : plan_add_copy(p, path, place);
}

/* Links in the home */

static int plan_linked_by_name(const void *a, const void *b)
{
	const struct linked_name *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Links and folders are what matters; "." and ".." are no names of a row. */
static int plan_linked_take(
	struct planner *p, struct linked_list *list, int fd, const struct dirent64 *d)
{
	struct linked_name name = { .is_link = d->d_type == DT_LNK };
	struct stat st;

	if (d->d_type == DT_UNKNOWN && fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		name.is_link = S_ISLNK(st.st_mode);
	else if (d->d_type != DT_LNK && d->d_type != DT_DIR)
		return 0;
	name.name = arena_strdup(&p->arena, d->d_name);
	return name.name ? ARENA_PUSH(&p->arena, list->names, list->n, list->cap, name) : -ENOMEM;
}

static int plan_linked_read(struct planner *p, const char *folder, struct linked_list *list)
{
	/* Not by opendir(), which has a buffer of 32 KB zeroed by the kernel. */
	char bytes[1 << 12] __attribute__((aligned(8)));
	auto_fd fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;
	int r = 0;

	list->is_closed = fd < 0 && errno == EACCES;
	while (fd >= 0 && r == 0 && list->n < NAMES_MAX &&
		(n = getdents64(fd, bytes, sizeof(bytes))) > 0) {
		const struct dirent64 *d;

		for (ssize_t at = 0; r == 0 && at < n && list->n < NAMES_MAX; at += d->d_reclen) {
			d = (const void *)(bytes + at);
			r = plan_linked_take(p, list, fd, d);
		}
	}
	if (r == 0 && list->n > 0)
		qsort(list->names, list->n, sizeof(*list->names), plan_linked_by_name);
	if (r == 0 && list->n == NAMES_MAX)
		r = plan_add_note(p, NULL,
			"%s has more than %d folders and links: not all of them were looked at for "
			"links to secrets",
			folder, NAMES_MAX);
	return r;
}

/* The list of the folder home[len], which is read at the first time; NULL: no more. */
static int plan_linked_open(
	struct linked_home *h, const char *folder, size_t len, const struct linked_list **ret)
{
	struct planner *p = h->planner;
	struct linked_list *list;
	char path[PATH_BYTES];

	*ret = NULL;
	for (size_t i = h->n; i-- > 0;) {
		if (strlen(h->lists[i].folder) == len &&
			memcmp(h->lists[i].folder, folder, len) == 0) {
			*ret = &h->lists[i];
			return 0;
		}
	}
	if (h->n == LISTS_MAX || strlen(p->plan->home_real) + len >= sizeof(path))
		return 0;
	memcpy(stpcpy(path, p->plan->home_real), folder, len);
	path[strlen(p->plan->home_real) + len] = '\0';
	list = &h->lists[h->n++];
	*list = (struct linked_list){ .folder = arena_strndup(&p->arena, folder, len) };
	*ret = list;
	return list->folder ? plan_linked_read(p, path, list) : -ENOMEM;
}

static const struct linked_name *plan_linked_find(
	const struct linked_list *list, const char *name, size_t len)
{
	size_t lo = 0, hi = list ? list->n : 0;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const char *other = list->names[mid].name;
		int c = strncmp(other, name, len);

		if (c == 0 && !other[len])
			return &list->names[mid];
		if (c < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

/* Is this name of the list there? ret_link: it is a link. path: behind the home, to its end. */
static bool plan_linked_has(const struct linked_home *h, const struct linked_list *list,
	const char *path, size_t len, size_t name_len, bool *ret_link)
{
	const struct linked_name *found = plan_linked_find(list, path + len - name_len, name_len);
	char full[PATH_BYTES];
	struct stat st;

	if (found)
		*ret_link = found->is_link;
	if (found || !list || !list->is_closed)
		return found;
	if (snprintf(full, sizeof(full), "%s%.*s", h->planner->plan->home_real, (int)len, path) >=
			(int)sizeof(full) ||
		lstat(full, &st) < 0)
		return false;
	*ret_link = S_ISLNK(st.st_mode);
	return *ret_link || S_ISDIR(st.st_mode);
}

/* below: the entry behind "~", of len bytes. */
static int plan_linked_enter(struct linked_home *h, const struct baseline_path *entry,
	const char *below, size_t len, bool is_link)
{
	struct planner *p = h->planner;
	char path[PATH_BYTES], end[PATH_BYTES];
	size_t n = strlen(p->plan->home);
	int r;

	if (n + len >= sizeof(path))
		return 0;
	memcpy(path, p->plan->home, n);
	memcpy(path + n, below, len);
	path[n + len] = '\0';
	r = plan_seen_walk(p, path, NULL, end);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	return is_link ? plan_linked_add(p, entry, path, path, end)
		       : plan_linked_push(p, entry, path, end);
}

/* Where the start of a name is noted: row and bit. It ends with NUL or a slash; the first character
 * mostly is a dot. */
struct linked_bit {
	unsigned row;
	uint32_t bit;
};

static struct linked_bit plan_linked_bit(const char *name)
{
	const int second = name[0] && name[0] != '/' ? name[1] : 0;
	const int third = second && second != '/' ? name[2] : 0;

	return (struct linked_bit){
		.row = second == '/' ? 0 : (unsigned)second & 31,
		.bit = UINT32_C(1) << (third == '/' ? 0 : third & 31),
	};
}

static int plan_linked_begin(struct linked_home *h)
{
	const struct linked_list *list;
	int r = plan_linked_open(h, "", 0, &list);

	memset(h->starts, list && list->is_closed ? 0xff : 0, sizeof(h->starts));
	for (size_t i = 0; r == 0 && list && i < list->n; i++) {
		struct linked_bit b = plan_linked_bit(list->names[i].name);

		h->starts[b.row] |= b.bit;
	}
	return r;
}

/* Along the names of an entry, as far as they are there, to the first link or to its end. */
static int plan_linked_row(struct linked_home *h, const struct baseline_path *entry)
{
	const char *below = baseline_path_pattern(entry) + 1;
	struct linked_bit b;
	size_t len, at = 0;

	if (!*below) /* "~" alone is no entry. */
		return 0;
	b = plan_linked_bit(below + 1);
	if (!(h->starts[b.row] & b.bit))
		return 0;
	len = strlen(below);
	if (len > 3 && memcmp(below + len - 3, "/**", 3) == 0)
		len -= 3;
	while (at < len) {
		const char *name = below + at + 1;
		size_t n = (size_t)(strchrnul(name, '/') - name);
		const struct linked_list *list;
		bool is_link = false;
		int r = plan_linked_open(h, below, at, &list);

		if (r < 0)
			return r;
		/* Most are not there, and no more is asked of these. */
		if (!plan_linked_has(h, list, below, at + 1 + n, n, &is_link) ||
			(at == 0 && strcspn(below, "*?[{") < len))
			return 0;
		if (is_link)
			return plan_linked_enter(h, entry, below, len, true);
		at += 1 + n;
	}
	return plan_linked_enter(h, entry, below, len, false);
}

int plan_linked_collect(struct planner *p)
{
	/* Then each secret in it is looked at anyway. */
	bool is_visible = plan_nodes_find(p, p->plan->home_real)->kind == PLAN_BIND;
	bool can_write = false;
	struct linked_home *h;
	int r = 0;

	for (size_t i = 0; !can_write && i < p->n_nodes; i++)
		can_write = p->nodes[i].access == PLAN_WRITE && p->nodes[i].mount == i;
	if (!p->plan->home_real[1] || (is_visible && !can_write))
		return 0;
	h = arena_room(&p->arena, 1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	h->planner = p;
	h->n = 0;
	r = plan_linked_begin(h);
	for (size_t i = 0; r == 0 && i < baseline_n_paths; i++) {
		const struct baseline_path *entry = &baseline_paths[i];

		if (baseline_path_pattern(entry)[0] == '~' &&
			(entry->secret ? !is_visible : can_write))
			r = plan_linked_row(h, entry);
	}
	return r;
}

/* Links in secret folders */

struct linked_search {
	struct planner *planner;
	struct plan_linked folder;
};

/* A linked_found. */
static int plan_linked_follow(void *data, const char *below)
{
	const struct linked_search *s = data;
	char path[PATH_BYTES], link[PATH_BYTES], end[PATH_BYTES];
	int r;

	if (strlen(s->folder.path) + strlen(below) + 2 > sizeof(path) ||
		strlen(s->folder.real) + strlen(below) + 2 > sizeof(link))
		return 0;
	(void)stpcpy(stpcpy(stpcpy(path, s->folder.path), "/"), below);
	(void)stpcpy(stpcpy(stpcpy(link, s->folder.real), "/"), below);
	r = plan_seen_walk(s->planner, link, NULL, end);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	/* What stays in the folder is masked with it. */
	return path_is_below(end, s->folder.real)
		       ? 0
		       : plan_linked_add(s->planner, s->folder.entry, path, link, end);
}

static int plan_linked_by_entry(const void *a, const void *b)
{
	const struct plan_linked *x = a, *y = b;

	return x->entry < y->entry ? -1 : x->entry > y->entry;
}

/* The user's own, not one of the machine's that are closed to all but root. */
static bool plan_linked_is_own(const char *folder)
{
	struct stat st;

	return stat(folder, &st) == 0 && st.st_uid == geteuid();
}

/* It, or a folder in it, cannot be listed. */
static int plan_linked_closed(struct linked_search *s, const char *closed)
{
	int r = 0;

	if (!*closed)
		r = linked_each_known(plan_linked_follow, s);
	return r < 0 ? r
		     : plan_add_note(s->planner, NULL,
			       "%s%s%s cannot be listed: what symbolic links in it lead to is not "
			       "kept from commands that are granted it (give the right to read it: "
			       "chmod u+r)",
			       s->folder.path, *closed ? "/" : "", closed);
}

static const char *const *plan_linked_skipped(const struct baseline_path *entry)
{
	const char *pattern = baseline_path_pattern(entry);

	for (size_t i = 0; i < ROWS(plan_linked_fillers); i++) {
		if (strcmp(pattern, plan_linked_fillers[i]) == 0)
			return plan_linked_filled;
	}
	return !entry->secret || strcmp(pattern, "~/.password-store/**") == 0 ? plan_linked_git
									      : plan_linked_none;
}

/* One folder, with bounds of its own: no other can use them up. 1: there is more in it. */
static int plan_linked_search(struct planner *p, struct plan_linked folder)
{
	struct linked bounds = linked_start(plan_linked_skipped(folder.entry));
	struct linked_search s = { p, folder };
	const struct baseline_path *entry = folder.entry;
	unsigned depth = !entry->secret ? SYSTEM_DEPTH : entry->large ? 0 : LINKED_DEPTH_MAX;
	int r;

	r = linked_each(&bounds, folder.real, depth, plan_linked_follow, &s);
	if (r == 0 && bounds.is_closed && plan_linked_is_own(folder.real))
		r = plan_linked_closed(&s, bounds.closed);
	return r < 0 ? r : bounds.is_cut || (bounds.is_deep && depth == LINKED_DEPTH_MAX);
}

int plan_linked_inside(struct planner *p)
{
	size_t notes = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n; i++) {
		const struct plan_place *place = &p->places[i];

		if (place->entry && place->exists && place->is_dir &&
			place->answer.limit < (place->entry->secret ? PLAN_READ : PLAN_WRITE))
			r = plan_linked_push(p, place->entry, place->path, place->real);
	}
	if (r == 0 && p->n_linked > 0)
		qsort(p->linked, p->n_linked, sizeof(*p->linked), plan_linked_by_entry);
	/* More may come: folders that links in them lead to. */
	for (size_t i = 0; r >= 0 && i < p->n_linked; i++) {
		const char *path = p->linked[i].path;

		r = plan_linked_search(p, p->linked[i]);
		if (r != 1 || ++notes > NOTES_MAX)
			continue;
		r = plan_add_note(p, NULL,
			"%s has too many folders to look for symbolic links in all of them: what "
			"such a link leads to is not kept from commands that are granted it",
			path);
	}
	if (r >= 0 && (notes > NOTES_MAX || p->n_linked == FOLDERS_MAX))
		r = plan_add_note(p, NULL,
			"symbolic links in secret folders lead to more folders than are looked "
			"through (%d), or more than %d of these are too large: what links in the "
			"others lead to is not kept from commands",
			FOLDERS_MAX, NOTES_MAX);
	return r < 0 ? r : plan_look(p);
}
