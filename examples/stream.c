/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stream FOLDER PROGRAM ARGUMENT…: runs a program in a sandbox inside a loop of the host's own.
 * Output is shown while it is printed, what is typed goes to the program, and the program ends
 * with the host.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include <corral/sandbox.h>

/* Called by corral_process_dispatch() with what was printed; returning 1 would kill the program. */
static int show(void *context, enum corral_stream stream, const void *data, size_t len)
{
	FILE *to = stream == CORRAL_STDERR ? stderr : stdout;

	(void)context;
	return fwrite(data, 1, len, to) != len || fflush(to) != 0;
}

static int open_sandbox(
	const char *folder, struct corral_sandbox **sandbox, struct corral_error **e)
{
	struct corral_builder *b = NULL;
	int r = corral_builder_new(&b);

	if (r < 0)
		return r;
	corral_builder_work_dir(b, folder);
	corral_builder_allow_fs_read(b, "/usr/**");
	corral_builder_allow_fs_read(b, "/etc/alternatives/**");
	corral_builder_allow_fs_write(b, "$WORK_DIR/**");
	r = corral_builder_build(b, sandbox, e);
	corral_builder_free(b);
	return r;
}

/* What was typed and not yet taken. */
struct typed {
	char data[4096];
	size_t len, done;
	int over;
};

/* Hands on what the program's queue takes. At the end of what is typed, stdin ends. */
static void pass_on(struct typed *t, struct corral_process *p)
{
	long n = corral_process_write(p, t->data + t->done, t->len - t->done);

	if (n > 0)
		t->done += (size_t)n;
	else if (n == -EPIPE)
		t->done = t->len;
}

static void read_more(struct typed *t, struct corral_process *p)
{
	ssize_t n = read(STDIN_FILENO, t->data, sizeof(t->data));

	t->done = 0;
	t->len = n > 0 ? (size_t)n : 0;
	t->over = n <= 0;
	if (t->over)
		(void)corral_process_close_stdin(p);
}

/* The host's loop: it may watch any other descriptors beside these two. */
static void loop(struct corral_process *p)
{
	struct typed t = { .len = 0 };
	struct pollfd fds[] = {
		{ .fd = corral_process_fd(p), .events = POLLIN },
		{ .fd = STDIN_FILENO, .events = POLLIN },
	};

	while (corral_process_dispatch(p) == 0) {
		if (t.done < t.len)
			pass_on(&t, p);
		/* More is read when there is room for it. */
		fds[1].fd = t.over || t.done < t.len ? -1 : STDIN_FILENO;
		fds[1].revents = 0;
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			return;
		if (fds[1].revents)
			read_more(&t, p);
	}
}

static int run(struct corral_sandbox *sandbox, const char *const *argv, struct corral_error **e)
{
	struct corral_call call = CORRAL_CALL;
	struct corral_process *p = NULL;
	struct corral_result *result = NULL;
	int r;

	call.flags = CORRAL_CALL_INPUT;
	call.output = show;
	r = corral_process_start(&p, sandbox, argv, &call, e);
	if (r < 0)
		return r;
	loop(p);
	r = corral_process_wait(p, -1, &result, e);
	if (r == 0)
		r = corral_result_exit_code(result);
	corral_result_free(result);
	corral_process_free(p);
	return r;
}

int main(int argc, char **argv)
{
	struct corral_sandbox *sandbox = NULL;
	struct corral_error *e = NULL;
	int r;

	if (argc < 3) {
		fprintf(stderr, "usage: stream FOLDER PROGRAM ARGUMENT…\n");
		return 2;
	}
	r = open_sandbox(argv[1], &sandbox, &e);
	if (r == 0)
		r = run(sandbox, (const char *const *)argv + 2, &e);
	if (r < 0)
		fprintf(stderr, "stream: %s\n", corral_error_message(e));
	corral_error_free(e);
	corral_sandbox_free(sandbox);
	return r < 0 ? 125 : r;
}
