/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a broker keeps for network.http and network.download: the fetcher, and what it knows of
 * downloads that did not come to their end.
 */
#include "broker/monitor/monitor.h"

struct fetcher;
struct fetching;
struct fetching_sink;
struct network;
struct value;

/* Makes what is needed at the first call. False: it cannot be had, and the call was refused. */
bool network_is_ready(struct monitor_call *c);
/* Once it is ready. */
struct fetcher *network_fetcher(struct monitor *m);
/*
 * A request that the call makes (broker/monitor/fetching.h), which is its state then; its cancel
 * hook ends it. NULL: the call was refused.
 */
struct fetching *network_fetching(struct monitor_call *c, const struct fetching_sink *sink,
	const char *url, const struct value *headers, const struct value *timeout);

/*
 * Which version of a file a part is of that a download left: an entity tag, or a date, as the
 * server said. NULL: not known (any more).
 */
void network_keep_version(
	struct monitor *m, const char *url, const char *path, const char *version);
const char *network_version(const struct monitor *m, const char *url, const char *path);

/* download.c */
monitor_handler download_run;
