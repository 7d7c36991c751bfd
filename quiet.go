package main

import (
	"log/slog"

	"github.com/wailsapp/wails/v2/pkg/logger"
)

// wailsLogLevel is what Wails may say at all.
const wailsLogLevel = logger.ERROR

// quietLogger takes Wails' messages without their words: on a decoding error or
// a panic they quote the whole bound call, a key that was just typed with it.
type quietLogger struct{ log *slog.Logger }

func (l quietLogger) Print(string)   {}
func (l quietLogger) Trace(string)   {}
func (l quietLogger) Debug(string)   {}
func (l quietLogger) Info(string)    {}
func (l quietLogger) Warning(string) { l.log.Warn("window toolkit warns") }
func (l quietLogger) Error(string)   { l.log.Error("window toolkit refused a message") }
func (l quietLogger) Fatal(string)   { l.log.Error("window toolkit gave up") }
