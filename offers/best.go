package offers

// Best returns the position of the device that Bind would take for one device
// of the ask, without allocating anything; false when none fits.
func (c *ClassRoom) Best(ask DeviceAsk, policy Policy) (device int, ok bool) {
	if ask.Whole() { // idle devices are used alike: the first
		for i := range c.Used {
			if c.idle(i) {
				return i, true
			}
		}
		return -1, false
	}
	ask.Count = 1
	device = -1
	for i := range c.Devices {
		switch {
		case device >= 0 && (c.Used[i] == c.Used[device] || (c.Used[i] < c.Used[device]) != (policy == Spread)):
		case c.fits(i, ask):
			device = i
		}
	}
	return device, device >= 0
}

// Grant returns what one device of the ask is given of device i.
func (c *ClassRoom) Grant(i int, ask DeviceAsk) Grant {
	memory, share := ask.slice(c.Devices[i].Capacity)
	return Grant{ID: c.Devices[i].ID, Index: i, Memory: memory, Share: share}
}

// Plain reports whether what is free of a device says whether a slice of its
// memory fits: nothing is withheld, and no compute given away that is not there.
func (c *ClassRoom) Plain() bool {
	for i, share := range c.Shares {
		if share > FullShare || c.Away != nil && c.Away[i] > 0 {
			return false
		}
	}
	return true
}
