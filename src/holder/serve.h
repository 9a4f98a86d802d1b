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

/* The process is confined by now. control: the socket to the program, non-blocking; host: a pidfd
 * of it, or -1. Returns when the program has ended or hung up. */
int serve_holder(int control, int host);
