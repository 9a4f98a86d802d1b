/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Words of a command line as the parameters of a call, typed by the method's row:
 *
 *     path=/etc/hosts       text, a path, a number, true or false
 *     args=-l args=/tmp     a list: each word adds one
 *     headers.Accept=x      a map: one name each
 *     content=@FILE         from a file; @- is standard input; @@ is a text that begins with @
 *     args:='["-l"]'        any value, as JSON
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "broker/method.h"
#include "codec/node.h"

/*
 * A map of parameters, in the arena. Bytes from a file that are no text become base64 where the
 * method has an `encoding`. What the values may be is checked by whoever reads the request.
 * -EINVAL, -ENOENT and others of the file, -ENOMEM.
 */
int arguments_read(const struct method *m, bool by_shield, const char *const *words, size_t n,
	struct arena *a, struct node **ret, struct error *e);
