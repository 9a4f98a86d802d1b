/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/module-cache.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "codec/encoding.h"
#include "event/wait.h"
#include "host/cpu.h"
#include "host/state-cache.h"
#include "launch/compile-limits.h"
#include "process/starting.h"

enum {
	MODULE_MAX = 64 << 20,
	CODE_MAX = 256 << 20,
	ENTRIES_MAX = 512, /* files; a module has two */
	LOCK_MS = 60000,
	MESSAGE_MAX = 4096,
	MARK_BYTES = 32,
	NAME_BYTES = 80,
	WORD_BYTES = 40, /* NAME=NUMBER */
	PIECE = 1 << 15,
};
#define TOTAL_MAX (UINT64_C(2) << 30)

static const char folder_name[] = "wasm-cache";
/* Changes when entries of older versions must not be used any more. */
static const char version[] = "corral module 1";

/* What an entry depends on, and is named after */

/* A file by what changes when it is replaced. */
static int module_cache_add_file(struct buffer *out, const char *path, struct error *e)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return error_set(e, -errno, NULL, "cannot use %s: %s", path, strerror(errno));
	buffer_add(out, &st.st_dev, sizeof(st.st_dev));
	buffer_add(out, &st.st_ino, sizeof(st.st_ino));
	buffer_add(out, &st.st_size, sizeof(st.st_size));
	buffer_add(out, &st.st_mtim, sizeof(st.st_mtim));
	return 0;
}

static int module_cache_question(
	const struct module_input *in, unsigned char ret[MARK_BYTES], struct error *e)
{
	auto_buffer text = { 0 };
	int r;

	buffer_add(&text, version, sizeof(version));
	buffer_add(&text, in->digest, sizeof(in->digest));
	buffer_addc(&text, in->fuel ? 'f' : '-');
	buffer_addc(&text, in->epochs ? 'e' : '-');
	cpu_features(&text);
	r = module_cache_add_file(&text, in->program, e);
	if (r == 0)
		r = module_cache_add_file(&text, in->library, e);
	if (r < 0 || text.failed)
		return r < 0 ? r : error_no_memory(e);
	(void)crypto_generichash(
		ret, MARK_BYTES, (const unsigned char *)text.data, text.len, NULL, 0);
	return 0;
}

/* One entry of the cache. */
struct cached {
	int folder;
	unsigned char key[crypto_generichash_KEYBYTES], question[MARK_BYTES];
	char name[NAME_BYTES], mark_name[NAME_BYTES];
};

static int module_cache_open(struct cached *c, const struct module_input *in, struct error *e)
{
	char hex[2 * MARK_BYTES + 1];
	int r = module_cache_question(in, c->question, e);

	if (r < 0)
		return r;
	c->folder = state_cache_open(folder_name, true);
	if (c->folder < 0 || !state_cache_key(c->folder, true, c->key, sizeof(c->key))) {
		char path[PATH_BYTES] = "~/.local/state/corral";

		(void)state_cache_path(folder_name, path);
		(void)error_set(e, -ENOENT, NULL,
			"compiled modules cannot be kept: the folder %s cannot be used", path);
		error_hint(e, "it must be yours, and writable by no other user; XDG_STATE_HOME "
			      "names another place");
		return -ENOENT;
	}
	encoding_hex(c->question, sizeof(c->question), hex);
	(void)snprintf(c->name, sizeof(c->name), "%s", hex);
	(void)snprintf(c->mark_name, sizeof(c->mark_name), "%s.mark", hex);
	return 0;
}

/* Marking */

static void module_cache_mark_begin(const struct cached *c, crypto_generichash_state *state)
{
	(void)crypto_generichash_init(state, c->key, sizeof(c->key), MARK_BYTES);
	(void)crypto_generichash_update(state, c->question, sizeof(c->question));
}

/* Does the open file bear its mark? What is read here is what is mapped later, by its inode. */
static bool module_cache_is_marked(const struct cached *c, int fd, size_t size)
{
	unsigned char mark[MARK_BYTES], want[MARK_BYTES];
	crypto_generichash_state state;
	size_t mark_size = 0;
	auto_fd other = state_cache_open_file(c->folder, c->mark_name, MARK_BYTES, &mark_size);
	unsigned char piece[PIECE];

	if (other < 0 || mark_size != MARK_BYTES || !state_cache_read(other, want, MARK_BYTES))
		return false;
	module_cache_mark_begin(c, &state);
	while (size > 0) {
		const size_t n = size < sizeof(piece) ? size : sizeof(piece);

		if (!state_cache_read(fd, piece, n))
			return false;
		(void)crypto_generichash_update(&state, piece, n);
		size -= n;
	}
	(void)crypto_generichash_final(&state, mark, sizeof(mark));
	return sodium_memcmp(mark, want, sizeof(mark)) == 0;
}

/* The entry, if it is there and ours. */
static bool module_cache_find(const struct cached *c, struct module_entry *ret)
{
	size_t size = 0;
	auto_fd fd = state_cache_open_file(c->folder, c->name, CODE_MAX, &size);
	struct stat st;

	if (fd < 0 || size == 0 || !module_cache_is_marked(c, fd, size) || fstat(fd, &st) < 0)
		return false;
	ret->dev = st.st_dev;
	ret->ino = st.st_ino;
	return true;
}

