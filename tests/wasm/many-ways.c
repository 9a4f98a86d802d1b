/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A skill that does what its input names: {"do": WORD}. Each way to run wild, by itself; looking
 * for what another call left in memory; waiting for a file.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION 1
#endif
#ifndef IMAGE
#define IMAGE 16
#endif

enum { PAGE = 65536 };

static int calls;
/* Part of the module's file: each call starts with it. By the assembler, as a compiler takes
 * minutes for an array of this size. */
#define TEXT(x) #x
#define NUMBER(x) TEXT(x)
extern volatile unsigned char image[IMAGE];
__asm__(".section .data.image,\"\",@\n"
	".globl image\n"
	"image: .skip " NUMBER(IMAGE) ", 7\n"
				      ".size image, " NUMBER(IMAGE) "\n");

__attribute__((export_name("allocate"))) void *allocate(uint32_t size)
{
	return malloc(size);
}

static void *answer(const char *result)
{
	char *out = malloc(strlen(result) + 64);
	uint32_t n = (uint32_t)sprintf(out + 4, "{\"success\": true, \"result\": %s}", result);

	memcpy(out, &n, 4);
	return out;
}

/* Not by the compiler's own stack, which is in memory: by that of calls. */
static int recurse(int n);
static int (*volatile next)(int) = recurse;
static int recurse(int n)
{
	return n < 0 ? n : next(n + 1) + 1;
}

/* As much as it gets, each page written; how many pages it has in the end. */
static unsigned grow(void)
{
	while (__builtin_wasm_memory_grow(0, 1) != SIZE_MAX)
		*(volatile char *)((__builtin_wasm_memory_size(0) - 1) * PAGE) = 1;
	return (unsigned)__builtin_wasm_memory_size(0);
}

/* Fills all memory behind the heap with a mark, which is put together so that it is not itself part
 * of the module. */
static const char *mark(void)
{
	static char text[16];

	(void)snprintf(text, sizeof(text), "%s%s", "SEC", "RET!");
	return text;
}

static void fill(void)
{
	size_t from = __builtin_wasm_memory_size(0) * PAGE, len = strlen(mark());

	(void)grow();
	for (size_t at = from; at + len < __builtin_wasm_memory_size(0) * PAGE; at += len)
		memcpy((char *)at, mark(), len);
}

/* Where else than in our own buffer? */
static unsigned find(void)
{
	const char *own = mark();
	size_t len = strlen(own);
	unsigned n = 0;

	(void)__builtin_wasm_memory_grow(0, 64);
	for (size_t i = 8; i + len < __builtin_wasm_memory_size(0) * PAGE; i++) {
		const char *at = (const char *)i;

		n += at != own && at[0] == own[0] && memcmp(at, own, len) == 0;
	}
	return n;
}

static void wait_for(const char *path)
{
	int fd = open("/data/begun", O_WRONLY | O_CREAT | O_APPEND, 0600);

	(void)write(fd, "x", 1);
	(void)close(fd);
	while (access(path, F_OK) != 0)
		(void)usleep(5000);
}

static const char *list(const char *path)
{
	static char text[64];
	int fd = open(path, O_WRONLY | O_CREAT, 0600);

	(void)snprintf(text, sizeof(text), "\"%s %s\"",
		access("/data", F_OK) == 0 ? "there" : "gone", fd >= 0 ? "written" : "refused");
	return text;
}

static const char *number(unsigned n)
{
	static char text[16];

	(void)snprintf(text, sizeof(text), "%u", n);
	return text;
}

__attribute__((export_name("handle"))) void *handle(char *input, uint32_t len)
{
	const char *what = memchr(input, ':', len);

	what = what ? what + 3 : "";
#define IS(word) (strncmp(what, word "\"", sizeof(word)) == 0)
	if (IS("loop"))
		for (volatile int i = 0;; i++)
			;
	if (IS("sleep"))
		(void)sleep(3600);
	if (IS("recurse"))
		return answer(number((unsigned)recurse(0)));
	if (IS("abort"))
		abort();
	if (IS("reach"))
		return answer(number(*(volatile unsigned char *)0xfffffff0));
	if (IS("exit"))
		exit(9);
	if (IS("fill") || IS("both"))
		fill();
	if (IS("print"))
		for (int i = 0; i < 20000; i++)
			(void)fprintf(stderr, "line %d\n", i);
#ifdef WAITS
	if (!*what)
		wait_for("/data/go");
#endif
	if (IS("wait"))
		wait_for("/data/go");
	if (IS("write"))
		return answer(list("/data/file"));
	if (IS("one"))
		image[0]++;
	if (IS("all"))
		for (size_t i = 0; i < IMAGE; i += 4096)
			image[i]++;
	if (IS("one") || IS("all"))
		return answer(number(image[0]));
	if (IS("env"))
		return answer(getenv("GIVEN") ? "\"given\"" : "\"not given\"");
	return answer(number(IS("find") || IS("both") ? find()
			     : IS("grow")             ? grow()
			     : IS("calls")            ? (unsigned)calls++
						      : VERSION));
}
