/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The tables of a log. There are two, and nothing else may be in the file: no index, no trigger, no
 * view that could stand in for a table. A record's event is the bytes that were hashed; no column
 * repeats a field of it, because no hash would cover the copy.
 */
#include "audit/store/sql.h"

/* Inside a transaction of the caller. */
int schema_create(struct sql *s, struct error *e);
/* 1: there is nothing in the file yet. -EBADMSG: it is no log of this format. */
int schema_check(struct sql *s, struct error *e);
