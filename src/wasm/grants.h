/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The files that the worker keeps when it confines itself, before it reads anything of a module:
 * the folders that were granted (PROCESS_WORKER of process/confinement.h has the rest). It is in an
 * ordinary sandbox besides.
 */
#include <stddef.h>

#include "wasm/options.h"

/* For good. module: a file that is read later. Negative errno: nothing may be run. */
int grants_enter(const struct worker_folder *folders, size_t n, const char *module);
