/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a command did on the network, and what it was kept from, as the session reported it. The
 * same thing again is counted. A command can make up any number of names, so what is kept has a
 * bound; what is beyond it is only counted.
 */
#include "base/arena.h"
#include "cli/output.h"
#include "policy/policy.h"
#include "wire/record.h"

enum { RUN_NETWORK_MAX = 1024, RUN_NETWORK_SHOWN = 10 };

struct run_network {
	struct record *items; /* in the order in which they came first; texts in the arena */
	size_t n, cap;
	uint64_t missed; /* denials and failures that were not kept */
};

/* -ENOMEM: it is counted as missed. */
int run_network_add(struct run_network *n, struct arena *a, const struct record *r);
/* Denied although the policy grants the host: its address, or what was said to it, is why. A
 * program may try that for minutes, so it is reported when it happens. */
bool run_network_is_granted(const struct record *r, const struct policy *policy);
struct run;
/* A policy that binds every run forbids it, so that no option helps: why. Else false. */
bool run_network_forbids(const struct run *r, const struct request *q, struct decision *ret);
/* The port that a name was asked for with: as the command line has it, else by the program. */
uint16_t run_network_port(const struct record *r, const char *const *argv, size_t n_argv);
/* A denied name, with the port that it was most likely meant with: why, and what would help. Texts
 * in the arena of the call. -ENOMEM. */
int run_network_complete(const struct run *r, struct record *record);
/* For a person, in one line: the first name that a command without a network asked for. profile: of
 * the run; or NULL. */
void run_network_tell_first(const struct record *r, const char *profile, struct output *o);
/* For a person: what was denied or could not be reached, and what would help. */
void run_network_tell(const struct run_network *n, struct output *o);
/* For a program: a list of objects, each in a line of its own. */
struct json_writer;
void run_network_print(const struct run_network *n, struct json_writer *w, const char *key);
