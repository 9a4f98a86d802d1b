/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Folders in which Corral keeps what is made once and used often: corral/NAME in XDG_STATE_HOME
 * (else ~/.local/state), where no command sees them (host/own.h). Each has a key of its own, by
 * which entries are marked, so that one that was damaged or put there is none.
 *
 * Who could write here? Not a command: the folder is hidden from all of them. Other users: folder
 * and files must be ours, and writable by no other user. A program of the same user that may write
 * files here, but not read them, has no mark. One that may do both is the user.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/path.h"

/*
 * A descriptor of the folder, made if it is missing and `make`; -1: there is none, or none to be
 * trusted. By the environment alone: what --set makes HOME may be a folder that commands write.
 */
int state_cache_open(const char *name, bool make);
/* The path of that folder, whether it is there or not; false: the user has none. */
bool state_cache_path(const char *name, char out[PATH_BYTES]);
/* The key of the folder, made if it is missing and `make`. Whoever is between making and filling it
 * has no cache this time: false. */
bool state_cache_key(int folder, bool make, void *ret, size_t len);
/* Opens a file of ours, of at most `max` bytes, as it is; -1: it is not there, or not ours alone.
 */
int state_cache_open_file(int folder, const char *name, size_t max, size_t *ret_size);
/* Exactly that many bytes. */
bool state_cache_read(int fd, void *out, size_t len);
/* Removes the oldest until there is room for one more of that size. */
void state_cache_trim(int folder, size_t size, unsigned entries_max, uint64_t total_max);
/* Written beside its name and renamed, by as many runs at once as like to; the last one stays, and
 * each is whole. Negative errno. */
int state_cache_put(int folder, const char *name, const void *data, size_t len);
