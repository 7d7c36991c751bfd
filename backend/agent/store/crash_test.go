package store

// envChild names what a re-executed test binary does instead of testing.
const envChild = "GALLEY_STORE_CHILD"

func child(string) int { return 2 }
