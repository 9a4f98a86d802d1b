#!/usr/bin/env -S bash -e
# SPDX-License-Identifier: Apache-2.0
echo "other: $0 $*"
