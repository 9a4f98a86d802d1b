/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/imports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "wasm/guest.h"

enum { LOG_MAX = 4096, NAME_SHOWN = 100 };

static const char wasi[] = "wasi_snapshot_preview1";
static const char prefix[] = "host_";
static const char network_socket[] = "network_socket";
static const char network_socket_line[] = "network_socket: {enabled: true, allowed_hosts: [HOST]}";

/* The functions of the host. Each is a method of the broker of the same name, but for these two:
 * `call` names the method itself, `log` prints a line. */
struct import_row {
	const char *name, *capability, *line;
	bool is_log, is_call;
};

static const struct import_row functions[] = {
	{ .name = "log", .is_log = true },
	{ .name = "call", .is_call = true },
	{ .name = "http_request",
		.capability = "http",
		.line = "http: {enabled: true, allowed_hosts: [HOST]}" },
	{ .name = "send_email", .capability = "email", .line = "email: {enabled: true}" },
	{ .name = "browser_navigate", .capability = "browser", .line = "browser: {enabled: true}" },
	{ .name = "browser_screenshot",
		.capability = "browser",
		.line = "browser: {enabled: true}" },
	{ .name = "browser_eval_js", .capability = "browser", .line = "browser: {enabled: true}" },
	{ .name = "socket_open", .capability = network_socket, .line = network_socket_line },
	{ .name = "socket_read", .capability = network_socket, .line = network_socket_line },
	{ .name = "socket_write", .capability = network_socket, .line = network_socket_line },
	{ .name = "socket_close", .capability = network_socket, .line = network_socket_line },
};

static bool imports_is(const wasm_name_t *name, const char *text)
{
	return name->size == strlen(text) && memcmp(name->data, text, name->size) == 0;
}

static const struct import_row *imports_find(const wasm_name_t *module, wasm_name_t name)
{
	if (!imports_is(module, "env") && !imports_is(module, "corral"))
		return NULL;
	if (name.size > sizeof(prefix) - 1 && memcmp(name.data, prefix, sizeof(prefix) - 1) == 0) {
		name.data += sizeof(prefix) - 1;
		name.size -= sizeof(prefix) - 1;
	}
	for (size_t i = 0; i < ROWS(functions); i++) {
		if (imports_is(&name, functions[i].name))
			return &functions[i];
	}
	return NULL;
}

/* (i32, i32) -> i32; of `log` also without a result. */
static bool imports_has_type(const struct import_row *row, const wasm_functype_t *type)
{
	const wasm_valtype_vec_t *params = wasm_functype_params(type);
	const wasm_valtype_vec_t *results = wasm_functype_results(type);

	if (params->size != 2 || wasm_valtype_kind(params->data[0]) != WASM_I32 ||
		wasm_valtype_kind(params->data[1]) != WASM_I32)
		return false;
	if (results->size == 0)
		return row->is_log;
	return results->size == 1 && wasm_valtype_kind(results->data[0]) == WASM_I32;
}

/* NULL: it can be called. */
static char *imports_refusal(const struct worker_options *o, const wasm_name_t *module,
	const wasm_name_t *name, const wasm_functype_t *type)
{
	const struct import_row *row = imports_find(module, *name);
	auto_buffer text = { 0 };

	if (row && imports_has_type(row, type) &&
		(!row->capability || worker_options_grants(o, row->capability)))
		return NULL;
	buffer_adds(&text, "it called ");
	buffer_add_visible(
		&text, module->data, module->size < NAME_SHOWN ? module->size : NAME_SHOWN);
	buffer_addc(&text, '.');
	buffer_add_visible(&text, name->data, name->size < NAME_SHOWN ? name->size : NAME_SHOWN);
	if (!row)
		buffer_adds(&text, ", which is no function of Corral or WASI");
	else if (row->capability && !worker_options_grants(o, row->capability))
		buffer_printf(&text,
			", but the capability %s is not granted; to grant it, add to "
			"`capabilities:` of the manifest: %s",
			row->capability, row->line);
	else
		buffer_adds(&text, ", which has the type (i32, i32) -> i32, by another type");
	return text.failed ? strdup("out of memory") : buffer_take(&text);
}

static wasm_trap_t *imports_trap(const char *text)
{
	return wasmtime_trap_new(text, strlen(text));
}

static wasm_trap_t *imports_refuse(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *args,
	size_t n_args, wasmtime_val_t *results, size_t n_results)
{
	const struct import *i = env;

	(void)caller;
	(void)args;
	(void)n_args;
	(void)results;
	(void)n_results;
	return imports_trap(i->refusal);
}

