/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the parts of the scan share.
 *
 *   rules.c   the rules, and the patterns that lead to them: data only
 *   match.c   finds all patterns in a text in one pass, whatever their number (an automaton of Aho
 *             and Corasick over their words)
 *   scan.c    files and lines, and what is looked at character by character
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advice/scan/scan.h"
#include "base/arena.h"

enum scan_rule_id {
	RULE_DOWNLOAD_RUN,
	RULE_DOWNLOAD_EXECUTABLE,
	RULE_ENCODED_RUN,
	RULE_EVAL_VARIABLE,
	RULE_DELETE_BROADLY,
	RULE_DISK_OVERWRITE,
	RULE_FORK_BOMB,
	RULE_PRIVILEGE,
	RULE_OPEN_PERMISSIONS,
	RULE_SETUID,
	RULE_DEV_TCP,
	RULE_NETCAT_SHELL,
	RULE_REVERSE_SHELL,
	RULE_SSH_KEYS,
	RULE_SSH_TUNNEL,
	RULE_CLOUD_CREDENTIALS,
	RULE_GPG_KEYS,
	RULE_PASSWORD_FILES,
	RULE_TOKEN_FILES,
	RULE_KEYCHAIN,
	RULE_BROWSER_DATA,
	RULE_SCREEN,
	RULE_ENVIRONMENT_SENT,
	RULE_FILE_SENT,
	RULE_CRON,
	RULE_SYSTEMD_UNIT,
	RULE_LAUNCHD,
	RULE_AUTOSTART,
	RULE_SHELL_STARTUP,
	RULE_GIT_HOOKS,
	RULE_PRELOAD,
	RULE_TRACING,
	RULE_KERNEL_SETTINGS,
	RULE_CONTAINER_ESCAPE,
	RULE_PROTECTION_OFF,
	RULE_HISTORY_OFF,
	RULE_TLS_UNCHECKED,
	RULE_INSTALL_URL,
	RULE_PYTHON_EXEC,
	RULE_UNPICKLE,
	RULE_PYTHON_SHELL,
	RULE_NATIVE_CODE,
	RULE_NODE_PROCESS,
	RULE_NODE_EVAL,
	RULE_PROMPT_OVERRIDE,
	RULE_PROMPT_SECRECY,
	RULE_PROMPT_CONSENT,
	RULE_PROMPT_MARKUP,
	RULE_DROP_HOST,
	RULE_METADATA_ADDRESS,
	RULE_MINER,
	/* Not found by patterns (scan.c): */
	RULE_RAW_ADDRESS,
	RULE_HIDDEN_TEXT,
	RULE_LONG_LINE,
	RULE_ENCODED_BLOB,
	RULE_BINARY_FILE,
	RULE_CUT_FILE,
	RULE_COUNT,
};

struct scan_rule {
	const char *id;
	enum skill_severity severity;
	const char *what;
};

extern const struct scan_rule scan_rules[RULE_COUNT];

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
};

enum scan_flag {
	SCAN_EXACT = 1 << 0, /* capitals count */
	SCAN_NEAR = 1 << 1,  /* no ';', '|', "&&" or "& " between the steps */
	SCAN_FILE = 1 << 2,  /* the steps may stand in different lines */
};
/* At most n bytes between the steps; 0, as without it: any number. */
#define SCAN_GAP(n) ((n) << 8)

/*
 * Steps that follow each other, in one line if not said otherwise, with anything between them. A
 * step is a list of alternatives with commas between them. Lines are seen in lower case, with
 * single spaces, one at each end, and none behind '|'.
 *
 * Where an alternative starts or ends with a letter, digit or '_', a word must start or end there:
 * "sh" is not found in "push", "run.sh" or "sh-x". A '*' at that end lifts this.
 *
 * "@name" stands for rows of a table (threat/threat.h, and the baseline for @metadata):
 * scan/match.c has a list of these.
 */
enum { SCAN_STEPS_MAX = 3 };
struct scan_pattern {
	enum scan_rule_id rule;
	unsigned languages, flags;
	const char *steps[SCAN_STEPS_MAX]; /* NULL: no further step */
};

extern const struct scan_pattern scan_patterns[];
extern const size_t scan_n_patterns;

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
