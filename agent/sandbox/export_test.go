package sandbox

// NearlyFull is what Pressed says of a disk.
func NearlyFull(total, free uint64) bool { return nearlyFull(total, free) }

// Full is what Store.Full says of one.
func Full(total, free uint64, was bool) bool { return full(total, free, was) }
