/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The assembler. A program looks like this:
 *
 *	architecture? no: kill
 *	a binary tree of `number >= k`; its leaves are ranges of numbers under the same rule, but
 *for a few single numbers in between that are asked for by `number == k` the rules that look at
 *arguments, and the verdicts
 *
 * Jumps of classic BPF only lead forward, so everything is written backwards, last instruction
 * first: whatever is to be jumped to is already there and its place is known. No labels are left
 * to be filled in, and equal ends are shared where the jump reaches (255 instructions).
 *
 * Up to a leaf only the architecture and the number are looked at. The kernel can tell from this
 * which calls are always allowed and does not run the filter for them at all (since Linux 5.11).
 */
#include <errno.h>
#include <linux/seccomp.h>

#include "jail/seccomp/table.h"

enum {
	NEAR = 254, /* not 255: a second target's bridge may come in between */
	X32_BIT = 0x40000000,
	/* A number between two ranges of another rule costs two steps of the tree, or one question
	 * in the leaf; leaves are kept short, as a call has to pass all of its questions. */
	LEAF_SINGLES = 3,
};

struct range {
	uint32_t from; /* up to the next one's */
	uint8_t rule;
};

struct ranges {
	size_t n;
	struct range r[SECCOMP_NUMBERS + 4];
};

struct program_leaves {
	const struct range *r;
	size_t n;
	uint16_t starts[SECCOMP_NUMBERS + 5]; /* where each begins in r; then the end */
};

/*
 * Puts an instruction in front and returns its place. Place 0 stands for "full": nothing is ever
 * written there, and once it is reached it is not left, so only the end has to be checked.
 */
static size_t seccomp_program_put(
	struct seccomp_program *p, uint16_t code, uint32_t k, size_t yes, size_t no)
{
	struct sock_filter f = { .code = code, .k = k };

	if (p->first <= 1)
		return p->first = 0;
	if (BPF_CLASS(code) == BPF_JMP && BPF_OP(code) != BPF_JA) {
		f.jt = (uint8_t)(yes - p->first);
		f.jf = (uint8_t)(no - p->first);
	}
	p->code[--p->first] = f;
	return p->first;
}

/* A place that a jump written next reaches: the target, or a bridge to it. */
static size_t program_reach(struct seccomp_program *p, size_t target)
{
	size_t distance = target - p->first;

	if (distance <= NEAR)
		return target;
	return seccomp_program_put(p, BPF_JMP | BPF_JA, (uint32_t)distance, 0, 0);
}

static size_t program_branch(
	struct seccomp_program *p, uint16_t op, uint32_t k, size_t yes, size_t no)
{
	yes = program_reach(p, yes);
	no = program_reach(p, no);
	return seccomp_program_put(p, BPF_JMP | BPF_K | op, k, yes, no);
}

static size_t program_verdict(struct seccomp_program *p, uint32_t value)
{
	size_t i = 0;

	while (i < SECCOMP_VERDICTS && p->verdicts[i].at && p->verdicts[i].value != value)
		i++;
	if (i == SECCOMP_VERDICTS)
		return p->first = 0;
	if (!p->verdicts[i].at || p->verdicts[i].at - p->first > NEAR) {
		p->verdicts[i].value = value;
		p->verdicts[i].at = seccomp_program_put(p, BPF_RET | BPF_K, value, 0, 0);
	}
	return p->verdicts[i].at;
}

static size_t program_condition(
	struct seccomp_program *p, const struct seccomp_condition *c, size_t yes, size_t no)
{
	size_t offset = offsetof(struct seccomp_data, args) + c->arg * sizeof(uint64_t);

