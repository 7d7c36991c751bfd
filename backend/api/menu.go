package api

// MenuItem is one item of the native menu bar. Label is English, shown until
// the page sends the words of its language; the page's table of commands is
// the home of words and keys.
type MenuItem struct {
	// Command is an id of the page's table of commands; "" is a separator.
	Command string
	Label   string
}

// MenuGroup is one menu of the bar.
type MenuGroup struct {
	// ID names the menu in labels ("menu.file").
	ID    string
	Label string
	Items []MenuItem
}

// MenuLabel is the words and the shown key of one item or menu, from the page.
type MenuLabel struct {
	// ID is a command id, or a MenuGroup's.
	ID    string `json:"id"`
	Label string `json:"label"`
	// Key is the shown key in GTK's form ("<Control>s"); "" for none.
	Key string `json:"key"`
}

// MenuBar returns the native menu bar. Its commands are those of the page's
// table; a test compares them.
func MenuBar() []MenuGroup {
	sep := MenuItem{}
	return []MenuGroup{
		{"menu.file", "File", []MenuItem{
			{"file.new", "New document"},
			{"file.newFolder", "New folder…"},
			{"file.open", "Open file…"},
			{"file.openFolder", "Open folder…"},
			{"file.openRecent", "Open recent…"},
			{"file.quickOpen", "Go to file…"},
			sep,
			{"file.save", "Save"},
			{"file.saveAs", "Save as…"},
			{"file.close", "Close"},
			{"file.reopenClosed", "Reopen closed document"},
			sep,
			{"file.rename", "Rename…"},
			{"file.duplicate", "Duplicate"},
			{"file.reveal", "Show in file manager"},
			{"file.trash", "Move to trash…"},
			sep,
			{"app.settings", "Settings"},
			{"app.quit", "Quit"},
		}},
		{"menu.edit", "Edit", []MenuItem{
			{"edit.undo", "Undo"},
			{"edit.redo", "Redo"},
			sep,
			{"edit.cut", "Cut"},
			{"edit.copy", "Copy"},
			{"edit.paste", "Paste"},
			{"edit.selectAll", "Select all"},
			sep,
			{"edit.find", "Find"},
			{"edit.searchFolder", "Search in folder"},
			{"edit.replaceFolder", "Replace in folder"},
		}},
		{"menu.ai", "AI", []MenuItem{
			{"ai.rewrite", "Rewrite selection"},
			sep,
			{"ai.review.next", "Next change"},
			{"ai.review.previous", "Previous change"},
			{"ai.review.accept", "Accept change"},
			{"ai.review.reject", "Reject change"},
			{"ai.review.acceptAll", "Accept all ticked"},
			{"ai.review.rejectAll", "Reject all"},
			{"ai.regenerate", "Regenerate"},
		}},
		{"menu.view", "View", []MenuItem{
			{"view.palette", "Command palette"},
			{"view.sidebar", "Sidebar"},
			{"view.panel", "AI panel"},
		}},
		{"menu.help", "Help", []MenuItem{
			{"help.about", "About Galley"},
		}},
	}
}
