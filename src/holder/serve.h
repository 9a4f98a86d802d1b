/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The holder of what a program joined by the library: a process with a loop, which corral-warden
 * becomes when its first frame is FRAME_HOLD (wire/hold.h).
 *
 *     corrald <-- the connection --> holder --- GRANTS, ANSWER --> wardens of all sessions
 *                                      |
 *                                the program, which pulls when it makes a call
 *
 * The program connects to corrald, so that corrald sees the program, and hands the connection over;
 * it goes on to send its events there. Orders are carried out here, below what the program declared
 * (live.h), whatever the program does meanwhile. A grant is confirmed when each session has it. A
 * revocation is confirmed when no session has it any more, and when the program that judges calls
 * itself has a NEWS in its socket, which it looks for before each of them.
 *
 * A session that does not confirm in time is let go: its socket is closed, and a warden that has
 * grants and no holder ends (warden/warden.c). The same becomes of all sessions if the holder dies.
 */

struct holder_process;

/* The process is confined by now. control: the socket to the program, non-blocking; host: a pidfd
 * of it, or -1. Both stay the caller's. */
int serve_new(struct holder_process **ret, int control, int host);
void serve_free(struct holder_process *s);
/* One turn of its loop, of so many milliseconds at most (-1: for ever). 1: it goes on. 0: the
 * program has ended, hung up, or broke the protocol. Negative: the loop is broken. */
int serve_turn(struct holder_process *s, int most);
