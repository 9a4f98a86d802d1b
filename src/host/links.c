/* SPDX-License-Identifier: Apache-2.0 */
#include "host/links.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/hash.h"

enum { LINKS_KEPT_MAX = 256, LINKS_KEPT_BYTES = 16384 };

/* Paths that are no links. What does not fit is looked at each time. */
static struct {
	bool is_on;
	uint16_t n, used;
	uint16_t slots[2 * LINKS_KEPT_MAX]; /* where a path is in the text, and 1 */
	char text[LINKS_KEPT_BYTES];
} links_kept;

struct links_walk {
	char done[PATH_BYTES]; /* followed so far: no links in it; "" is the root */
	size_t len;
	char rest[2 * PATH_BYTES]; /* still to go */
	unsigned links;
	size_t base; /* how much of `done` the last link lies in, or less: the rest was entered
			since */
	links_hop *hop;
	links_link *seen;
	links_read *read;
	void *data;
};

static void links_pop(struct links_walk *w)
{
	while (w->len > 0 && w->done[w->len - 1] != '/')
		w->len--;
	w->len -= w->len > 0;
	w->done[w->len] = '\0';
}

/* The last component of `done` is a link to `target`: it goes to the front of the rest. */
static int links_hop_over(struct links_walk *w, const char *target, const char *behind)
{
	char joined[3 * PATH_BYTES], normal[PATH_BYTES];
	size_t len = strlen(target);
	int n, r;

	if (++w->links > LINKS_MAX)
		return -ELOOP;
	if (len + 1 + strlen(behind) >= sizeof(w->rest))
		return -ENAMETOOLONG;
	r = w->seen ? w->seen(w->data, w->done, target) : 0;
	if (r < 0)
		return r;
	memmove(w->rest + len + 1, behind, strlen(behind) + 1);
	memcpy(w->rest, target, len);
	w->rest[len] = '/';
	links_pop(w);
	if (target[0] == '/') {
		w->len = 0;
		w->done[0] = '\0';
	}
	w->base = w->len;
	if (!w->hop)
		return 0;
	n = snprintf(joined, sizeof(joined), "%s/%s", w->done, w->rest);
	r = path_normalize(joined, (size_t)n, normal, &len);
	return r == 0 ? w->hop(w->data, normal) : r;
}

/* One component, which starts the rest. */
static int links_step(struct links_walk *w)
{
	size_t len = strcspn(w->rest, "/");
	char target[PATH_BYTES], *behind = w->rest + len + strspn(w->rest + len, "/");
	int n = 0;

	if (len == 2 && memcmp(w->rest, "..", 2) == 0) {
		int r = w->seen && w->len > w->base ? w->seen(w->data, w->done, NULL) : 0;

		if (r < 0)
			return r;
		links_pop(w);
		w->base = w->base < w->len ? w->base : w->len;
		len = 0;
	} else if (len > 0 && !(len == 1 && w->rest[0] == '.')) {
		if (len + 2 > PATH_BYTES - w->len)
			return -ENAMETOOLONG;
		w->done[w->len++] = '/';
		memcpy(w->done + w->len, w->rest, len);
		w->len += len;
		w->done[w->len] = '\0';
	} else {
		len = 0;
	}
	if (len > 0)
		n = w->read(w->data, w->done, !*behind, target);
	if (n != 0)
		return n < 0 ? n : links_hop_over(w, target, behind);
	memmove(w->rest, behind, strlen(behind) + 1);
	return 0;
}

void links_keep(bool is_on)
{
	if (links_kept.n)
		memset(links_kept.slots, 0, sizeof(links_kept.slots));
	links_kept.n = links_kept.used = 0;
	links_kept.is_on = is_on;
}

static uint16_t *links_kept_slot(const char *path, size_t len)
{
	size_t i = hash_bytes(HASH_START, path, len) % ROWS(links_kept.slots);

	while (links_kept.slots[i] && strcmp(links_kept.text + links_kept.slots[i] - 1, path) != 0)
		i = (i + 1) % ROWS(links_kept.slots);
	return &links_kept.slots[i];
}

static void links_kept_add(uint16_t *slot, const char *path, size_t len)
{
	if (links_kept.n == LINKS_KEPT_MAX || len >= sizeof(links_kept.text) - links_kept.used)
		return;
	memcpy(links_kept.text + links_kept.used, path, len + 1);
	*slot = (uint16_t)(links_kept.used + 1);
	links_kept.used = (uint16_t)(links_kept.used + len + 1);
	links_kept.n++;
}

/* A links_read. What cannot be read is taken as it is written. */
static int links_read_host(void *data, const char *path, bool is_last, char target[PATH_BYTES])
{
	const size_t len = links_kept.is_on ? strlen(path) : 0;
	uint16_t *slot = links_kept.is_on ? links_kept_slot(path, len) : NULL;
	ssize_t n = slot && *slot ? 0 : readlink(path, target, PATH_BYTES - 1);

	(void)data;
	(void)is_last;
	if (slot && !*slot && n < 0 && errno == EINVAL)
		links_kept_add(slot, path, len);
	n = n > 0 ? n : 0;
	target[n] = '\0';
	return (int)n;
}

static int links_run(const char *path, links_read *read, links_hop *hop, links_link *seen,
	void *data, char out[PATH_BYTES])
{
	struct links_walk w; /* large: what is written before it is read is not zeroed */
	int r = 0;

	w.done[0] = '\0';
	w.len = w.base = w.links = 0;
	w.hop = hop;
	w.seen = seen;
	w.read = read;
	w.data = data;
	if (path[0] != '/')
		return -EINVAL;
	if (strlen(path) >= PATH_BYTES)
		return -ENAMETOOLONG;
	memcpy(w.rest, path, strlen(path) + 1);
	while (r == 0 && w.rest[0])
		r = links_step(&w);
	if (r == 0)
		memcpy(out, w.len ? w.done : "/", w.len ? w.len + 1 : 2);
	return r;
}

int links_follow(const char *path, links_hop *hop, void *data, char out[PATH_BYTES])
{
	return links_run(path, links_read_host, hop, NULL, data, out);
}

int links_walk(const char *path, links_link *seen, void *data, char out[PATH_BYTES])
{
	return links_run(path, links_read_host, NULL, seen, data, out);
}

int links_walk_by(
	const char *path, links_read *read, links_link *seen, void *data, char out[PATH_BYTES])
{
	return links_run(path, read, NULL, seen, data, out);
}
