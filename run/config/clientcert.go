package config

import (
	"crypto/tls"
	"path/filepath"
	"strings"

	"toolpipe/run/document"
	"toolpipe/run/failure"
)

// A ClientCertificate is the pair client_cert and client_key of an entry in a config: two PEM
// files. The zero value is none.
type ClientCertificate struct{ cert, key pemFile }

type pemFile struct{ key, path string } // key is its position in the config

// ReadKey reads one of the two keys. Paths are relative to the directory of the config file.
func (p *ClientCertificate) ReadKey(m document.Member) error {
	path, err := m.Str()
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(m.Doc.Name()), path)
	}
	file := &p.cert
	if m.Key == "client_key" {
		file = &p.key
	}
	*file = pemFile{m.Place(), path}
	return err
}

// Check refuses a key without a certificate, and a certificate without a key.
func (p *ClientCertificate) Check(entry document.Value) error {
	if (p.cert.path == "") != (p.key.path == "") {
		return entry.Errorf("client_cert and client_key belong together")
	}
	return nil
}

// KeyFile is the path of the private key; "" for none.
func (p *ClientCertificate) KeyFile() string { return p.key.path }

// Load reads the two files; nil for none.
func (p *ClientCertificate) Load(warn Warner) (*tls.Certificate, error) {
	if p.key.path == "" {
		return nil, nil
	}
	cert, err := KeyFile.Read(nil, p.cert.key, p.cert.path, 1<<20, warn)
	if err != nil {
		return nil, err
	}
	key, err := KeyFile.Read(nil, p.key.key, p.key.path, 1<<20, warn)
	if err != nil {
		return nil, err
	}
	WarnReadable(p.key.path, warn)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, failure.Usage("%s: %q with the certificate %q: %s", p.key.key, p.key.path, p.cert.path, strings.TrimPrefix(err.Error(), "tls: "))
	}
	return &pair, nil
}
