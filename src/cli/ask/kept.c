/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask/kept.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/profile/profile.h"
#include "cli/stored/history.h"

enum { KEPT_DAY_S = 24 * 3600, KEPT_ONCE_S = 7 * KEPT_DAY_S, KEPT_LOCK_MS = 5000 };

static const char kept_head[] = "corral-asked 2 ";
static const struct {
	const char *text;
	enum ask_word word;
} kept_words[] = { { "open", ASK_WORD_NONE }, { "no", ASK_WORD_NO }, { "once", ASK_WORD_ONCE },
	{ "day", ASK_WORD_DAY } };
static const char *const kept_options[] = { "--read", "--write", "--exec" };

/* The form */

bool ask_kept_is_plain(const char *text)
{
	for (const char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return false;
	return *text;
}

/* Ends the next word, which a space follows. NULL: there is none. */
static char *kept_cut(char **line)
{
	char *word = *line, *space = strchr(word, ' ');

	if (!space || space == word)
		return NULL;
	*space = '\0';
	*line = space + 1;
	return word;
}

static bool kept_read_word(const char *word, enum ask_word *ret)
{
	for (size_t i = 0; i < ROWS(kept_words); i++)
		if (strcmp(kept_words[i].text, word) == 0) {
			*ret = kept_words[i].word;
			return true;
		}
	return false;
}

static bool kept_read_subject(const char *kind, const char *leads, struct ask_subject *ret)
{
	if (!ascii_is_hex_text(leads, ASK_DIGEST - 1))
		return false;
	memcpy(ret->leads, leads, ASK_DIGEST);
	for (int i = ASK_KIND_NONE + 1; i < ASK_KIND_COUNT; i++)
		if (strcmp(ask_kind_names[i], kind) == 0)
			ret->kind = (enum ask_kind)i;
	return ret->kind != ASK_KIND_NONE;
}

static bool kept_read_project(const char *project, struct ask_kept *ret)
{
	const bool is_one = ascii_is_hex_text(project, ASK_DIGEST - 1);

	if (is_one)
		memcpy(ret->project, project, ASK_DIGEST);
	return is_one || strcmp(project, "-") == 0;
}

static int kept_read_line(char *line, struct ask_kept *ret)
{
	const char *until = kept_cut(&line), *word = until ? kept_cut(&line) : NULL;
	const char *kind = word ? kept_cut(&line) : NULL, *leads = kind ? kept_cut(&line) : NULL;
	const char *project = leads ? kept_cut(&line) : NULL;
	const char *option = project ? kept_cut(&line) : NULL;
	char *end = NULL;

	*ret = (struct ask_kept){ .value = line };
	if (!option || !ask_kept_is_plain(line) || !kept_read_subject(kind, leads, &ret->about) ||
		!kept_read_project(project, ret))
		return -EBADMSG;
	errno = 0;
	ret->until_s = strtoull(until, &end, 10);
	if (errno || *end || until[0] < '0' || until[0] > '9')
		return -EBADMSG;
	for (size_t i = 0; i < ROWS(kept_options); i++)
		if (strcmp(kept_options[i], option) == 0)
			ret->option = kept_options[i];
	return ret->option && kept_read_word(word, &ret->word) ? 0 : -EBADMSG;
}

/* The folder that it is of; *text is what follows. NULL: it was not written by us. */
static char *kept_read_head(char **text)
{
	char *line = *text, *next = strchr(line, '\n');

	if (!next || strncmp(line, kept_head, strlen(kept_head)) != 0)
		return NULL;
	*next = '\0';
	*text = next + 1;
	return line + strlen(kept_head);
}

static int kept_read_lines(char *text, struct ask_kept ret[ASK_KEPT_MAX], size_t *ret_n)
{
	char *next;
	size_t n = 0;

	for (char *line = text; *line; line = next) {
		next = strchr(line, '\n');
		if (!next || n == ASK_KEPT_MAX)
			return -EBADMSG;
		*next++ = '\0';
		if (kept_read_line(line, &ret[n++]) < 0)
			return -EBADMSG;
	}
	*ret_n = n;
	return 0;
}

int ask_kept_read(char *text, const char *folder, struct ask_kept ret[ASK_KEPT_MAX], size_t *ret_n)
{
	const char *of = kept_read_head(&text);

	if (!of)
		return -EBADMSG;
	return strcmp(of, folder) == 0 ? kept_read_lines(text, ret, ret_n) : -ESTALE;
}

void ask_kept_write(const char *folder, const struct ask_kept *all, size_t n, struct buffer *out)
{
	buffer_printf(out, "%s%s\n", kept_head, folder);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < ROWS(kept_words); k++)
			if (kept_words[k].word == all[i].word)
				buffer_printf(out, "%" PRIu64 " %s %s %s %s %s %s\n",
					all[i].until_s, kept_words[k].text,
					ask_kind_names[all[i].about.kind], all[i].about.leads,
					all[i].project[0] ? all[i].project : "-", all[i].option,
					all[i].value);
}

