/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Removes a file, or a folder with all in it. No symbolic link is followed, also if commands change
 * the tree meanwhile; folders that their owner cannot read are opened up first. What cannot be
 * removed is left. folder: as openat(2) has it.
 */
void tree_remove(int folder, const char *name);
