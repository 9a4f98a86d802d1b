/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* A server on standard input and output in a sandbox, behind a filter (mcp/filter.h). */
struct call;
struct run;

/* Once the command line is understood: what else the run has, and what it runs. Returns 0, or a
 * negative errno with the call's error filled. */
typedef int verb_wrap_prepare(struct run *r);

/* Runs it with the options of `corral run`. prepare: NULL if there is nothing to add. */
int verb_wrap_main(struct call *c, verb_wrap_prepare *prepare);
