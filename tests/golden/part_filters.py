# SPDX-License-Identifier: Apache-2.0
"""The bytes of each seccomp filter, for both architectures, whichever this is."""

import golden


def sections(build):
    yield from golden.printed(build, "filters")
