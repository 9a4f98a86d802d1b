/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* For those who hold an enclave for a sandbox that stands, as a broker does. */
#include <corral/enclave.h>

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
