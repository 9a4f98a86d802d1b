/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/network/hostset-names.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

static uint64_t rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = rotate(v[1], 13) ^ v[0];
	v[0] = rotate(v[0], 32);
	v[2] += v[3];
	v[3] = rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = rotate(v[1], 17) ^ v[2];
	v[2] = rotate(v[2], 32);
}

static void sip_absorb(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	sip_round(v);
	v[0] ^= word;
}

/* SipHash-1-3 of a word and some bytes. */
uint64_t hostset_hash(const struct hostset_key *k, uint64_t rest, const char *label, size_t len)
{
	uint64_t v[4] = { k->words[0] ^ 0x736f6d6570736575, k->words[1] ^ 0x646f72616e646f6d,
		k->words[0] ^ 0x6c7967656e657261, k->words[1] ^ 0x7465646279746573 };
	uint64_t word;
	size_t i = 0;

	sip_absorb(v, rest);
	for (; len - i >= 8; i += 8) {
		memcpy(&word, label + i, 8);
		sip_absorb(v, word);
	}
	word = 0;
	memcpy(&word, label + i, len - i);
	sip_absorb(v, word ^ (uint64_t)len << 56);
	v[2] ^= 0xff;
	for (int round = 0; round < 3; round++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hostset_hash_name(const struct hostset_key *k, const char *name)
{
	size_t end = strlen(name);
	uint64_t hash = 0;

	for (;;) {
		const char *dot = memrchr(name, '.', end);
		size_t start = dot ? (size_t)(dot - name) + 1 : 0;

		hash = hostset_hash(k, hash, name + start, end - start);
		if (!dot)
			return hash;
		end = start - 1;
	}
}

/* The kernel gives every program sixteen random bytes; taking them needs no system call. */
struct hostset_key hostset_key_make(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM);
	struct hostset_key raw = { { 0, 0 } }, k;

	if (random)
		memcpy(&raw, random, sizeof(raw));
	/* Other secrets are made from the same bytes: keep only a hash of them. */
	k.words[0] = hostset_hash(&raw, 0, "hostset", 7);
	k.words[1] = hostset_hash(&raw, 1, "hostset", 7);
	return k;
}

int hostset_names_init(struct hostset_names *t, struct arena *a, size_t n)
{
	size_t size = 4;

	/* At most half full, so a search soon finds a gap. */
	while (size < 2 * n)
		size *= 2;
	t->slots = arena_calloc(a, size, sizeof(*t->slots));
	if (!t->slots)
		return -ENOMEM;
	t->mask = size - 1;
	return 0;
}

void hostset_names_put(
	struct hostset_names *t, uint64_t hash, const char *name, const struct hostset_node *node)
{
	size_t i = hash & t->mask;

	while (t->slots[i].name)
		i = (i + 1) & t->mask;
	t->slots[i] = (struct hostset_slot){ hash, name, node };
}

const struct hostset_node *hostset_names_get(
	const struct hostset_names *t, uint64_t hash, const char *name)
{
	for (size_t i = hash & t->mask; t->slots[i].name; i = (i + 1) & t->mask)
		if (t->slots[i].hash == hash && strcmp(t->slots[i].name, name) == 0)
			return t->slots[i].node;
	return NULL;
}
