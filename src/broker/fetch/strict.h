/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Verification for requests with credentials in them, as corral-inject has it (inject/side.h): by
 * the authorities that are given and no others, with keys, digests and ciphers of 112 bits whatever
 * openssl.cnf says, and the host's name among the alternative names of the certificate. What a host
 * staples of its revocation is not looked at here.
 */
#include <curl/curl.h>
#include <stddef.h>

/* The URL is set. authorities: PEM, which outlives the request. */
CURLcode strict_set_up(CURL *curl, const char *authorities, size_t len);
