/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The private places of an enclave, for whoever explains what its file calls would do. */
#include <stdbool.h>

struct corral_enclave;

/*
 * Whether a path leads there, as far as it goes without following a link. For looking only: what is
 * opened then is asked once more.
 */
bool enclave_private_reaches(const struct corral_enclave *enclave, const char *path);
