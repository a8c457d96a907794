package state

import (
	"bytes"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ringmaster-project/ringmaster/offers"
)

// filler sets every field of a value to something that is not zero and occurs
// nowhere else, so that a round trip that loses a field shows.
type filler struct {
	testing.TB
	n int64
}

func (f *filler) fill(v reflect.Value, path string) {
	f.n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s %04d \xff", path, f.n)) // ascending
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(1<<40 + f.n)
	case reflect.Uint8, reflect.Uint16, reflect.Uint64:
		v.SetUint(uint64(f.n % 200))
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 1.0/3)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0), path)
		f.fill(v.Index(1), path)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i), path)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, path)
			f.fill(value, path)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		f.fillStruct(v, path)
	default:
		f.Fatalf("%s: no way to fill a %s", path, v.Kind())
	}
}

func (f *filler) fillStruct(v reflect.Value, path string) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(start.Add(time.Duration(f.n) * 1_000_000_007)))
		return
	}
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if !field.IsExported() {
			f.Fatalf("%s.%s is not exported: CBOR would lose it", path, field.Name)
		}
		f.fill(v.Field(i), path+"."+field.Name)
	}
}

func TestRecordsKeepEveryField(t *testing.T) {
	for _, record := range []any{new(Agent), new(Framework), new(TaskRecord), new(header), new(roleRecord), new(entryRecord), new(storeRecord)} {
		f := &filler{TB: t}
		f.fill(reflect.ValueOf(record).Elem(), reflect.TypeOf(record).Elem().Name())
		data, err := encoding.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(record).Elem())
		if err := decoding.Unmarshal(data, got.Interface()); err != nil {
			t.Fatalf("%T: %v", record, err)
		}
		if !reflect.DeepEqual(got.Interface(), record) {
			t.Errorf("%T:\n got %+v\nwant %+v", record, got.Elem(), record)
		}
	}
}

// everyCommand returns one command of each kind with every field set.
func everyCommand(t testing.TB) []Command {
	kinds := reflect.TypeFor[Command]().NumField()
	batch := make([]Command, kinds)
	for i := range batch {
		f := &filler{TB: t}
		f.fill(reflect.ValueOf(&batch[i]).Elem().Field(i), reflect.TypeFor[Command]().Field(i).Name)
		if l := batch[i].Launch; l != nil {
			l.Task.Kill, l.Task.End = nil, nil // never carried
		}
	}
	return batch
}

func TestCommandsKeepEveryField(t *testing.T) {
	batch := everyCommand(t)
	data, err := Encode(batch)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range batch {
		if !reflect.DeepEqual(got[i], batch[i]) {
			t.Errorf("%s is lost in part", reflect.TypeFor[Command]().Field(i).Name)
		}
	}
	again, err := Encode(got)
	if err != nil || !bytes.Equal(again, data) {
		t.Errorf("encoded again it differs: %v", err)
	}
}

func TestImpossibleTimesBecomeNone(t *testing.T) {
	for _, at := range []time.Time{
		time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200)),
		time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 7200)),
		time.Unix(1<<61, 0),
	} {
		batch := []Command{{EndTask: &EndTask{Status: offers.Status{State: offers.Failed, Time: at}}}}
		data, err := Encode(batch)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "time", got[0].EndTask.Status.Time, time.Time{})
		equal(t, "caller's time", batch[0].EndTask.Status.Time, at)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for what, batch := range map[string][]Command{
		"1 to 65536":     nil,
		"names 0":        {{}},
		"names 2":        {{Init: &Init{}, Launch: &Launch{}}},
		"a batch of 655": make([]Command, MaxBatch+1),
		"at most 671088": {{Put: &Put{Value: make([]byte, MaxEntry)}}},
	} {
		if _, err := Encode(batch); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want %q", err, what)
		}
	}
}

// Of a value that goes into an entry little else is left behind than its command in
// CBOR, and the entry; but for what that needs while its buffers are new.
func TestLargeValuesLeaveLittleBehind(t *testing.T) {
	const size = 8 << 20
	batch := make([]Command, 8)
	for i := range batch {
		batch[i] = Command{Put: &Put{Framework: "f00001-c0de", Key: "k", Value: make([]byte, size/len(batch))}}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Encode(batch); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 5*size {
		t.Errorf("%d MiB of values took %d MiB to encode", size>>20, n>>20)
	}
}

func TestDecodeRefuses(t *testing.T) {
	good, err := Encode([]Command{{Init: &Init{cluster}}})
	if err != nil {
		t.Fatal(err)
	}
	old := elder(t, []Command{{Init: &Init{cluster}}})
	for version := byte(1); version < compactVersion; version++ {
		old[0] = version
		if batch, err := Decode(old); err != nil || len(batch) == 0 {
			t.Errorf("an entry of version %d: %v", version, err)
		}
	}
	for what, entry := range map[string][]byte{
		"empty":                  {},
		"version 0":              {0, 0x80},
		"version 8":              {8, 0x80},
		"1 to 65536":             {1, 0x80},
		"names 0":                {1, 0x81, 0xa0},
		"decode commands: ":      old[:len(old)-1],
		"decode command 0: ":     good[:len(good)-1],
		"extraneous":             append(bytes.Clone(good), 0),
		"unknown field":          {1, 0x81, 0xa1, 0x18, 99, 0x01},
		"duplicate map key":      {1, 0x81, 0xa2, 0x01, 0xa0, 0x01, 0xa0},
		"exceeded max number":    {1, 0x9a, 0xff, 0xff, 0xff, 0xff},
		"unexpected EOF":         {1, 0x9a, 0x00, 0x0f, 0xff, 0xff},
		"exceeded max nested":    append([]byte{1}, bytes.Repeat([]byte{0x81}, 40)...),
		"tag":                    {1, 0x81, 0xc0, 0xa0},
		"indefinite-length":      {1, 0x9f, 0xff},
		"cannot unmarshal array": {1, 0x81, 0x80},
	} {
		if _, err := Decode(entry); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%x: got %v, want %q", entry, err, what)
		}
	}
}

func FuzzDecode(f *testing.F) {
	all := everyCommand(f)
	for i := range all {
		entry, err := Encode(all[i : i+1])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(entry)
	}
	setup := []Command{
		{Init: &Init{cluster}}, {RegisterAgent: &RegisterAgent{Agent: offers.Agent{Name: "a"}}}, {RegisterFramework: &RegisterFramework{}},
		launch("f00001-c0de", "t", "a00001-c0de"), {Put: &Put{Framework: "f00001-c0de", Key: "k"}},
	}
	for i := range setup {
		entry, _ := Encode(setup[i : i+1])
		f.Add(entry)
	}
	f.Fuzz(func(t *testing.T, entry []byte) {
		batch, err := Decode(entry)
		if err != nil {
			return
		}
		again, err := Encode(batch)
		if err != nil {
			t.Fatalf("decoded and not encoded: %v", err)
		}
		twice, err := Decode(again)
		if err != nil {
			t.Fatalf("encoded and not decoded: %v", err)
		}
		s, _ := New().Apply(setup)
		one, _ := s.Apply(batch)
		two, _ := s.Apply(twice)
		if err := one.check(); err != nil {
			t.Fatal(err)
		}
		sum := snapshot(t, one)
		if !bytes.Equal(sum, snapshot(t, two)) {
			t.Fatal("a round trip changes what the commands do")
		}
		if _, err := Read(bytes.NewReader(sum)); err != nil {
			t.Fatal(err)
		}
	})
}