	if (!c->n)
		return yes;
	/* The comparisons; the accumulator is loaded by what is put before them. */
	if (c->below)
		(void)program_branch(p, BPF_JGE, c->values[0], no, yes);
	for (size_t i = c->below ? 0 : c->n; i-- > 0;)
		no = program_branch(p, BPF_JEQ, c->values[i], yes, no);
	if (c->mask)
		(void)seccomp_program_put(p, BPF_ALU | BPF_AND | BPF_K, c->mask, 0, 0);
	/* Both architectures are little-endian. */
	offset += c->high ? sizeof(uint32_t) : 0;
	return seccomp_program_put(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static size_t program_rule(struct seccomp_program *p, uint8_t id)
{
	const struct seccomp_rule_text *t = seccomp_rule_text(id);
	size_t at;

	if (!t->n)
		return program_verdict(p, t->otherwise);
	if (p->rules[id])
		return p->rules[id];
	at = program_verdict(p, t->otherwise);
	for (size_t i = t->n; i-- > 0;) {
		const struct seccomp_clause *c = &t->clauses[i];
		size_t next = at;

		at = program_verdict(p, c->verdict);
		for (size_t k = SECCOMP_CONDITIONS; k-- > 0;)
			at = program_condition(p, &c->when[k], at, next);
	}
	return p->rules[id] = at;
}

/* Whether the range at i, and the single number after it, are followed by the same rule. */
static bool program_is_single(const struct ranges *s, size_t i)
{
	return i + 2 < s->n && s->r[i].rule == s->r[i + 2].rule &&
	       s->r[i + 1].from + 1 == s->r[i + 2].from;
}

static void program_find_leaves(struct program_leaves *l, const struct ranges *s)
{
	l->r = s->r;
	l->n = 0;
	for (size_t i = 0; i < s->n; i++) {
		l->starts[l->n++] = (uint16_t)i;
		for (size_t k = 0; k < LEAF_SINGLES && program_is_single(s, i); k++)
			i += 2;
	}
	l->starts[l->n] = (uint16_t)s->n;
}

static size_t program_leaf(struct seccomp_program *p, const struct range *r, size_t n)
{
	size_t at = program_rule(p, r->rule);

	for (size_t i = 1; i < n; i += 2)
		at = program_branch(p, BPF_JEQ, r[i].from, program_rule(p, r[i].rule), at);
	return at;
}

/* Of n leaves, from the first-th on. */
static size_t program_tree(
	struct seccomp_program *p, const struct program_leaves *l, size_t first, size_t n)
{
	const uint16_t *start = l->starts + first;
	size_t left, right, half = n / 2;

	if (n == 1)
		return program_leaf(p, l->r + start[0], (size_t)(start[1] - start[0]));
	right = program_tree(p, l, first + half, n - half);
	left = program_tree(p, l, first, half);
	return program_branch(p, BPF_JGE, l->r[start[half]].from, right, left);
}

static void program_add_range(struct ranges *s, uint32_t from, uint8_t rule)
{
	if (s->n && s->r[s->n - 1].rule == rule)
		return;
	s->r[s->n++] = (struct range){ from, rule };
}

int seccomp_program_make(struct seccomp_program *p, const struct seccomp_table *t)
{
	struct ranges ranges;
	struct program_leaves leaves;
	size_t kill;

	p->first = SECCOMP_PROGRAM_MAX;
	for (size_t i = 0; i < SECCOMP_VERDICTS; i++)
		p->verdicts[i].at = 0;
	for (size_t i = 0; i < RULES; i++)
		p->rules[i] = 0;
	ranges.n = 0;
	for (uint32_t i = 0; i < SECCOMP_NUMBERS; i++)
		program_add_range(&ranges, i, t->rules[i]);
	program_add_range(&ranges, SECCOMP_NUMBERS, t->rest);
	if (t->arch->x32) {
		program_add_range(&ranges, X32_BIT, RULE_KILL);
		/* -1 is no call of x32 but "no call", which tracers and tests make. */
		program_add_range(&ranges, UINT32_MAX, t->rest);
	}
	/* The kernel wants a return as the last instruction; this is one. */
	kill = program_rule(p, RULE_KILL);
	program_find_leaves(&leaves, &ranges);
	(void)program_tree(p, &leaves, 0, leaves.n);
	(void)seccomp_program_put(
		p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
	(void)program_branch(p, BPF_JEQ, t->arch->audit, p->first, kill);
	(void)seccomp_program_put(
		p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	return p->first ? 0 : -E2BIG;
}