static bool imports_find_export(void *from, const char *name, wasmtime_extern_t *ret)
{
	return wasmtime_caller_export_get(from, name, strlen(name), ret);
}

/* A line for people, on standard error, as every other text of foreign origin. */
static void imports_log(struct streams *s, const uint8_t *text, uint32_t len)
{
	auto_buffer line = { 0 };

	buffer_add_visible(&line, (const char *)text, len < LOG_MAX ? len : LOG_MAX);
	buffer_addc(&line, '\n');
	streams_print(s, buffer_text(&line), line.len);
}

/* An error of the engine, which only a call of `allocate` brings, as a trap. */
static wasm_trap_t *imports_trap_of(wasmtime_error_t *error)
{
	wasm_byte_vec_t message = { 0 };
	wasm_trap_t *trap;

	wasmtime_error_message(error, &message);
	trap = wasmtime_trap_new(message.data, message.size);
	wasm_byte_vec_delete(&message);
	wasmtime_error_delete(error);
	return trap;
}

/* What was answered goes into memory that the module allocates; 0: it had no room. */
static wasm_trap_t *imports_answer(struct guest *g, const struct buffer *out, int32_t *ret)
{
	wasmtime_error_t *error = NULL;
	wasm_trap_t *trap = NULL;
	uint32_t at = 0;
	int r = guest_put(g, out->data, out->len, true, &at, &error, &trap);

	if (error)
		return imports_trap_of(error);
	if (trap)
		return trap;
	if (r == -EINVAL)
		return imports_trap("a function of the host was called, but the module exports no "
				    "`allocate` for its answer");
	if (r == -EFAULT)
		return imports_trap("its `allocate` returned what is not its memory");
	*ret = r < 0 ? 0 : (int32_t)at;
	return NULL;
}

static wasm_trap_t *imports_call(void *env, wasmtime_caller_t *caller, const wasmtime_val_t *args,
	size_t n_args, wasmtime_val_t *results, size_t n_results)
{
	const struct import *i = env;
	auto_buffer out = { 0 };
	const uint8_t *text = NULL;
	struct error e = { 0 };
	struct guest g;
	uint32_t len = (uint32_t)args[1].of.i32;

	(void)n_args;
	if (n_results)
		results[0] = (wasmtime_val_t){ .kind = WASMTIME_I32 };
	if (guest_init(&g, wasmtime_caller_context(caller), imports_find_export, caller, &e) < 0)
		return imports_trap(e.text);
	if (len > GUEST_TEXT_MAX || guest_look(&g, (uint32_t)args[0].of.i32, len, &text) < 0)
		return imports_trap("it called a function of the host with a text that is not in "
				    "its memory, or longer than 16 MiB");
	if (i->row->is_log) {
		imports_log(i->streams, text, len);
		return NULL;
	}
	if (host_call_make(i->host, i->row->is_call ? NULL : i->row->name, text, len, &out) < 0)
		return imports_trap("the broker of the sandbox has ended");
	return imports_answer(&g, &out, &results[0].of.i32);
}

wasmtime_error_t *imports_link(struct imports *i, const struct worker_options *o,
	wasmtime_linker_t *linker, const wasmtime_module_t *m)
{
	wasm_importtype_vec_t types;
	wasmtime_error_t *error = NULL;

	wasmtime_module_imports(m, &types);
	i->items = calloc(types.size + 1, sizeof(*i->items));
	/* The same import may be named twice. */
	wasmtime_linker_allow_shadowing(linker, true);
	for (size_t k = 0; i->items && !error && k < types.size; k++) {
		const wasm_name_t *module = wasm_importtype_module(types.data[k]);
		const wasm_name_t *name = wasm_importtype_name(types.data[k]);
		const wasm_externtype_t *type = wasm_importtype_type(types.data[k]);
		const wasm_functype_t *function = wasm_externtype_as_functype_const(type);
		struct import *one = &i->items[i->n];

		/* WASI's own are there already. */
		if (!function || imports_is(module, wasi))
			continue;
		i->n++;
		one->row = imports_find(module, *name);
		one->host = i->host;
		one->streams = i->streams;
		one->refusal = imports_refusal(o, module, name, function);
		error = wasmtime_linker_define_func(linker, module->data, module->size, name->data,
			name->size, function, one->refusal ? imports_refuse : imports_call, one,
			NULL);
	}
	wasm_importtype_vec_delete(&types);
	return i->items ? error : wasmtime_error_new("out of memory");
}

void imports_deinit(struct imports *i)
{
	for (size_t k = 0; k < i->n; k++)
		free(i->items[k].refusal);
	free(i->items);
	*i = (struct imports){ 0 };
}
