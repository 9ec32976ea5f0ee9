package provider

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"wattle.dev/autoscaler/wire"
)

// world has an API server with Nodes, a controller with their states, and the provider over TLS.
type world struct {
	t       *testing.T
	dir     string
	mutex   sync.Mutex
	mode    string
	planned bool
	pending bool // a wake begins later
	states  map[string]string
	nodes   corev1.NodeList
	orders  []string
	answers []int // statuses of the next orders; without one an order succeeds
	address string
	config  *Config
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), mode: "auto", planned: true, states: map[string]string{}}
	for i := 1; i <= 4; i++ {
		name := fmt.Sprintf("n%d", i)
		w.nodes.Items = append(w.nodes.Items, *aNode(name, "32768000Ki"))
		w.states[name] = "asleep"
	}
	w.states["n1"] = "awake"
	w.nodes.Items[3].Spec.ProviderID = ""
	makeCertificates(t, w.dir)
	for _, token := range []string{"api", "reader", "operator"} {
		w.write(token, token+"-token")
	}
	api, ours := httptest.NewServer(http.HandlerFunc(w.apiServer)), httptest.NewServer(http.HandlerFunc(w.wattle))
	t.Cleanup(api.Close)
	t.Cleanup(ours.Close)
	w.write("provider.yaml", fmt.Sprintf(`
listen: 127.0.0.1:0
tls: {certificate: %[1]s/server.crt, key: %[1]s/server.key, client_ca: %[1]s/ca.crt}
controller: {server: %[2]s, token: %[1]s/reader, operator_token: %[1]s/operator}
kubernetes: {server: %[3]s, token: %[1]s/api}
`, w.dir, ours.URL, api.URL))
	config, err := ReadConfig(filepath.Join(w.dir, "provider.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.config = config
	w.serve()
	return w
}

func (w *world) serve() {
	provider, err := New(w.config, slog.New(slog.DiscardHandler))
	if err != nil {
		w.t.Fatal(err)
	}
	listener, err := net.Listen("tcp", w.config.Listen)
	if err != nil {
		w.t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(w.config.ServerTLS())))
	wire.Register(server, provider)
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(server.Stop)
	w.address = listener.Addr().String()
}

func (w *world) write(name, text string) {
	if err := os.WriteFile(filepath.Join(w.dir, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) apiServer(out http.ResponseWriter, request *http.Request) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if request.Header.Get("Authorization") != "Bearer api-token" || request.URL.Path != "/api/v1/nodes" {
		out.WriteHeader(http.StatusForbidden)
		return
	}
	list, _ := w.nodes.Marshal()
	envelope, _ := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, Raw: list}).Marshal()
	_, _ = out.Write(append([]byte("k8s\x00"), envelope...))
}

func (w *world) wattle(out http.ResponseWriter, request *http.Request) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if request.Method == http.MethodGet {
		if request.Header.Get("Authorization") != "Bearer reader-token" {
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = out.Write(w.document())
		return
	}
	var order struct{ Order, Node string }
	if request.Header.Get("Authorization") != "Bearer operator-token" || json.NewDecoder(request.Body).Decode(&order) != nil {
		out.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.orders = append(w.orders, order.Order+" "+order.Node)
	if len(w.answers) > 0 {
		answer := w.answers[0]
		w.answers = w.answers[1:]
		if answer != http.StatusOK {
			out.WriteHeader(answer)
			_, _ = out.Write([]byte(`{"error": "node n1: stays awake: it is the last"}`))
			return
		}
	}
	if order.Order == "sleep-wake" && w.pending {
		_, _ = out.Write([]byte("{}"))
		return
	}
	w.states[order.Node] = map[string]string{"sleep-wake": "waking", "sleep-empty": "suspending"}[order.Order]
	_, _ = out.Write([]byte("{}"))
}

func (w *world) document() []byte {
	document := map[string]any{"mode": w.mode, "age_s": nil, "sleep": []any{}}
	if w.planned {
		document["age_s"] = 1.5
	}
	awake, nodes := []any{}, []any{}
	for i := range w.nodes.Items {
		name := w.nodes.Items[i].Name
		nodes = append(nodes, map[string]any{"name": name, "state": w.states[name], "since_wall_s": 100 - i, "operation": i})
		if w.states[name] == "awake" {
			awake = append(awake, map[string]any{"name": name, "cause": "spare"})
		}
	}
	document["awake"], document["nodes"] = awake, nodes
	text, _ := json.Marshal(document)
	return text
}

func (w *world) connect(certificate string) *grpc.ClientConn {
	ca, _ := os.ReadFile(filepath.Join(w.dir, "ca.crt"))
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	settings := &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(filepath.Join(w.dir, certificate+".crt"), filepath.Join(w.dir, certificate+".key"))
		if err != nil {
			w.t.Fatal(err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	connection, err := grpc.NewClient(w.address, grpc.WithTransportCredentials(credentials.NewTLS(settings)))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = connection.Close() })
	return connection
}

type client struct {
	*world
	connection *grpc.ClientConn
}

func (c client) call(method string, request, answer any) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return c.connection.Invoke(ctx, "/"+wire.Service+"/"+method, request, answer)
}

