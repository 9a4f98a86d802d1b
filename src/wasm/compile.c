/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/compile.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "wasm/confinement.h"
#include "wasm/engine.h"
#include "wasm/failure.h"

/* Far more than any module of ENGINE_MODULE_MAX bytes that was not made to be slow. */
static const struct {
	int which;
	rlim_t most;
} compile_limits[] = {
	{ RLIMIT_CPU, 300 },
	{ RLIMIT_DATA, (rlim_t)4 << 30 },
	{ RLIMIT_CORE, 0 },
	{ RLIMIT_FSIZE, ENGINE_CODE_MAX },
};

static int compile_limit(void)
{
	for (size_t i = 0; i < ROWS(compile_limits); i++) {
		struct rlimit l;

		if (getrlimit(compile_limits[i].which, &l) < 0)
			return -errno;
		if (l.rlim_max < compile_limits[i].most)
			continue;
		l.rlim_cur = l.rlim_max = compile_limits[i].most;
		if (setrlimit(compile_limits[i].which, &l) < 0)
			return -errno;
	}
	return 0;
}

static int compile_write(const wasmtime_module_t *m, struct error *e)
{
	wasm_byte_vec_t code = { 0 };
	wasmtime_error_t *error = wasmtime_module_serialize(m, &code);
	int r;

	if (error)
		return failure_of_engine(
			FAILURE_MODULE, "the compiled module cannot be written", error, e);
	r = code.size > ENGINE_CODE_MAX ? -EFBIG
					: file_write_all(STDOUT_FILENO, code.data, code.size);
	wasm_byte_vec_delete(&code);
	if (r < 0) {
		(void)error_set(
			e, r, NULL, "the compiled module cannot be written: %s", strerror(-r));
		return FAILURE_WORKER;
	}
	return 0;
}

static int compile_module(wasm_engine_t *engine, struct error *e)
{
	auto_buffer text = { 0 };
	wasmtime_module_t *m = NULL;
	wasmtime_error_t *error;
	int r = file_read_fd(STDIN_FILENO, ENGINE_MODULE_MAX, &text);

	if (r < 0) {
		(void)error_set(e, r, NULL, "the module cannot be read: %s",
			r == -EFBIG ? "it is larger than 64 MiB" : strerror(-r));
		return FAILURE_MODULE;
	}
	/* A text would be taken for one in the text format. */
	if (text.len < 4 || memcmp(text.data, "\0asm", 4) != 0) {
		(void)error_set(e, -EINVAL, NULL, "the module is not a WebAssembly binary");
		return FAILURE_MODULE;
	}
	error = wasmtime_module_new(engine, (const uint8_t *)text.data, text.len, &m);
	if (error)
		return failure_of_engine(FAILURE_MODULE, "the module is not valid", error, e);
	r = compile_write(m, e);
	wasmtime_module_delete(m);
	return r;
}

int compile_main(const struct engine_options *o)
{
	struct error e = { 0 };
	wasm_engine_t *engine;
	int r = compile_limit();

	if (r == 0)
		r = confinement_enter(NULL, 0, NULL);
	if (r < 0) {
		(void)error_set(
			&e, r, NULL, "the compiler cannot confine itself: %s", strerror(-r));
		return failure_tell(FAILURE_WORKER, &e);
	}
	engine = engine_new(o);
	if (!engine)
		return failure_tell(FAILURE_WORKER, (error_no_memory(&e), &e));
	r = compile_module(engine, &e);
	wasm_engine_delete(engine);
	return r ? failure_tell(r, &e) : 0;
}
