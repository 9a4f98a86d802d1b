/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/instance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "wasm/deadline.h"
#include "wasm/engine.h"
#include "wasm/guest.h"

/* Loading */

static bool loaded_has_export(const wasmtime_module_t *m, const char *name)
{
	wasm_exporttype_vec_t exports;
	bool found = false;

	wasmtime_module_exports(m, &exports);
	for (size_t i = 0; !found && i < exports.size; i++) {
		const wasm_name_t *n = wasm_exporttype_name(exports.data[i]);

		found = n->size == strlen(name) && memcmp(n->data, name, n->size) == 0;
	}
	wasm_exporttype_vec_delete(&exports);
	return found;
}

/* What is called: what the manifest names, a skill's function, or the start of a command. */
static int loaded_choose(struct loaded *l, struct error *e)
{
	const char *named = l->options->export;

	l->export = named ? named : loaded_has_export(l->module, "handle") ? "handle" : "_start";
	l->is_command = strcmp(l->export, "_start") == 0;
	if (loaded_has_export(l->module, l->export))
		return 0;
	if (named)
		(void)error_set(e, -ENOENT, NULL, "the module exports no `%.100s`", named);
	else
		(void)error_set(e, -ENOENT, NULL,
			"the module exports neither `handle`, as skills do, nor `_start`, as "
			"commands do");
	error_hint(e, "wasm.export of the manifest names the function that is called");
	return FAILURE_MODULE;
}

int loaded_open(struct loaded *l, const struct worker_options *o, const char *path, struct error *e)
{
	const struct engine_options options = {
		.fuel = o->fuel != WORKER_FUEL_NONE, .epochs = o->serves, .pool = o->serves
	};
	wasmtime_error_t *error;
	int r;

	l->options = o;
	l->engine = engine_new(&options);
	if (!l->engine)
		return error_no_memory(e), FAILURE_WORKER;
	error = wasmtime_module_deserialize_file(l->engine, path, &l->module);
	if (error)
		return failure_of_engine(
			FAILURE_WORKER, "the compiled module cannot be loaded", error, e);
	r = loaded_choose(l, e);
	if (r != 0)
		return r;
	l->linker = wasmtime_linker_new(l->engine);
	error = wasmtime_linker_define_wasi(l->linker);
	if (!error)
		error = imports_link(&l->imports, o, l->linker, l->module);
	if (!error)
		error = wasmtime_linker_instantiate_pre(l->linker, l->module, &l->pre);
	return error ? failure_of_engine(FAILURE_MODULE, "the module cannot be linked", error, e)
		     : 0;
}

void loaded_close(struct loaded *l)
{
	if (l->pre)
		wasmtime_instance_pre_delete(l->pre);
	if (l->linker)
		wasmtime_linker_delete(l->linker);
	if (l->module)
		wasmtime_module_delete(l->module);
	if (l->engine)
		wasm_engine_delete(l->engine);
	imports_deinit(&l->imports);
}

/* One call */

struct instance {
	struct loaded *loaded;
	wasmtime_store_t *store;
	wasmtime_context_t *context;
	wasmtime_instance_t instance;
};

static void instance_end(struct instance *i)
{
	if (i->store)
		wasmtime_store_delete(i->store);
}
#define auto_instance __attribute__((cleanup(instance_end))) struct instance

static bool instance_find(void *from, const char *name, wasmtime_extern_t *ret)
{
	struct instance *i = from;

	return wasmtime_instance_export_get(i->context, &i->instance, name, strlen(name), ret);
}

static int instance_set_variables(wasi_config_t *c, const struct worker_options *o, struct error *e)
{
	auto_arena a = { 0 };
	const char **names = arena_calloc(&a, o->n_variables + 1, sizeof(*names));
	const char **values = arena_calloc(&a, o->n_variables + 1, sizeof(*values));
	size_t n = 0;

	if (!names || !values)
		return error_no_memory(e);
	for (size_t i = 0; i < o->n_variables; i++) {
		const char *value = getenv(o->variables[i]);

		if (!value)
			continue;
		names[n] = o->variables[i];
		values[n++] = value;
	}
	return wasi_config_set_env(c, n, names, values)
		       ? 0
		       : error_set(e, -EILSEQ, NULL, "a variable is not valid UTF-8");
}

