/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The names of the operations, once. They stand apart from their rows (operation.c) so that a
 * program which only prints or reads names is not linked with the engine.
 */
#include "policy/operation.h"

/* By operation; NULL behind the last: also a list of words. */
extern const char *const operation_names[OPERATION_COUNT + 1];
