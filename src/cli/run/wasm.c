/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WASM skill: what runs is the worker, in the sandbox of the skill's permissions, and what it
 * runs is the skill's module, compiled. Words of the call are the module's; --input becomes its
 * standard input.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/run/internal.h"
#include "host/environment.h"

/* A text that can only be read, as the file of a descriptor. */
static int run_wasm_open_text(const char *text)
{
	auto_fd fd = memfd_create("corral-input", MFD_CLOEXEC);
	char path[64];
	int r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r < 0)
		return r;
	r = open(path, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

/* What the module reads: --input, or what we got. */
static int run_wasm_set_input(struct run *r)
{
	const char *input = r->options.input, *export = r->skill.manifest.wasm_export;
	const char *what = input ? input : "/dev/null";
	auto_fd fd = -1;

	/* A person at a terminal who gave no input has none to give: only commands ask for it. */
	if (!input && !(export && strcmp(export, "_start") != 0 && isatty(STDIN_FILENO)))
		return 0;
	if (input && input[0] != '@') {
		fd = run_wasm_open_text(input);
		if (fd < 0)
			errno = -fd;
	} else {
		what = input ? input + 1 : what;
		fd = open(what, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	}
	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0)
		return error_set(
			r->call->error, -errno, NULL, "--input: %s: %s", what, strerror(errno));
	return 0;
}

int run_wasm(struct run *r)
{
	const struct environment_options env = { .policy = r->policy,
		.host_env = (const char *const *)environ };
	struct launch_wasm_call c = { .variables = &r->load.variables,
		.limits = &r->limits,
		.policy = r->policy,
		.args = (const char *const *)r->call->words,
		.n_args = r->call->n,
		.has_input = r->options.input };
	int ret = launch_wasm_prepare(
		&r->wasm, &r->skill, &r->limits, false, r->call->arena, r->call->error);

	if (ret == 0)
		ret = environment_granted(r->call->arena, &env, &c.granted, r->call->error);
	if (ret == 0)
		ret = launch_wasm_command(
			&r->skill, &c, r->call->arena, &r->argv, &r->n_argv, r->call->error);
	if (ret == 0)
		ret = run_wasm_set_input(r);
	if (ret < 0)
		return ret == -EINVAL || ret == -EACCES || ret == -EFBIG ? RUN_FORBIDDEN : ret;
	r->is_wasm = true;
	launch_wasm_limit(&r->limits, &r->is_default[LIMIT_MEMORY]);
	return 0;
}
