// SPDX-License-Identifier: Apache-2.0
module.exports = () => 'words from a package';
