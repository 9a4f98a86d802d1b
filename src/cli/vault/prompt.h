/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Passphrases and values, into locked memory: typed without an echo, from a file, from a pipe. */
#include "base/error.h"
#include "vault/secret.h"

/* On the terminal of this process, whatever its standard input is. -ENXIO: there is none. */
int prompt_read(const char *question, struct secret *ret, struct error *e);
/* A passphrase: the first line. The file is the user's own, and closed to others. */
int prompt_read_file(const char *path, struct secret *ret, struct error *e);
/* All of standard input, without the end of its last line. */
int prompt_read_input(struct secret *ret, struct error *e);
