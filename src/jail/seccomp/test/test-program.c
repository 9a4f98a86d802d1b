/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs of both architectures, run by an interpreter of classic BPF written here, so that
 * neither needs its own machine. Three questions: does a program say what its table says, for every
 * number and for arguments at the edges; does the table say what the cases expect; does a program
 * look at arguments only where a rule asks for it (the kernel caches the answer for all others).
 */
#include "test/unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/array.h"
#include "jail/seccomp/test/test-cases.h"

#define X32 0x40000000U

static const struct seccomp_arch *const archs[] = { &seccomp_x86_64, &seccomp_aarch64 };

struct bpf_machine {
	uint32_t a;
	bool looked; /* at an argument */
};

static uint32_t load(struct bpf_machine *m, const struct seccomp_data *d, uint32_t offset)
{
	uint32_t v;

	assert_true(offset % sizeof(v) == 0 && offset <= sizeof(*d) - sizeof(v));
	m->looked = m->looked || offset >= offsetof(struct seccomp_data, args);
	memcpy(&v, (const char *)d + offset, sizeof(v));
	return v;
}

static size_t jump(const struct bpf_machine *m, const struct sock_filter *f)
{
	switch (BPF_OP(f->code)) {
	case BPF_JA:
		return f->k;
	case BPF_JEQ:
		return m->a == f->k ? f->jt : f->jf;
	case BPF_JGE:
		return m->a >= f->k ? f->jt : f->jf;
	}
	fail_msg("jump %x", f->code);
	return 0;
}

/* Jumps lead forward, so it ends. */
static uint32_t run(struct seccomp_program *p, const struct seccomp_data *d, struct bpf_machine *m)
{
	const struct sock_filter *code = seccomp_program_code(p);

	*m = (struct bpf_machine){ 0 };
	for (size_t pc = 0; pc < seccomp_program_length(p); pc++) {
		const struct sock_filter *f = &code[pc];

		if (f->code == (BPF_RET | BPF_K))
			return f->k;
		if (f->code == (BPF_LD | BPF_W | BPF_ABS))
			m->a = load(m, d, f->k);
		else if (f->code == (BPF_ALU | BPF_AND | BPF_K))
			m->a &= f->k;
		else if (BPF_CLASS(f->code) == BPF_JMP && BPF_SRC(f->code) == BPF_K)
			pc += jump(m, f);
		else
			fail_msg("code %x", f->code);
	}
	fail_msg("ran past the end");
	return 0;
}

/* The same questions asked of the data, with nothing shared but the data. */
static bool holds(const struct seccomp_condition *c, const uint64_t *args)
{
	uint32_t v = (uint32_t)(c->high ? args[c->arg] >> 32 : args[c->arg]);

	if (c->mask)
		v &= c->mask;
	if (c->below)
		return v < c->values[0];
	for (size_t i = 0; i < c->n; i++)
		if (v == c->values[i])
			return true;
	return c->n == 0;
}

static uint32_t naive_rule(uint8_t rule, const uint64_t *args)
{
	const struct seccomp_rule_text *t = seccomp_rule_text(rule);

	for (size_t i = 0; i < t->n; i++) {
		const struct seccomp_condition *c = t->clauses[i].when;

		if (holds(&c[0], args) && holds(&c[1], args) && holds(&c[2], args))
			return t->clauses[i].verdict;
	}
	return t->otherwise;
}

static uint8_t naive_number(const struct seccomp_table *t, uint32_t nr)
{
	if (t->arch->x32 && nr >= X32 && nr != UINT32_MAX)
		return RULE_KILL;
	return nr < SECCOMP_NUMBERS ? t->rules[nr] : t->rest;
}

static void ask(
	struct seccomp_program *p, const struct seccomp_table *t, uint32_t nr, const uint64_t *args)
{
	struct seccomp_data d = { .nr = (int)nr, .arch = t->arch->audit };
	uint8_t rule = naive_number(t, nr);
	struct bpf_machine m;
	uint32_t got;

	memcpy(d.args, args, sizeof(d.args));
	got = run(p, &d, &m);
	if (got != naive_rule(rule, args))
		fail_msg("call %u, rule %u: %x, not %x", nr, rule, got, naive_rule(rule, args));
	assert_int_equal(m.looked, seccomp_rule_text(rule)->n > 0);
}

