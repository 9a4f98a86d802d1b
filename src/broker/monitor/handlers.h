/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The handlers of the methods (broker/method-table.h), and what several of them need. */
#include "base/path.h"
#include "broker/monitor/monitor.h"

/* Each is in the file that its name begins with; those of the network in network-absent.c, where
 * there is no fetcher. */
#define METHOD(id, handler, ...) monitor_handler handler;
#define METHOD_ASIDE(id, ...)
#include "broker/method-table.h"

/* A path from the caller's folder, absolute and normal. Negative: it cannot be. */
int handlers_absolute(const struct monitor_call *c, const char *path, char out[PATH_BYTES]);
