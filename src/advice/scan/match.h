/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Finds all patterns of scan/rules.c in a text in one pass, whatever their number (an automaton of
 * Aho and Corasick over their words). For scan*.c.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "advice/scan/rules.h"

struct scan_node;
struct scan_needle;

struct scan_match {
	struct scan_node *nodes;
	size_t n_nodes, cap_nodes;
	struct scan_needle *needles;
	size_t n_needles, cap_needles;
	/* By pattern and step: where its latest match ends, plus 1; 0 if there is none. */
	size_t (*reached)[SCAN_STEPS_MAX];

	unsigned language;
	size_t base;      /* bytes before this line */
	size_t separator; /* where the latest one is, plus 1 */
	/* The answer for a line: rules, each once, and where each was found in the line. */
	struct {
		enum scan_rule_id rule;
		size_t at;
	} found[RULE_COUNT];
	size_t n_found;
};

/* Builds the automaton in the arena. 0 or -ENOMEM. */
int scan_match_init(struct scan_match *m, struct arena *a);
/* A new file begins, written in this language. */
void scan_match_start(struct scan_match *m, enum scan_language language);
/* Looks through a line as scan_pattern wants it (capitals kept); sets found. */
void scan_match_line(struct scan_match *m, const char *line, size_t len);
