//go:build linux && !bindings

package main

/*
#cgo linux pkg-config: gtk+-3.0
#cgo !webkit2_41 pkg-config: webkit2gtk-4.0
#cgo webkit2_41 pkg-config: webkit2gtk-4.1

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <gtk/gtk.h>
#include <webkit2/webkit2.h>

extern void galleyDropped(uintptr_t to, char *list);

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

// A page may not have Wails open an address in the browser (B), nor make up a
// drop (D), nor open the inspector: what it may open goes through our own calls.
static gboolean galley_may_say(const char *message) {
  return message[0] != 'B' && message[0] != 'D' && strcmp(message, "wails:showInspector") != 0;
}

static gulong galley_theirs, galley_ours;

// Stands in front of Wails' handler, which is blocked but for what may pass.
static void galley_sift(WebKitUserContentManager *m, WebKitJavascriptResult *r, gpointer data) {
  (void)data;
  char *message = jsc_value_to_string(webkit_javascript_result_get_js_value(r));
  gboolean pass = message && galley_may_say(message);
  g_free(message);
  if (!pass) return;
  g_signal_handler_block(m, galley_ours);
  g_signal_handler_unblock(m, galley_theirs);
  g_signal_emit_by_name(m, "script-message-received::external", r);
  g_signal_handler_block(m, galley_theirs);
  g_signal_handler_unblock(m, galley_ours);
}

static void galley_install_sift(WebKitUserContentManager *m) {
  guint id = g_signal_lookup("script-message-received", G_OBJECT_TYPE(m));
  galley_theirs = g_signal_handler_find(m, G_SIGNAL_MATCH_ID | G_SIGNAL_MATCH_DETAIL, id,
                                        g_quark_from_static_string("external"), NULL, NULL, NULL);
  if (!galley_theirs) return;
  g_signal_handler_block(m, galley_theirs);
  galley_ours = g_signal_connect(m, "script-message-received::external", G_CALLBACK(galley_sift), NULL);
}

// What is dragged over the window now: whose files, if any, and whose drop waits
// for its data.
static GdkDragContext *galley_over, *galley_dropping;
static gboolean galley_over_files;

static GdkAtom galley_uri_list(void) { return gdk_atom_intern_static_string("text/uri-list"); }

static gboolean galley_names_files(const char *list) {
  gchar **uris = g_uri_list_extract_uris(list);
  gboolean found = FALSE;
  for (gchar **u = uris; u && *u && !found; u++) found = g_ascii_strncasecmp(*u, "file:", 5) == 0;
  g_strfreev(uris);
  return found;
}

// A drag that started in this window is the page's own, whatever it says it
// holds: only another program's counts as the person handing files over.
static gboolean galley_foreign(GdkDragContext *c) { return gtk_drag_get_source_widget(c) == NULL; }

static void galley_drag_data(GtkWidget *w, GdkDragContext *c, gint x, gint y, GtkSelectionData *s,
                             guint info, guint time, gpointer to) {
  (void)x; (void)y; (void)info;
  if (gtk_selection_data_get_target(s) != galley_uri_list() || !galley_foreign(c)) return;
  gint length = gtk_selection_data_get_length(s);
  char *list = g_strndup((const char *)gtk_selection_data_get_data(s), length > 0 ? length : 0);
  galley_over = c;
  galley_over_files = galley_names_files(list);
  if (galley_dropping == c) {
    galley_dropping = NULL;
    g_signal_stop_emission_by_name(w, "drag-data-received");
    if (galley_over_files) galleyDropped((uintptr_t)to, list);
    gtk_drag_finish(c, galley_over_files, FALSE, time);
  }
  g_free(list);
}

// WebKit's own handlers come after these: it gets text and addresses, we files.
static gboolean galley_drag_drop(GtkWidget *w, GdkDragContext *c, gint x, gint y, guint time, gpointer to) {
  (void)x; (void)y; (void)to;
  if (!galley_foreign(c) || (galley_over == c && !galley_over_files)) return FALSE;
  if (!g_list_find(gdk_drag_context_list_targets(c), galley_uri_list())) return FALSE;
  galley_dropping = c;
  gtk_drag_get_data(w, c, galley_uri_list(), time);
  return TRUE;
}

typedef struct { char *origin; uintptr_t to; } galley_guarded;

static gboolean galley_guard(gpointer data) {
  galley_guarded *g = data;
  GtkWidget *w = galley_find(WEBKIT_TYPE_WEB_VIEW);
  if (!w) return G_SOURCE_CONTINUE;
  g_signal_connect(w, "decide-policy", G_CALLBACK(galley_decide), g->origin);
  g_signal_connect(w, "web-process-terminated", G_CALLBACK(galley_terminated), NULL);
  g_signal_connect(w, "drag-data-received", G_CALLBACK(galley_drag_data), (gpointer)g->to);
  g_signal_connect(w, "drag-drop", G_CALLBACK(galley_drag_drop), NULL);
  galley_install_sift(webkit_web_view_get_user_content_manager(WEBKIT_WEB_VIEW(w)));
  free(g);
  return G_SOURCE_REMOVE;
}

// The string is kept for the life of the program: the signal handlers use it.
static void galley_install_guard(char *origin, uintptr_t to) {
  galley_guarded *g = malloc(sizeof *g);
  g->origin = origin; g->to = to;
  g_timeout_add(5, galley_guard, g);
}

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
	"context"
	"os"
	"path/filepath"
	"runtime/cgo"

	"github.com/wailsapp/wails/v2/pkg/options"
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

// guardWindow keeps the page where it is, brings it back when its process dies,
// keeps from Wails what a page may not ask it for, and calls dropped with what
// another program's files were dropped on the window. Wails v2 offers no hook
// for any of it on Linux, so the signals of the WebKitWebView are connected here
// as soon as the widget exists. origin ends in a slash. It may be called from
// any goroutine, once.
func guardWindow(origin string, dropped func(paths []string)) {
	C.galley_install_guard(C.CString(origin), C.uintptr_t(cgo.NewHandle(dropped)))
}

// dropOptions leaves Wails' own drops off: the page can make up their message.
func dropOptions() *options.DragAndDrop { return nil }

// followDrops does nothing here: drops come natively, through guardWindow.
func followDrops(context.Context, func([]string)) {}

// relabelMenu sets the words and the shown key of one item of the native menu
// bar; item -1 is the menu itself. On Linux replacing the menu after the start
// is not shown and crashes at the next old accelerator, so items are relabelled
// in place; key is in GTK's form ("<Control>s") and binds nothing.
func relabelMenu(menu, item int, label, key string) {
	C.galley_set_label(C.int(menu), C.int(item), C.CString(label), C.CString(key))
}

// menuIsRelabelled says that labels change in place on this system.
const menuIsRelabelled = true
