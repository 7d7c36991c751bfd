package api

import (
	"context"
	"testing"

	"galley/backend/settings"
)

// goneRing is a keyring that is there until it is gone.
type goneRing struct {
	ring
	gone bool
}

func (r *goneRing) Name(ctx context.Context) (string, error) {
	if r.gone {
		return "", errNoRing
	}
	return r.ring.Name(ctx)
}

func (r *goneRing) Remove(ctx context.Context, item string) error {
	if r.gone {
		return errNoRing
	}
	return r.ring.Remove(ctx, item)
}

// A key in a keyring that is not there while its provider moves to another host,
// or is deleted and followed by one of the same name: when the keyring is back
// the key is not that of the new place.
//
// covers: K4 K5
func TestSettings_KeyOfAKeyringThatIsGone(t *testing.T) {
	for _, how := range []string{"moved", "followed"} {
		t.Run(how, func(t *testing.T) {
			r := &goneRing{}
			w := withRing(t, newHome(t), r)
			p := settings.Provider{Name: "One", Kind: settings.KindGemini, BaseURL: "https://one.invalid"}
			list := ask[SettingsState](w, "Settings.SaveProvider", p).Providers
			p = list[len(list)-1].Provider
			ask[SettingsState](w, "Settings.SetKey", SetKeyRequest{ProviderID: p.ID, Key: planted, Place: "keyring"})
			r.gone = true
			if how == "followed" {
				ask[SettingsState](w, "Settings.DeleteProvider", p.ID)
				p = settings.Provider{Name: p.Name, Kind: p.Kind}
			}
			p.BaseURL = "https://other.invalid"
			list = ask[SettingsState](w, "Settings.SaveProvider", p).Providers
			id := list[len(list)-1].ID
			r.gone = false
			if key := keyState(t, ask[SettingsState](w, "Settings.Get"), id); key.Place != "none" {
				t.Errorf("the key is in %+v", key)
			}
			if secret, err := w.backend.keys.Get(t.Context(), id); err == nil {
				t.Errorf("the new place gets %d characters of it", len(secret.Reveal()))
			}
			// The next change of a key takes it out of the keyring.
			ask[SettingsState](w, "Settings.SetKey", SetKeyRequest{ProviderID: id, Key: planted + "-2", Place: "keyring"})
			if len(r.items) != 1 {
				t.Errorf("%d keys are in the keyring", len(r.items))
			}
		})
	}
}
