package network

import (
	"bufio"
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"galley/backend/fault"
)

// MaxCertificates is the longest file of certificates that is read, in bytes.
const MaxCertificates = 1 << 20

// What can be wrong with a file of certificates, as the Detail of invalid_input.
const (
	// NoCertificate: the file holds none.
	NoCertificate = "no_certificate"
	// BadCertificate: one in it cannot be read.
	BadCertificate = "bad_certificate"
	// PrivateKey: it holds a private key, which belongs nowhere here.
	PrivateKey = "private_key"
)

// Certificates are those of a file, in its order.
type Certificates struct {
	// PEM holds them and nothing else of the file.
	PEM []byte
	// Subjects are whom they were issued to, for a person.
	Subjects []string
}

// Certificates reads the file of certificates that are trusted besides those of
// the system: PEM, or one certificate as DER. It waits at most for the limit.
// Faults: not_found, not_a_file, not_granted and too_large with the path as
// detail; invalid_input with one of the constants above; timeout, cancelled.
func (r *Resolver) Certificates(ctx context.Context, path string) (Certificates, error) {
	const op = "read certificates"
	type result struct {
		certs Certificates
		err   error
	}
	done := make(chan result, 1)
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.wg.Go(func() {
			certs, err := readCertificates(path)
			done <- result{certs, err}
		})
	}
	r.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, r.cfg.Limit)
	defer cancel()
	if closed {
		return Certificates{}, fault.New(fault.Cancelled, op, nil)
	}
	select {
	case got := <-done:
		return got.certs, got.err
	case <-limited.Done():
		if ctx.Err() != nil {
			return Certificates{}, fault.New(fault.Cancelled, op, context.Cause(ctx))
		}
		return Certificates{}, &fault.Error{Code: fault.Timeout, Op: op, Detail: path}
	}
}

func readCertificates(path string) (Certificates, error) {
	const op = "read certificates"
	bad := func(code fault.Code, err error) (Certificates, error) {
		return Certificates{}, &fault.Error{Code: code, Op: op, Detail: path, Err: err}
	}
	// Looked at before it is opened: a pipe would be waited for.
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad(fault.NotFound, err)
	case errors.Is(err, fs.ErrPermission):
		return bad(fault.NotGranted, err)
	case err != nil:
		return bad(fault.NotFound, err)
	case !info.Mode().IsRegular():
		return bad(fault.NotAFile, nil)
	case info.Size() > MaxCertificates:
		return bad(fault.TooLarge, nil)
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return bad(fault.NotGranted, err)
	}
	if err != nil {
		return bad(fault.NotFound, err)
	}
	defer func() { _ = f.Close() }() // only read
	data, err := readText(f)
	if err != nil {
		if code := fault.CodeOf(err); code != fault.InvalidInput {
			return bad(code, err)
		}
		return Certificates{}, err
	}
	return parseCertificates(data)
}

// readText reads until the end, or until a line that begins a private key: what
// comes after it stays unread, and what was read ahead is overwritten.
func readText(f io.Reader) ([]byte, error) {
	const op = "read certificates"
	in := bufio.NewReaderSize(io.LimitReader(f, MaxCertificates+1), 4096)
	var all []byte
	for {
		piece, err := in.ReadSlice('\n')
		all = append(all, piece...)
		// A line may come in pieces, so a little of what was before is looked at.
		if isPrivate(all[max(0, len(all)-len(piece)-maxMarker):]) {
			ahead, _ := in.Peek(in.Buffered()) // no more than there is
			clear(ahead)
			clear(all)
			return nil, &fault.Error{Code: fault.InvalidInput, Op: op, Detail: PrivateKey}
		}
		switch {
		case len(all) > MaxCertificates:
			return nil, fault.New(fault.TooLarge, op, nil)
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return nil, fault.New(fault.NotFound, op, err)
		}
	}
}

// maxMarker is the length of the longest line that begins a key, in bytes.
const maxMarker = 64

// isPrivate reports whether text holds the line that begins a key of any kind.
func isPrivate(text []byte) bool {
	_, after, begins := bytes.Cut(text, []byte("-----BEGIN "))
	return begins && bytes.Contains(after, []byte("PRIVATE KEY"))
}

func parseCertificates(data []byte) (Certificates, error) {
	wrong := func(detail string, err error) (Certificates, error) {
		return Certificates{}, &fault.Error{Code: fault.InvalidInput, Op: "read certificates", Detail: detail, Err: err}
	}
	var out Certificates
	add := func(der []byte) error {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return err
		}
		out.PEM = append(out.PEM, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})...)
		out.Subjects = append(out.Subjects, subject(c))
		return nil
	}
	if !bytes.Contains(data, []byte("-----BEGIN ")) {
		if len(data) == 0 || data[0] != 0x30 || add(data) != nil { // an ASN.1 sequence
			return wrong(NoCertificate, nil)
		}
		return out, nil
	}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		if err := add(block.Bytes); err != nil {
			return wrong(BadCertificate, err)
		}
	}
	if len(out.Subjects) == 0 {
		return wrong(NoCertificate, nil)
	}
	return out, nil
}

// subject says whom a certificate was issued to, in one line.
func subject(c *x509.Certificate) string {
	name := c.Subject.CommonName
	if name == "" {
		name = c.Subject.String()
	}
	if name == "" {
		name = c.SerialNumber.String()
	}
	return strings.ToValidUTF8(strings.Join(strings.Fields(name), " "), "\uFFFD")
}
