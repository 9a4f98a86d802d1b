/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the parts of the scan share.
 *
 *   data/scan.conf   the rules, and the patterns that lead to them, explained at its top
 *   match.c          finds all patterns in a text in one pass (an automaton of Aho and Corasick)
 *   place.c          what of a document is text, what is code in it, and what a reader cannot see
 *   characters.c     what is looked at character by character: hidden text, blobs, addresses
 *   flow.c           what Python and JavaScript read and where it goes, over lines and variables
 *   pipes.c          the same for shell scripts
 *   packages.c       names of packages that look like those of others
 *   scan.c           files, lines, findings
 *   scanner.c        texts that are no files
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advice/scan/scan.h"
#include "base/arena.h"
#include "base/buffer.h"

/*
 * Where something stands decides how much it means: a script runs, a block in a document is what an
 * agent is likely to run, a sentence may as well be about it. What a reader cannot see is worse
 * than what stands in the open.
 */
enum scan_place { PLACE_CODE, PLACE_BLOCK, PLACE_TEXT, PLACE_HIDDEN, PLACE_COUNT };

enum { SCAN_SILENT = -1 };

/* Texts are where they start in scan_texts, so that the tables need no relocation. */
extern const char scan_texts[];

struct scan_rule {
	uint16_t id, what, check;
	int severity[PLACE_COUNT]; /* enum skill_severity, or SCAN_SILENT */
	unsigned stops;
	bool orders; /* it is about what a model or a user is told to do: "never …" forbids nothing
		      */
	bool strings; /* what stands in a string of a program counts as code */
};

enum { SCAN_RULES_MAX = 128 };
extern const struct scan_rule scan_rules[];
extern const size_t scan_rules_n;

/* What a text seems to be written in, as a set. */
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
	uint16_t steps[SCAN_STEPS_MAX]; /* texts; 0: no further step */
};

extern const struct scan_pattern scan_patterns[];
extern const size_t scan_patterns_n;

/* match.c */

struct scan_node;
struct scan_needle;

struct scan_match {
	struct scan_node *nodes;
	size_t n_nodes, cap_nodes;
	struct scan_needle *needles;
	size_t n_needles, cap_needles;
	uint16_t starts[256]; /* the root's children by their bytes */
	/* By pattern and step: where its latest match ends, plus 1; 0 if there is none. */
	size_t (*reached)[SCAN_STEPS_MAX];
	size_t (*began)[SCAN_STEPS_MAX]; /* likewise: where the first step of its chain started */

	size_t base;      /* bytes before this line */
	size_t separator; /* where the latest one is, plus 1 */
	/* The answer for a line: rules, each once, and where each was found in the line. */
	struct {
		unsigned rule;
		size_t at, began; /* of the last step, and of the first one if it is in this line */
	} found[SCAN_RULES_MAX];
	size_t n_found;
};

/* Builds the automaton in the arena. 0 or -ENOMEM. */
int scan_match_init(struct scan_match *m, struct arena *a);
/* A new file begins. */
void scan_match_start(struct scan_match *m);
/* Looks through a line as scan_pattern wants it (capitals kept); sets found. */
void scan_match_line(
	struct scan_match *m, enum scan_language language, const char *line, size_t len);

/* characters.c: true with where it is. */

bool scan_find_hidden(const char *line, size_t len, size_t *ret);
bool scan_find_long(const char *line, size_t len, size_t *ret);
bool scan_find_digits(const char *line, size_t len, size_t *ret);
bool scan_find_escapes(const char *line, size_t len, size_t *ret);
bool scan_find_address(const char *line, size_t len, size_t *ret);
/* Programs behind many blanks, where an editor does not show them. */
bool scan_find_padding(const char *line, size_t len, size_t *ret);
/* The address of a hook with the secret in it, which authors do not publish of their own. */
bool scan_find_hook(const char *line, size_t len, size_t *ret);
/* Whether all addresses in a line are of hosts that hand out well-known installers. */
bool scan_is_installer(const char *line, size_t len);
/* Whether one is a number, without encryption, or where anybody can put things. */
bool scan_is_odd_source(const char *line, size_t len);
/* The host of the first address in text, in lower case; false: there is none. */
bool scan_first_host(const char *text, size_t len, char *host, size_t room);

/* scan.c */

struct scan {
	struct arena *arena;
	struct skill_findings findings;
	struct scan_match match;
	bool no_memory;
	bool teaches; /* the skill says of itself that it is about attacks, */
	bool warned;  /* or the heading, or the line before a list, that it warns of them */

	/* The file at hand. */
	const char *file;
	size_t n_in_file;
	enum scan_language language;
	uint32_t seen[SCAN_RULES_MAX]; /* where each rule was found last; lines count from 1 */
	struct buffer data, joined;
	struct arena scratch; /* for one file */
	/* Lines that are looked at as one: where each starts in `joined`. */
	struct {
		size_t at;
		uint32_t line;
	} lines[64];
	size_t n_lines;
	/* Python and JavaScript: what each byte of the next piece, and of `joined`, is part of. */
	const unsigned char *parts; /* enum scan_part; NULL: it is not known */
	struct buffer joined_parts;
};

/* A place of a file's text, for a finding. */
struct scan_spot {
	enum scan_place place;
	uint32_t line;
	const char *text; /* NULL: the file as a whole */
	size_t len, at, began;
};

/* Looks at the text of one file, as skill_scan() does, with an automaton that is there: for the
 * fuzzer. 0 or -ENOMEM. */
int scan_bytes(const struct scan_match *match, struct arena *a, const char *name, const char *text,
	size_t len, struct skill_findings *ret);
void scan_add(struct scan *s, const char *id, const struct scan_spot *spot);
/* Whether the sentence forbids, warns of or quotes what was found in it at `at`. */
bool scan_is_forbidden(const char *text, size_t len, size_t at);
/* Whether a heading, or what stands before a list, says that bad examples follow. */
bool scan_is_warning(const char *text, size_t len);

/* What a byte of a program is part of. */
enum scan_part { PART_CODE, PART_STRING, PART_COMMENT, PART_RUN /* a string that is run */ };

/* place.c: gives each line of a document, in parts, to scan_piece(). */
void scan_document(struct scan *s, const char *text, size_t len);
/* A part of a line in its place. joins: the next piece goes on where this one ends. */
void scan_piece(struct scan *s, enum scan_place place, enum scan_language language, uint32_t line,
	const char *text, size_t len, bool joins);
/* A block of code inside a document, whole, that starts in this line. */
void scan_block(
	struct scan *s, enum scan_language language, uint32_t line, const char *text, size_t len);

/* flow.c: *parts (len bytes) says what is what; it lives in the arena of the file. */
void scan_flow(struct scan *s, enum scan_language language, enum scan_place place, uint32_t line,
	const char *text, size_t len, unsigned char **ret_parts);
/* pipes.c */
void scan_pipes(struct scan *s, enum scan_place place, uint32_t line, const char *text, size_t len);
/* packages.c: a line that installs packages, or a file that lists them. */
void scan_packages(
	struct scan *s, enum scan_place place, uint32_t line, const char *text, size_t len);
void scan_package_list(struct scan *s, const char *text, size_t len);
