/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Of a destination only a keyed hash is kept: two that collided would share one count, which is
 * the strict side, and without the key such names cannot be chosen. The table is sparse: pages
 * that were never written take no memory.
 */
#include "wire/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"

enum {
	LEDGER_SLOTS = 2 * LEDGER_DESTINATIONS_MAX, /* at most half full */
	LEDGER_SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL,
};

struct ledger_command {
	atomic_uint_fast64_t seen_ms; /* 0: the place is free */
	atomic_uint_fast64_t order;   /* of joining */
	atomic_uint_fast64_t memory, tasks;
};

struct ledger_destination {
	atomic_uint_fast64_t hash; /* 0: free */
	atomic_uint_fast64_t bytes;
};

struct ledger {
	struct hash_key key;
	atomic_uint_fast64_t memory_max, tasks_max, n_joined;
	struct ledger_command commands[LEDGER_COMMANDS_MAX];
	struct ledger_window windows[LEDGER_WINDOWS_MAX];
	atomic_uint_fast64_t n_destinations;
	struct ledger_destination destinations[LEDGER_SLOTS];
};
_Static_assert(sizeof(atomic_uint_fast64_t) == 8, "the same for all who map it");

static int ledger_map(struct ledger **ret, int fd)
{
	void *map = mmap(NULL, sizeof(struct ledger), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		return -errno;
	*ret = map;
	return 0;
}

int ledger_new(struct ledger **ret, int *ret_fd)
{
	auto_fd fd = memfd_create("corral-ledger", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0 || ftruncate(fd, sizeof(struct ledger)) < 0 ||
		fcntl(fd, F_ADD_SEALS, LEDGER_SEALS) < 0)
		return -errno;
	r = ledger_map(ret, fd);
	if (r < 0)
		return r;
	(*ret)->key = hash_key_make();
	*ret_fd = fd_take(&fd);
	return 0;
}

int ledger_open(struct ledger **ret, int fd)
{
	const int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	/* Else whoever made it could end us by making it smaller. */
	if (seals < 0 || (seals & LEDGER_SEALS) != LEDGER_SEALS || fstat(fd, &st) < 0 ||
		st.st_size != (off_t)sizeof(struct ledger))
		return -EPROTO;
	return ledger_map(ret, fd);
}

void ledger_free(struct ledger *l)
{
	if (l)
		(void)munmap(l, sizeof(*l));
}

/* Commands */

static bool ledger_is_stale(uint64_t seen_ms, uint64_t now_ms)
{
	return seen_ms + LEDGER_STALE_MS < now_ms;
}

void ledger_limit(struct ledger *l, const struct ledger_use *most)
{
	atomic_store(&l->memory_max, most->memory);
	atomic_store(&l->tasks_max, most->tasks);
}

struct ledger_use ledger_limits(const struct ledger *l)
{
	return (struct ledger_use){ atomic_load(&l->memory_max), atomic_load(&l->tasks_max) };
}

int ledger_join(struct ledger *l, uint64_t now_ms)
{
	for (int i = 0; i < LEDGER_COMMANDS_MAX; i++) {
		struct ledger_command *c = &l->commands[i];
		uint_fast64_t seen = atomic_load(&c->seen_ms);

		if ((seen != 0 && !ledger_is_stale(seen, now_ms)) ||
			!atomic_compare_exchange_strong(
				&c->seen_ms, &seen, now_ms > 0 ? now_ms : 1))
			continue;
		atomic_store(&c->order, atomic_fetch_add(&l->n_joined, 1));
		atomic_store(&c->memory, 0);
		atomic_store(&c->tasks, 0);
		return i;
	}
	return -ENOSPC;
}

void ledger_write(struct ledger *l, int place, const struct ledger_use *use, uint64_t now_ms)
{
	struct ledger_command *c = &l->commands[place];

	atomic_store(&c->memory, use->memory);
	atomic_store(&c->tasks, use->tasks);
	atomic_store(&c->seen_ms, now_ms > 0 ? now_ms : 1);
}

void ledger_leave(struct ledger *l, int place)
{
	atomic_store(&l->commands[place].seen_ms, 0);
}

/* Of those whose order is less. */
static struct ledger_use ledger_sum(
	const struct ledger *l, int place, uint64_t order, uint64_t now_ms)
{
	struct ledger_use sum = { 0 };

	for (int i = 0; i < LEDGER_COMMANDS_MAX; i++) {
		const struct ledger_command *c = &l->commands[i];
		const uint64_t seen = i == place ? 0 : atomic_load(&c->seen_ms);
		const uint64_t memory = atomic_load(&c->memory);

		if (seen == 0 || ledger_is_stale(seen, now_ms) || atomic_load(&c->order) >= order)
			continue;
		sum.memory = memory > UINT64_MAX - sum.memory ? UINT64_MAX : sum.memory + memory;
		sum.tasks += atomic_load(&c->tasks);
	}
	return sum;
}

struct ledger_use ledger_others(const struct ledger *l, int place, uint64_t now_ms)
{
	return ledger_sum(l, place, UINT64_MAX, now_ms);
}

struct ledger_use ledger_before(const struct ledger *l, int place, uint64_t now_ms)
{
	return ledger_sum(
		l, place, place < 0 ? UINT64_MAX : atomic_load(&l->commands[place].order), now_ms);
}

/* The network */

struct ledger_window *ledger_window(struct ledger *l, uint64_t key)
{
	for (int i = 0; i < LEDGER_WINDOWS_MAX; i++) {
		uint_fast64_t found = 0;

		/* Whoever comes second finds what the first wrote. */
		if (atomic_compare_exchange_strong(&l->windows[i].key, &found, key) || found == key)
			return &l->windows[i];
	}
	return NULL;
}

atomic_uint_fast64_t *ledger_bytes(struct ledger *l, const char *target)
{
	uint64_t hash = hash_keyed(&l->key, 0, target, strlen(target));

	hash = hash ? hash : 1;
	for (uint64_t i = 0; i < LEDGER_SLOTS; i++) {
		struct ledger_destination *d = &l->destinations[(hash + i) % LEDGER_SLOTS];
		uint_fast64_t found = atomic_load(&d->hash);

		if (found == 0) {
			if (atomic_fetch_add(&l->n_destinations, 1) >= LEDGER_DESTINATIONS_MAX) {
				(void)atomic_fetch_sub(&l->n_destinations, 1);
				return NULL;
			}
			if (atomic_compare_exchange_strong(&d->hash, &found, hash))
				return &d->bytes;
			(void)atomic_fetch_sub(&l->n_destinations, 1);
		}
		if (found == hash)
			return &d->bytes;
	}
	return NULL;
}
