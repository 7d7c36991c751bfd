package api

import (
	"context"

	"galley/backend/fault"
	"galley/backend/workspace"
)

// newWatcher returns the watcher of the open folder and the open files.
func (b *Backend) newWatcher() *workspace.Watcher {
	return workspace.NewWatcher(workspace.WatchConfig{
		Grants: b.grants, Log: b.log, OnChange: b.follow,
		Surveyed: func(folders int) { b.log.Debug("watching", "folders", folders) },
	})
}

// follow passes on that something changed: to the page, the index of files and
// the open documents. It waits for the last of them.
func (b *Backend) follow(c workspace.Changes) {
	all := c.All || c.Gone
	if all {
		b.index.InvalidateAll()
	} else if len(c.Folders) > 0 {
		b.index.Invalidate(c.Folders)
	}
	if all || len(c.Folders) > 0 {
		b.emitter.Emit("workspace.changed", WorkspaceChanged{Folders: append([]string{}, c.Folders...), All: c.All, Gone: c.Gone})
	}
	if err := b.set.Check(b.ctx, c.Files); err != nil && b.ctx.Err() == nil {
		b.log.Warn("open files not compared", "code", fault.CodeOf(err))
	}
}

// changed is follow without waiting.
func (b *Backend) changed(c workspace.Changes) { b.wg.Go(func() { b.follow(c) }) }

// aim tells the watcher what is open now.
func (b *Backend) aim() { b.watcher.Watch(b.grants.Workspace(), b.set.Paths()) }

// move moves a file or folder with the open documents, the grants and the
// drafts of what is in it. After an error nothing has moved.
func (b *Backend) move(ctx context.Context, from, to string) (moved workspace.Entry, err error) {
	release := b.watcher.Hold(ctx, from)
	defer release()
	err = b.set.Move(ctx, from, to, func() (err error) {
		moved, err = b.grants.Move(ctx, from, to)
		return err
	})
	if err != nil {
		return workspace.Entry{}, err
	}
	b.aim()
	b.workspace.told(from, to)
	return moved, nil
}

// setAside takes what trees, searches and the watcher set aside from the
// settings.
func (b *Backend) setAside() {
	now := b.store.Get()
	if b.grants.SetIgnored(now.ShowHidden, now.Ignored) {
		b.index.InvalidateAll()
		b.watcher.Rescan()
	}
}
