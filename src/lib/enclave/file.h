/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What is told of a file. */
#include <sys/stat.h>

#include "corral/enclave.h"

/*
 * Fills as much of *ret as its owner knows (ret->size; 0: all). The name is kept as it is given.
 */
void enclave_file_fill(struct corral_file *ret, const char *name, const struct stat *st);
