/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the parts of the scan share.
 *
 *   data/scan.conf   the rules, and the patterns that lead to them, explained at its top
 *   match.c          finds all patterns in a text in one pass (an automaton of Aho and Corasick)
 *   scan.c           files and lines, and what is looked at character by character
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advice/scan/scan.h"
#include "base/arena.h"

struct scan_rule {
	const char *id;
	enum skill_severity severity;
	const char *what;
};

enum { SCAN_RULES_MAX = 64 };
extern const struct scan_rule scan_rules[];
extern const size_t scan_rules_n;

/* What a file seems to be written in, as a set. */
enum scan_language {
	LANGUAGE_SHELL = 1 << 0,
	LANGUAGE_PYTHON = 1 << 1,
	LANGUAGE_NODE = 1 << 2,
	LANGUAGE_PROSE = 1 << 3,
	LANGUAGE_OTHER = 1 << 4,
	LANGUAGE_ANY = (1 << 5) - 1,
	LANGUAGE_NOT_NODE = LANGUAGE_ANY & ~LANGUAGE_NODE,
	LANGUAGE_NOT_PYTHON = LANGUAGE_ANY & ~LANGUAGE_PYTHON,
	LANGUAGE_NOT_PROSE = LANGUAGE_ANY & ~LANGUAGE_PROSE,
};

enum scan_flag {
	SCAN_EXACT = 1 << 0, /* capitals count */
	SCAN_NEAR = 1 << 1,  /* no ';', '|', "&&" or "& " between the steps */
	SCAN_FILE = 1 << 2,  /* the steps may stand in different lines */
};
/* At most n bytes between the steps; 0, as without it: any number. */
#define SCAN_GAP(n) ((n) << 8)

/* Steps that follow each other; a step is a list of alternatives with commas between them. */
enum { SCAN_STEPS_MAX = 3 };
struct scan_pattern {
	unsigned rule; /* index */
	unsigned languages, flags;
	const char *steps[SCAN_STEPS_MAX]; /* NULL: no further step */
};

extern const struct scan_pattern scan_patterns[];
extern const size_t scan_patterns_n;

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
		unsigned rule;
		size_t at;
	} found[SCAN_RULES_MAX];
	size_t n_found;
};

/* Builds the automaton in the arena. 0 or -ENOMEM. */
int scan_match_init(struct scan_match *m, struct arena *a);
/* A new file begins, written in this language. */
void scan_match_start(struct scan_match *m, enum scan_language language);
/* Looks through a line as scan_pattern wants it (capitals kept); sets found. */
void scan_match_line(struct scan_match *m, const char *line, size_t len);
