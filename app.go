package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wailsapp/wails/v2"
	"github.com/wailsapp/wails/v2/pkg/menu"
	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/options/assetserver"
	"github.com/wailsapp/wails/v2/pkg/options/linux"
	"github.com/wailsapp/wails/v2/pkg/options/mac"
	"github.com/wailsapp/wails/v2/pkg/options/windows"
	"github.com/wailsapp/wails/v2/pkg/runtime"
	"gopkg.in/natefinch/lumberjack.v2"

	"galley/backend/api"
	"galley/backend/attach"
	"galley/backend/cli"
	"galley/backend/settings"
)

// closeTime is how long quitting may take to cancel and record what runs.
const closeTime = 5 * time.Second

// app builds the program and holds its life together. It is not bound to the
// page.
type app struct {
	backend *api.Backend
	// seat makes this the one window of its home.
	seat *attach.Seat
	log  *slog.Logger
	menu []menuPlace
	// origin is where the page lives, with a slash at its end.
	origin string

	mu sync.Mutex // mu guards the fields below
	// ctx is the window's; nil before the start.
	ctx context.Context
	// leaving is true once the program may end without a question.
	leaving bool
	// words are the page's for the items of the menu, by their command.
	words map[string]string
}

// menuPlace is where an item of the native menu bar stands; item -1 is the menu
// itself.
type menuPlace struct {
	id         string
	menu, item int
}

// runWindow opens the window and returns the exit code. Where a window is open
// on the same home, it gets the files instead.
func runWindow(args []string) int {
	a, err := newApp(args)
	if a == nil && err == nil {
		return 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "galley: %v\n", err)
		return 1
	}
	defer a.seat.Close()
	if err := a.run(); err != nil {
		a.log.Error("window failed", "err", err)
		fmt.Fprintf(os.Stderr, "galley: %v\n", err)
		return 1
	}
	return 0
}

// launch is what the command line asks for.
type launch struct {
	home   settings.Home
	sample bool
	// paths are files and folders to open, absolute.
	paths []string
}