void ask_kept_id(const char *folder, const struct ask_kept *k, char ret[ASK_KEPT_ID])
{
	const char *const parts[] = { folder, k->option, k->value, ask_kind_names[k->about.kind],
		k->about.leads, k->project };

	ask_digest(parts, ROWS(parts), ret);
}

const char *ask_kept_pattern(const struct ask_kept *k, struct arena *a)
{
	const size_t n = strlen(k->value);

	if (k->about.kind != ASK_KIND_FOLDER || (n > 3 && strcmp(k->value + n - 3, "/**") == 0))
		return k->value;
	return arena_printf(a, "%s/**", k->value);
}

/* The files */

/* NULL: there is no place for them. */
static const char *kept_place(struct call *c)
{
	const char *state = profile_state_folder(c);

	return state ? arena_printf(c->arena, "%s/asked", state) : NULL;
}

/* NULL: there is none, or the folder has a name that no line can have. */
static const char *kept_path(struct call *c, const char *folder)
{
	const char *place = kept_place(c);

	if (!place || !folder || !ask_kept_is_plain(folder))
		return NULL;
	return arena_printf(
		c->arena, "%s/%016" PRIx64, place, hash_bytes(HASH_START, folder, strlen(folder)));
}

/* Until it is closed no other process changes any of them. */
static int kept_lock(struct call *c, int *ret)
{
	const char *place = kept_place(c);
	auto_fd fd = -1;
	int r = place ? history_make_folders(place, S_IRWXU) : -ENOENT;

	if (r < 0)
		return r;
	fd = open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	r = fd < 0 ? -errno : file_lock(fd, KEPT_LOCK_MS);
	if (r == 0)
		*ret = fd_take(&fd);
	return r;
}

int ask_kept_lock(struct call *c, const char *name, const char **ret_path, int *ret)
{
	const char *place = kept_place(c);
	const char *path = place ? arena_printf(c->arena, "%s/.%s", place, name) : NULL;
	const int r = path ? kept_lock(c, ret) : -ENOENT;

	if (r == 0)
		*ret_path = path;
	return r;
}

/* The text of a file, in the arena; NULL: it is no such text. */
static char *kept_text(struct call *c, const char *path)
{
	auto_buffer text = { 0 };
	char *copy = NULL;

	if (path && file_read_regular(path, ASK_KEPT_BYTES, &text) == 0)
		copy = arena_strndup(c->arena, buffer_text(&text), text.len);
	return copy && strlen(copy) == text.len ? copy : NULL;
}

/* Drops what does not count any more. */
static size_t kept_prune(struct ask_kept *all, size_t n)
{
	const uint64_t now = clock_ms(CLOCK_REALTIME) / 1000;
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		if (all[i].until_s > now && all[i].until_s <= now + KEPT_ONCE_S)
			all[left++] = all[i];
	return left;
}

size_t ask_kept_load(struct call *c, const char *folder, struct ask_kept ret[ASK_KEPT_MAX])
{
	char *text = kept_text(c, kept_path(c, folder));
	size_t n = 0;

	if (!text || ask_kept_read(text, folder, ret, &n) < 0)
		return 0;
	return kept_prune(ret, n);
}

static int kept_store(struct call *c, const char *folder, const struct ask_kept *all, size_t n)
{
	const char *path = kept_path(c, folder);
	auto_buffer text = { 0 };

	ask_kept_write(folder, all, n, &text);
	if (!path || text.failed || text.len > ASK_KEPT_BYTES)
		return -ENOSPC;
	return file_replace(path, text.data, text.len, S_IRUSR | S_IWUSR);
}

int ask_kept_take(
	struct call *c, const char *folder, struct ask_kept ret[ASK_KEPT_MAX], size_t *ret_n)
{
	struct ask_kept left[ASK_KEPT_MAX];
	size_t n_left = 0;
	auto_fd lock = -1;

