package settings_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"galley/backend/settings"
)

func sessions(t *testing.T, h settings.Home) *settings.Sessions {
	t.Helper()
	return settings.OpenSessions(settings.SessionConfig{
		Home: h, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Date(2026, 11, 30, 9, 8, 7, 6e6, time.UTC) },
	})
}

// at makes an absolute path of a name on every system.
func at(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(string(filepath.Separator), filepath.FromSlash(name)))
	must(t, err)
	return path
}

func oneSession(t testing.TB) settings.Session {
	return settings.Session{
		Workspace: at(t, "w"),
		Tabs:      []settings.SessionTab{{Path: at(t, "w/a.md"), Anchor: 3, Head: 5, Top: 2}, {Path: at(t, "elsewhere/b.md")}},
		Current:   at(t, "elsewhere/b.md"),
		Layout:    settings.SessionLayout{Sidebar: true, SidebarWidth: 300, SidebarView: "files"},
	}
}

// covers: F10
func TestSessions_ComeBack(t *testing.T) {
	h := home(t, "")
	s := sessions(t, h)
	if got, _ := s.Begin(); got.Workspace != "" || len(got.Tabs) != 0 {
		t.Errorf("a new home has the session %+v", got)
	}
	want := oneSession(t)
	other := settings.Session{Workspace: at(t, "v"), Tabs: []settings.SessionTab{{Path: at(t, "v/c.md")}}}
	s.Keep(other)
	s.Keep(oneSession(t))
	must(t, s.Flush())

	s = sessions(t, h)
	got, looping := s.Begin()
	if d := cmp.Diff(want, got); d != "" || looping {
		t.Error(d, looping)
	}
	if got, ok := s.Session(other.Workspace); !ok || len(got.Tabs) != 1 {
		t.Errorf("the other workspace has %+v", got)
	}
	if _, ok := s.Session(at(t, "never")); ok {
		t.Error("a folder that was never open has a session")
	}
	if l, ok := s.Layout(); !ok || l != want.Layout {
		t.Errorf("layout %+v", l)
	}
}

// Names can be any bytes on many systems.
//
// covers: F10
func TestSessions_NamesThatAreNotUTF8(t *testing.T) {
	h := home(t, "")
	s := sessions(t, h)
	folder, file := at(t, "\xe9"), at(t, "\xe9/caf\xe9.md")
	want := settings.Session{Workspace: folder, Tabs: []settings.SessionTab{{Path: file, Anchor: 1, Head: 2, Top: 3}}, Current: file}
	s.Keep(want)
	s.OpenedFile(file)
	s.OpenedFolder(folder)
	must(t, s.Flush())

	s = sessions(t, h)
	got, _ := s.Begin()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	files, folders := s.Recent()
	if len(files) != 1 || files[0].Path != file || files[0].AtMs == 0 || len(folders) != 1 || folders[0].Path != folder {
		t.Errorf("recent %+v, %+v", files, folders)
	}
}

// covers: F10
func TestSessions_RecentIsBoundedAndHasEachOnce(t *testing.T) {
	h := home(t, "")
	s := sessions(t, h)
	for i := range 60 {
		s.OpenedFile(at(t, fmt.Sprintf("f/%d.md", i)))
		s.OpenedFolder(at(t, fmt.Sprintf("d/%d", i)))
	}
	s.OpenedFile(at(t, "f/30.md"))
	must(t, s.Flush())
	files, folders := sessions(t, h).Recent()
	if len(files) != 50 || len(folders) != 20 || files[0].Path != at(t, "f/30.md") || files[1].Path != at(t, "f/59.md") || folders[0].Path != at(t, "d/59") {
		t.Errorf("%d files, %d folders, %+v", len(files), len(folders), files[:2])
	}
	seen := map[string]bool{}
	for _, f := range files {
		if seen[f.Path] || f.AtMs == 0 {
			t.Errorf("%+v", f)
		}
		seen[f.Path] = true
	}
	s.Keep(oneSession(t))
	s.Keep(settings.Session{Workspace: at(t, "v"), Tabs: []settings.SessionTab{}})
	s.Forget(at(t, "w"))
	must(t, s.Flush())
	s = sessions(t, h)
	files, folders = s.Recent()
	if _, other := s.Session(at(t, "v")); len(files)+len(folders) > 0 || other {
		t.Errorf("after forgetting: %v, %v, %v", files, folders, other)
	}
	if _, own := s.Session(at(t, "w")); !own {
		t.Error("the open workspace's session was forgotten")
	}
}

// C16's kind: a file that cannot be used is kept and the program starts.
//
// covers: F10
func TestSessions_BrokenFileIsKeptAside(t *testing.T) {
	for name, text := range map[string]string{
		"cut":          `{"format":1,"sessions":[{"works`,
		"zeros":        strings.Repeat("\x00", 100),
		"other format": `{"format":2}`,
		"another type": `{"format":1,"files":7}`,
		"no JSON":      "hello",
	} {
		t.Run(name, func(t *testing.T) {
			h := home(t, "")
			must(t, os.WriteFile(h.Session(), []byte(text), 0o600))
			s := sessions(t, h)
			if got := content(t, s.KeptAside()); got != text {
				t.Errorf("kept aside: %q", got)
			}
			s.OpenedFile(at(t, "a.md"))
			must(t, s.Flush())
			if files, _ := sessions(t, h).Recent(); len(files) != 1 {
				t.Errorf("files %v", files)
			}
		})
	}
	t.Run("a folder in its place", func(t *testing.T) {
		h := home(t, "")
		must(t, os.Mkdir(h.Session(), 0o700))
		s := sessions(t, h)
		s.OpenedFile(at(t, "a.md"))
		must(t, s.Flush())
		if s.KeptAside() == "" {
			t.Error("not kept aside")
		}
	})
}

