/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-wasm, in two roles that share the engine and nothing else: the compiler (compile.h) and
 * the worker, which runs one compiled module inside an ordinary sandbox, once, or for as many calls
 * as come (serve.h).
 *
 * The worker holds no right that the sandbox around it does not have, and gives most of those up
 * before it looks at the module (grants.h). The module is the file beside it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "wasm/compile.h"
#include "wasm/grants.h"
#include "wasm/input.h"
#include "wasm/instance.h"
#include "wasm/serve.h"
#include "wasm/skill.h"

#define MODULE "/dev/corral-wasm/module"

static int worker_call(struct loaded *l, struct error *e)
{
	auto_buffer input = { 0 }, answer = { 0 };
	int status = input_read(l->options, &input, e) < 0
			     ? FAILURE_WORKER
			     : skill_call_export(l, input.data, input.len, &answer, e);
	int r;

	if (status != 0 && status != FAILURE_REPORTED)
		return status;
	r = file_write_all(STDOUT_FILENO, answer.data, answer.len);
	if (r < 0) {
		(void)error_set(e, r, NULL, "the answer cannot be written: %s", strerror(-r));
		return FAILURE_WORKER;
	}
	return status;
}

/* Folders below the sandbox's own temporary folder are not there yet. */
static void worker_make_folders(const struct worker_options *o)
{
	for (size_t i = 0; i < o->n_folders; i++) {
		if (o->folders[i].is_writable)
			(void)mkdir(o->folders[i].host, 0700);
	}
}

/* What runs it: once, or for call after call. */
static int worker_work(struct loaded *l, bool serves, struct error *e)
{
	int r;

	if (!serves)
		return l->is_command ? instance_run_command(l, e) : worker_call(l, e);
	r = serve_announce(0, e);
	return r == 0 ? serve_calls(l) : r;
}

static int worker_run(const char *const *words, size_t n, bool serves, struct error *e)
{
	struct streams streams = { .is_kept = serves };
	auto_arena a = { 0 };
	struct worker_options o;
	struct host_call host;
	struct loaded l = { .imports = { .host = &host, .streams = &streams },
		.streams = &streams };
	int r = worker_options_read(&o, words, n, &a, e);

	if (r == 0) {
		o.serves = serves;
		r = host_call_open(&host, e);
	}
	if (r < 0)
		return FAILURE_WORKER;
	worker_make_folders(&o);
	r = grants_enter(o.folders, o.n_folders, MODULE);
	if (r < 0) {
		(void)error_set(e, r, NULL, "the worker cannot confine itself: %s", strerror(-r));
		return FAILURE_WORKER;
	}
	r = loaded_open(&l, &o, MODULE, e);
	if (r == 0)
		r = worker_work(&l, serves, e);
	loaded_close(&l);
	host_call_close(&host);
	return r;
}

int main(int argc, char **argv)
{
	struct error e = { 0 };
	bool serves;
	int status;

	if (argc >= 2 && strcmp(argv[1], "compile") == 0)
		return compile_main((const char *const *)argv + 2);
	if (argc < 2 || (strcmp(argv[1], "run") != 0 && strcmp(argv[1], "serve") != 0)) {
		(void)error_set(&e, -EINVAL, NULL,
			"corral-wasm is started by `corral run --skill DIR`, not by hand");
		return failure_tell(FAILURE_WORKER, &e);
	}
	serves = strcmp(argv[1], "serve") == 0;
	status = worker_run((const char *const *)argv + 2, (size_t)argc - 2, serves, &e);
	if (serves)
		return e.text[0] ? serve_announce(status, &e) : status;
	return e.text[0] ? failure_tell(status, &e) : status;
}
