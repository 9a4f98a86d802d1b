/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `corral-wasm compile [fuel] [epochs]`: a module on standard input, what it is compiled to on
 * standard output. The compiler reads foreign bytes, so before it reads the first of them the
 * process gives up all files, programs, sockets and the right to have many of anything.
 */
#include "wasm/engine.h"

/* The whole program; returns the status to exit with. */
int compile_main(const struct engine_options *o);
