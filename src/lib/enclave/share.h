/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* For those who hold an enclave for a sandbox that stands, as a broker does. */
#include <corral/enclave.h>

#include "base/error.h"

struct sandbox_lent;

/*
 * What its sandboxes use counts together with others (wire/ledger.h). The descriptor must outlive
 * the enclave. Before anything is started in one.
 */
void enclave_share(struct corral_enclave *enclave, const int *ledger);
/*
 * Files that a person agreed to, by an answer or by a grant while the sandbox runs, are looked up
 * on the host: its tree was built without them. What was granted from the start, and what is the
 * session's own, stays what the sandbox sees. Before the first call.
 */
void enclave_look_outside(struct corral_enclave *enclave);
/*
 * Takes a question out of the queue without an answer: what it was about is granted now, or no
 * call waits any more. corral_enclave_answers_fd() does not report it. -ENOENT: there is none.
 */
int enclave_drop_question(struct corral_enclave *enclave, uint64_t question);

/*
 * Who is asked from now on, in place of the options' `ask` and of the daemon; `who` is in the log,
 * such as "the client", and must outlive it. NULL, NULL, NULL: as the options said. While no call
 * of the enclave is under way in another thread.
 */
void enclave_ask_by(
	struct corral_enclave *enclave, corral_ask *ask, void *context, const char *who);

/*
 * Secrets of the vault for one command. It gets a sandbox of its own, to which they are lent
 * (lib/sandbox/lent.h); no other command is started in that.
 */
struct enclave_lending {
	/* Which secret is in which variable, as a person who is asked is to see it. */
	const char *text;
	/* Called once, when the command may run, by the thread that starts it. What it gives must
	 * outlive the shell. */
	int (*lend)(void *context, const struct sandbox_lent **ret, struct error *e);
	void *context;
};
/* corral_enclave_shell_start() with secrets; lending may be NULL. */
int enclave_shell_start(struct corral_shell **ret, struct corral_enclave *enclave,
	const struct corral_by *by, const char *const *argv, const struct corral_call *call,
	const struct enclave_lending *lending, struct corral_error **e);
