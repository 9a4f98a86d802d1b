/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All alternatives of all steps are needles in one trie. A node's `fail` is the node of its longest
 * proper suffix in the trie; where no child fits the next byte, it goes on from there. Each such
 * step makes the suffix shorter, so that a text costs no more steps than twice its bytes. Needles
 * found at a byte are those of its node and of its chain of suffixes (`also` skips those that hold
 * none).
 *
 * Children are a list, but for those of the root, where nearly every byte starts: a table for each
 * node would be megabytes that every run has to fill.
 *
 * A pattern of several steps remembers for each step where its latest match ended. A needle of step
 * k counts only if step k-1 was reached before it, so a pattern is complete when its last step is
 * reached. The latest match is the best one: if it is too far away, so are all before it.
 */
#include "advice/scan/internal.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

struct scan_needle {
	const char *text; /* as in the table, with capitals */
	size_t len;
	bool word_before, word_after; /* a word must start, or end, there */
	bool versioned; /* "3.11" may stand between the text and the end of the word */
	uint16_t pattern, step;
	uint16_t next; /* the next needle of the same node, plus 1 */
};

struct scan_node {
	uint16_t child, sibling; /* the first one, and the next one of its parent; 0: none */
	uint16_t fail, also;
	uint16_t needle; /* the first one that ends here, plus 1 */
	unsigned char byte;
};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static unsigned char scan_match_fold(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

/* The child of a node for a byte, or 0. */
static uint16_t scan_match_child(const struct scan_match *m, uint16_t node, unsigned char byte)
{
	uint16_t k;

	if (node == 0)
		return m->starts[byte];
	for (k = m->nodes[node].child; k && m->nodes[k].byte != byte; k = m->nodes[k].sibling)
		;
	return k;
}

/* Where the automaton is after one more byte. */
static uint16_t scan_match_step(const struct scan_match *m, uint16_t node, unsigned char byte)
{
	uint16_t child = scan_match_child(m, node, byte);

	while (!child && node) {
		node = m->nodes[node].fail;
		child = scan_match_child(m, node, byte);
	}
	return child;
}

static int scan_match_add_node(struct scan_match *m, struct arena *a, uint16_t *ret)
{
	const struct scan_node empty = { .needle = 0 };

	if (m->n_nodes > UINT16_MAX || ARENA_PUSH(a, m->nodes, m->n_nodes, m->cap_nodes, empty) < 0)
		return -ENOMEM;
	*ret = (uint16_t)(m->n_nodes - 1);
	return 0;
}

/* One alternative: text[0, len), with '*' at an end where words do not matter, or '#' behind it. */
static int add_needle(
	struct scan_match *m, struct arena *a, const char *text, size_t len, struct scan_needle n)
{
	const bool open_before = text[0] == '*', open_after = len > 1 && text[len - 1] == '*';
	uint16_t node = 0, next;

	n.versioned = len > 1 && text[len - 1] == '#';
	n.text = text + open_before;
	n.len = len - open_before - (open_after || n.versioned);
	n.word_before = !open_before && is_word(n.text[0]);
	n.word_after = !open_after && is_word(n.text[n.len - 1]);
	/* The nodes of its text are made as needed. */
	for (size_t i = 0; i < n.len; i++) {
		const unsigned char byte = scan_match_fold(n.text[i]);

		next = scan_match_child(m, node, byte);
		if (!next) {
			if (scan_match_add_node(m, a, &next) < 0)
				return -ENOMEM;
			m->nodes[next].byte = byte;
			m->nodes[next].sibling = m->nodes[node].child;
			m->nodes[node].child = next;
			if (node == 0)
				m->starts[byte] = next;
		}
		node = next;
	}
	n.next = m->nodes[node].needle;
	if (ARENA_PUSH(a, m->needles, m->n_needles, m->cap_needles, n) < 0)
		return -ENOMEM;
	m->nodes[node].needle = (uint16_t)m->n_needles;
	return 0;
}

static int add_step(struct scan_match *m, struct arena *a, size_t pattern, size_t step)
{
	const struct scan_needle n = { .pattern = (uint16_t)pattern, .step = (uint16_t)step };
	const char *s = scan_texts + scan_patterns[pattern].steps[step];

	while (*s) {
		const size_t len = strcspn(s, ",");

		if (add_needle(m, a, s, len, n) < 0)
			return -ENOMEM;
		s += len + (s[len] == ',');
	}
	return 0;
}

/* Breadth first: a node's suffix is shorter and therefore done before it. */
static int link_nodes(struct scan_match *m, struct arena *a)
{
	uint16_t *queue = arena_calloc(a, m->n_nodes, sizeof(*queue));
	size_t done = 0, n = 1; /* queue[0] is the root */

	if (!queue)
		return -ENOMEM;
	for (; done < n; done++) {
		const uint16_t at = queue[done];

		for (uint16_t child = m->nodes[at].child; child; child = m->nodes[child].sibling) {
			/* What `at`'s suffix reads next; for the root that is the root. */
			const uint16_t fail =
				at ? scan_match_step(m, m->nodes[at].fail, m->nodes[child].byte)
				   : 0;

			m->nodes[child].fail = fail;
			m->nodes[child].also = m->nodes[fail].needle ? fail : m->nodes[fail].also;
			queue[n++] = child;
		}
	}
	return 0;
}

int scan_match_init(struct scan_match *m, struct arena *a)
{
	uint16_t root;

	*m = (struct scan_match){ 0 };
	m->reached = arena_calloc(a, scan_patterns_n, sizeof(*m->reached));
	m->began = arena_calloc(a, scan_patterns_n, sizeof(*m->began));
	if (!m->reached || !m->began || scan_match_add_node(m, a, &root) < 0)
		return -ENOMEM;
	for (size_t p = 0; p < scan_patterns_n; p++) {
		for (size_t k = 0; k < SCAN_STEPS_MAX && scan_patterns[p].steps[k]; k++) {
			if (add_step(m, a, p, k) < 0)
				return -ENOMEM;
		}
	}
	return link_nodes(m, a);
}

void scan_match_start(struct scan_match *m)
{
	memset(m->reached, 0, scan_patterns_n * sizeof(*m->reached));
	m->base = m->separator = 0;
}

/* A dot or dash may join a word to what follows, or precedes. */
static bool needle_fits(
	const struct scan_needle *n, unsigned flags, const char *line, size_t len, size_t end)
{
	const size_t start = end - n->len;
	const char before = start ? line[start - 1] : ' ';
	char after, next;

	while (n->versioned && end < len && strchr("0123456789.", line[end]))
		end++;
	after = end < len ? line[end] : ' ';
	next = end + 1 < len ? line[end + 1] : ' ';
	if (n->word_before && (is_word(before) || strchr(".-$", before)))
		return false;
	/* "the user's story" is not about the user. */
	if (n->word_after && after == '\'' && next == 's')
		return false;
	if (n->word_after && (is_word(after) || after == '-' || (after == '.' && is_word(next))))
		return false;
	/* "a || sh" is no pipe. */
	if (n->text[0] == '|' && before == '|')
		return false;
	return !(flags & SCAN_EXACT) || memcmp(line + start, n->text, n->len) == 0;
}

static void meet_needle(struct scan_match *m, enum scan_language language,
	const struct scan_needle *n, const char *line, size_t len, size_t end)
{
	const struct scan_pattern *p = &scan_patterns[n->pattern];
	const size_t start = end - n->len, gap = p->flags >> 8;

	if (!(p->languages & language) || !needle_fits(n, p->flags, line, len, end))
		return;
	if (n->step > 0) {
		/* Where the step before it ended, and this one starts; both plus 1. */
		const size_t before = m->reached[n->pattern][n->step - 1];
		const size_t at = m->base + start + 1;

		if (before == 0 || before > at || (gap && at - before > gap) ||
			((p->flags & SCAN_NEAR) && m->separator >= before))
			return;
	}
	m->reached[n->pattern][n->step] = m->base + end + 1;
	m->began[n->pattern][n->step] =
		n->step ? m->began[n->pattern][n->step - 1] : m->base + start;
	if (n->step + 1 < SCAN_STEPS_MAX && p->steps[n->step + 1])
		return;
	for (size_t i = 0; i < m->n_found; i++) {
		if (m->found[i].rule == p->rule)
			return;
	}
	m->found[m->n_found].rule = p->rule;
	m->found[m->n_found].began = m->began[n->pattern][n->step] >= m->base
					     ? m->began[n->pattern][n->step] - m->base
					     : 0;
	m->found[m->n_found++].at = start;
}

void scan_match_line(
	struct scan_match *m, enum scan_language language, const char *line, size_t len)
{
	uint16_t at = 0;

	m->n_found = 0;
	for (size_t p = 0; p < scan_patterns_n; p++) {
		if (!(scan_patterns[p].flags & SCAN_FILE))
			memset(m->reached[p], 0, sizeof(m->reached[p]));
	}
	for (size_t i = 0; i < len; i++) {
		const char next = i + 1 < len ? line[i + 1] : ' ';

		at = scan_match_step(m, at, scan_match_fold(line[i]));
		for (uint16_t k = at; k; k = m->nodes[k].also) {
			for (uint16_t n = m->nodes[k].needle; n; n = m->needles[n - 1].next)
				meet_needle(m, language, &m->needles[n - 1], line, len, i + 1);
		}
		/* Between commands; but not the '&' of ">&" or of an address. */
		if (line[i] == '|' || (line[i] == ';' && next == ' ') ||
			(line[i] == '&' && (next == '&' || next == ' ') &&
				!(i && strchr("<>", line[i - 1]))))
			m->separator = m->base + i + 1;
	}
	m->base += len;
}
