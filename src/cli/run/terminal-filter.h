/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a command prints on the user's terminal, without the sequences by which a terminal reads
 * from or writes to the host: the clipboard (OSC 52), notifications, files (OSC 1337, APC of
 * kitty), printers, keys that type (DECUDK), what is on the screen (DECRQCRA) or in the title, and
 * whatever is passed to another terminal unseen (DCS of tmux and screen). Text, colours, the
 * cursor, modes and titles pass untouched.
 *
 * Unknown strings (OSC, DCS, APC …) are dropped, unknown CSI sequences count as questions. A
 * sequence is held until it is complete, so it does not matter how it is cut into pieces, and
 * nothing incomplete reaches the terminal. Bytes 0x80 to 0x9f that are no part of a character, and
 * the characters U+0080 to U+009F, are other spellings of ESC sequences for some terminals; they
 * become question marks.
 *
 * What the command changed is remembered, so that it can be undone in the end.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is held back at most, and how many modes are remembered one by one. */
enum { TERMINAL_FILTER_HELD = 8192, TERMINAL_FILTER_MODES = 32 };
/* The room that terminal_filter_end(), _pause() and _resume() need. */
enum { TERMINAL_FILTER_END = 2048 };

struct terminal_rights {
	bool clipboard_read, clipboard_write, notifications;
	bool questions; /* the answers reach the command */
};

struct terminal_mode {
	uint16_t number;
	bool is_private, is_on;
};

struct terminal_filter {
	struct terminal_rights rights;
	int state;
	unsigned char next_lo, next_hi; /* what may follow in a character */
	unsigned n_next;
	bool has_c2, is_too_long;
	char held[TERMINAL_FILTER_HELD];
	size_t n_held;
	/* To be undone. */
	uint32_t changed;
	struct terminal_mode modes[TERMINAL_FILTER_MODES];
	size_t n_modes;
	unsigned n_titles;
	/* To be set again after a stop. */
	struct terminal_mode paused[TERMINAL_FILTER_MODES];
	size_t n_paused;
	bool has_paused_keypad;
	/* The terminal may have answered; and how often it was asked for its identity (DA1). */
	bool has_asked;
	uint64_t n_identities;
};

/*
 * Writes what may pass of `in` to `out`, which has room for 2 * n + TERMINAL_FILTER_HELD bytes (an
 * end may take two bytes instead of one); returns how much it is. `f` starts zeroed, but for its
 * rights.
 */
size_t terminal_filter_run(struct terminal_filter *f, const char *in, size_t n, char *out);
/* What makes the terminal as it was, as far as the command changed it. */
size_t terminal_filter_end(struct terminal_filter *f, char out[TERMINAL_FILTER_END]);
/* The same for a stop, after which the output goes on. */
size_t terminal_filter_pause(struct terminal_filter *f, char out[TERMINAL_FILTER_END]);
/* Sets the modes again that were undone. Colours and the like are the command's to draw again. */
size_t terminal_filter_resume(struct terminal_filter *f, char out[TERMINAL_FILTER_END]);
