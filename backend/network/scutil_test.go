package network

import (
	"errors"
	"testing"
)

const macOS = `<dictionary> {
  ExceptionsList : <array> {
    0 : *.local
    1 : 169.254/16
    2 : intra.corp
  }
  ExcludeSimpleHostnames : 1
  FTPPassive : 1
  HTTPEnable : 1
  HTTPPort : 80
  HTTPProxy : web.corp
  HTTPSEnable : 1
  HTTPSPort : 3128
  HTTPSProxy : tls.corp
  ProxyAutoConfigEnable : 0
  ProxyAutoConfigURLString : http://wpad.corp/proxy.pac
  SOCKSEnable : 0
  SOCKSPort : 1080
  SOCKSProxy : socks.corp
  __SCOPED__ : <dictionary> {
    en0 : <dictionary> {
      HTTPSEnable : 0
      HTTPSProxy : other.corp
    }
  }
}
`

// covers: K7
func TestMacOS(t *testing.T) {
	for name, c := range map[string]struct{ text, host, want string }{
		"https":               {macOS, "api.example.com", "http://tls.corp:3128"},
		"left out":            {macOS, "printer.local", "direct://"},
		"left out, a range":   {macOS, "169.254.1.2", "direct://"},
		"left out, no dot":    {macOS, "intranet", "direct://"},
		"a name is that name": {macOS, "wiki.intra.corp", "http://tls.corp:3128"},
		"socks":               {"<dictionary> {\n  SOCKSEnable : 1\n  SOCKSProxy : fd00::1\n}\n", "a.b", "socks5://[fd00::1]:1080"},
		"switched off":        {"<dictionary> {\n  HTTPSEnable : 0\n  HTTPSProxy : x\n}\n", "a.b", "direct://"},
		"set by hand, script": {"<dictionary> {\n  HTTPSEnable : 1\n  HTTPSProxy : x\n  HTTPSPort : 1\n  ProxyAutoConfigEnable : 1\n}\n", "a.b", "http://x:1"},
		"nothing":             {"<dictionary> {\n}\n", "a.b", "direct://"},
		"not a dictionary":    {"}\n}\nx : y\n", "a.b", "direct://"},
	} {
		f, err := ofMacOS(c.text, host(c.host))
		if got := one(t, f, err); got != c.want || f.Source != System {
			t.Errorf("%s: %q from %s", name, got, f.Source)
		}
	}
	for _, key := range []string{"ProxyAutoConfigEnable", "ProxyAutoDiscoveryEnable"} {
		if _, err := ofMacOS("<dictionary> {\n  "+key+" : 1\n}\n", host("a.b")); !errors.Is(err, errScript) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
