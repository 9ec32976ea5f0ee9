package provider

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"reflect"

	"sigs.k8s.io/yaml"
)

// Config is the provider's YAML file.
type Config struct {
	Listen string `json:"listen"` // HOST:PORT
	TLS    struct {
		Certificate string `json:"certificate"`
		Key         string `json:"key"`
		ClientCA    string `json:"client_ca"`
	} `json:"tls"`
	Controller struct {
		Server        string `json:"server"`
		CA            string `json:"ca"`
		Token         string `json:"token"`
		OperatorToken string `json:"operator_token"`
	} `json:"controller"`
	Kubernetes struct {
		Server string `json:"server"`
		CA     string `json:"ca"`
		Token  string `json:"token"`
	} `json:"kubernetes"`
}

const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount/"

// ReadConfig reads a file. Its error lists all mistakes, each with key and fix.
func ReadConfig(path string) (*Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	config := new(Config)
	if err := yaml.UnmarshalStrict(text, config); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	config.inPod()
	if mistakes := config.mistakes(); len(mistakes) > 0 {
		for i, each := range mistakes {
			mistakes[i] = fmt.Errorf("%s: %w", path, each)
		}
		return nil, errors.Join(mistakes...)
	}
	return config, nil
}

// inPod fills the section kubernetes with the service account of the pod, if the section is empty.
func (c *Config) inPod() {
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" || !reflect.ValueOf(c.Kubernetes).IsZero() {
		return
	}
	c.Kubernetes.Server = "https://" + net.JoinHostPort(host, port)
	c.Kubernetes.CA, c.Kubernetes.Token = serviceAccount+"ca.crt", serviceAccount+"token"
}

func (c *Config) mistakes() []error {
	mistakes := []error{}
	add := func(key, what, fix string) { mistakes = append(mistakes, fmt.Errorf("%s: %s (%s)", key, what, fix)) }
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		add("listen", "is not HOST:PORT", "for example 0.0.0.0:8086")
	}
	for _, server := range []struct{ key, url string }{{"controller.server", c.Controller.Server}, {"kubernetes.server", c.Kubernetes.Server}} {
		if parsed, err := url.Parse(server.url); err != nil || parsed.Host == "" || (parsed.Scheme != "https" && parsed.Scheme != "http") {
			add(server.key, "is not a URL", "for example https://HOST:PORT")
		} else if ip := net.ParseIP(parsed.Hostname()); parsed.Scheme == "http" && (ip == nil || !ip.IsLoopback()) {
			add(server.key, "the token would be sent unencrypted", "use https://, or an address of loopback")
		}
	}
	for _, file := range []struct {
		key, path string
		required  bool
	}{{"tls.certificate", c.TLS.Certificate, true}, {"tls.key", c.TLS.Key, true}, {"tls.client_ca", c.TLS.ClientCA, true},
		{"controller.ca", c.Controller.CA, false}, {"controller.token", c.Controller.Token, false},
		{"controller.operator_token", c.Controller.OperatorToken, true}, {"kubernetes.ca", c.Kubernetes.CA, false},
		{"kubernetes.token", c.Kubernetes.Token, true}} {
		if file.path == "" && file.required {
			add(file.key, "is missing", "name a file")
		} else if file.path != "" {
			if _, err := os.ReadFile(file.path); err != nil {
				add(file.key, err.Error(), "name a file that this user may read")
			}
		}
	}
	if len(mistakes) == 0 {
		if _, err := c.serverTLS(); err != nil {
			add("tls", err.Error(), "name files in PEM: a certificate, its key, and the CA of Cluster Autoscaler's certificate")
		}
	}
	return mistakes
}

// ServerTLS returns the settings of the listener. Files are read for each connection, so that renewed certificates need
// no restart. Every client needs a certificate.
func (c *Config) ServerTLS() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequireAndVerifyClientCert,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.serverTLS() }}
}

func (c *Config) serverTLS() (*tls.Config, error) {
	certificate, err := tls.LoadX509KeyPair(c.TLS.Certificate, c.TLS.Key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(c.TLS.ClientCA)
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: has no certificate in PEM", c.TLS.ClientCA)
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients}, nil
}
