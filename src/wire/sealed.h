/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Bytes in a memfd that nobody can change any more: how something long is handed to another
 * process. Whoever takes one checks the seals before looking, so that what was checked is what is
 * used: without them the sender could rewrite the bytes under the reader's feet, or shrink the
 * file so that reading raises SIGBUS.
 */
#include <stddef.h>

/* A close-on-exec descriptor of a memfd with a copy of the bytes, sealed for good. */
int sealed_new(const void *data, size_t len, int *ret);
/*
 * Maps a descriptor of foreign origin, for reading. It must be a memfd that holds exactly len bytes
 * (more than none) and is sealed as above; anything else is -EPROTO. The caller unmaps.
 */
int sealed_map(int fd, size_t len, void **ret);
