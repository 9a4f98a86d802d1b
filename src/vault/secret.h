/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Memory for values and keys: locked, so that it is never on disk, left out of core files, with a
 * guard page on each side, and wiped before it is freed. Memory that cannot be locked is an error.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct secret {
	uint8_t *data; /* NULL: none */
	size_t len;
};

/* Once, before all others. -EIO: the library of ciphers does not work. */
int secret_begin(void);
/* len bytes, zeroed. -ENOMEM; -EPERM, -EAGAIN: more than RLIMIT_MEMLOCK lets the user lock. */
int secret_new(struct secret *ret, size_t len);
int secret_copy(struct secret *ret, const void *data, size_t len);
/* Wipes and frees it. Nothing if there is none. */
void secret_free(struct secret *s);
#define auto_secret __attribute__((cleanup(secret_free))) struct secret

/* Locks an object that was there before, such as a static one. */
int secret_lock(void *object, size_t len);
/* That it could not be, and what to do. Returns r. */
int secret_refuse(int r, struct error *e);
void secret_wipe(void *object, size_t len);
