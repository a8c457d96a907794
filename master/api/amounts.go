package api

import (
	"encoding/json"

	"github.com/ringmaster-project/ringmaster/offers"
)

// Amounts is an amount of resources: every scalar kind, also when there is none
// of it.
type Amounts struct {
	CPUs      json.Number         `json:"cpus"`      // cores
	Mem       int64               `json:"mem"`       // bytes
	Disk      int64               `json:"disk"`      // bytes
	Bandwidth int64               `json:"bandwidth"` // bits per second
	Ports     offers.Ports        `json:"ports,omitempty"`
	Devices   map[string]ClassSum `json:"devices,omitempty"` // by class
}

// ClassSum is a device class added up.
type ClassSum struct {
	Count  int   `json:"count"`  // devices
	Memory int64 `json:"memory"` // bytes
}
