/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whether something changed, or something in a folder. A folder that is kept read-only by a mount
 * can still change under it: a file in it may have a second name, a hard link, in a place that can
 * be written, made in a session before the folder was kept.
 */
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* By the kernel's own clock, which nobody sets back but who sets the machine's. */
bool profile_changed_stat(const struct timespec *changed, const struct timespec *since);
/*
 * A number that stands for all that is in a folder, by times, sizes and inodes. path: below the
 * folder at. At most so many names are looked at, and *names counts them down.
 */
uint64_t profile_changed_print(int at, const char *path, unsigned *names);
