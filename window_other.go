//go:build !linux || bindings

package main

// prepareWindow does nothing here.
func prepareWindow() {}

// guardWindow does nothing here: WebView2 and WKWebView keep the page in place
// through Wails' own navigation handling.
func guardWindow(string) {}

// relabelMenu does nothing here: the menu is set anew instead.
func relabelMenu(int, int, string, string) {}

const menuIsRelabelled = false
