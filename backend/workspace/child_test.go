package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"

	"galley/backend/fault"
	"galley/backend/workspace"
	"galley/backend/workspace/filefault"
)

// childEnv makes the test program do one write and end: a process that can be
// killed, or run as somebody else.
const childEnv = "GALLEY_WORKSPACE_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		if err := child(what, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child writes args[2] to the file args[1] of the bench at args[0]; with
// "kill", call number args[3] is its last, in mode args[4]; with "rounds" it
// saves until that call.
func child(what string, args []string) error {
	switch what {
	case "rounds":
		return saveUntilKilled(args[0], args[1], args[2], args[3], args[4])
	case "tree":
		return changeTree(args)
	case "readonly":
		return changeReadOnly(args)
	case "full":
		return saveToFullDisk(args[0], args[1])
	}
	calls := filefault.New(workspace.OSCalls())
	root, name, data := args[0], args[1], args[2]
	g := workspace.NewGrantsOn(calls)
	if _, err := g.GrantFolder(root + "/w"); err != nil {
		return err
	}
	var base workspace.Stat
	f, err := g.PermitRead(root + "/w/" + name)
	if err == nil {
		_, base, err = f.Read(1 << 30)
	}
	if err != nil && !errors.Is(err, &fault.Error{Code: fault.NotFound}) {
		return err
	}
	if what == "kill" {
		n, err := strconv.Atoi(args[3])
		if err != nil {
			return err
		}
		calls.Arm(filefault.Plan{At: n, Mode: filefault.Mode(args[4]), Die: kill})
	}
	target, err := g.PermitWrite(root + "/w/" + name)
	var res workspace.WriteResult
	if err == nil {
		res, err = target.Write([]byte(data), workspace.WriteOptions{Base: base, RecoveryDir: root + "/recovery"})
	}
	switch {
	case err != nil:
		fmt.Print(fault.CodeOf(err))
	case res.Fallback:
		old, err := os.ReadFile(res.RecoveryPath)
		if err != nil {
			return err
		}
		fmt.Print("fallback ", string(old))
	default:
		fmt.Print("replaced")
	}
	return nil
}
