/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What this processor can do: code that was compiled for one may be none for another. */
struct buffer;

/* Appends bytes that are the same for processors with the same instructions. */
void cpu_features(struct buffer *out);
