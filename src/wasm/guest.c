/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/guest.h"

#include <errno.h>
#include <string.h>

enum { COUNT_BYTES = 4 };

bool guest_has_type(wasmtime_context_t *c, const wasmtime_func_t *f, size_t n_params, bool *is_wide)
{
	wasm_functype_t *type = wasmtime_func_type(c, f);
	const wasm_valtype_vec_t *params = wasm_functype_params(type);
	const wasm_valtype_vec_t *results = wasm_functype_results(type);
	bool fits = params->size == n_params && results->size == 1;
	wasm_valkind_t result = fits ? wasm_valtype_kind(results->data[0]) : WASM_F64;

	for (size_t i = 0; fits && i < n_params; i++)
		fits = wasm_valtype_kind(params->data[i]) == WASM_I32;
	fits = fits && (result == WASM_I32 || (is_wide && result == WASM_I64));
	if (is_wide)
		*is_wide = result == WASM_I64;
	wasm_functype_delete(type);
	return fits;
}

int guest_init(
	struct guest *g, wasmtime_context_t *context, guest_find *find, void *from, struct error *e)
{
	wasmtime_extern_t found = { 0 };

	*g = (struct guest){ .context = context };
	if (!find(from, "memory", &found))
		return error_set(e, -EINVAL, NULL, "the module does not export its memory");
	if (found.kind != WASMTIME_EXTERN_MEMORY)
		return error_set(e, -EINVAL, NULL, "the module's export `memory` is no memory");
	g->memory = found.of.memory;
	if (!find(from, "allocate", &found))
		return 0;
	if (found.kind != WASMTIME_EXTERN_FUNC || !guest_has_type(context, &found.of.func, 1, NULL))
		return error_set(e, -EINVAL, NULL,
			"the module's export `allocate` is no function from i32 to i32");
	g->allocate = found.of.func;
	g->has_allocate = true;
	return 0;
}

int guest_look(const struct guest *g, uint32_t at, uint32_t len, const uint8_t **ret)
{
	const size_t size = wasmtime_memory_data_size(g->context, &g->memory);

	if (at > size || len > size - at)
		return -EFAULT;
	*ret = wasmtime_memory_data(g->context, &g->memory) + at;
	return 0;
}

int guest_look_counted(const struct guest *g, uint32_t at, const uint8_t **ret, uint32_t *ret_len)
{
	const uint8_t *count = NULL;
	uint32_t len;
	int r = guest_look(g, at, COUNT_BYTES, &count);

	if (r < 0)
		return r;
	len = (uint32_t)count[0] | (uint32_t)count[1] << 8 | (uint32_t)count[2] << 16 |
	      (uint32_t)count[3] << 24;
	if (len > GUEST_TEXT_MAX)
		return -EMSGSIZE;
	/* It fits: the four bytes were in memory, which ends below 4 GiB, or at it. */
	r = at > UINT32_MAX - COUNT_BYTES ? -EFAULT : guest_look(g, at + COUNT_BYTES, len, ret);
	if (r == 0)
		*ret_len = len;
	return r;
}

static void guest_write_count(uint8_t *to, uint32_t len)
{
	for (unsigned i = 0; i < COUNT_BYTES; i++)
		to[i] = (uint8_t)(len >> 8 * i);
}

int guest_put(struct guest *g, const void *bytes, size_t len, bool is_counted, uint32_t *ret_at,
	wasmtime_error_t **ret_error, wasm_trap_t **ret_trap)
{
	const uint32_t head = is_counted ? COUNT_BYTES : 0;
	wasmtime_val_t size = { .kind = WASMTIME_I32 }, at = { 0 };
	const uint8_t *found = NULL;
	uint8_t *to;

	if (!g->has_allocate)
		return -EINVAL;
	if (len > GUEST_TEXT_MAX)
		return -EMSGSIZE;
	size.of.i32 = (int32_t)(len + head);
	*ret_error = wasmtime_func_call(g->context, &g->allocate, &size, 1, &at, 1, ret_trap);
	if (*ret_error || *ret_trap)
		return 1;
	if (at.of.i32 == 0)
		return -ENOMEM;
	if (guest_look(g, (uint32_t)at.of.i32, (uint32_t)len + head, &found) < 0)
		return -EFAULT;
	to = (uint8_t *)found;
	if (is_counted)
		guest_write_count(to, (uint32_t)len);
	if (len)
		memcpy(to + head, bytes, len);
	*ret_at = (uint32_t)at.of.i32;
	return 0;
}
