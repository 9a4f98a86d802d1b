/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/seatbelt/basics.h"

#include <stddef.h>

const char *const seatbelt_basics[] = {
	"(allow process-fork)",
	"(allow process-info* (target same-sandbox))",
	"(allow signal (target same-sandbox))",
	"(allow sysctl-read)",
	"(allow file-read-metadata (literal \"/etc\") (literal \"/tmp\") (literal \"/var\"))",
	"(allow file-read*",
	"  (literal \"/\")",
	"  (literal \"/dev/random\")",
	"  (literal \"/dev/urandom\")",
	"  (literal \"/private/etc/localtime\")",
	"  (subpath \"/Library/Apple\")",
	"  (subpath \"/System\")",
	"  (subpath \"/private/var/db/dyld\")",
	"  (subpath \"/private/var/db/timezone\")",
	"  (subpath \"/usr/lib\")",
	"  (subpath \"/usr/share\"))",
	"(allow file-read* file-write* file-ioctl",
	"  (literal \"/dev/dtracehelper\")",
	"  (literal \"/dev/null\")",
	"  (literal \"/dev/tty\")",
	"  (literal \"/dev/zero\")",
	"  (subpath \"/dev/fd\"))",
	"(allow ipc-posix-shm-read-data (ipc-posix-name \"apple.shm.notification_center\"))",
	"(allow mach-lookup",
	"  (global-name \"com.apple.bsd.dirhelper\")",
	"  (global-name \"com.apple.logd\")",
	"  (global-name \"com.apple.system.logger\")",
	"  (global-name \"com.apple.system.notification_center\")",
	"  (global-name \"com.apple.system.opendirectoryd.libinfo\"))",
	NULL,
};

const char *const seatbelt_basics_network[] = {
	"; Seatbelt knows no networks: private addresses are reached too, but not this machine",
	"(allow network-outbound (literal \"/private/var/run/mDNSResponder\"))",
	"(allow file-read*",
	"  (literal \"/private/etc/hosts\")",
	"  (literal \"/private/etc/services\")",
	"  (literal \"/private/var/run/resolv.conf\")",
	"  (subpath \"/private/etc/ssl\"))",
	"(allow mach-lookup",
	"  (global-name \"com.apple.SystemConfiguration.DNSConfiguration\")",
	"  (global-name \"com.apple.SystemConfiguration.configd\")",
	"  (global-name \"com.apple.dnssd.service\")",
	"  (global-name \"com.apple.networkd\")",
	"  (global-name \"com.apple.trustd.agent\"))",
	NULL,
};

const char *const seatbelt_basics_writes[] = {
	"(literal \"/dev/dtracehelper\")",
	"(literal \"/dev/null\")",
	"(literal \"/dev/ptmx\")",
	"(literal \"/dev/zero\")",
	"(regex #\"^/dev/tty[^/]*$\")",
	"(subpath \"/dev/fd\")",
	"(subpath \"/private/tmp\")",
	"(subpath \"/private/var/folders\")",
	NULL,
};
