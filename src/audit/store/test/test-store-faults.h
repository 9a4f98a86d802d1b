/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What SQLite's library finds in this program before it finds the C library's. */

#define test_store_faults_sync fdatasync
