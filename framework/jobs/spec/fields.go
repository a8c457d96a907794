package spec

import (
	"reflect"
	"slices"
	"strings"
)

// field is one key of a section.
type field struct {
	Name  string
	Index []int // of the struct's field
	Type  reflect.Type
	Tag   reflect.StructTag
}

// fieldsOf returns the keys of a section in their order, those of an embedded
// struct after its surroundings' own, which hide others of the same name.
func fieldsOf(t reflect.Type) []field {
	var own, embedded []field
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			for _, inner := range fieldsOf(f.Type) {
				inner.Index = append([]int{i}, inner.Index...)
				embedded = append(embedded, inner)
			}
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		own = append(own, field{Name: name, Index: []int{i}, Type: f.Type, Tag: f.Tag})
	}
	for _, f := range embedded {
		if find(own, f.Name) < 0 {
			own = append(own, f)
		}
	}
	return own
}

func find(fields []field, name string) int {
	return slices.IndexFunc(fields, func(f field) bool { return f.Name == name })
}

func namesOf(fields []field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = f.Name
	}
	return out
}

// resourceKinds are the keys of the section resources.
func resourceKinds() []field {
	return []field{
		{Name: "cpus", Tag: `doc:"cores, at most three decimals"`},
		{Name: "mem", Tag: `doc:"memory in bytes or with a unit such as MiB"`},
		{Name: "disk", Tag: `doc:"disk in bytes or with a unit such as GiB"`},
		{Name: "bandwidth", Tag: `doc:"bits per second, such as 1Gbps"`},
		{Name: "ports", Tag: `doc:"ports of the host that are this instance's alone: how many of any, or their names, such as [http, admin], or which, such as [8080, 9000-9010]"`},
		{Name: "gpu", Tag: `doc:"a number of whole GPUs, or a section of count, memory and share"`},
		{Name: "devices", Tag: `doc:"device classes, each a section of count, memory and share"`},
	}
}
