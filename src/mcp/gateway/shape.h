/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What arguments look like: a part of JSON Schema 2020-12, as the rules of a gateway have it.
 *
 *     type, const, enum
 *     minimum, maximum, exclusiveMinimum, exclusiveMaximum
 *     minLength, maxLength, pattern
 *     items, minItems, maxItems
 *     properties, required, additionalProperties, minProperties, maxProperties
 *     allOf, anyOf, oneOf, not
 *     title, description, $comment: say nothing
 *
 * Any other keyword is an error, where JSON Schema ignores it: in a rule a typo must not mean
 * "anything". There are no references, so the time is bounded by the size of both.
 */
#include <stdbool.h>

#include "base/error.h"
#include "codec/node.h"

/* Whether it is such a schema. -EINVAL with the place in d. */
int shape_check(const struct node *schema, const struct document *d, struct error *e);
/* Of a schema that was checked. */
bool shape_fits(const struct node *schema, const struct node *value);
