/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* SIGINT, SIGTERM and SIGHUP, by which a server of ours ends. */
#include "event/loop.h"

/* They are blocked, and w, whose `ready` is set, hears of them. SIGPIPE is ignored. */
int mcp_ending_watch(struct loop *l, struct watcher *w);
