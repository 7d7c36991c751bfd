package network

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/fault"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// authority makes a self-signed certificate and its key, as DER.
func authority(t *testing.T, subject pkix.Name) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(77), Subject: subject, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	cert, err = x509.CreateCertificate(rand.Reader, tmpl, tmpl, &private.PublicKey, private)
	must(t, err)
	key, err = x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	return cert, key
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// covers: K7
func TestCertificates(t *testing.T) {
	one, key := authority(t, pkix.Name{CommonName: "ACME  Proxy\nCA"})
	two, _ := authority(t, pkix.Name{Organization: []string{"例会社"}}) //nolint:misspell // the name of the field
	three, _ := authority(t, pkix.Name{})
	onePEM, twoPEM := block("CERTIFICATE", one), block("CERTIFICATE", two)
	for name, c := range map[string]struct {
		file     []byte
		subjects []string
		detail   string
	}{
		"two, with words between":  {slicesOf("# ours\n", onePEM, "Bag Attributes\n  friendlyName: x\n", twoPEM), []string{"ACME Proxy CA", "O=例会社"}, ""},
		"CRLF":                     {bytes.ReplaceAll(onePEM, []byte("\n"), []byte("\r\n")), []string{"ACME Proxy CA"}, ""},
		"DER":                      {one, []string{"ACME Proxy CA"}, ""},
		"no name":                  {block("CERTIFICATE", three), []string{"77"}, ""},
		"other blocks":             {slicesOf(block("X509 CRL", []byte("x")), onePEM), []string{"ACME Proxy CA"}, ""},
		"empty":                    {nil, nil, NoCertificate},
		"text":                     {[]byte("nothing of it\n"), nil, NoCertificate},
		"DER of something else":    {key, nil, NoCertificate},
		"a request alone":          {block("CERTIFICATE REQUEST", []byte("x")), nil, NoCertificate},
		"broken":                   {slicesOf(onePEM, block("CERTIFICATE", []byte("x"))), nil, BadCertificate},
		"key first":                {slicesOf(block("PRIVATE KEY", key), onePEM), nil, PrivateKey},
		"key last":                 {slicesOf(onePEM, block("EC PRIVATE KEY", key)), nil, PrivateKey},
		"encrypted key":            {slicesOf(onePEM, block("ENCRYPTED PRIVATE KEY", key)), nil, PrivateKey},
		"OpenSSH key":              {slicesOf(onePEM, block("OPENSSH PRIVATE KEY", key)), nil, PrivateKey},
		"key after a long line":    {slicesOf(strings.Repeat("x", 4090), block("RSA PRIVATE KEY", key)), nil, PrivateKey},
		"key with CR alone":        {bytes.ReplaceAll(slicesOf(strings.Repeat("x\n", 5000), block("PRIVATE KEY", key)), []byte("\n"), []byte("\r")), nil, PrivateKey},
		"key after a broken block": {slicesOf("-----BEGIN CERTIFICATE-----\n", block("PRIVATE KEY", key)), nil, PrivateKey},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "ca.pem")
			must(t, os.WriteFile(path, c.file, 0o600))
			got, err := New(Config{}).Certificates(t.Context(), path)
			if c.detail != "" {
				f := fault.From(err)
				if f == nil || f.Code != fault.InvalidInput || f.Detail != c.detail || got.PEM != nil {
					t.Fatalf("%+v, %v", got, err)
				}
				return
			}
			must(t, err)
			if d := cmp.Diff(c.subjects, got.Subjects); d != "" {
				t.Error(d)
			}
			// Nothing but certificates goes on from here.
			if n := bytes.Count(got.PEM, []byte("-----BEGIN CERTIFICATE-----")); n != len(c.subjects) || !x509.NewCertPool().AppendCertsFromPEM(got.PEM) ||
				bytes.Contains(got.PEM, []byte("friendlyName")) {
				t.Errorf("%d certificates in\n%s", n, got.PEM)
			}
		})
	}
}

func slicesOf(parts ...any) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		switch p := p.(type) {
		case string:
			b.WriteString(p)
		case []byte:
			b.Write(p)
		}
	}
	return b.Bytes()
}

func TestCertificates_FilesThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	large := filepath.Join(dir, "large")
	must(t, os.WriteFile(large, make([]byte, MaxCertificates+1), 0o600))
	for path, code := range map[string]fault.Code{
		filepath.Join(dir, "none"):      fault.NotFound,
		filepath.Join(large, "below"):   fault.NotFound,
		filepath.Join(dir, "nul\x00in"): fault.NotFound,
		dir:                             fault.NotAFile,
		large:                           fault.TooLarge,
	} {
		_, err := New(Config{}).Certificates(t.Context(), path)
		if f := fault.From(err); f == nil || f.Code != code || f.Detail != path {
			t.Errorf("%q: %v", path, err)
		}
	}
	// One that grows while it is read.
	if _, err := readText(bytes.NewReader(make([]byte, MaxCertificates+1))); fault.CodeOf(err) != fault.TooLarge {
		t.Errorf("grown: %v", err)
	}
	if _, err := readText(iotest.ErrReader(os.ErrClosed)); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("unreadable: %v", err)
	}
	r := New(Config{})
	r.Close()
	if _, err := r.Certificates(t.Context(), large); fault.CodeOf(err) != fault.Cancelled {
		t.Errorf("closed: %v", err)
	}
}

// What follows the line that begins a key is not asked for.
func TestCertificates_AKeyIsNotRead(t *testing.T) {
	_, key := authority(t, pkix.Name{})
	in := &counting{from: bytes.NewReader(slicesOf(block("PRIVATE KEY", key), make([]byte, 64<<10)))}
	if _, err := readText(in); fault.CodeOf(err) != fault.InvalidInput || in.read > 4096 {
		t.Errorf("read %d bytes, %v", in.read, err)
	}
}

type counting struct {
	from *bytes.Reader
	read int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	c.read += n
	return n, err
}
