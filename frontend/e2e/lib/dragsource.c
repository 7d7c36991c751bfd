// A small window in the corner of the screen from which files can be dragged,
// as from a file manager. Its argument is what it offers as text/uri-list; with
// a second one it offers that as text too.
#include <gtk/gtk.h>
#include <string.h>

static void offer(GtkWidget *w, GdkDragContext *c, GtkSelectionData *s, guint info, guint time, gpointer data) {
  (void)w; (void)c; (void)time;
  const char *what = ((const char **)data)[info];
  gtk_selection_data_set(s, gtk_selection_data_get_target(s), 8, (const guchar *)what, (gint)strlen(what));
}

static void ended(GtkWidget *w, GdkDragContext *c, gpointer data) {
  (void)w; (void)c; (void)data;
  g_print("ended\n");
}

static gboolean shown(gpointer data) {
  (void)data;
  g_print("shown\n");
  return G_SOURCE_REMOVE;
}

int main(int argc, char **argv) {
  gtk_init(&argc, &argv);
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (argc < 2) return 2;
  GtkTargetEntry targets[] = {{(char *)"text/uri-list", 0, 0}, {(char *)"text/plain", 0, 1}};
  GtkWidget *w = gtk_window_new(GTK_WINDOW_POPUP);
  gtk_window_move(GTK_WINDOW(w), 0, 0);
  gtk_window_set_default_size(GTK_WINDOW(w), 60, 60);
  GtkWidget *box = gtk_event_box_new();
  gtk_container_add(GTK_CONTAINER(w), box);
  gtk_drag_source_set(box, GDK_BUTTON1_MASK, targets, argc > 2 ? 2 : 1, GDK_ACTION_COPY);
  g_signal_connect(box, "drag-data-get", G_CALLBACK(offer), argv + 1);
  g_signal_connect(box, "drag-end", G_CALLBACK(ended), NULL);
  gtk_widget_show_all(w);
  g_timeout_add(100, shown, NULL);
  gtk_main();
  return 0;
}
