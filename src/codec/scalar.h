/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What a bare word (NUL-terminated) means: YAML 1.2's core schema, and the numbers of JSON. */
#include <stdbool.h>

#include "codec/node.h"

/* The type that YAML's core schema gives to a plain scalar: null, bool, number or string. */
enum node_type scalar_type(const char *text);
/* One of the core schema's whole numbers: decimal, 0x…, 0o…. */
bool scalar_is_integer(const char *text);
/* A number in JSON's grammar whose value is a finite double: what json_read() takes. */
bool scalar_is_json_number(const char *text);
