/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Closes every descriptor from there on in the child that is spawned (starting-rest-from.c, or
 * starting-rest-list.c for older C libraries). A positive errno, as those functions have it.
 */
#include <spawn.h>

int starting_rest_close(posix_spawn_file_actions_t *a, int from);
