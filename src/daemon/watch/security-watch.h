/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The security watcher: what is wrong on this machine. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buffer.h"
#include "daemon/peers/origin.h"
#include "event/loop.h"

struct supervisor;

/* What finds. A look of one replaces what it found before. */
enum security_source { WATCH_SCAN, WATCH_LOG, WATCH_OWN, WATCH_PEER };

struct security_finding {
	enum security_source source;
	char id[64];
	const char *severity, *kind; /* words of tables */
	char *text, *where, *remedy;
	uint64_t since_ms, until_ms; /* until: of what happened once; 0: until it is cured */
	bool is_seen;                /* by the look that is under way */
};

struct security_watch {
	struct timer timer, soon;
	struct watcher changes; /* inotify */
	struct security_finding *findings;
	size_t n, cap;
	uint64_t checked_ms, verified_ms; /* time of day; 0: not yet */
	uint64_t scanned_at, verify_at;   /* by the loop: when it was begun; when it is due */
	uint64_t verify_began;
	bool is_scanning, is_verifying, is_changed;
};

int security_watch_open(struct supervisor *s);
void security_watch_close(struct supervisor *s);
/* Something that happened once; it is shown for WATCH_PEER_MS. */
void security_watch_tell_peer(struct supervisor *s, const char *socket, pid_t pid, const char *why);
/* A process inside a sandbox, or one that cannot be told from that, connected. */
void security_watch_tell_refused(
	struct supervisor *s, const char *name, const struct origin_peer *peer, const char *why);
/* If changes of folders are not seen at once: said now, and by each look. */
void security_watch_tell_unwatched(struct supervisor *s);
void security_watch_print(const struct supervisor *s, struct buffer *out);
size_t security_watch_count(const struct supervisor *s, const char *severity); /* NULL: any */
