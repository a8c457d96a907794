package artifact

// Waiting returns how many wait for downloads.
func (s *Store) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, f := range s.flights {
		n += f.waiters
	}
	return n
}
