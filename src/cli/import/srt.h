/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What srt and Claude Code have in common. */
#include "cli/import/internal.h"

void import_srt_network(struct importing *im, const struct node *n);
void import_srt_filesystem(struct importing *im, const struct node *n);
/* That reads are not open as they are there. */
void import_srt_reads_note(struct importing *im, const struct node *root);
