//go:build linux && !bindings

package main

/*
#cgo linux pkg-config: gtk+-3.0
#cgo !webkit2_41 pkg-config: webkit2gtk-4.0
#cgo webkit2_41 pkg-config: webkit2gtk-4.1

#include <stdlib.h>
#include <string.h>
#include <gtk/gtk.h>
#include <webkit2/webkit2.h>

typedef struct { GtkWidget *found; GType type; } galley_search;

static void galley_visit(GtkWidget *w, gpointer data) {
  galley_search *s = data;
  if (s->found) return;
  if (G_TYPE_CHECK_INSTANCE_TYPE(w, s->type)) { s->found = w; return; }
  if (GTK_IS_CONTAINER(w)) gtk_container_forall(GTK_CONTAINER(w), galley_visit, data);
}

// Looks through every toplevel, since Wails keeps its window to itself.
static GtkWidget *galley_find(GType type) {
  galley_search s = { NULL, type };
  GList *tops = gtk_window_list_toplevels();
  for (GList *l = tops; l && !s.found; l = l->next) galley_visit(GTK_WIDGET(l->data), &s);
  g_list_free(tops);
  return s.found;
}

// galley_same_origin: does uri lie under prefix, which ends in a slash?
static gboolean galley_same_origin(const char *uri, const char *prefix) {
  return uri && strncmp(uri, prefix, strlen(prefix)) == 0;
}

static gboolean galley_decide(WebKitWebView *view, WebKitPolicyDecision *d,
                              WebKitPolicyDecisionType type, gpointer origin) {
  (void)view;
  if (type == WEBKIT_POLICY_DECISION_TYPE_RESPONSE) return FALSE;
  if (type == WEBKIT_POLICY_DECISION_TYPE_NAVIGATION_ACTION) {
    WebKitNavigationAction *a =
        webkit_navigation_policy_decision_get_navigation_action(WEBKIT_NAVIGATION_POLICY_DECISION(d));
    const char *uri = webkit_uri_request_get_uri(webkit_navigation_action_get_request(a));
    if (galley_same_origin(uri, origin)) return FALSE;
  }
  webkit_policy_decision_ignore(d);
  return TRUE;
}

// A killed web process leaves its last frame on screen until somebody reloads.
static void galley_terminated(WebKitWebView *view, WebKitWebProcessTerminationReason why, gpointer data) {
  (void)why; (void)data;
  webkit_web_view_reload(view);
}

static gboolean galley_guard(gpointer origin) {
  GtkWidget *w = galley_find(WEBKIT_TYPE_WEB_VIEW);
  if (!w) return G_SOURCE_CONTINUE;
  g_signal_connect(w, "decide-policy", G_CALLBACK(galley_decide), origin);
  g_signal_connect(w, "web-process-terminated", G_CALLBACK(galley_terminated), NULL);
  return G_SOURCE_REMOVE;
}

// The string is kept for the life of the program: the signal handlers use it.
static void galley_install_guard(char *origin) { g_timeout_add(5, galley_guard, origin); }

typedef struct { int menu, item; char *label, *accel; } galley_label;

static GtkWidget *galley_nth(GtkContainer *c, int n) {
  GList *l = gtk_container_get_children(c);
  GtkWidget *w = g_list_nth_data(l, n);
  g_list_free(l);
  return w;
}

static gboolean galley_relabel(gpointer data) {
  galley_label *g = data;
  GtkWidget *bar = galley_find(GTK_TYPE_MENU_BAR);
  GtkWidget *w = bar ? galley_nth(GTK_CONTAINER(bar), g->menu) : NULL;
  if (w && g->item >= 0) {
    GtkWidget *sub = gtk_menu_item_get_submenu(GTK_MENU_ITEM(w));
    w = sub ? galley_nth(GTK_CONTAINER(sub), g->item) : NULL;
  }
  if (w && GTK_IS_MENU_ITEM(w)) {
    gtk_menu_item_set_label(GTK_MENU_ITEM(w), g->label);
    GtkWidget *child = gtk_bin_get_child(GTK_BIN(w));
    // Only shown: a bound accelerator would take the key before the page sees it.
    if (g->accel[0] && child && GTK_IS_ACCEL_LABEL(child)) {
      guint key; GdkModifierType mods;
      gtk_accelerator_parse(g->accel, &key, &mods);
      gtk_accel_label_set_accel(GTK_ACCEL_LABEL(child), key, mods);
    }
  }
  free(g->label); free(g->accel); free(g);
  return G_SOURCE_REMOVE;
}

static void galley_set_label(int menu, int item, char *label, char *accel) {
  galley_label *g = malloc(sizeof *g);
  g->menu = menu; g->item = item; g->label = label; g->accel = accel;
  g_idle_add(galley_relabel, g);
}
*/
import "C"

import (
	"os"
	"path/filepath"
)

// prepareWindow is called before any GTK is touched. Where there is no session
// bus, GLib would start one with dbus-launch and wait for it, at some for ever;
// the window needs none.
func prepareWindow() {
	if os.Getenv("DBUS_SESSION_BUS_ADDRESS") != "" {
		return
	}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		if _, err := os.Stat(filepath.Join(dir, "bus")); err == nil {
			return
		}
	}
	_ = os.Setenv("DBUS_SESSION_BUS_ADDRESS", "disabled:") // fails for a malformed name only
}

// guardWindow keeps the page where it is and brings it back when its process
// dies. Wails v2 offers no hook for either on Linux, so the signals of the
// WebKitWebView are connected here as soon as the widget exists. origin ends in
// a slash. It may be called from any goroutine, once.
func guardWindow(origin string) {
	C.galley_install_guard(C.CString(origin))
}

// relabelMenu sets the words and the shown key of one item of the native menu
// bar; item -1 is the menu itself. On Linux replacing the menu after the start
// is not shown and crashes at the next old accelerator, so items are relabelled
// in place; key is in GTK's form ("<Control>s") and binds nothing.
func relabelMenu(menu, item int, label, key string) {
	C.galley_set_label(C.int(menu), C.int(item), C.CString(label), C.CString(key))
}

// menuIsRelabelled says that labels change in place on this system.
const menuIsRelabelled = true
