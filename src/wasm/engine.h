/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Wasmtime as Corral uses it: which proposals of WebAssembly a module may use, and how much of
 * everything. A module that was compiled for one engine is refused by another that differs in what
 * changes the code, so compiler and worker make theirs here.
 */
#include <stdbool.h>
#include <stdint.h>
#include <wasmtime.h>

struct engine_options {
	bool fuel;   /* instructions are counted, which costs speed */
	bool epochs; /* loops and calls look whether time is up (deadline.h), which costs, too */
	bool pool;   /* one instance after the other; changes nothing in the code */
};

enum {
	ENGINE_STACK = 1 << 20,         /* bytes of the stack of calls */
	ENGINE_TABLE_ELEMENTS = 100000, /* of one table */
	ENGINE_TABLES = 16,
	/* Of a memory or table in a pool: how much is written anew, and not given back. */
	ENGINE_KEPT = 128 << 10,
	/* How large a module may be, and what it is compiled to. */
	ENGINE_MODULE_MAX = 64 << 20,
	ENGINE_CODE_MAX = 256 << 20,
};
#define ENGINE_MEMORY_MAX (UINT64_C(4) << 30)

/* NULL: out of memory. wasm_engine_delete() ends it. */
wasm_engine_t *engine_new(const struct engine_options *o);
