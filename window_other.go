//go:build !linux || bindings

package main

import (
	"context"

	"github.com/wailsapp/wails/v2/pkg/options"
	"github.com/wailsapp/wails/v2/pkg/runtime"
)

// prepareWindow does nothing here.
func prepareWindow() {}

// guardWindow does nothing here: WebView2 and WKWebView keep the page in place
// through Wails' own navigation handling, and drops come through followDrops.
func guardWindow(string, func([]string)) {}

// dropOptions lets Wails tell of dropped files.
func dropOptions() *options.DragAndDrop { return &options.DragAndDrop{EnableFileDrop: true} }

// followDrops calls dropped with what Wails tells. The page can make up such a
// message, so that dropped has to ask.
func followDrops(ctx context.Context, dropped func(paths []string)) {
	runtime.OnFileDrop(ctx, func(_, _ int, paths []string) { dropped(paths) })
}

// relabelMenu does nothing here: the menu is set anew instead.
func relabelMenu(int, int, string, string) {}

const menuIsRelabelled = false
