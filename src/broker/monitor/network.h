/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a broker keeps for network.http and network.download: the fetcher, and what it knows of
 * downloads that did not come to their end.
 */
#include "broker/monitor/monitor.h"

struct fetcher;
struct network;

/* Makes what is needed at the first call. False: it cannot be had, and the call was refused. */
bool network_is_ready(struct monitor_call *c);
/* Once it is ready. */
struct fetcher *network_fetcher(struct monitor *m);

/*
 * Which version of a file a part is of that a download left: an entity tag, or a date, as the
 * server said. NULL: not known (any more).
 */
void network_keep_version(
	struct monitor *m, const char *url, const char *path, const char *version);
const char *network_version(const struct monitor *m, const char *url, const char *path);

/* download.c */
monitor_handler download_run;
