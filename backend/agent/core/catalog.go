package core

// The names of the tools there are (T2). There is no shell, no arbitrary path,
// no delete, no network and no command: not switched off, absent.
const (
	ToolGetActiveDocument = "getActiveDocument"
	ToolGetSelection      = "getSelection"
	ToolGetOutline        = "getOutline"
	ToolSearchWorkspace   = "searchWorkspace"
	ToolReadDocument      = "readDocument"
	ToolListWorkspace     = "listWorkspace"
	ToolProposePatch      = "proposePatch"
	ToolCreateDocument    = "createDocument"
	ToolRenameDocument    = "renameDocument"

	// The development tools, offered to the mock provider only.
	ToolSystemEcho = "system_echo"
	ToolMathAdd    = "math_add"
)

// Tools returns the declarations of every tool of T2 and, behind them, the
// development tools. Paths in inputs and results are relative to the
// workspace, with slashes. The slice is the caller's own.
func Tools() []Tool {
	return []Tool{
		{
			Name: ToolGetActiveDocument, Kind: ToolRead, Permission: PermDocumentRead,
			Description: "Read the document this conversation is about as it stands now, unsaved text and front matter too, with its path. " +
				"What you quote afterwards is looked for in this text. Call it again when you are told that the document changed.",
			Input: Schema{
				{Name: "fromLine", Type: TypeInteger, Description: "The first line to give, from 1, to go on where a long text was cut."},
			},
		},
		{
			Name: ToolGetSelection, Kind: ToolRead, Permission: PermDocumentRead,
			Description: "Read what is selected in the document, with the lines it stands in. Empty when nothing is selected; then only the place of the caret is given.",
		},
		{
			Name: ToolGetOutline, Kind: ToolRead, Permission: PermDocumentRead,
			Description: "Read the headings of the document, each with its level and line.",
		},
		{
			Name: ToolSearchWorkspace, Kind: ToolRead, Permission: PermWorkspaceRead,
			Description: "Search all documents of the workspace for a text, unsaved text too. Gives the lines it stands in, as path:line: text.",
			Input: Schema{
				{Name: "query", Type: TypeString, Required: true, Description: "What to look for."},
				{Name: "regex", Type: TypeBoolean, Description: "Whether the query is a regular expression (RE2)."},
				{Name: "caseSensitive", Type: TypeBoolean, Description: "Whether upper and lower case differ."},
				{Name: "wholeWord", Type: TypeBoolean, Description: "Whether only whole words match."},
				{Name: "include", Type: TypeString, Description: "A glob that paths must match, such as *.md or Notes/**."},
			},
		},
		{
			Name: ToolReadDocument, Kind: ToolRead, Permission: PermWorkspaceRead,
			Description: "Read another document of the workspace, unsaved text too. A long one is given in parts; the answer says how to go on.",
			Input: Schema{
				{Name: "path", Type: TypeString, Required: true, Description: "Path relative to the workspace, with slashes, as listWorkspace and searchWorkspace give it."},
				{Name: "fromLine", Type: TypeInteger, Description: "The first line to give, from 1."},
			},
		},
		{
			Name: ToolListWorkspace, Kind: ToolRead, Permission: PermWorkspaceRead,
			Description: "List the folders and documents of the workspace, or of one of its folders, with all that is inside.",
			Input: Schema{
				{Name: "path", Type: TypeString, Description: "A folder relative to the workspace; the workspace itself when left out."},
			},
		},
		{
			Name: ToolProposePatch, Kind: ToolWrite, Permission: PermNotesPropose,
			Description: "Propose one change of the document. Nothing is changed: the person sees it as a difference and accepts or rejects it. " +
				"Quote oldText exactly as it stands in the document, the shortest piece that occurs once, at most about three lines, and give what takes its place. " +
				"Several calls may be made for several changes.",
			Input: Schema{
				{Name: "oldText", Type: TypeString, Required: true, Description: "The passage to change, copied from the document. Empty only for a pure insertion, together with at."},
				{Name: "newText", Type: TypeString, Required: true, Description: "What takes its place; empty deletes it."},
				{Name: "at", Type: TypeString, Enum: []string{"start", "end", "caret"}, Description: "Where to insert when oldText is empty."},
				{Name: "occurrence", Type: TypeInteger, Description: "Which occurrence is meant, from 1; only after an answer that said the quote is ambiguous."},
				{Name: "scope", Type: TypeString, Enum: []string{"document", "selection"}, Description: "Where the quote must lie. Left out: the selection when the person selected something, else the document."},
				{Name: "summary", Type: TypeString, Required: true, Description: "One sentence for the person, in their language."},
			},
		},
		{
			Name: ToolCreateDocument, Kind: ToolWrite, Permission: PermNotesWrite,
			Description: "Create a new document in the workspace. The person is asked each time. It never overwrites.",
			Input: Schema{
				{Name: "dir", Type: TypeString, Required: true, Description: "An existing folder relative to the workspace; empty for the workspace itself."},
				{Name: "name", Type: TypeString, Required: true, Description: "The file's name, with .md."},
				{Name: "text", Type: TypeString, Required: true, Description: "The whole text, Markdown."},
			},
		},
		{
			Name: ToolRenameDocument, Kind: ToolWrite, Permission: PermNotesWrite,
			Description: "Give a document another name in the same folder. The person is asked each time. Links to it are not changed.",
			Input: Schema{
				{Name: "path", Type: TypeString, Required: true, Description: "Path relative to the workspace, with slashes."},
				{Name: "newName", Type: TypeString, Required: true, Description: "The new name, with .md and without a folder."},
			},
		},
		{
			Name: ToolSystemEcho, Kind: ToolRead, Permission: PermDocumentRead,
			Description: "Give back a text. For development.",
			Input:       Schema{{Name: "text", Type: TypeString, Required: true, Description: "The text."}},
		},
		{
			Name: ToolMathAdd, Kind: ToolRead, Permission: PermDocumentRead,
			Description: "Add two numbers. For development.",
			Input: Schema{
				{Name: "left", Type: TypeNumber, Required: true, Description: "A number."},
				{Name: "right", Type: TypeNumber, Required: true, Description: "A number."},
			},
		},
	}
}

// ConversationTools returns the names of the tools that a conversation may use
// when nothing else is said. The slice is the caller's own.
func ConversationTools() []string {
	return []string{
		ToolGetActiveDocument, ToolGetSelection, ToolGetOutline, ToolSearchWorkspace, ToolReadDocument,
		ToolListWorkspace, ToolProposePatch, ToolCreateDocument, ToolRenameDocument,
	}
}

// DevelopmentTools returns the names of the tools that only the mock provider
// is offered. The slice is the caller's own.
func DevelopmentTools() []string { return []string{ToolSystemEcho, ToolMathAdd} }
