/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pointers, lengths and answers of `allocate` that a module may give, with an engine in which
 * memory is a block of its own, so that a byte beside it is found. The input is a list of steps:
 * what is done, and two numbers, each with a byte that says near which edge it is.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wasm/guest.h"

enum { PAGE = 65536, PAGES_MAX = 8, STEP_BYTES = 11 };

static struct {
	uint8_t *data;
	size_t size;
	uint32_t answer; /* of `allocate` */
	bool grows;      /* while it runs */
} linear;

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void linear_resize(size_t size)
{
	uint8_t *next = calloc(1, size ? size : 1);

	check(next);
	memcpy(next, linear.data ? linear.data : next, linear.size < size ? linear.size : size);
	free(linear.data);
	linear.data = next;
	linear.size = size;
}

/* The engine, as far as guest.c uses it. */

uint8_t *wasmtime_memory_data(wasmtime_context_t *store, const wasmtime_memory_t *memory)
{
	(void)store;
	(void)memory;
	return linear.data;
}

size_t wasmtime_memory_data_size(const wasmtime_context_t *store, const wasmtime_memory_t *memory)
{
	(void)store;
	(void)memory;
	return linear.size;
}

wasmtime_error_t *wasmtime_func_call(wasmtime_context_t *store, const wasmtime_func_t *func,
	const wasmtime_val_t *args, size_t nargs, wasmtime_val_t *results, size_t nresults,
	wasm_trap_t **trap)
{
	(void)store;
	(void)func;
	(void)trap;
	check(nargs == 1 && nresults == 1 && args[0].of.i32 != 0);
	if (linear.grows && linear.size < (size_t)PAGES_MAX * PAGE)
		linear_resize(linear.size + PAGE);
	results[0] = (wasmtime_val_t){ .kind = WASMTIME_I32, .of.i32 = (int32_t)linear.answer };
	return NULL;
}

/* Types are not asked for here. */
wasm_functype_t *wasmtime_func_type(const wasmtime_context_t *store, const wasmtime_func_t *func)
{
	(void)store;
	(void)func;
	return NULL;
}

const wasm_valtype_vec_t *wasm_functype_params(const wasm_functype_t *t)
{
	(void)t;
	return NULL;
}

const wasm_valtype_vec_t *wasm_functype_results(const wasm_functype_t *t)
{
	(void)t;
	return NULL;
}

wasm_valkind_t wasm_valtype_kind(const wasm_valtype_t *t)
{
	(void)t;
	return WASM_I32;
}

void wasm_functype_delete(wasm_functype_t *t)
{
	(void)t;
}

/* Steps */

/* A number near 0, the end of memory, 2^31 or 2^32. */
static uint32_t number(const uint8_t *at)
{
	static const uint32_t near[] = { 0, 0, 1U << 31, 0 };
	uint32_t n;

	memcpy(&n, at + 1, sizeof(n));
	switch (at[0] % 6) {
	case 0:
		return n;
	case 1:
		return (uint32_t)linear.size - n % 16;
	case 2:
		return (uint32_t)linear.size + n % 16;
	default:
		return near[at[0] % 4] - n % 16;
	}
}

/* All bytes are read, or written: the sanitizer looks on. */
static void touch(const uint8_t *bytes, uint32_t len)
{
	volatile uint8_t sum = 0;

	for (uint32_t i = 0; i < len; i++)
		sum ^= bytes[i];
	(void)sum;
}

static void step(struct guest *g, const uint8_t *data)
{
	static const char text[4096];
	const uint32_t a = number(data + 1), b = number(data + 6);
	const uint8_t *found = NULL;
	wasmtime_error_t *error = NULL;
	wasm_trap_t *trap = NULL;
	uint32_t len = 0, at = 0;

	switch (data[0] % 5) {
	case 0:
		if (guest_look(g, a, b, &found) == 0)
			touch(found, b);
		else
			check((uint64_t)a + b > linear.size);
		break;
	case 1:
		if (guest_look_counted(g, a, &found, &len) == 0) {
			check(len <= GUEST_TEXT_MAX && (uint64_t)a + 4 + len <= linear.size);
			touch(found, len);
		}
		break;
	case 2:
		linear.answer = a;
		linear.grows = data[1] & 1;
		len = 1 + b % sizeof(text);
		if (guest_put(g, text, len, data[6] & 1, &at, &error, &trap) == 0)
			check(at == a && (uint64_t)a + len <= linear.size);
		break;
	case 3:
		/* A length before its text, anywhere. */
		if (linear.size >= 4 && a <= linear.size - 4)
			memcpy(linear.data + a, &b, sizeof(b));
		break;
	default:
		linear_resize((size_t)(data[0] / 5 % PAGES_MAX) * PAGE);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guest g = { .has_allocate = true };

	linear_resize(PAGE);
	for (; size >= STEP_BYTES; data += STEP_BYTES, size -= STEP_BYTES)
		step(&g, data);
	linear_resize(0);
	free(linear.data);
	linear.data = NULL;
	return 0;
}