static int module_cache_keep(const struct cached *c, const struct buffer *code, struct error *e)
{
	unsigned char mark[MARK_BYTES];
	crypto_generichash_state state;
	int r;

	module_cache_mark_begin(c, &state);
	(void)crypto_generichash_update(&state, (const unsigned char *)code->data, code->len);
	(void)crypto_generichash_final(&state, mark, sizeof(mark));
	state_cache_trim(c->folder, code->len, ENTRIES_MAX, TOTAL_MAX);
	r = state_cache_put(c->folder, c->name, code->data, code->len);
	if (r == 0)
		r = state_cache_put(c->folder, c->mark_name, mark, sizeof(mark));
	return r < 0 ? error_set(e, r, NULL, "the compiled module cannot be kept: %s", strerror(-r))
		     : 0;
}

/* Compiling */

/* The module's bytes, if they are still those that were hashed; as a file of this process only. */
static int module_cache_read_module(
	const struct module_input *in, int *ret, size_t *ret_size, struct error *e)
{
	unsigned char hash[SKILL_DIGEST_BYTES];
	auto_buffer text = { 0 };
	auto_fd fd = openat(in->folder, in->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	auto_fd copy = -1;
	int r = fd < 0 ? -errno : file_read_fd(fd, MODULE_MAX, &text);

	if (r == -EFBIG)
		return error_set(
			e, r, NULL, "%s is larger than 64 MiB, the maximum for a module", in->name);
	if (r < 0)
		return error_set(e, r, NULL, "cannot read %s: %s", in->name, strerror(-r));
	crypto_hash_sha256(hash, (const unsigned char *)buffer_text(&text), text.len);
	if (memcmp(hash, in->digest, sizeof(hash)) != 0)
		return error_set(e, -ESTALE, NULL, "%s changed while it was being read", in->name);
	copy = memfd_create("corral-module", MFD_CLOEXEC);
	r = copy < 0 ? -errno : file_write_all(copy, buffer_text(&text), text.len);
	if (r == 0 && lseek(copy, 0, SEEK_SET) < 0)
		r = -errno;
	if (r < 0)
		return error_set(e, r, NULL, "memory for %s: %s", in->name, strerror(-r));
	*ret = fd_take(&copy);
	*ret_size = text.len;
	return 0;
}

/* stdin, stdout and stderr of the compiler; it has no other file and no environment. */
static int module_cache_spawn(
	const struct module_input *in, const struct compile_limits *l, const int fds[3], pid_t *ret)
{
	static const char name[] = "corral-wasm", word[] = "compile", fuel[] = "fuel",
			  epochs[] = "epochs";
	char seconds[WORD_BYTES], memory[WORD_BYTES];
	const char *argv[7] = { name, word, seconds, memory };
	size_t n = 4;

	(void)snprintf(seconds, sizeof(seconds), "seconds=%llu", (unsigned long long)l->seconds);
	(void)snprintf(memory, sizeof(memory), "memory=%llu", (unsigned long long)l->memory);
	if (in->fuel)
		argv[n++] = fuel;
	if (in->epochs)
		argv[n++] = epochs;
	return starting_program(
		&(struct starting){ .program = in->program, .argv = argv, .fds = fds, .n = 3 },
		ret);
}

/* Takes what is there to be read: 0 at the end, 1 if there may be more. Past max: -EFBIG, or the
 * rest is dropped, if `cuts`. */
static int module_cache_take(int fd, struct buffer *out, size_t max, bool cuts)
{
	char piece[PIECE];
	ssize_t n = read(fd, piece, sizeof(piece));

	if (n < 0)
		return errno == EINTR ? 1 : -errno;
	if ((size_t)n > max - out->len && !cuts)
		return -EFBIG;
	buffer_add(out, piece, (size_t)n > max - out->len ? max - out->len : (size_t)n);
	return out->failed ? -ENOMEM : n > 0;
}

/* Code and message of the compiler, to their ends; -ETIMEDOUT. */
static int module_cache_listen(
	int code_fd, int message_fd, uint64_t wait_ms, struct buffer *code, struct buffer *message)
{
	const uint64_t deadline = clock_ms(CLOCK_MONOTONIC) + wait_ms;
	struct pollfd p[] = { { .fd = code_fd, .events = POLLIN },
		{ .fd = message_fd, .events = POLLIN } };

	while (p[0].fd >= 0 || p[1].fd >= 0) {
		const int r = wait_for(p, ROWS(p), deadline);

		if (r <= 0)
			return r < 0 ? r : -ETIMEDOUT;
		for (size_t i = 0; i < ROWS(p); i++) {
			int more = p[i].revents ? module_cache_take(p[i].fd, i ? message : code,
							  i ? MESSAGE_MAX : CODE_MAX, i > 0)
						: 1;

			if (more < 0)
				return more;
			if (more == 0)
				p[i].fd = -1;
		}
	}
	return 0;
}

static int module_cache_wait(pid_t pid, bool kills)
{
	int status = 0;

	if (kills)
		(void)kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	return status;
}

/* Did it want more memory than it may have? By what Rust prints when an allocation fails, and by
 * what the engine says when a mapping does. */
static bool module_cache_lacked_memory(int status, const struct buffer *message)
{
	const char *text = buffer_text(message);

	return WIFSIGNALED(status) ? strstr(text, "memory allocation of ") != NULL ||
					     strstr(text, "ThreadPoolBuildError") != NULL
				   : status != 0 && strstr(text, "Cannot allocate memory");
}

/* What the compiler said, without its name before it and the line's end. */
static int module_cache_said(
	const struct module_input *in, const struct buffer *message, struct error *e)
{
	static const char name[] = "corral: ";
	const char *text = buffer_text(message);
	auto_buffer shown = { 0 };
	size_t len = strcspn(text, "\n");

	if (len >= sizeof(name) - 1 && memcmp(text, name, sizeof(name) - 1) == 0) {
		text += sizeof(name) - 1;
		len -= sizeof(name) - 1;
	}
	buffer_add_visible(&shown, text, len);
	return error_set(e, -EINVAL, NULL, "%s: %s", in->name, buffer_text(&shown));
}

static int module_cache_failed(const struct module_input *in, const struct compile_limits *l, int r,
	int status, const struct buffer *message, struct error *e)
{
	if (r == -ETIMEDOUT)
		return error_set(e, r, NULL, "compiling %s took longer than %llu s and was stopped",
			in->name, (unsigned long long)l->wait_ms / 1000);
	if (r == -EFBIG)
		return error_set(e, r, NULL,
			"%s compiles to more than 256 MiB of code, the maximum", in->name);
	if (r < 0)
		return error_set(e, r, NULL, "compiling %s: %s", in->name, strerror(-r));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
		return compile_limits_time_is_up(l, in->name, e);
	if (module_cache_lacked_memory(status, message))
		return compile_limits_memory_is_up(l, in->name, e);
	if (WIFSIGNALED(status))
		return error_set(e, -EINVAL, NULL, "compiling %s was stopped by signal %d",
			in->name, WTERMSIG(status));
	return module_cache_said(in, message, e);
}

static int module_cache_compile(const struct module_input *in, struct buffer *code, struct error *e)
{
	auto_buffer message = { 0 };
	auto_fd module = -1, code_in = -1, code_out = -1, message_in = -1, message_out = -1;
	struct compile_limits limits = { 0 };
	size_t size = 0;
	int pair[2], status, r = module_cache_read_module(in, &module, &size, e);
	pid_t pid = 0;

	if (r == 0)
		r = compile_limits_get(&limits, size, e);
	if (r < 0)
		return r;
	if (pipe2(pair, O_CLOEXEC) == 0) {
		code_in = pair[0];
		code_out = pair[1];
	}
	if (code_in >= 0 && pipe2(pair, O_CLOEXEC) == 0) {
		message_in = pair[0];
		message_out = pair[1];
	}
	r = message_in < 0 ? -errno
			   : module_cache_spawn(in, &limits,
				     (const int[]){ module, code_out, message_out }, &pid);
	if (r < 0)
		return error_set(e, r, NULL, "cannot run %s: %s", in->program, strerror(-r));
	fd_close(&code_out);
	fd_close(&message_out);
	r = module_cache_listen(code_in, message_in, limits.wait_ms, code, &message);
	status = module_cache_wait(pid, r < 0);
	if (r == 0 && status < 0)
		r = status;
	return r < 0 || status != 0 || code->len == 0
		       ? module_cache_failed(in, &limits, r, status, &message, e)
		       : 0;
}

static int module_cache_get_from(const struct cached *c, const struct module_input *in,
	struct arena *a, struct module_entry *ret, struct error *e)
{
	char path[PATH_BYTES];
	int r = 0;

	if (!state_cache_path(folder_name, path))
		return error_set(e, -ENOENT, NULL, "the user has no folder for compiled modules");
	ret->path = arena_printf(a, "%s/%s", path, c->name);
	if (!ret->path)
		return error_no_memory(e);
	if (!module_cache_find(c, ret)) {
		auto_buffer code = { 0 };

		/* Who comes at the same time waits, and finds what was made, or makes it once more;
		 * with the folder closed the lock is gone. */
		(void)file_lock(c->folder, LOCK_MS);
		if (module_cache_find(c, ret))
			return 0;
		r = module_cache_compile(in, &code, e);
		if (r == 0)
			r = module_cache_keep(c, &code, e);
		/* Checked as any other is: what was written is what is used. */
		if (r == 0 && !module_cache_find(c, ret))
			r = error_set(e, -EIO, NULL,
				"the compiled module of %s cannot be read back", in->name);
	}
	return r;
}

int module_cache_get(
	const struct module_input *in, struct arena *a, struct module_entry *ret, struct error *e)
{
	struct cached c = { .folder = -1 };
	int r = module_cache_open(&c, in, e);

	if (r == 0)
		r = module_cache_get_from(&c, in, a, ret, e);
	fd_close(&c.folder);
	return r;
}
