/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* fs_read, fs_write and fs_list: files as text or base64, below what the policy grants. */
#include "daemon/enclave/bridge.h"
#include "daemon/enclave/reply.h"

void files_read(struct bridge *b, struct reply *c);
void files_write(struct bridge *b, struct reply *c);
void files_list(struct bridge *b, struct reply *c);