func parseArgs(args []string) (launch, error) {
	flags := flag.NewFlagSet("galley", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	home := flags.String("home", "", "folder that keeps every file of the program")
	sample := flags.Bool("sample", false, "open the sample folder")
	declareDevFlags(flags)
	if err := flags.Parse(args); err != nil {
		return launch{}, err
	}
	h, err := settings.ResolveHome(*home, os.Getenv("GALLEY_HOME"), os.UserConfigDir)
	if err != nil {
		return launch{}, err
	}
	l := launch{home: h, sample: *sample}
	for _, p := range flags.Args() {
		abs, err := filepath.Abs(p)
		if err != nil {
			return launch{}, err
		}
		l.paths = append(l.paths, abs)
	}
	return l, nil
}

// newApp builds the program. It is nil, without an error, where another window
// of the home took the files over.
func newApp(args []string) (*app, error) {
	l, err := parseArgs(args)
	if err != nil {
		return nil, err
	}
	if err := l.home.Make(); err != nil {
		return nil, err
	}
	a := &app{origin: pageOrigin(args)}
	a.log = slog.New(slog.NewTextHandler(&lumberjack.Logger{
		Filename: l.home.Log(), MaxSize: 5, MaxBackups: 3, // MB, files
	}, nil))
	handed := l.paths
	if l.sample {
		handed = append([]string{l.home.Sample()}, handed...)
	}
	a.seat, err = attach.Take(context.Background(), attach.Config{Home: l.home, Version: cli.Version(), Log: a.log}, handed)
	if err != nil || a.seat == nil {
		return nil, err
	}
	a.backend, err = api.New(api.Config{
		Home: l.home, Log: a.log, Version: cli.Version(),
		Send:    a.send,
		Dialogs: api.Dialogs{OpenFolder: a.openFolder, OpenFiles: a.openFiles, SaveFile: a.saveFile, OpenCertificates: a.openCertificates},
		OpenURL: func(url string) { a.withWindow(func(ctx context.Context) { runtime.BrowserOpenURL(ctx, url) }) },
		Relabel: a.relabel,
		Quit:    a.leave,
	})
	if err != nil {
		a.seat.Close()
		return nil, err
	}
	if l.sample {
		if err := a.backend.OpenSample(); err != nil {
			a.log.Error("sample not opened", "err", err)
		}
	}
	if len(l.paths) > 0 {
		a.backend.OpenAtStart(l.paths)
	}
	a.seat.Serve(a.openFromOutside)
	return a, nil
}

// openFromOutside opens what a second start or the system's file manager names,
// and shows the window.
func (a *app) openFromOutside(paths []string) {
	if len(paths) > 0 {
		a.backend.Open(paths)
	}
	a.withWindow(func(ctx context.Context) {
		runtime.WindowShow(ctx)
		runtime.WindowUnminimise(ctx)
	})
}

// openUnproven opens what a drop names whose message the page could have made
// up: what the person has not opened before is asked about.
func (a *app) openUnproven(paths []string) {
	a.withWindow(func(ctx context.Context) {
		for _, path := range paths {
			if !a.backend.Reaches(path) {
				answer, err := runtime.MessageDialog(ctx, runtime.MessageDialogOptions{
					Type: runtime.QuestionDialog, Title: a.title("file.open"), Message: path,
				})
				if err != nil || answer != "Yes" {
					continue
				}
			}
			a.backend.Open([]string{path})
		}
	})
}

func (a *app) run() error {
	nonce := api.NewNonce()
	return wails.Run(&options.App{
		Title:     "Galley",
		Width:     1440,
		Height:    900,
		MinWidth:  760,
		MinHeight: 480,
		// The page's own colour, so that nothing flashes before it is there.
		BackgroundColour: options.NewRGB(0xfd, 0xfd, 0xfc),
		AssetServer:      &assetserver.Options{Assets: dist, Middleware: a.backend.Middleware(nonce)},
		Menu:             a.buildMenu(nil),
		Logger:           quietLogger{a.log},
		// Everything louder quotes what the page sent.
		LogLevel:                 wailsLogLevel,
		LogLevelProduction:       wailsLogLevel,
		OnStartup:                a.startup,
		OnBeforeClose:            a.beforeClose,
		OnShutdown:               a.shutdown,
		Bind:                     a.backend.Bound(),
		ErrorFormatter:           api.FormatError,
		EnableDefaultContextMenu: true,
		DragAndDrop:              dropOptions(),
		Linux:                    &linux.Options{ProgramName: "galley", WebviewGpuPolicy: linux.WebviewGpuPolicyNever},
		Mac:                      &mac.Options{OnFileOpen: func(path string) { a.openFromOutside([]string{path}) }},
		Windows:                  &windows.Options{},
	})
}

func (a *app) startup(ctx context.Context) {
	a.mu.Lock()
	a.ctx = ctx
	a.mu.Unlock()
	guardWindow(a.origin, a.backend.Open)
	followDrops(ctx, a.openUnproven)
	a.backend.Start()
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	go func() {
		<-stop
		// The system is going down: nobody can answer a question, and what is
		// unsaved is a draft.
		a.leave()
	}()
}

// withWindow calls f when there is a window to call it with.
func (a *app) withWindow(f func(ctx context.Context)) {
	a.mu.Lock()
	ctx := a.ctx
	a.mu.Unlock()
	if ctx != nil {
		f(ctx)
	}
}

// send passes one message to the page.
func (a *app) send(m api.Message) {
	a.withWindow(func(ctx context.Context) { runtime.EventsEmit(ctx, api.EventName, m) })
}

// beforeClose holds the window when something would be lost, and asks the page.
func (a *app) beforeClose(context.Context) (prevent bool) {
	a.mu.Lock()
	leaving := a.leaving
	a.mu.Unlock()
	return !leaving && a.backend.AskToClose()
}

// leave ends the program without a question.
func (a *app) leave() {
	a.mu.Lock()
	a.leaving = true
	a.mu.Unlock()
	a.withWindow(runtime.Quit)
}

func (a *app) shutdown(context.Context) {
	// What is handed over from here on waits for the next window.
	a.seat.Shut()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := a.backend.Close(ctx); err != nil {
		a.log.Error("not everything was closed", "err", err)
	}
}

func (a *app) openFolder(context.Context) (path string, err error) {
	a.withWindow(func(ctx context.Context) {
		path, err = runtime.OpenDirectoryDialog(ctx, runtime.OpenDialogOptions{Title: a.title("file.openFolder"), CanCreateDirectories: true})
	})
	return path, err
}

func (a *app) openFiles(context.Context) (paths []string, err error) {
	a.withWindow(func(ctx context.Context) {
		paths, err = runtime.OpenMultipleFilesDialog(ctx, runtime.OpenDialogOptions{Title: a.title("file.open"), Filters: markdownFilters()})
	})
	return paths, err
}

func (a *app) openCertificates(context.Context) (path string, err error) {
	a.withWindow(func(ctx context.Context) {
		path, err = runtime.OpenFileDialog(ctx, runtime.OpenDialogOptions{
			Title: a.title("file.open"), Filters: []runtime.FileFilter{
				{DisplayName: "PEM, CRT, CER", Pattern: "*.pem;*.crt;*.cer"},
				{DisplayName: "*", Pattern: "*"},
			},
		})
	})
	return path, err
}

func (a *app) saveFile(_ context.Context, name string) (path string, err error) {
	a.withWindow(func(ctx context.Context) {
		path, err = runtime.SaveFileDialog(ctx, runtime.SaveDialogOptions{
			Title: a.title("file.saveAs"), DefaultFilename: name, Filters: markdownFilters(), CanCreateDirectories: true,
		})
	})
	return path, err
}

// title is the title of the dialog that a command opens: its words in the menu.
func (a *app) title(command string) string {
	a.mu.Lock()
	title := a.words[command]
	a.mu.Unlock()
	if title == "" {
		for _, group := range api.MenuBar() {
			for _, item := range group.Items {
				if item.Command == command {
					title = item.Label
				}
			}
		}
	}
	return strings.TrimRight(strings.ReplaceAll(title, "\x00", ""), ".\u2026 ")
}

func markdownFilters() []runtime.FileFilter {
	return []runtime.FileFilter{
		{DisplayName: "Markdown", Pattern: "*.md;*.markdown;*.mdown;*.txt"},
		{DisplayName: "*", Pattern: "*"},
	}
}

// buildMenu makes the native menu bar, in the words of labels where they have
// an item. Items send commands to the page and bind no keys: on Linux GTK would
// take a key before the page sees it.
func (a *app) buildMenu(labels map[string]api.MenuLabel) *menu.Menu {
	words := func(id, fallback string) string {
		if l, ok := labels[id]; ok && l.Label != "" {
			return l.Label
		}
		return fallback
	}
	bar := menu.NewMenu()
	a.menu = nil
	for i, group := range api.MenuBar() {
		a.menu = append(a.menu, menuPlace{group.ID, i, -1})
		sub := bar.AddSubmenu(words(group.ID, group.Label))
		for j, item := range group.Items {
			if item.Command == "" {
				sub.AddSeparator()
				continue
			}
			a.menu = append(a.menu, menuPlace{item.Command, i, j})
			sub.AddText(words(item.Command, item.Label), nil, func(*menu.CallbackData) { a.backend.MenuInvoked(item.Command) })
		}
	}
	return bar
}

// relabel shows the menu in the page's words.
func (a *app) relabel(labels []api.MenuLabel) {
	byID := map[string]api.MenuLabel{}
	for _, l := range labels {
		byID[l.ID] = l
	}
	a.mu.Lock()
	a.words = map[string]string{}
	for _, l := range labels {
		a.words[l.ID] = l.Label
	}
	a.mu.Unlock()
	if !menuIsRelabelled {
		a.withWindow(func(ctx context.Context) { runtime.MenuSetApplicationMenu(ctx, a.buildMenu(byID)) })
		return
	}
	for _, p := range a.menu {
		if l, ok := byID[p.id]; ok {
			// GTK reads a zero byte as the end, and the words come from the page.
			relabelMenu(p.menu, p.item, strings.ReplaceAll(l.Label, "\x00", ""), strings.ReplaceAll(l.Key, "\x00", ""))
		}
	}
}
