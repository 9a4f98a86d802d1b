/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/engine.h"

/*
 * Room for one instance, which is used again by the next: what a call wrote is replaced by the
 * module's own bytes, or given back to the system, when its instance ends. Mapping 4 GiB anew for
 * each call costs more than an empty call itself.
 */
static void engine_set_pool(wasm_config_t *c)
{
	wasmtime_pooling_allocation_config_t *p = wasmtime_pooling_allocation_config_new();

	wasmtime_pooling_allocation_config_total_core_instances_set(p, 1);
	wasmtime_pooling_allocation_config_max_core_instance_size_set(p, ENGINE_CODE_MAX);
	wasmtime_pooling_allocation_config_total_memories_set(p, 1);
	wasmtime_pooling_allocation_config_max_memory_size_set(p, (size_t)ENGINE_MEMORY_MAX);
	wasmtime_pooling_allocation_config_linear_memory_keep_resident_set(p, ENGINE_KEPT);
	wasmtime_pooling_allocation_config_total_tables_set(p, ENGINE_TABLES);
	wasmtime_pooling_allocation_config_max_tables_per_module_set(p, ENGINE_TABLES);
	wasmtime_pooling_allocation_config_table_elements_set(p, ENGINE_TABLE_ELEMENTS);
	wasmtime_pooling_allocation_config_table_keep_resident_set(p, ENGINE_KEPT);
	wasmtime_pooling_allocation_config_total_component_instances_set(p, 0);
	wasmtime_pooling_allocation_config_total_gc_heaps_set(p, 0);
	wasmtime_pooling_allocation_config_total_stacks_set(p, 0);
	wasmtime_pooling_allocation_strategy_set(c, p);
	wasmtime_pooling_allocation_config_delete(p);
}

wasm_engine_t *engine_new(const struct engine_options *o)
{
	wasm_config_t *c = wasm_config_new();

	if (!c)
		return NULL;
	wasmtime_config_consume_fuel_set(c, o->fuel);
	wasmtime_config_epoch_interruption_set(c, o->epochs);
	wasmtime_config_max_wasm_stack_set(c, ENGINE_STACK);
	/* One memory of 32 bits, of one thread: what the ABI (docs/wasm-abi.md) is about. */
	wasmtime_config_wasm_threads_set(c, false);
	wasmtime_config_wasm_memory64_set(c, false);
	wasmtime_config_wasm_multi_memory_set(c, false);
	/* No compiler of today needs these for C or Rust, and each is code that could be wrong. */
	wasmtime_config_wasm_gc_set(c, false);
	wasmtime_config_wasm_function_references_set(c, false);
	wasmtime_config_wasm_exceptions_set(c, false);
	wasmtime_config_wasm_component_model_set(c, false);
	/* For debuggers and profilers, at the cost of a system call for each module. */
	wasmtime_config_native_unwind_info_set(c, false);
	/* Each instance starts with the module's own memory, copied when it is written. */
	wasmtime_config_memory_init_cow_set(c, true);
	if (o->pool)
		engine_set_pool(c);
	return wasm_engine_new_with_config(c);
}
