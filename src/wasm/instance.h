/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One call of a module: a store with its limits, WASI with what was granted, and a fresh instance,
 * of which nothing is left when the call has ended.
 */
#include "wasm/failure.h"
#include "wasm/imports.h"
#include "wasm/options.h"
#include "wasm/streams.h"

/* What all calls of a module share. Zeroed by the caller, whose it is also on failure. */
struct loaded {
	const struct worker_options *options;
	wasm_engine_t *engine;
	wasmtime_module_t *module;
	wasmtime_linker_t *linker;
	wasmtime_instance_pre_t *pre;
	struct imports imports;
	struct streams *streams; /* of the call; the caller's */
	const char *export;      /* that is called */
	bool is_command; /* a WASI command, `_start`; else a skill, as docs/wasm-abi.md has it */
};

/* Maps the compiled module at that path, and links it. 0, or a status with *e filled. */
int loaded_open(
	struct loaded *l, const struct worker_options *o, const char *path, struct error *e);
void loaded_close(struct loaded *l);

/* Runs `_start`; returns its status. */
int instance_run_command(struct loaded *l, struct error *e);
/* Calls the export with the input; *out gets what it answers. Returns 0, or a status. */
int instance_call(
	struct loaded *l, const void *input, size_t len, struct buffer *out, struct error *e);
