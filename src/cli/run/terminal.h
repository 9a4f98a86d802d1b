/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The user's terminal, while a command inside has one of its own: bytes pass through untouched (raw
 * mode), so that Ctrl-C, Ctrl-Z and the like mean something to the terminal inside, not to this
 * one. The user's terminal itself never gets in: whoever holds a descriptor of it could read what
 * is typed later, or type for the user.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <termios.h>

struct terminal {
	int fd;
	bool is_raw;
	struct termios before;
};

/* Raw mode, until terminal_restore(), which may be called at any time and again. */
int terminal_raw(struct terminal *t, int fd);
void terminal_restore(struct terminal *t);

/* What a terminal was asked (DA1), and how often it answered. */
struct terminal_answers {
	uint64_t wanted, seen;
	int state;
};
/* Among what is typed. */
void terminal_answers_count(struct terminal_answers *a, const char *typed, size_t n);
/*
 * A command that ended may have asked what nobody waits for any more: the answers would be typed
 * into the user's shell. Asks a last question, and takes all from the terminal up to its answer,
 * and for a second where none comes. Then counting starts again.
 */
void terminal_take_answers(int in, int out, struct terminal_answers *a);
/* All of it, also from the background, unless the terminal takes nothing for a second. Returns how
 * much was written. */
size_t terminal_write(int fd, const char *text, size_t n);

/* The size of one terminal for another. Nothing happens if `from` has none. */
void terminal_copy_size(int from, int to);
/* 24 x 80 if it is not known. */
void terminal_size(int fd, unsigned short *ret_rows, unsigned short *ret_columns);

/*
 * A new terminal that only carries output to another: master and slave, close-on-exec. Bytes come
 * out of it as they went in.
 */
int terminal_pair(int like, int *ret_master, int *ret_slave);

/* We are in the foreground of this terminal: it is for us to read it and to set its mode. */
bool terminal_is_foreground(int fd);
/* Others are; not if the terminal is gone. */
bool terminal_is_taken(int fd);
/*
 * True if what is typed on fd is meant for us: we are in the foreground, and no other program (a
 * pager behind us in a pipe) has taken the keyboard by leaving line mode.
 */
bool terminal_is_ours(int fd);
