/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * FRAME_EVENT: an event of a broker, on its way to the log of the holder of its session. The body
 * is an encoded event (audit/event.h), or empty; the id is how many events before it are missing.
 */
#include "wire/frame.h"

/*
 * Whether the frame has that form; what the body says is not looked at. -EPROTO: it has
 * descriptors, is too long for an event, or says nothing (no event, and none is missing).
 */
int event_check(const struct frame *f);
