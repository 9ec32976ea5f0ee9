// No-op scheduler extender in Go: shows the minimum cost of any extender.
// Answers prioritize with 0 for every name and filter with all names. It parses only the names, and sets
// Content-Length: without it Go sends chunks, which cost kube-scheduler a new connection each.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
)

type args struct {
	NodeNames []string
}

type score struct {
	Host  string
	Score int64
}

func names(r *http.Request) []string {
	var read args
	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &read) != nil {
		return nil
	}
	return read.NodeNames
}

func answer(w http.ResponseWriter, value any) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

func main() {
	http.HandleFunc("/prioritize", func(w http.ResponseWriter, r *http.Request) {
		nodes := names(r)
		scores := make([]score, len(nodes))
		for i, name := range nodes {
			scores[i].Host = name
		}
		answer(w, scores)
	})
	http.HandleFunc("/filter", func(w http.ResponseWriter, r *http.Request) {
		answer(w, map[string]any{"NodeNames": names(r), "FailedNodes": map[string]string{}, "Error": ""})
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	panic(http.Serve(listener, nil))
}
