/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deciding allocates nothing: the linker leads every call of an allocator in our code to a counter
 * here (see meson.build), and a hundred thousand decisions of every kind must not move it.
 */
#include "base/array.h"
#include "policy/test/test-policy.h"

#include <stdlib.h>

static size_t calls;

/* clang-format off */
#define COUNT(type, name, parameters, ...)                                                         \
	type __real_##name parameters;                                                             \
	type __wrap_##name parameters;                                                             \
	type __wrap_##name parameters                                                              \
	{                                                                                          \
		calls++;                                                                           \
		return __real_##name(__VA_ARGS__);                                                 \
	}
/* clang-format on */

COUNT(void *, malloc, (size_t size), size)
COUNT(void *, calloc, (size_t n, size_t size), n, size)
COUNT(void *, realloc, (void *p, size_t size), p, size)
COUNT(void *, aligned_alloc, (size_t align, size_t size), align, size)
COUNT(char *, strdup, (const char *s), s)
COUNT(int, idna_library_lookup, (const char *name, char *out, size_t size), name, out, size)

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p)
{
	calls++;
	__real_free(p);
}

/* Something of everything, in three layers. */
static const char rich[] =
	"all_of:\n"
	"- fs: {read: [/a/**, '/b/*.txt', '/**/x?', {all: ['/c*', '/*d']}], write: [$TEMP/**], "
	"deny: [/a/s]}\n"
	"  network: {allow: [h.com, '*.i.com:443', 10.0.0.0/8, '[2001:db8::]/32', "
	"'udp://d.com:53', "
	"'https://u.com/v1/**', 'unix:/run/s', '*:80'], deny: [bad.com]}\n"
	"  exec: [git, 'ls -l:*', /opt/**, '/usr/*/x a:', '* --help:']\n"
	"  env: [A, B*, C=1]\n"
	"  services: {reminders: {access: readwrite, lists: ['W*']}}\n"
	"  secrets: {A: {hosts: ['h.com:443', '[2001:db8::1]:80'], in: [header, query]}}\n"
	"- default: allow\n"
	"  rules: [{id: a, priority: 5, action: deny, operations: [fs.read], patterns: "
	"['/**/secret*']},\n"
	"          {id: b, action: ask, operations: [net.connect], patterns: [h.com], methods: "
	"[POST]},\n"
	"          {id: c, action: ask, operations: [service], patterns: ['reminders:W1*']}]\n"
	"- {mode: monitor, fs: {read: ['/{a,b}{c,d}*']}}\n";

static const char *const requests[] = {
	"fs.read /a/b/c",
	"fs.read /a/s",
	"fs.read //a/./b/../c/",
	"fs.read /b/q.txt",
	"fs.read /q/r/xy",
	"fs.read /cd",
	"fs.read /home/me/.ssh/id",
	"fs.read relative",
	"fs.write /tmp/x/y",
	"fs.write /etc/hosts",
	"net.connect h.com:443",
	"net.connect A.I.com.:443",
	"net.connect 10.1.2.3:5",
	"net.connect [2001:db8::1]:80",
	"net.connect [::ffff:10.1.2.3]:80",
	"net.connect 0x7f.1:80",
	"net.connect udp://d.com:53",
	"net.connect https://u.com/v1/a/../b%20c?q#f",
	"net.connect https://H.com:8443/ POST",
	"net.connect http://u.com/v2 GET",
	"net.connect unix:/run/s",
	"net.connect 169.254.169.254",
	"net.connect bad..name",
	"exec git push -f",
	"exec git ?",
	"exec ls -l /x",
	"exec /opt/x/y --z",
	"exec /usr/b/x a",
	"exec /usr/b/y --help",
	"exec unknown",
	"env A",
	"env A=x",
	"env BXY",
	"env C=1",
	"env =",
	"service reminders.read:Work",
	"service reminders.readwrite:W1",
	"service nope",
	"secret A=h.com:443",
	"secret A=[2001:db8::1]:80,query",
	"secret A",
};

static void test_quiet(void **state)
{
	auto_policy *p = test_compile(rich);
	struct test_request prepared[ROWS(requests)];
	size_t verdicts[3] = { 0 }, n = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(requests); i++) {
		test_request(&prepared[i], requests[i]);
		/* The pointers into itself must survive: they do, nothing is copied. */
		assert_ptr_equal(
			prepared[i].request.args ? prepared[i].request.args : prepared[i].args,
			prepared[i].args);
	}
	calls = 0;
	while (n < 100000) {
		for (size_t i = 0; i < ROWS(requests); i++, n++) {
			struct decision d;

			(void)policy_decide(p, &prepared[i].request, &d);
			verdicts[d.verdict]++;
		}
	}
	if (calls)
		fail_msg("%zu decisions called allocators %zu times", n, calls);
	assert_true(verdicts[VERDICT_ALLOW] && verdicts[VERDICT_ASK] && verdicts[VERDICT_DENY]);
	print_message("# %zu decisions, %zu allocations\n", n, calls);
}

/* The counter counts. */
static void test_counter(void **state)
{
	struct permissions *p;

	(void)state;
	calls = 0;
	p = permissions_new();
	assert_true(calls > 0);
	calls = 0;
	permissions_free(p);
	assert_true(calls > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counter),
		cmocka_unit_test(test_quiet),
	};

	return cmocka_run_group_tests_name("policy-quiet", tests, NULL, NULL);
}