static int instance_set_folders(wasi_config_t *c, const struct worker_options *o, struct error *e)
{
	for (size_t i = 0; i < o->n_folders; i++) {
		const struct worker_folder *f = &o->folders[i];

		if (wasi_config_preopen_dir(c, f->host, f->guest, f->is_writable))
			continue;
		(void)error_set(e, -ENOENT, NULL,
			"the folder %s, which is %s in the module, cannot be opened", f->host,
			f->guest);
		error_hint(e, "create it, or remove it from capabilities.filesystem.paths");
		return -ENOENT;
	}
	return 0;
}

static int instance_set_wasi(struct instance *i, struct error *e)
{
	const struct worker_options *o = i->loaded->options;
	struct streams *s = i->loaded->streams;
	wasi_config_t *c = wasi_config_new();
	wasmtime_error_t *error;
	int r = 0;

	if (!wasi_config_set_argv(c, s->is_kept ? s->n_args : o->n_args,
		    (const char **)(s->is_kept ? s->args : o->args)))
		r = error_set(e, -EILSEQ, NULL, "an argument is not valid UTF-8");
	if (r == 0)
		r = instance_set_variables(c, o, e);
	if (r == 0)
		r = instance_set_folders(c, o, e);
	if (r < 0) {
		wasi_config_delete(c);
		return FAILURE_MODULE;
	}
	streams_configure(s, c, i->loaded->is_command);
	error = wasmtime_context_set_wasi(i->context, c);
	return error ? failure_of_engine(FAILURE_WORKER, "WASI", error, e) : 0;
}

static int instance_begin(struct instance *i, struct loaded *l, struct error *e)
{
	const struct worker_options *o = l->options;
	wasmtime_error_t *error;
	wasm_trap_t *trap = NULL;
	int r;

	i->loaded = l;
	i->store = wasmtime_store_new(l->engine, NULL, NULL);
	i->context = wasmtime_store_context(i->store);
	wasmtime_store_limiter(
		i->store, (int64_t)o->memory, ENGINE_TABLE_ELEMENTS, 1, ENGINE_TABLES, 1);
	if (o->fuel != WORKER_FUEL_NONE) {
		error = wasmtime_context_set_fuel(i->context, o->fuel);
		if (error)
			return failure_of_engine(FAILURE_WORKER, "fuel", error, e);
	}
	if (o->serves)
		wasmtime_context_set_epoch_deadline(i->context, DEADLINE_EPOCHS);
	r = instance_set_wasi(i, e);
	if (r != 0)
		return r;
	error = wasmtime_instance_pre_instantiate(l->pre, i->context, &i->instance, &trap);
	if (trap)
		return failure_of_call(o, NULL, trap, e);
	return error ? failure_of_engine(FAILURE_MODULE, "the module cannot be started", error, e)
		     : 0;
}

static int instance_run_export(struct instance *i, const char *name, struct error *e)
{
	wasmtime_extern_t found = { 0 };
	wasmtime_error_t *error;
	wasm_trap_t *trap = NULL;
	wasm_functype_t *type;
	bool fits;

	if (!instance_find(i, name, &found) || found.kind != WASMTIME_EXTERN_FUNC)
		return 0;
	type = wasmtime_func_type(i->context, &found.of.func);
	fits = wasm_functype_params(type)->size == 0 && wasm_functype_results(type)->size == 0;
	wasm_functype_delete(type);
	if (!fits)
		return error_set(e, FAILURE_MODULE, NULL,
			"the module's export `%s` has parameters or results", name);
	error = wasmtime_func_call(i->context, &found.of.func, NULL, 0, NULL, 0, &trap);
	return error || trap ? failure_of_call(i->loaded->options, error, trap, e) : 0;
}

