/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/compile.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "process/confinement.h"
#include "wasm/engine.h"
#include "wasm/failure.h"
#include "wasm/options.h"

struct compile_options {
	struct engine_options engine;
	uint64_t seconds, memory;
};

enum {
	/* Those of the largest modules (launch/compile-limits.h), for a caller that gives none. */
	COMPILE_SECONDS = 60,
	/* Between the signal that ends it and the one that cannot be ignored. */
	COMPILE_GRACE = 5,
	COMPILE_FILES = 32,
	/* Each has a stack, and what it compiles. */
	COMPILE_THREADS = 8,
};
#define COMPILE_MEMORY (UINT64_C(1) << 30)

static int compile_read_words(struct compile_options *o, const char *const *words, struct error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && words[i]; i++) {
		const char *value;

		if (strcmp(words[i], "fuel") == 0)
			o->engine.fuel = true;
		else if (strcmp(words[i], "epochs") == 0)
			o->engine.epochs = true;
		else if ((value = worker_options_value(words[i], "seconds")))
			r = worker_options_number(words[i], value, &o->seconds, e);
		else if ((value = worker_options_value(words[i], "memory")))
			r = worker_options_number(words[i], value, &o->memory, e);
		else
			r = error_set(e, -EINVAL, NULL, "unknown word `%.100s`", words[i]);
	}
	return r;
}

/* A process that has less keeps it. */
static int compile_lower(int which, rlim_t soft, rlim_t hard)
{
	struct rlimit l;

	if (getrlimit(which, &l) < 0)
		return -errno;
	if (l.rlim_max > hard)
		l.rlim_max = hard;
	if (soft > l.rlim_max)
		soft = l.rlim_max;
	if (l.rlim_cur > soft)
		l.rlim_cur = soft;
	return setrlimit(which, &l) < 0 ? -errno : 0;
}

/* The signal of processor time ends the process, whatever its parent does with it. */
static int compile_expect_signal(void)
{
	const struct sigaction ends = { .sa_handler = SIG_DFL };
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGXCPU);
	return sigaction(SIGXCPU, &ends, NULL) < 0 || sigprocmask(SIG_UNBLOCK, &set, NULL) < 0
		       ? -errno
		       : 0;
}

/* The engine starts a thread for each processor, unless the environment says otherwise. */
static int compile_limit_threads(void)
{
	cpu_set_t set;

	/* It fails where there are more than a set has room for. */
	if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) <= COMPILE_THREADS)
		return 0;
	return setenv("RAYON_NUM_THREADS", "8", 1) < 0 ? -errno : 0;
}

static int compile_limit(const struct compile_options *o)
{
	const struct {
		int which;
		rlim_t soft, hard;
	} rows[] = {
		{ RLIMIT_CPU, o->seconds, o->seconds + COMPILE_GRACE },
		{ RLIMIT_DATA, o->memory, o->memory },
		{ RLIMIT_CORE, 0, 0 },
		{ RLIMIT_FSIZE, ENGINE_CODE_MAX, ENGINE_CODE_MAX },
		{ RLIMIT_NOFILE, COMPILE_FILES, COMPILE_FILES },
	};
	int r = compile_expect_signal();

	if (r == 0)
		r = compile_limit_threads();
	for (size_t i = 0; r == 0 && i < ROWS(rows); i++)
		r = compile_lower(rows[i].which, rows[i].soft, rows[i].hard);
	return r;
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

int compile_main(const char *const *words)
{
	struct compile_options o = { .seconds = COMPILE_SECONDS, .memory = COMPILE_MEMORY };
	struct error e = { 0 };
	wasm_engine_t *engine;
	int r = compile_read_words(&o, words, &e);

	if (r < 0)
		return failure_tell(FAILURE_WORKER, &e);
	r = compile_limit(&o);
	if (r == 0)
		r = confinement_enter(PROCESS_COMPILER, NULL);
	if (r < 0) {
		(void)error_set(
			&e, r, NULL, "the compiler cannot confine itself: %s", strerror(-r));
		return failure_tell(FAILURE_WORKER, &e);
	}
	engine = engine_new(&o.engine);
	if (!engine)
		return failure_tell(FAILURE_WORKER, (error_no_memory(&e), &e));
	r = compile_module(engine, &e);
	wasm_engine_delete(engine);
	return r ? failure_tell(r, &e) : 0;
}
