// SPDX-License-Identifier: Apache-2.0

// client HOST PORT: a static Go program, with Go's own resolver and TLS.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	client := http.Client{Timeout: 60 * time.Second}
	reply, err := client.Get("https://" + net.JoinHostPort(os.Args[1], os.Args[2]) + "/")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Print(string(text))
}
