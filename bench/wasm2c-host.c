/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs wasm-work.c as wasm2c translates it: the functions of WASI that it imports, as far as it
 * needs them. bench-wasm.py makes names.h: what this version of wasm2c calls everything.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "names.h"
#include "work.h"

static INSTANCE instance;

static u32 load(u32 at)
{
	u32 value;

	memcpy(&value, MEMORY(&instance)->data + at, sizeof(value));
	return value;
}

u32 HOST_clock_time_get(struct HOST *host, u32 clock, u64 precision, u32 at)
{
	struct timespec t;
	u64 ns;

	(void)host;
	(void)clock;
	(void)precision;
	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	ns = (u64)t.tv_sec * 1000000000 + (u64)t.tv_nsec;
	memcpy(MEMORY(&instance)->data + at, &ns, sizeof(ns));
	return 0;
}

u32 HOST_fd_write(struct HOST *host, u32 fd, u32 parts, u32 n, u32 written)
{
	u32 all = 0;

	(void)host;
	(void)fd;
	for (u32 i = 0; i < n; i++) {
		const u32 len = load(parts + 8 * i + 4);

		all += (u32)fwrite(MEMORY(&instance)->data + load(parts + 8 * i), 1, len, stdout);
	}
	memcpy(MEMORY(&instance)->data + written, &all, sizeof(all));
	return 0;
}

/* Nothing is known about a stream, so it is taken for a file. */
u32 HOST_fd_fdstat_get(struct HOST *host, u32 fd, u32 at)
{
	(void)host;
	(void)fd;
	memset(MEMORY(&instance)->data + at, 0, 24);
	return 0;
}

u32 HOST_fd_close(struct HOST *host, u32 fd)
{
	(void)host;
	(void)fd;
	return 0;
}

u32 HOST_fd_seek(struct HOST *host, u32 fd, u64 to, u32 from, u32 at)
{
	(void)host;
	(void)fd;
	(void)to;
	(void)from;
	(void)at;
	return 70; /* ESPIPE */
}

void HOST_proc_exit(struct HOST *host, u32 status)
{
	(void)host;
	(void)fflush(stdout);
	_exit((int)status);
}

int main(void)
{
	wasm_rt_init();
#ifdef INIT
	INIT();
#endif
	INSTANTIATE(&instance, NULL);
	START(&instance);
	return fflush(stdout) == 0 ? 0 : 1;
}
