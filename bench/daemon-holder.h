/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The holder of a sandbox of the library that joined a daemon, for bench-daemon. */
#include <stddef.h>

/* The daemon runs where the environment says. Prints what a sandbox with one command takes longer,
 * and what its processes hold more, than without a daemon. Dies if a sandbox fails. */
void daemon_holder_bench(size_t rounds);
