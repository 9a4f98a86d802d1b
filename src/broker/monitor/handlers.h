/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The handlers of the methods, by the file that has them, and what several of them need. */
#include "base/path.h"
#include "broker/monitor/monitor.h"

/* files.c */
monitor_handler files_read, files_write, files_list, files_stat, files_delete;
/* network.c; without a fetcher network-absent.c */
monitor_handler network_http, network_download;
/* sockets.c; the same */
monitor_handler sockets_open, sockets_read, sockets_write, sockets_close;
/* exec.c */
monitor_handler exec_run;
/* environment.c */
monitor_handler environment_get;
/* verdict.c */
monitor_handler verdict_check;
/* events.c */
monitor_handler events_batch;
/* services.c */
monitor_handler services_forward, services_secret_inject;

/* A path from the caller's folder, absolute and normal. Negative: it cannot be. */
int handlers_absolute(const struct monitor_call *c, const char *path, char out[PATH_BYTES]);