func (c client) must(method string, request, answer any) {
	c.t.Helper()
	if err := c.call(method, request, answer); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

// group refreshes, and returns the only group.
func (c client) group() *wire.NodeGroup {
	c.t.Helper()
	c.must("Refresh", &wire.Empty{}, &wire.Empty{})
	answer := &wire.NodeGroups{}
	c.must("NodeGroups", &wire.Empty{}, answer)
	if len(answer.NodeGroups) != 1 {
		c.t.Fatalf("groups %v", answer.NodeGroups)
	}
	return answer.NodeGroups[0]
}

func (c client) target(id string) int {
	c.t.Helper()
	answer := &wire.TargetSize{}
	c.must("NodeGroupTargetSize", &wire.GroupRequest{ID: id}, answer)
	return int(answer.TargetSize)
}

func (c client) groupOf(node string) string {
	c.t.Helper()
	answer := &wire.NodeGroupAnswer{}
	c.must("NodeGroupForNode", &wire.NodeRequest{Node: &wire.Node{Name: node}}, answer)
	return answer.NodeGroup.ID
}

func (c client) fails(code codes.Code, words, method string, request any) {
	c.t.Helper()
	err := c.call(method, request, &wire.Empty{})
	if status.Code(err) != code || !strings.Contains(err.Error(), words) {
		c.t.Errorf("%s: %v, want %v with %q", method, err, code, words)
	}
}

func newClient(t *testing.T) client {
	w := newWorld(t)
	return client{w, w.connect("client")}
}

func TestSleepersCountOnlyOnceTheyAreToWake(t *testing.T) {
	c := newClient(t)
	group := c.group()
	if group.MinSize != 0 || group.MaxSize != 4 || c.target(group.ID) != 1 {
		t.Errorf("group %+v, target %d", group, c.target(group.ID))
	}
	if c.groupOf("n1") != group.ID || c.groupOf("n2") != "" || c.groupOf("n9") != "" {
		t.Errorf("groups %q, %q, %q", c.groupOf("n1"), c.groupOf("n2"), c.groupOf("n9"))
	}
	increase := &wire.SizeRequest{ID: group.ID, Delta: 2}
	c.must("NodeGroupIncreaseSize", increase, &wire.Empty{})
	if fmt.Sprint(c.orders) != "[sleep-wake n4 sleep-wake n3]" { // those that sleep longest
		t.Errorf("orders %v", c.orders)
	}
	if c.target(group.ID) != 3 || c.groupOf("n4") != "" {
		t.Errorf("target %d, and n4 is in group %q while it wakes", c.target(group.ID), c.groupOf("n4"))
	}
	c.must("NodeGroupIncreaseSize", increase, &wire.Empty{})
	if len(c.orders) != 2 {
		t.Errorf("a repeated call wakes more: %v", c.orders)
	}
	instances := &wire.Instances{}
	c.must("NodeGroupNodes", &wire.GroupRequest{ID: group.ID}, instances)
	if len(instances.Instances) != 2 || instances.Instances[0].ID != "metal://n1" || instances.Instances[1].Status.State != wire.InstanceCreating {
		t.Errorf("instances %+v", instances.Instances)
	}
	c.group()
	c.fails(codes.ResourceExhausted, "2 nodes are to wake, and 1 sleep", "NodeGroupIncreaseSize", increase)
	if len(c.orders) != 2 {
		t.Errorf("a call that cannot succeed wakes a part: %v", c.orders)
	}
}

func TestANodeThatMustFallAsleepFirstCountsAsWaking(t *testing.T) {
	c := newClient(t)
	c.pending = true
	group := c.group()
	for range 2 {
		c.must("NodeGroupIncreaseSize", &wire.SizeRequest{ID: group.ID, Delta: 1}, &wire.Empty{})
		if len(c.orders) != 1 || c.target(group.ID) != 2 {
			t.Errorf("orders %v, target %d", c.orders, c.target(group.ID))
		}
	}
	if again := c.group(); c.target(group.ID) != 2 || again.MaxSize != 4 {
		t.Errorf("target %d of %d", c.target(group.ID), again.MaxSize)
	}
	c.must("NodeGroupDecreaseTargetSize", &wire.SizeRequest{ID: group.ID, Delta: -1}, &wire.Empty{})
	if again := c.group(); c.target(group.ID) != 1 || again.MaxSize != 4 {
		t.Errorf("given up: target %d of %d", c.target(group.ID), again.MaxSize)
	}
}

func TestANodeThatWattleWokeMeanwhileCounts(t *testing.T) {
	c := newClient(t)
	group := c.group()
	c.states["n3"] = "waking"
	c.must("NodeGroupIncreaseSize", &wire.SizeRequest{ID: group.ID, Delta: 1}, &wire.Empty{})
	if len(c.orders) != 0 || c.target(group.ID) != 2 {
		t.Errorf("orders %v, target %d", c.orders, c.target(group.ID))
	}
}

func TestADrainedNodeSleepsIfThePlanAgrees(t *testing.T) {
	c := newClient(t)
	c.states["n2"] = "awake"
	group := c.group()
	both := &wire.DeleteRequest{ID: group.ID, Nodes: []*wire.Node{{Name: "n2"}, {Name: "n3"}}}
	c.answers = []int{503, 503, 200}
	c.must("NodeGroupDeleteNodes", both, &wire.Empty{})
	if fmt.Sprint(c.orders) != "[sleep-empty n2 sleep-empty n2 sleep-empty n2 sleep-empty n3]" {
		t.Errorf("orders %v", c.orders)
	}
	if c.target(group.ID) != 1 || c.groupOf("n2") != "" {
		t.Errorf("target %d, and n2 is in group %q", c.target(group.ID), c.groupOf("n2"))
	}
	c.must("NodeGroupDeleteNodes", both, &wire.Empty{})
	c.answers = []int{409}
	one := &wire.DeleteRequest{ID: group.ID, Nodes: []*wire.Node{{Name: "n1"}}}
	c.fails(codes.FailedPrecondition, "stays awake: it is the last", "NodeGroupDeleteNodes", one)
	count := len(c.orders)
	c.fails(codes.InvalidArgument, `node "n9" is not in group`, "NodeGroupDeleteNodes",
		&wire.DeleteRequest{ID: group.ID, Nodes: []*wire.Node{{Name: "n1"}, {Name: "n9"}}})
	if len(c.orders) != count {
		t.Errorf("a call with a stranger orders a part: %v", c.orders)
	}
}

func TestAnOrderWithoutADecisionEndsWithTheCall(t *testing.T) {
	c := newClient(t)
	group := c.group()
	for range 1000 {
		c.answers = append(c.answers, 503)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := c.connection.Invoke(ctx, "/"+wire.Service+"/NodeGroupDeleteNodes",
		&wire.DeleteRequest{ID: group.ID, Nodes: []*wire.Node{{Name: "n1"}}}, &wire.Empty{})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("%v", err)
	}
}

func TestADecreaseGivesUpWakesOnly(t *testing.T) {
	c := newClient(t)
	c.states["n2"], c.states["n3"] = "waking", "probation"
	group := c.group()
	c.fails(codes.FailedPrecondition, "only 2 wake", "NodeGroupDecreaseTargetSize", &wire.SizeRequest{ID: group.ID, Delta: -3})
	c.fails(codes.InvalidArgument, "a decrease is negative", "NodeGroupDecreaseTargetSize", &wire.SizeRequest{ID: group.ID, Delta: 1})
	c.fails(codes.InvalidArgument, "an increase is positive", "NodeGroupIncreaseSize", &wire.SizeRequest{ID: group.ID})
	c.must("NodeGroupDecreaseTargetSize", &wire.SizeRequest{ID: group.ID, Delta: -1}, &wire.Empty{})
	c.group()
	if c.target(group.ID) != 2 {
		t.Errorf("target %d", c.target(group.ID))
	}
	c.states["n2"], c.states["n3"] = "awake", "awake"
	c.group()
	if c.target(group.ID) != 3 || len(c.orders) != 0 {
		t.Errorf("target %d once they run, orders %v", c.target(group.ID), c.orders)
	}
}

func TestNoCallAnswersFromAnOldRefresh(t *testing.T) {
	c := newClient(t)
	c.fails(codes.Unavailable, "the last Refresh failed", "NodeGroups", &wire.Empty{})
	id := c.group().ID
	c.mode = "recommend"
	c.fails(codes.Unavailable, "set the controller's sleep.mode: auto", "Refresh", &wire.Empty{})
	for _, method := range []string{"NodeGroupTargetSize", "NodeGroupIncreaseSize", "NodeGroupDeleteNodes", "NodeGroupNodes"} {
		request := any(&wire.GroupRequest{ID: id})
		if method == "NodeGroupIncreaseSize" {
			request = &wire.SizeRequest{ID: id, Delta: 1}
		} else if method == "NodeGroupDeleteNodes" {
			request = &wire.DeleteRequest{ID: id}
		}
		c.fails(codes.Unavailable, "the last Refresh failed", method, request)
	}
	c.mode, c.planned = "auto", false
	c.fails(codes.Unavailable, "no sleep plan yet", "Refresh", &wire.Empty{})
	c.planned = true
	c.write("reader", "another")
	c.fails(codes.Unavailable, "rejects the token", "Refresh", &wire.Empty{})
	c.write("api", "another")
	c.fails(codes.Unavailable, "the verb list on nodes", "Refresh", &wire.Empty{})
	c.write("reader", "reader-token\n")
	c.write("api", "api-token\n")
	c.group()
	c.fails(codes.NotFound, "no node is in it", "NodeGroupTargetSize", &wire.GroupRequest{ID: "x"})
	c.fails(codes.Unimplemented, "", "PricingNodePrice", &wire.Empty{})
}

func TestATemplateIsANodeOnTheWire(t *testing.T) {
	c := newClient(t)
	group, template, node := c.group(), &wire.Template{}, &corev1.Node{}
	c.must("NodeGroupTemplateNodeInfo", &wire.GroupRequest{ID: group.ID}, template)
	if err := node.Unmarshal(template.NodeBytes); err != nil || node.Status.Allocatable.Cpu().String() != "8" {
		t.Errorf("%v: %+v", err, node)
	}
	if string(template.Node) != string(template.NodeBytes) {
		t.Error("clients of both versions do not get the same node")
	}
}

func TestOnlyClientsWithACertificateOfTheCAAreServed(t *testing.T) {
	w := newWorld(t)
	for _, certificate := range []string{"", "stranger"} {
		if err := (client{w, w.connect(certificate)}).call("Refresh", &wire.Empty{}, &wire.Empty{}); status.Code(err) != codes.Unavailable {
			t.Errorf("certificate %q: %v", certificate, err)
		}
	}
	client{w, w.connect("client")}.group()
}

func TestAConfigurationReportsAllMistakesWithAFix(t *testing.T) {
	w := newWorld(t)
	path := filepath.Join(w.dir, "wrong.yaml")
	for text, words := range map[string][]string{
		"listen: 8086\ncontroller: {server: \"http://example.org\"}\nkubernetes: {server: x, token: /nowhere}\n": {
			"listen: is not HOST:PORT", "tls.certificate: is missing", "tls.client_ca: is missing", "sent unencrypted",
			"controller.operator_token: is missing", "kubernetes.server: is not a URL", "/nowhere"},
		"listen: a:1\nlisten: a:2\n":   {"already set"},
		"listens: a:1\n":               {"listens"},
		"tls: {insecure: true}\n":      {"insecure"},
		"tls: {certificate: [a, b]}\n": {"certificate"},
	} {
		w.write("wrong.yaml", text)
		_, err := ReadConfig(path)
		for _, each := range words {
			if err == nil || !strings.Contains(err.Error(), each) || !strings.Contains(err.Error(), path) {
				t.Errorf("%q: %v, want %q", text, err, each)
			}
		}
	}
	text, _ := os.ReadFile(filepath.Join(w.dir, "provider.yaml"))
	w.write("wrong.yaml", strings.Replace(string(text), "ca.crt", "operator", 1))
	if _, err := ReadConfig(path); err == nil || !strings.Contains(err.Error(), "has no certificate in PEM") {
		t.Errorf("%v", err)
	}
}

// makeCertificates writes a CA with certificates of server and client, and a client's of another CA.
func makeCertificates(t *testing.T, dir string) {
	now := time.Now()
	write := func(name, kind string, bytes []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	make := func(name string, ca bool, by *x509.Certificate, byKey *ecdsa.PrivateKey) (*x509.Certificate, *ecdsa.PrivateKey) {
		key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		certificate := &x509.Certificate{SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
			NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: ca, BasicConstraintsValid: true,
			KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
		if by == nil {
			by, byKey = certificate, key
		}
		bytes, err := x509.CreateCertificate(rand.Reader, certificate, by, &key.PublicKey, byKey)
		if err != nil {
			t.Fatal(err)
		}
		encoded, _ := x509.MarshalECPrivateKey(key)
		write(name+".crt", "CERTIFICATE", bytes)
		write(name+".key", "EC PRIVATE KEY", encoded)
		return certificate, key
	}
	ca, key := make("ca", true, nil, nil)
	make("server", false, ca, key)
	make("client", false, ca, key)
	foreign, foreignKey := make("foreign", true, nil, nil)
	make("stranger", false, foreign, foreignKey)
}
