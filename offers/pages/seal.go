package pages

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// ErrDamaged says that a record is not what was written, or not where.
var ErrDamaged = errors.New("the record is damaged")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const sealSize = 4

// Seal puts a checksum over bucket, key and value before the value: bbolt
// returns flipped bits as if nothing were wrong.
func Seal(bucket string, key, value []byte) []byte {
	out := binary.BigEndian.AppendUint32(make([]byte, 0, len(value)+sealSize), sum(bucket, key, value))
	return append(out, value...)
}

// Unseal checks and removes the checksum. What it returns is a part of sealed.
func Unseal(bucket string, key, sealed []byte) ([]byte, error) {
	if len(sealed) < sealSize || binary.BigEndian.Uint32(sealed) != sum(bucket, key, sealed[sealSize:]) {
		return nil, ErrDamaged
	}
	return sealed[sealSize:], nil
}

func sum(bucket string, key, value []byte) uint32 {
	crc := crc32.Checksum([]byte(bucket), castagnoli)
	crc = crc32.Update(crc, castagnoli, key)
	return crc32.Update(crc, castagnoli, value)
}
