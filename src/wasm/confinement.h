/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the worker and the compiler take from themselves before they read anything of a module:
 * every file but the folders that were granted, every program, every socket that is not open. The
 * worker is in an ordinary sandbox besides; the compiler is not.
 */
#include <stddef.h>

#include "wasm/options.h"

/* For good. module: a file that is read later; NULL: none. Negative errno: nothing may be run. */
int confinement_enter(const struct worker_folder *folders, size_t n, const char *module);
