package cli

import "github.com/ringmaster-project/ringmaster/agent/isolation"

func setIsolation(s *settings, words []string) error {
	parts, err := isolation.Parse(words)
	s.isolation = &parts
	return err
}

func setCapabilities(s *settings, words []string) (err error) {
	s.keep, err = isolation.ParseCapabilities(words)
	return err
}

func setRlimits(s *settings, m map[string]string) (err error) {
	s.rlimits, err = isolation.ParseRlimits(m)
	return err
}
