/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A corrald with folders of its own, for bench-daemon: start, end, and what its processes use. */
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct daemon_host {
	char place[32];   /* HOME */
	char runtime[64]; /* XDG_RUNTIME_DIR */
	char nothing[64]; /* another one, where no daemon is */
	char project[64]; /* a folder for commands */
	char token[128];
	uint16_t port;
	pid_t pid;
};

/* Makes the folders, points HOME and XDG_RUNTIME_DIR to them, changes to `project`, and
 * starts it; dies if that fails. */
void daemon_host_start(struct daemon_host *h, const char *corrald);
void daemon_host_end(struct daemon_host *h);
/* Of corrald and corrald-http together: kB, each page by its share (0: only root sees it), and
 * seconds of the processor so far. */
size_t daemon_host_pss_kb(const struct daemon_host *h);
double daemon_host_processor(const struct daemon_host *h);