	*ret_n = ask_kept_load(c, folder, ret);
	if (*ret_n == 0)
		return 0;
	if (kept_lock(c, &lock) < 0)
		return -EIO;
	*ret_n = ask_kept_load(c, folder, ret);
	for (size_t i = 0; i < *ret_n; i++)
		if (ret[i].word != ASK_WORD_ONCE)
			left[n_left++] = ret[i];
	return n_left < *ret_n && kept_store(c, folder, left, n_left) < 0 ? -EIO : 0;
}

static struct ask_kept *kept_same(struct ask_kept *all, size_t n, const struct ask_kept *k)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].option, k->option) == 0 && strcmp(all[i].value, k->value) == 0)
			return &all[i];
	return NULL;
}

static bool kept_has_room(const struct ask_kept *all, size_t n, enum ask_word word)
{
	size_t n_open = 0;

	for (size_t i = 0; i < n; i++)
		n_open += all[i].word == ASK_WORD_NONE;
	return n < ASK_KEPT_MAX && (word != ASK_WORD_NONE || n_open < ASK_KEPT_OPEN_MAX);
}

int ask_kept_put(struct call *c, const char *folder, const struct ask_kept *k)
{
	const uint64_t now = clock_ms(CLOCK_REALTIME) / 1000;
	struct ask_kept all[ASK_KEPT_MAX], *same;
	auto_fd lock = -1;
	int r = kept_lock(c, &lock);
	bool is_more;
	size_t n;

	if (r < 0)
		return r;
	n = ask_kept_load(c, folder, all);
	same = kept_same(all, n, k);
	if (same && k->word == ASK_WORD_NONE && ask_subject_is_same(&same->about, &k->about) &&
		(same->word != ASK_WORD_NONE || strcmp(same->project, k->project) == 0))
		return 1;
	is_more = !same || (k->word == ASK_WORD_NONE && same->word != ASK_WORD_NONE);
	if (is_more && !kept_has_room(all, n, k->word))
		return -ENOSPC;
	if (!same)
		same = &all[n++];
	*same = *k;
	same->until_s = now + (k->word == ASK_WORD_ONCE ? KEPT_ONCE_S : KEPT_DAY_S);
	return kept_store(c, folder, all, n);
}

int ask_kept_drop(struct call *c, const char *folder, const struct ask_kept *k)
{
	struct ask_kept all[ASK_KEPT_MAX], *same;
	auto_fd lock = -1;
	const int r = kept_lock(c, &lock);
	size_t n;

	if (r < 0)
		return r;
	n = ask_kept_load(c, folder, all);
	same = kept_same(all, n, k);
	if (!same)
		return 0;
	*same = all[n - 1];
	return kept_store(c, folder, all, n - 1);
}

/* Of all folders */

struct kept_list {
	struct ask_open *items;
	size_t n, cap;
};

static int kept_add_open(struct call *c, const char *path, struct kept_list *list)
{
	struct ask_kept all[ASK_KEPT_MAX];
	char *text = kept_text(c, path);
	const char *folder = text ? kept_read_head(&text) : NULL;
	const char *own = folder ? kept_path(c, folder) : NULL;
	size_t n = 0;

	if (!own || strcmp(own, path) != 0 || kept_read_lines(text, all, &n) < 0)
		return 0;
	n = kept_prune(all, n);
	for (size_t i = 0; i < n; i++) {
		struct ask_open o = { .folder = folder, .kept = all[i] };

		if (all[i].word != ASK_WORD_NONE)
			continue;
		ask_kept_id(folder, &all[i], o.id);
		if (ARENA_PUSH(c->arena, list->items, list->n, list->cap, o) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int kept_by_folder(const void *a, const void *b)
{
	const struct ask_open *x = a, *y = b;
	const int folders = strcmp(x->folder, y->folder);

	return folders ? folders : strcmp(x->id, y->id);
}

int ask_kept_open(struct call *c, struct ask_open **ret, size_t *ret_n)
{
	const char *place = kept_place(c);
	struct kept_list list = { 0 };
	DIR *dir = place ? opendir(place) : NULL;
	int r = 0;

	for (size_t i = 0; dir && r == 0 && i < ASK_KEPT_FOLDERS_MAX; i++) {
		const struct dirent *e = readdir(dir);
		const char *path;

		if (!e)
			break;
		if (e->d_name[0] == '.')
			continue;
		path = arena_printf(c->arena, "%s/%s", place, e->d_name);
		r = path ? kept_add_open(c, path, &list) : -ENOMEM;
	}
	if (dir)
		(void)closedir(dir);
	if (r < 0)
		return error_no_memory(c->error);
	if (list.n)
		qsort(list.items, list.n, sizeof(*list.items), kept_by_folder);
	*ret = list.items;
	*ret_n = list.n;
	return 0;
}
