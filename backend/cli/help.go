package cli

const help = `Galley is a Markdown editor in which AI only proposes.

  galley [--home FOLDER] [FILE or FOLDER ...]   open the window
  galley run [FLAGS] FOLDER TASK                have AI carry a task out in a folder
  galley runs [list|show|cancel|continue]       see what happened, also after a crash
  galley backup FILE                            copy the run database
  galley --version                              print the version
  galley --help                                 print this; also galley run --help

  --home FOLDER   keep every file of the program in FOLDER (also GALLEY_HOME)
`

const runHelp = `galley run [FLAGS] FOLDER TASK

Has AI carry out a task. It may search and read the documents in FOLDER and
propose changes of one; it is asked on the terminal before it creates or renames
a document. No flag allows that by itself. Where a window of the same home is
open, the window carries the run out and both show it.

  --provider ID   a provider of the settings; mock needs no key and no network
  --model MODEL   another model than the provider's own
  --file FILE     the document that the task is about
  --session ID    go on in a session
  --json          print one JSON object a line (docs/PROTOCOL.md) and ask nothing
  --home FOLDER   keep every file of the program in FOLDER (also GALLEY_HOME)

Flags may also stand behind the words; what follows -- is the task's.

A proposed change is kept with the run and written as a patch file; nothing is
applied. Ctrl+C stops the run and waits for its end, a second one ends at once.
The answer goes to standard output, what happens to standard error. NO_COLOR
switches colours off.

Exit codes: 0 done, 1 error, 2 wrong command line, 3 the run database failed,
4 the run failed, 5 stopped, 6 interrupted, 7 busy.
`

const runsHelp = `galley runs [list] [--limit N] [--json]      the newest runs, newest first
galley runs show ID [--json]                 all that is known of a run
galley runs cancel ID [--json]               stop a run
galley runs continue [FLAGS] ID [--json]     a new run that goes on from there

The beginning of an id will do. What a crash left is settled first: what cannot
be known is called unknown, and nothing is repeated by itself.

  --provider ID, --model MODEL, --folder FOLDER, --file FILE   for continue:
                  others than those of the run that is continued
  --home FOLDER   keep every file of the program in FOLDER (also GALLEY_HOME)

Exit codes are those of galley run.
`

const backupHelp = `galley backup [--home FOLDER] [--json] FILE

Copies the run database, whole and consistent, also while it is in use. FILE is
replaced only when the copy is whole; it cannot lie in the program's own folder.
`
