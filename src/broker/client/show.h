/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Answers for people. Text of foreign origin cannot control a terminal; contents are as they are.
 */
#include <stdbool.h>

#include "broker/client/answer.h"
#include "broker/method.h"

/*
 * Prints a result: contents as bytes, lists as lines, the rest as `name: value`. Gives the exit
 * status: that of exec.run's program; 1 for what is a no (policy_check, env.get of a variable that
 * is not set). Negative: it could not be written, or is not what the method's row says.
 */
int show_result(const struct method *m, bool by_shield, const struct client_answer *a);
/* An error, on standard error: the message, what is allowed, the rule, what to do. */
void show_error(const struct client_answer *a);
/* Output of a program as it comes. */
int show_output(const struct client_answer *a);
/* How far a download is, on one line of a terminal. */
void show_progress(const struct client_answer *a);