static uint64_t random64(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Arguments near what the conditions of the rule compare with; others are noise. */
static void near_values(uint8_t rule, uint64_t *args)
{
	const struct seccomp_rule_text *t = seccomp_rule_text(rule);

	for (size_t i = 0; i < 6; i++)
		args[i] = random64() % 3 ? random64() % 4 : random64();
	for (size_t i = 0; t->n && i < SECCOMP_CONDITIONS; i++) {
		const struct seccomp_condition *c = &t->clauses[random64() % t->n].when[i];
		uint64_t v;

		if (!c->n)
			continue;
		v = c->values[random64() % c->n] + random64() % 5 / 3 - random64() % 5 / 4;
		if (c->mask)
			v |= random64() & ~(uint64_t)c->mask;
		if (random64() % 4 == 0)
			v |= random64() << 32;
		args[c->arg] = c->high ? v << 32 : v;
	}
}

static void ask_all(struct seccomp_program *p, const struct seccomp_table *t, size_t rounds)
{
	static const uint32_t far[] = { 4096, X32 - 1, X32, X32 + 1, X32 | 512, 0x7fffffff,
		0x80000000, 0xbfffffff, 0xc0000000, UINT32_MAX - 1, UINT32_MAX };
	uint64_t args[6] = { 0 };

	for (uint32_t nr = 0; nr < 1024; nr++) {
		size_t n = seccomp_rule_text(naive_number(t, nr))->n ? rounds : 1;

		for (size_t i = 0; i < n; i++) {
			near_values(naive_number(t, nr), args);
			ask(p, t, nr, args);
		}
	}
	for (size_t i = 0; i < ROWS(far); i++)
		ask(p, t, far[i], args);
}

static void foreign(struct seccomp_program *p, const struct seccomp_table *t)
{
	static const uint32_t others[] = { AUDIT_ARCH_X86_64, AUDIT_ARCH_I386, AUDIT_ARCH_AARCH64,
		AUDIT_ARCH_ARM, AUDIT_ARCH_ARMEB, AUDIT_ARCH_RISCV64, 0, UINT32_MAX };
	struct bpf_machine m;

	for (size_t i = 0; i < ROWS(others); i++)
		for (int nr = 0; nr < 1024 && others[i] != t->arch->audit; nr++) {
			struct seccomp_data d = { .nr = nr, .arch = others[i] };

			assert_int_equal(run(p, &d, &m), SECCOMP_RET_KILL_PROCESS);
		}
}

static void program_is_table(void **state)
{
	struct seccomp_options o = { 0 };
	struct seccomp_program p;
	struct seccomp_table t;

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(archs); i++) {
		o.no_memfd_exec = i % 2;
		seccomp_table_base(&t, archs[i / 2], &o);
		assert_int_equal(seccomp_program_make(&p, &t), 0);
		print_message("# base: %zu instructions\n", seccomp_program_length(&p));
		/* The kernel translates them at every cold start. */
		assert_true(seccomp_program_length(&p) <= 330);
		ask_all(&p, &t, 500);
		foreign(&p, &t);
		seccomp_table_close(&t, archs[i / 2], false);
		assert_int_equal(seccomp_program_make(&p, &t), 0);
		print_message("# close: %zu instructions\n", seccomp_program_length(&p));
		/* … and these for every command. */
		assert_true(seccomp_program_length(&p) <= 32);
		ask_all(&p, &t, 500);
		foreign(&p, &t);
	}
}

/* Tables that nobody would write: long jumps, many ranges, and too many. */
static void any_table(void **state)
{
	struct seccomp_table t = { .arch = &seccomp_x86_64, .rest = RULE_EPERM };
	struct seccomp_program p;
	size_t fit = 0, too_big = 0;

	(void)state;
	for (size_t i = 0; i < 200; i++) {
		for (size_t nr = 0; nr < SECCOMP_NUMBERS; nr++)
			t.rules[nr] = nr && random64() % 200 > i ? t.rules[nr - 1]
								 : (uint8_t)(random64() % RULES);
		if (seccomp_program_make(&p, &t) < 0) {
			too_big++;
			continue;
		}
		fit++;
		ask_all(&p, &t, 3);
	}
	print_message("# %zu fit, %zu did not\n", fit, too_big);
	assert_true(fit > 50);
}

static void too_big(void **state)
{
	struct seccomp_table t = { .arch = &seccomp_aarch64 };
	struct {
		uint64_t before;
		struct seccomp_program p;
		uint64_t after;
	} s = { .before = 1, .after = 2 };
	int r = 0;

	(void)state;
	/* Grows until it does not fit; then it says so, and has written nowhere else. */
	for (size_t n = 2; n < SECCOMP_NUMBERS && !r; n++) {
		t.rules[n] = (uint8_t)(n % RULES);
		r = seccomp_program_make(&s.p, &t);
		if (!r)
			ask_all(&s.p, &t, 1);
	}
	assert_int_equal(r, -E2BIG);
	assert_true(s.before == 1 && s.after == 2);
}

static uint32_t answer(const struct seccomp_table *t, const struct seccomp_case *c, int nr)
{
	struct seccomp_data d = { .nr = nr, .arch = t->arch->audit };
	struct seccomp_program p;
	struct bpf_machine m;

	memcpy(d.args, c->args, sizeof(d.args));
	assert_int_equal(seccomp_program_make(&p, t), 0);
	return run(&p, &d, &m);
}

