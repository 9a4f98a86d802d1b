/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The lender of one program of exec.run: `corral vault lend` with what belongs to it (wire/lend.h),
 * which is started when the program may run, and ends after it. So each program has placeholders of
 * its own, that stand for nothing anywhere else and at no other time; and the vault is asked each
 * time, and must be open. No value comes to this process.
 */
#include <stddef.h>
#include <stdint.h>

#include <corral/audit.h>

#include "base/error.h"
#include "event/loop.h"
#include "lib/sandbox/lent.h"
#include "wire/broker.h"

/* At once, of one monitor: each is a few processes. */
enum { LENDING_MAX = 8 };

struct lending;

/* A secret, and the variable that its placeholder is in. */
struct lending_secret {
	const char *name, *variable;
};

/* Who has it started. All of it must live as long as the lending. */
struct lending_owner {
	const struct broker_setup *setup;
	struct corral_audit *audit;
	struct loop *loop;
	_Atomic size_t *n; /* of such programs */
	uint32_t pid;      /* of the caller */
};
/* NULL: out of memory. */
struct lending *lending_new(
	const struct lending_owner *o, const struct lending_secret *secrets, size_t n);
/* How it is shown to a person who is asked: "TOKEN=(secret GITHUB_TOKEN)". */
const char *lending_text(const struct lending *l);
/* In a thread: starts it, and waits until it is ready. As struct enclave_lending has it. */
int lending_start(void *context, const struct sandbox_lent **ret, struct error *e);
/* Why it did not start; NULL: it did, or was not tried. */
const struct error *lending_failure(const struct lending *l);
/* In the loop: takes what it says, so that it never waits; and no more. */
int lending_watch(struct lending *l);
void lending_unwatch(struct lending *l);
/* In a thread: waits until it has recorded all uses, and records what failed. Accepts NULL. */
void lending_free(struct lending *l);
