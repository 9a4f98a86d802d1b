// SPDX-License-Identifier: Apache-2.0

// client ORIGIN ROWS: as client.py, by net/http.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
)

type row struct{ Name, Path, How, Field, Before, User string }

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	var rows []row
	kept := [][]byte{}

	fail(json.Unmarshal([]byte(os.Args[2]), &rows))
	for _, r := range rows {
		value, target := os.Getenv(r.Name), os.Args[1]+r.Path
		if r.How == "query" {
			target += "?key=" + url.QueryEscape(value)
		}
		q, err := http.NewRequest("GET", target, nil)
		fail(err)
		if r.How == "basic" {
			q.SetBasicAuth(r.User, value)
		} else if r.How == "header" {
			q.Header.Set(r.Field, r.Before+value)
		}
		answer, err := http.DefaultClient.Do(q)
		fail(err)
		body, err := io.ReadAll(answer.Body)
		fail(err)
		kept = append(kept, body)
	}
	fmt.Println("made", len(kept))
	io.Copy(io.Discard, os.Stdin)
}
