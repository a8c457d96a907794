package pages

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// ErrDamaged says that a record is not what was written, or not where.
var ErrDamaged = errors.New("the record is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// SealSize is what a seal takes, in bytes.
const SealSize = 4

// Seal puts a checksum over bucket, key and value before the value: bbolt
// returns flipped bits as if nothing were wrong.
func Seal(bucket string, key, value []byte) []byte {
	return SealBehind(bucket, key, append(make([]byte, SealSize, SealSize+len(value)), value...))
}

// SealBehind is Seal for a large value that is not to be copied: room is SealSize
// bytes, which it fills, and the value.
func SealBehind(bucket string, key, room []byte) []byte {
	binary.BigEndian.PutUint32(room, sum(bucket, key, room[SealSize:]))
	return room
}

// Unseal checks and removes the checksum. What it returns is a part of sealed.
func Unseal(bucket string, key, sealed []byte) ([]byte, error) {
	if len(sealed) < SealSize || binary.BigEndian.Uint32(sealed) != sum(bucket, key, sealed[SealSize:]) {
		return nil, ErrDamaged
	}
	return sealed[SealSize:], nil
}

func sum(bucket string, key, value []byte) uint32 {
	crc := crc32.Checksum([]byte(bucket), castagnoli)
	crc = crc32.Update(crc, castagnoli, key)
	return crc32.Update(crc, castagnoli, value)
}
