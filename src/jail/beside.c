/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/beside.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * To detect use after return, AddressSanitizer allocates local variables by thread, without a lock.
 * The two processes share the thread's storage, so both could get the same memory. With the option
 * off, local variables are on the stack of each process.
 */
#if defined(__has_feature)
#define BESIDE_HAS_ASAN __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define BESIDE_HAS_ASAN 1
#else
#define BESIDE_HAS_ASAN 0
#endif
#if BESIDE_HAS_ASAN
extern int __asan_option_detect_stack_use_after_return;
#endif

/* The lowest GUARD bytes are inaccessible: an overflow ends the process, and the set-up fails. */
enum { STACK = 8 << 20, GUARD = 64 << 10 };

static int beside_main(void *data)
{
	struct beside *b = data;

	b->run(b);
	return 0;
}

static void *beside_stack(void)
{
	char *stack = mmap(NULL, STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED)
		return NULL;
	if (mprotect(stack + GUARD, STACK - GUARD, PROT_READ | PROT_WRITE) == 0)
		return stack;
	(void)munmap(stack, STACK);
	return NULL;
}

void beside_free(struct beside *b)
{
	if (b->stack)
		(void)munmap(b->stack, STACK);
	b->stack = NULL;
}

void beside_begin(struct beside *b, void (*run)(struct beside *b), void *data)
{
	const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_CHILD_CLEARTID;

#if BESIDE_HAS_ASAN
	__asan_option_detect_stack_use_after_return = 0;
#endif
	*b = (struct beside){ .run = run, .data = data, .is_running = 1, .result = -EIO };
	b->stack = beside_stack();
	/* Without an exit signal: nothing but beside_end() waits for it. */
	if (b->stack)
		b->pid = clone(beside_main, (char *)b->stack + STACK, flags, b, NULL, NULL,
			&b->is_running);
	if (b->pid > 0)
		return;
	b->pid = 0;
	beside_free(b);
	run(b);
}

void beside_report(struct beside *b, int result)
{
	b->result = result;
	__atomic_store_n(&b->is_running, 0, __ATOMIC_RELEASE);
	(void)syscall(SYS_futex, &b->is_running, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

int beside_hear(struct beside *b)
{
	/* Not FUTEX_PRIVATE_FLAG: the kernel's own wake-up is without it. */
	while (__atomic_load_n(&b->is_running, __ATOMIC_ACQUIRE))
		(void)syscall(SYS_futex, &b->is_running, FUTEX_WAIT, 1, NULL, NULL, 0);
	return b->result;
}

int beside_end(struct beside *b)
{
	pid_t pid = b->pid;

	b->pid = 0;
	/* __WALL: it has no exit signal. */
	while (pid > 0 && waitpid(pid, NULL, __WALL) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}
