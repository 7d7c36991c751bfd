//go:build linux && !bindings

package main

// #include <stdint.h>
import "C"

import (
	"runtime/cgo"

	"galley/backend/api"
)

// galleyDropped is called by window_linux.go with the list of URIs that was
// dropped. It stands in a file of its own, since cgo wants no C code beside an
// exported function. A drop is a gesture of the person.
//
//export galleyDropped
func galleyDropped(to C.uintptr_t, list *C.char) {
	if dropped, ok := cgo.Handle(to).Value().(func([]string)); ok {
		dropped(api.DroppedPaths(C.GoString(list)))
	}
}
