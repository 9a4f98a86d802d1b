/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* The OpenAPI 3.1 document of the daemon's API, printed from the table of routes. */
struct buffer;

void openapi_print(struct buffer *out, const char *version);
