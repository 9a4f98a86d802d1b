/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a durable log costs: writing it in batches, verifying it. */
#include <stdbool.h>
#include <stdint.h>

#include "audit/event.h"

/* Prints the figures; false: one of them missed its target. sample: the i-th event to write. */
bool audit_store_figures(struct audit_event (*sample)(uint64_t i));
