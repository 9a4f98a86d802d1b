/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Java's list of authorities, a file in the form JKS, from certificates in PEM. All of Java's
 * versions read it, whatever the name of the file says. It ends with a digest over what stands
 * before it and a password, which is everybody's: "changeit".
 */
#include <stddef.h>

#include "base/buffer.h"

/*
 * Appends a list of the certificates in `pem`, and of those in `list`, the bytes of another JKS.
 * -EINVAL: `list` is none of version 2, or has no room for more, or `pem` has no certificate, or
 * one that cannot be read; -ENOMEM. What is behind the head of `list` is taken as it is.
 */
int keystore_print(const char *pem, const char *list, size_t len, struct buffer *out);
