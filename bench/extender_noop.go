// A scheduler extender that does nothing, in the scheduler's own language: what any extender costs.
// Answers prioritize with 0 for every name, filter with all names.
package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
)

type args struct {
	NodeNames []string
}

type score struct {
	Host  string
	Score int64
}

func main() {
	read := func(r *http.Request) []string {
		var a args
		_ = json.NewDecoder(r.Body).Decode(&a)
		return a.NodeNames
	}
	http.HandleFunc("/prioritize", func(w http.ResponseWriter, r *http.Request) {
		names := read(r)
		scores := make([]score, len(names))
		for i, name := range names {
			scores[i].Host = name
		}
		_ = json.NewEncoder(w).Encode(scores)
	})
	http.HandleFunc("/filter", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"NodeNames": read(r), "FailedNodes": map[string]string{}, "Error": ""})
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, nil))
}