// What is in the file and cannot be meant voids only itself.
func TestSessions_WhatCannotBeMeantIsLeftOut(t *testing.T) {
	h := home(t, "")
	a := at(t, "a.md")
	text, err := json.Marshal(map[string]any{
		"format": 1, "starts": -4, "workspace": "relative",
		"sessions": []any{
			map[string]any{
				"workspace": "",
				"tabs": []any{
					map[string]any{"path": a, "anchor": -1, "head": 1, "top": -9}, map[string]any{"path": a}, map[string]any{"path": "../x"},
				},
				"current": "/not/among/them", "layout": map[string]any{"sidebarWidth": -1, "panelWidth": 1 << 40, "sidebarView": strings.Repeat("x", 1000)},
			},
			map[string]any{"workspace": "", "tabs": []any{}},
			map[string]any{"workspace": "rel/ative"},
		},
		"files": []any{map[string]any{"path": ""}, map[string]any{"path": a}, map[string]any{"path": a}},
	})
	must(t, err)
	must(t, os.WriteFile(h.Session(), text, 0o600))
	s := sessions(t, h)
	want := settings.Session{Tabs: []settings.SessionTab{{Path: a, Head: 1}}, Layout: settings.SessionLayout{PanelWidth: 10000}}
	got, looping := s.Begin()
	if d := cmp.Diff(want, got); d != "" || looping {
		t.Error(d, looping)
	}
	if files, folders := s.Recent(); len(files) != 1 || len(folders) != 0 {
		t.Errorf("%v, %v", files, folders)
	}
}

// A file that would not be read again is never written: the oldest sessions go.
func TestSessions_FileStaysWithinItsBound(t *testing.T) {
	h := home(t, "")
	s := sessions(t, h)
	for i := range 7 {
		session := settings.Session{Workspace: at(t, fmt.Sprint(i)), Tabs: []settings.SessionTab{}}
		for j := range 250 {
			session.Tabs = append(session.Tabs, settings.SessionTab{Path: at(t, fmt.Sprintf("%d/%s/%d", i, strings.Repeat("p", 4000), j))})
		}
		s.Keep(session)
	}
	must(t, s.Flush())
	if info, err := os.Stat(h.Session()); err != nil || info.Size() > 4<<20 {
		t.Fatalf("%v, %v", info.Size(), err)
	}
	s = sessions(t, h)
	if last, _ := s.Begin(); last.Workspace != at(t, "6") || len(last.Tabs) != 200 {
		t.Errorf("the last session is %s with %d tabs", last.Workspace, len(last.Tabs))
	}
	if _, ok := s.Session(at(t, "0")); ok {
		t.Error("the oldest session is still there")
	}
}

// covers: F6
func TestSessions_ThirdStartOfALoop(t *testing.T) {
	h := home(t, "")
	for i, want := range []bool{false, false, true, true} {
		if _, looping := sessions(t, h).Begin(); looping != want {
			t.Errorf("start %d: looping is %t", i+1, looping)
		}
	}
	s := sessions(t, h)
	s.Begin()
	s.Survived()
	must(t, s.Flush())
	if _, looping := sessions(t, h).Begin(); looping {
		t.Error("a start that lived counts as one that died")
	}
}

// A change is on the disk half a second later, many changes by one write, and
// the rest when Run ends.
func TestSessions_RunWritesAMomentLater(t *testing.T) {
	h := home(t, "")
	synctest.Test(t, func(t *testing.T) {
		s := sessions(t, h)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.Run(ctx) }()
		for i := range 10 {
			s.OpenedFile(at(t, fmt.Sprint(i)))
			time.Sleep(40 * time.Millisecond)
		}
		synctest.Wait()
		if _, err := os.Stat(h.Session()); err == nil {
			t.Error("written at once")
		}
		time.Sleep(100*time.Millisecond + time.Nanosecond)
		synctest.Wait()
		if files, _ := sessions(t, h).Recent(); len(files) != 10 {
			t.Errorf("written: %v", files)
		}
		s.OpenedFile(at(t, "last"))
		cancel()
		<-done
		if files, _ := sessions(t, h).Recent(); len(files) != 11 {
			t.Errorf("at the end: %v", files)
		}
	})
}

// The same session again writes nothing.
func TestSessions_UnchangedIsNotWritten(t *testing.T) {
	h := home(t, "")
	s := sessions(t, h)
	s.Keep(oneSession(t))
	must(t, s.Flush())
	must(t, os.Remove(h.Session()))
	s.Keep(oneSession(t))
	must(t, s.Flush())
	if _, err := os.Stat(h.Session()); err == nil {
		t.Error("written again")
	}
}

// A full disk is told, and the next change tries again.
func TestSessions_WriteFails(t *testing.T) {
	h := settings.Home{Dir: filepath.Join(t.TempDir(), "home")}
	s := sessions(t, h)
	must(t, os.WriteFile(h.Dir, nil, 0o600))
	s.OpenedFile(at(t, "a"))
	if err := s.Flush(); err == nil {
		t.Fatal("written into a file that is no folder")
	}
	must(t, os.Remove(h.Dir))
	must(t, s.Flush())
	if files, _ := sessions(t, h).Recent(); len(files) != 1 {
		t.Errorf("%v", files)
	}
}
