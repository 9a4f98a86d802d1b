/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The memory of an instance, as docs/wasm-abi.md has it: texts go in by the module's own
 * `allocate`, and come out by a pointer and a length, or by a pointer to a length and the bytes.
 *
 * Numbers that a module gives are numbers, no addresses: each range is compared with the size that
 * the memory has at that moment, and what it points to is used before the module runs again.
 */
#include <stdint.h>
#include <wasmtime.h>

#include "base/error.h"

/* Of one text that goes in or comes out. */
enum { GUEST_TEXT_MAX = 16 << 20 };

struct guest {
	wasmtime_context_t *context;
	wasmtime_memory_t memory;
	wasmtime_func_t allocate;
	bool has_allocate;
};

/* The export of that name, of that kind; false: there is none. */
typedef bool guest_find(void *from, const char *name, wasmtime_extern_t *ret);

/* -EINVAL: the module exports no memory, or an `allocate` of another type. */
int guest_init(struct guest *g, wasmtime_context_t *context, guest_find *find, void *from,
	struct error *e);
/* Has the function these many parameters, all i32, and one result: WASM_I32, or i64 if is_wide says
 * that it may be; then *is_wide tells whether it is. */
bool guest_has_type(
	wasmtime_context_t *c, const wasmtime_func_t *f, size_t n_params, bool *is_wide);

/* *ret points to len bytes at `at`, until the module runs again. -EFAULT: they are not all there.
 */
int guest_look(const struct guest *g, uint32_t at, uint32_t len, const uint8_t **ret);
/* The same of a text that stands behind its length, four bytes, the lowest first. -EFAULT;
 * -EMSGSIZE: it is longer than GUEST_TEXT_MAX. */
int guest_look_counted(const struct guest *g, uint32_t at, const uint8_t **ret, uint32_t *ret_len);
/*
 * Has the module allocate room for `len` bytes behind their length, if is_counted, and puts them
 * there. 0; 1: it stopped in doing so, and *ret_error or *ret_trap is the caller's. -ENOMEM: it had
 * no room and said so; -EFAULT: it gave what is not its memory; -EINVAL: it has no `allocate`.
 */
int guest_put(struct guest *g, const void *bytes, size_t len, bool is_counted, uint32_t *ret_at,
	wasmtime_error_t **ret_error, wasm_trap_t **ret_trap);
