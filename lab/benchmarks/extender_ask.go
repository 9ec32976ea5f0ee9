// Asks scheduler extenders in turn with Go's HTTP client, as kube-scheduler does, and times each answer: from sending
// the prepared request to the last byte of the answer.
//
// Usage    extender_ask PER_SECOND REQUESTS NAMES URL... <file-with-a-JSON-list-of-names
// Gives    one line of JSON with, per URL: URL, names, requests, failures (answers without one entry per name), p50_ms,
//
//	p99_ms, max_ms
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strconv"
	"time"
)

// Pod of a Deployment as kube-scheduler sends it. The two %s and the %d take the pod's number.
const pod = `{"metadata":{"name":"web-6d4b75cb6d-%s","generateName":"web-6d4b75cb6d-","namespace":"default","uid":"%s","resourceVersion":"%d",
"creationTimestamp":"2026-01-05T10:00:00Z","labels":{"app":"web","pod-template-hash":"6d4b75cb6d"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-6d4b75cb6d","uid":"00000000-0000-4000-8000-000000000001","controller":true,"blockOwnerDeletion":true}]},
"spec":{"volumes":[{"name":"kube-api-access","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},
{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}}],"defaultMode":420}}],
"containers":[{"name":"web","image":"nginx:1.27","ports":[{"containerPort":80,"protocol":"TCP"}],"resources":{"requests":{"cpu":"20m","memory":"16Mi"}},
"volumeMounts":[{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],
"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default",
"securityContext":{},"schedulerName":"wattle","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},"status":{"phase":"Pending","qosClass":"Burstable"}}`

type result struct {
	URL      string  `json:"url"`
	Names    int     `json:"names"`
	Requests int     `json:"requests"`
	Failures int     `json:"failures"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Max      float64 `json:"max_ms"`
	Named    float64 `json:"named"` // mean number of nodes that an answer scores
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil || value < 1 {
		fmt.Fprintln(os.Stderr, "extender_ask: "+text+" is not a number above 0")
		os.Exit(2)
	}
	return value
}

func ask(client *http.Client, url string, body []byte, names int) (float64, int, bool) {
	begun := time.Now()
	answer, err := client.Post(url+"/prioritize", "application/json", bytes.NewReader(body))
	if err != nil {
		return 0, 0, false
	}
	text, err := io.ReadAll(answer.Body)
	took := time.Since(begun).Seconds() * 1e3
	answer.Body.Close()
	var scores []struct {
		Host  string
		Score int64
	}
	fine := err == nil && answer.StatusCode == 200 && json.Unmarshal(text, &scores) == nil && len(scores) <= names
	return took, len(scores), fine
}

func main() {
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: extender_ask PER_SECOND REQUESTS NAMES URL... <NAMES-AS-JSON")
		os.Exit(2)
	}
	pace, requests, count, urls := number(os.Args[1]), number(os.Args[2]), number(os.Args[3]), os.Args[4:]
	var names []string
	if err := json.NewDecoder(os.Stdin).Decode(&names); err != nil || len(names) < count {
		fmt.Fprintln(os.Stderr, "extender_ask: stdin has no JSON list with that many names")
		os.Exit(2)
	}
	list, _ := json.Marshal(names[:count])
	client := &http.Client{}
	times := make([][]float64, len(urls))
	failures := make([]int, len(urls))
	named := make([]int, len(urls))
	tick := time.NewTicker(time.Second / time.Duration(pace))
	const warmUp = 20
	for i := 0; i < requests+warmUp; i++ {
		uid := fmt.Sprintf("%08x-0000-4000-8000-%012x", os.Getpid(), i)
		body := []byte(`{"Pod":` + fmt.Sprintf(pod, uid[24:], uid, i) + `,"Nodes":null,"NodeNames":` + string(list) + `}`)
		for u, url := range urls {
			<-tick.C
			took, scored, fine := ask(client, url, body, count)
			if i < warmUp {
				continue
			}
			if fine {
				times[u] = append(times[u], took)
				named[u] += scored
			} else {
				failures[u]++
			}
		}
	}
	for u, url := range urls {
		sort.Float64s(times[u])
		out := result{URL: url, Names: count, Requests: requests, Failures: failures[u]}
		if last := len(times[u]) - 1; last >= 0 {
			out.P50, out.P99, out.Max = times[u][last/2], times[u][last*99/100], times[u][last]
			out.Named = float64(named[u]) / float64(len(times[u]))
		}
		line, _ := json.Marshal(out)
		fmt.Println(string(line))
	}
}
