/* SPDX-License-Identifier: Apache-2.0 */
#include "threat/threat.h"

#include <string.h>

#include "base/hash.h"
#include "policy/match/service.h"
#include "policy/network/host.h"

/* Length of "python" in "python3.11"; a name of nothing else is kept. */
static size_t threat_stem(const char *name)
{
	size_t len = strlen(name), keep = len;

	while (keep > 0 && strchr("0123456789.-", name[keep - 1]))
		keep--;
	return keep ? keep : len;
}

int threat_head_find(const char *name, size_t len)
{
	size_t slot = hash_bytes(HASH_START, name, len) % THREAT_HEAD_SLOTS;

	for (; threat_head_slots[slot]; slot = (slot + 1) % THREAT_HEAD_SLOTS) {
		const struct threat_head *h = &threat_heads[threat_head_slots[slot] - 1];

		if (h->len == len && memcmp(threat_texts + h->name, name, len) == 0)
			return threat_head_slots[slot] - 1;
	}
	return -1;
}

const struct threat *threat_program(const char *path, unsigned uses)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t stem = threat_stem(name);

	for (const struct threat *t = threat_programs; t < threat_programs + threat_programs_n;
		t++) {
		if (t->uses & uses && (service_word_matches(threat_name(t), name, strlen(name)) ||
					      service_word_matches(threat_name(t), name, stem)))
			return t;
	}
	return NULL;
}

const struct threat *threat_host(const char *name, unsigned uses)
{
	for (const struct threat *t = threat_hosts; t < threat_hosts + threat_hosts_n; t++) {
		if (t->uses & uses && (strcmp(name, threat_name(t)) == 0 ||
					      host_name_below(name, threat_name(t))))
			return t;
	}
	return NULL;
}
