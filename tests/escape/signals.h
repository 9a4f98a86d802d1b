/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Which attempt sends which signal: SIGRTMIN plus the place in this list. */
static const char *const signal_names[] = { "signal-kill", "signal-group", "signal-tgkill",
	"signal-tkill", "signal-queue", "signal-pidfd", "signal-owner" };
#define N_SIGNALS ((int)(sizeof(signal_names) / sizeof(*signal_names)))