int instance_run_command(struct loaded *l, struct error *e)
{
	auto_instance i = { 0 };
	int r = instance_begin(&i, l, e);

	return r != 0 ? r : instance_run_export(&i, l->export, e);
}

/* What guest_put() could not do. */
static int instance_put_failed(int r, struct error *e)
{
	static const char from[] = "the module was stopped: its `allocate` ";

	if (r == -EINVAL)
		(void)error_set(e, r, NULL, "the module exports no `allocate`, which skills have");
	else if (r == -ENOMEM)
		(void)error_set(e, r, NULL, "%shas no room for the input", from);
	else
		(void)error_set(e, r, NULL, "%sreturned what is not its memory", from);
	return r == -EINVAL ? FAILURE_MODULE : FAILURE_STOPPED;
}

static int instance_take(
	struct guest *g, bool is_wide, const wasmtime_val_t *v, struct buffer *out, struct error *e)
{
	const uint64_t wide = is_wide ? (uint64_t)v->of.i64 : 0;
	const uint8_t *text = NULL;
	uint32_t len = (uint32_t)wide;
	int r;

	if (is_wide)
		r = len > GUEST_TEXT_MAX ? -EMSGSIZE
					 : guest_look(g, (uint32_t)(wide >> 32), len, &text);
	else
		r = v->of.i32 == 0 ? -ENODATA
				   : guest_look_counted(g, (uint32_t)v->of.i32, &text, &len);
	if (r == 0) {
		buffer_add(out, text, len);
		return out->failed ? (error_no_memory(e), FAILURE_WORKER) : 0;
	}
	(void)error_set(e, r, NULL, "the module was stopped: it returned %s",
		r == -ENODATA    ? "no answer"
		: r == -EMSGSIZE ? "an answer of more than 16 MiB"
				 : "an answer that is not in its memory");
	return FAILURE_STOPPED;
}

/* The function that is called, with its type checked. */
static int instance_find_handler(
	struct instance *i, wasmtime_func_t *ret, bool *is_wide, struct error *e)
{
	wasmtime_extern_t found = { 0 };

	if (!instance_find(i, i->loaded->export, &found) || found.kind != WASMTIME_EXTERN_FUNC ||
		!guest_has_type(i->context, &found.of.func, 2, is_wide))
		return error_set(e, FAILURE_MODULE, NULL,
			"the module's export `%.100s` is no function from (i32, i32) to i32 or i64",
			i->loaded->export);
	*ret = found.of.func;
	return 0;
}

int instance_call(
	struct loaded *l, const void *input, size_t len, struct buffer *out, struct error *e)
{
	auto_instance i = { 0 };
	struct guest g;
	wasmtime_val_t args[2] = { { .kind = WASMTIME_I32 }, { .kind = WASMTIME_I32 } },
		       result = { 0 };
	wasmtime_func_t handler;
	wasmtime_error_t *error = NULL;
	wasm_trap_t *trap = NULL;
	bool is_wide = false;
	uint32_t at = 0;
	int r = instance_begin(&i, l, e);

	if (r == 0)
		r = instance_find_handler(&i, &handler, &is_wide, e);
	if (r == 0 && guest_init(&g, i.context, instance_find, &i, e) < 0)
		r = FAILURE_MODULE;
	/* A library of WASI's has something to do before it is used. */
	if (r == 0)
		r = instance_run_export(&i, "_initialize", e);
	if (r != 0)
		return r;
	r = guest_put(&g, input, len, false, &at, &error, &trap);
	if (r < 0)
		return instance_put_failed(r, e);
	if (r == 0) {
		args[0].of.i32 = (int32_t)at;
		args[1].of.i32 = (int32_t)len;
		error = wasmtime_func_call(i.context, &handler, args, 2, &result, 1, &trap);
	}
	if (error || trap)
		return failure_of_call(l->options, error, trap, e);
	return instance_take(&g, is_wide, &result, out, e);
}
