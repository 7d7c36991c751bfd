package api

import (
	"testing"

	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/network/proxytest"
)

// The authorities of the system are those of the system: one that was installed
// there needs no file of ours, which then does not stand in its way.
//
// covers: K7
func TestNetwork_AuthorityOfTheSystem(t *testing.T) {
	installed := proxytest.NewAuthority(t, "Installed CA")
	t.Setenv("SSL_CERT_FILE", installed.File(t))
	t.Setenv("SSL_CERT_DIR", t.TempDir())
	c := newCompany(t, proxytest.Config{}, network.Config{})
	installedID := c.provider(installed.Serve(t, proxytest.Issue{}, c.served.Config.Handler).URL + "/v1")
	s := c.authority.Serve(t, proxytest.Issue{}, c.served.Config.Handler)
	private := c.provider(s.URL + "/v1")
	c.id = installedID
	c.works()
	c.id = private
	c.fails(fault.TLS, s.Listener.Addr().String()+", issued by ACME Proxy CA")
	c.trust()
	c.works()
	c.id = installedID
	c.works()
}