static void expect(const struct seccomp_case *c, const struct seccomp_arch *arch, bool noexec)
{
	struct seccomp_options o = { .no_memfd_exec = noexec };
	int nr = seccomp_case_number(c->name, arch);
	struct seccomp_table t;
	uint32_t base, close;

	assert_int_not_equal(nr, -2);
	if (nr == SECCOMP_NONE)
		return;
	seccomp_table_base(&t, arch, &o);
	base = answer(&t, c, nr);
	seccomp_table_close(&t, arch, false);
	close = answer(&t, c, nr);
	/* The kernel takes the lower action; equal ones do not differ in value here. */
	if (base != (c->base ? SECCOMP_RET_ERRNO | (uint32_t)c->base : SECCOMP_RET_ALLOW))
		fail_msg("%s(%llx, %llx, %llx): base says %x", c->name,
			(unsigned long long)c->args[0], (unsigned long long)c->args[1],
			(unsigned long long)c->args[2], base);
	if (!c->base)
		assert_int_equal(close,
			c->closed ? SECCOMP_RET_ERRNO | (uint32_t)c->closed : SECCOMP_RET_ALLOW);
}

/* What closes later may be closed from the start: the answer is the stricter of the two. */
static void one_is_as_strict_as_two(const struct seccomp_arch *arch, unsigned options)
{
	const struct seccomp_options o = { .no_memfd_exec = options & 1,
		.listener = options & 2,
		.no_unix = options & 4,
		.no_sockets = options & 8,
		.no_exec = options & 4 };
	struct seccomp_options c = o;
	struct seccomp_table tables[3];
	static struct seccomp_program programs[3];

	c.closed = true;
	seccomp_table_base(&tables[0], arch, &o);
	seccomp_table_close(&tables[1], arch, false);
	seccomp_table_base(&tables[2], arch, &c);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(seccomp_program_make(&programs[i], &tables[i]), 0);
	for (size_t i = 0; i < 200 * SECCOMP_NUMBERS; i++) {
		struct seccomp_data d = { .nr = (int)(i % SECCOMP_NUMBERS), .arch = arch->audit };
		struct bpf_machine m;
		uint32_t got[3];

		/* Flags, mostly: few bits. */
		for (size_t k = 0; k < ROWS(d.args); k++) {
			d.args[k] = random64();
			for (int n = 0; n < 3; n++)
				d.args[k] &= random64();
		}
		for (size_t k = 0; k < 3; k++)
			got[k] = run(&programs[k], &d, &m);
		/* As the kernel has it: a refusal before a question to the listener. */
		if (got[0] == SECCOMP_RET_ALLOW ||
			(got[0] == SECCOMP_RET_USER_NOTIF && got[1] != SECCOMP_RET_ALLOW))
			got[0] = got[1];
		assert_int_equal(got[2], got[0]);
	}
}

static void one_filter_or_two(void **state)
{
	(void)state;
	for (size_t a = 0; a < ROWS(archs); a++)
		for (unsigned options = 0; options < 16; options++)
			one_is_as_strict_as_two(archs[a], options);
}

static void table_is_expected(void **state)
{
	(void)state;
	for (size_t a = 0; a < ROWS(archs); a++) {
		for (size_t i = 0; i < seccomp_n_cases; i++)
			expect(&seccomp_cases[i], archs[a], false);
		for (size_t i = 0; i < seccomp_n_noexec_cases; i++)
			expect(&seccomp_noexec_cases[i], archs[a], true);
	}
}

/* C drops the NUL of a name that fills its array. */
static void names_end(void **state)
{
	(void)state;
	for (size_t i = 0; i < seccomp_n_calls; i++)
		assert_true(memchr(seccomp_calls[i].name, 0, sizeof(seccomp_calls[i].name)));
}

/* Every call stands in the list once, and no two share a number. */
static void numbers_are_unique(void **state)
{
	(void)state;
	for (size_t a = 0; a < ROWS(archs); a++) {
		bool taken[SECCOMP_NUMBERS] = { 0 };

		for (size_t i = 0; i < seccomp_n_calls; i++) {
			int nr = seccomp_calls[i].numbers[a];

			assert_true(nr >= SECCOMP_NONE && nr < SECCOMP_NUMBERS);
			if (nr == SECCOMP_NONE)
				continue;
			if (taken[nr])
				fail_msg(
					"%s has the number of another call", seccomp_calls[i].name);
			taken[nr] = true;
		}
	}
}

/* A macro that the headers do not have stays a name. */
#define TEXT_OF(x) #x
#define VALUE_OF(x) TEXT_OF(x)
#define CALL(name, x86_64, aarch64, rule) { #name, VALUE_OF(__NR_##name) },
static const struct {
	const char *name, *value;
} headers[] = {
#include "jail/seccomp/calls.h"
};
#undef CALL

static void numbers_are_those_of_the_headers(void **state)
{
	size_t known = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(headers); i++) {
		char *end;
		long nr = strtol(headers[i].value, &end, 10);

		if (*end)
			continue;
		known++;
		if (seccomp_case_number(headers[i].name, seccomp_native) != nr)
			fail_msg("%s is %ld here", headers[i].name, nr);
	}
	print_message("# %zu of %zu are in the headers\n", known, ROWS(headers));
	assert_true(known > 250);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(program_is_table),
		cmocka_unit_test(any_table),
		cmocka_unit_test(too_big),
		cmocka_unit_test(table_is_expected),
		cmocka_unit_test(one_filter_or_two),
		cmocka_unit_test(names_end),
		cmocka_unit_test(numbers_are_unique),
		cmocka_unit_test(numbers_are_those_of_the_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
