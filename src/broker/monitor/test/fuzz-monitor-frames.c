/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A front that was taken over: the input is the frames that it sends, each with its type, id and
 * length. One folder with one file may be read, and nothing else. Whatever comes, an answer belongs
 * to a call that was made, nothing is answered by what is not granted, the file stays as it is, and
 * when the front is gone no call is left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/monitor/internal.h"
#include "test/scratch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { FRAMES_MAX = 64, TURNS_MAX = 20000, BODY_MAX = 30000 };
enum { CALLED_NEVER = 254, CALLED_TWICE = 255 };

static const char *const fuzz_layers[] = { "{\"fs\":{\"read\":[\"$WORK_DIR/{,**}\"]}}", NULL };
static char fuzz_folder[] = "/tmp/corral-fuzz-XXXXXX";
static struct broker_setup fuzz_setup = { .warden = "/nonexistent",
	.log = "",
	.session = "",
	.sandbox = "",
	.token = "",
	.layers = fuzz_layers,
	.n_layers = 1 };
static struct loop *fuzz_loop;
static struct monitor *fuzz_monitor;
static bool fuzz_is_lost;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_on_lost(void *context, int code)
{
	(void)context;
	require(code == -EPROTO || code == -EPIPE);
	fuzz_is_lost = true;
}

static void fuzz_end(void)
{
	monitor_free(fuzz_monitor);
	loop_free(fuzz_loop);
	(void)scratch_remove(fuzz_folder);
}

static void fuzz_begin(void)
{
	struct monitor_options o = { .setup = &fuzz_setup };
	char path[64];
	FILE *f;

	require(mkdtemp(fuzz_folder) != NULL);
	(void)snprintf(path, sizeof(path), "%s/a", fuzz_folder);
	f = fopen(path, "we");
	if (!f)
		abort();
	require(fputs("granted", f) >= 0);
	require(fclose(f) == 0);
	fuzz_setup.folder = fuzz_folder;
	fuzz_setup.variables.values[VARIABLE_WORK_DIR] = fuzz_folder;
	require(loop_new(&fuzz_loop) == 0);
	o.loop = fuzz_loop;
	require(monitor_new(&fuzz_monitor, &o, NULL) == 0);
	require(monitor_enter(fuzz_monitor, -1, NULL) == 0);
	monitor_on_lost(fuzz_monitor, fuzz_on_lost, NULL);
	(void)atexit(fuzz_end);
}

/* Sends what is left of the input; false: that was all. */
static bool fuzz_send(int front, const uint8_t **data, size_t *size)
{
	const uint8_t *at = *data;
	size_t len;
	int r;

	if (*size < 4)
		return false;
	len = (size_t)at[2] << 8 | at[3];
	len = len < *size - 4 ? len : *size - 4;
	len = len < BODY_MAX ? len : BODY_MAX;
	r = frame_send(
		front, (enum frame_type)(at[0] % FRAME_TYPE_COUNT), at[1], at + 4, len, NULL, 0);
	*data += 4 + len;
	*size -= 4 + len;
	return r == 0 || r == -EINVAL;
}

/* What a file that is read can hold is known. Which method an id stands for is not, if it was used
 * twice: then the answer need not be one of fs.read. */
static void fuzz_look(const struct frame *f, const uint8_t *calls)
{
	auto_arena a = { 0 };
	struct values v;

	require(f->type == FRAME_CALL_ANSWER || f->type == FRAME_CALL_REFUSED);
	require(f->id < 256 && calls[f->id] != CALLED_NEVER);
	if (f->type != FRAME_CALL_ANSWER || calls[f->id] != METHOD_FS_READ)
		return;
	require(values_decode(method_rows[METHOD_FS_READ].results, f->body, f->len, &a, &v) == 0);
	require(strcmp(v.v[0].text, "granted") == 0);
}

/* Keeps which method the next frame calls, by its id. */
static void fuzz_remember(const uint8_t *data, size_t size, uint8_t *calls)
{
	if (size < 5 || data[0] % FRAME_TYPE_COUNT != FRAME_CALL)
		return;
	calls[data[1]] = calls[data[1]] == CALLED_NEVER ? data[4] : (uint8_t)CALLED_TWICE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct frame answer;
	uint8_t calls[256];
	int pair[2];

	memset(calls, CALLED_NEVER, sizeof(calls));
	if (!fuzz_monitor)
		fuzz_begin();
	require(frame_pair(pair) == 0);
	require(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0 &&
		fcntl(pair[1], F_SETFL, O_NONBLOCK) == 0);
	fuzz_is_lost = false;
	require(monitor_connect(fuzz_monitor, pair[1]) == 0);
	for (int i = 0; i < FRAMES_MAX && !fuzz_is_lost; i++) {
		fuzz_remember(data, size, calls);
		if (!fuzz_send(pair[0], &data, &size))
			break;
		require(loop_turn(fuzz_loop, 0) == 0);
		while (!fuzz_is_lost && frame_receive(pair[0], &answer) == 1)
			fuzz_look(&answer, calls);
	}
	for (int i = 0; i < TURNS_MAX && !fuzz_is_lost && monitor_calls(fuzz_monitor); i++) {
		require(loop_turn(fuzz_loop, 1) == 0);
		while (frame_receive(pair[0], &answer) == 1)
			fuzz_look(&answer, calls);
	}
	require(monitor_connect(fuzz_monitor, -1) == 0);
	for (int i = 0; i < TURNS_MAX && monitor_calls(fuzz_monitor); i++)
		require(loop_turn(fuzz_loop, 1) == 0);
	require(monitor_calls(fuzz_monitor) == 0);
	frame_deinit(&answer);
	(void)close(pair[0]);
	(void)close(pair[1]);
	return 0;
}
