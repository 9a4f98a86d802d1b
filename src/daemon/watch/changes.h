/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* inotify, or what to do without it. */
#include <stdint.h>

#include "base/buffer.h"
#include "event/loop.h"

struct supervisor;

/* An instance for w, unless it has one. If the kernel gives none, w stays without. */
int changes_open(struct supervisor *s, struct watcher *w);
/* As inotify_add_watch(), of a folder; also -1 if w has no instance. */
int changes_add(struct supervisor *s, const struct watcher *w, const char *path, uint32_t what);
/* The limit that keeps us from seeing all changes at once; NULL: none does. */
const char *changes_limit(const struct supervisor *s);
/* Why they are not seen at once, by a limit or another error; nothing if they are. */
void changes_why(const struct supervisor *s, struct buffer *out);
