package sandbox

// NearlyFull is what Pressed says of a disk.
func NearlyFull(total, free uint64) bool { return nearlyFull(total, free) }
