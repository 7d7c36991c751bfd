package task

import (
	"testing"

	"galley/backend/credential"
	"galley/backend/fault"
	"galley/backend/network"
	"galley/backend/settings"
)

// A run that began before its provider moved asks for the key of the old place:
// the key that was given since then is not for it.
//
// covers: K4 K7
func TestKey_IsForOnePlace(t *testing.T) {
	home := settings.Home{Dir: t.TempDir()}
	store, err := settings.Load(settings.Config{Home: home})
	try(t, err)
	net := network.New(network.Config{Getenv: func(string) string { return "" }})
	t.Cleanup(net.Close)
	keys := credential.New(credential.Config{KeysFile: home.Keys(), PlainFile: home.Credentials()})
	t.Cleanup(keys.Close)

	p, err := store.SaveProvider(settings.Provider{Name: "One", Kind: settings.KindGemini, BaseURL: "https://One.example/v1"})
	try(t, err)
	before, err := ProviderConfig(t.Context(), store, net, p)
	try(t, err)
	secret, err := credential.NewSecret("sk-of-the-place-that-is-set")
	try(t, err)
	try(t, keys.Set(t.Context(), p.ID, secret, credential.Memory))
	if got, err := Key(t.Context(), store, net, keys, before.CredentialRef); err != nil || got != secret.Reveal() {
		t.Errorf("the key of its place: %d characters, %v", len(got), err)
	}
	p.BaseURL = "https://other.example/v1"
	_, err = store.SaveProvider(p)
	try(t, err)
	if got, err := Key(t.Context(), store, net, keys, before.CredentialRef); fault.CodeOf(err) != fault.NoKey || got != "" {
		t.Errorf("the key of another place: %d characters, %v", len(got), err)
	}
	after, err := ProviderConfig(t.Context(), store, net, p)
	try(t, err)
	if got, err := Key(t.Context(), store, net, keys, after.CredentialRef); err != nil || got != secret.Reveal() {
		t.Errorf("the key of the new place: %d characters, %v", len(got), err)
	}
}
