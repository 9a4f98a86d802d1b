/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a fork of the host program has of it, and must not keep: the words it was called with, which
 * anybody may read in /proc/PID/cmdline (a command would see in that of its init the paths and the
 * policy that the host was given), its variables, which may be secrets, and its ways with signals.
 */

/* Of main(): where the words lie. Who does not say so has them looked up in /proc. */
void inherited_words(int argc, char *const *argv);
/* Overwrites this process's own copy of the words, which must not be used any more; the process's
 * name (PR_GET_NAME) takes their place. May need the host's /proc. */
int inherited_erase_words(void);
/* Overwrites the variables; there are none from here on. */
void inherited_erase_variables(void);
/*
 * The signal has its default action. Also signals 32 and 33, which signal() and sigaction() refuse
 * because the C library uses them: a host that ignored them would hand that on through exec().
 */
void inherited_reset_signal(int number);
/* All signals have their default actions. */
void inherited_reset_signals(void);
