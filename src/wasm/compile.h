/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `corral-wasm compile [fuel] [epochs] [seconds=N] [memory=BYTES]`: a module on standard input,
 * what it is compiled to on standard output. The compiler reads foreign bytes, so before it reads
 * the first of them the process gives up all files, programs, sockets and the right to have many of
 * anything. Past its processor time it ends by SIGXCPU.
 */

/* The whole program, by the words behind `compile`, which end with NULL; returns the status to exit
 * with. */
int compile_main(const char *const *words);
