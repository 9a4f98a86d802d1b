/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a module imports beside WASI, from the modules `env` and `corral`, with and without the
 * prefix `host_`. A function that was not granted is there all the same, so that modules that never
 * call it run; a call of it stops the module, with the capability and the line of the manifest that
 * would grant it.
 */
#include <stddef.h>
#include <wasmtime.h>

#include "wasm/host-call.h"
#include "wasm/options.h"
#include "wasm/streams.h"

struct import_row;

/* One import: what it does, or why it cannot be called. */
struct import {
	const struct import_row *row;
	struct host_call *host;
	struct streams *streams;
	char *refusal;
};

struct imports {
	struct import *items;
	size_t n;
	/* The caller's; both outlive the linker. */
	struct host_call *host;
	struct streams *streams;
};

/* Defines all functions that the module imports and the linker lacks. *i outlives the linker. */
wasmtime_error_t *imports_link(struct imports *i, const struct worker_options *o,
	wasmtime_linker_t *linker, const wasmtime_module_t *m);
void imports_deinit(struct imports *i);
