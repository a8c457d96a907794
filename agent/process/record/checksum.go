package record

import "sync"

// castagnoli is the table of the CRC-32C of RFC 3720. The one of hash/crc32 is
// made for gigabytes: to make it takes a shim longer than all its records do.
var castagnoli = sync.OnceValue(func() *[256]uint32 {
	const reversed = 0x82f63b78
	var table [256]uint32
	for i := range table {
		sum := uint32(i)
		for range 8 {
			sum = sum>>1 ^ reversed&-(sum&1)
		}
		table[i] = sum
	}
	return &table
})

// checksum goes on from a checksum, 0 at first, with more data.
func checksum(sum uint32, data []byte) uint32 {
	table := castagnoli()
	sum = ^sum
	for _, b := range data {
		sum = table[byte(sum)^b] ^ sum>>8
	}
	return ^sum
}
