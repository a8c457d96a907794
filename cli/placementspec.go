package cli

import (
	"fmt"
	"math"
	"strconv"

	"github.com/ringmaster-project/ringmaster/master/match"
)

// The readers below are of the sections that configure single strategies. What
// makes sense of a number is for the strategy to say.

func number(into func(*settings) *float64) func(*settings, string) error {
	return func(s *settings, text string) error {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return fmt.Errorf("%q is not a number", text)
		}
		*into(s) = n
		return nil
	}
}

func balanceThreshold(s *settings, text string) error {
	if err := number(func(s *settings) *float64 { return &s.balance.Threshold })(s, text); err != nil {
		return err
	}
	return (&match.Balance{Threshold: s.balance.Threshold}).Validate()
}

func coefficient(into func(*settings) *float64) func(*settings, string) error {
	return func(s *settings, text string) error {
		if err := number(into)(s, text); err != nil {
			return err
		}
		return match.ValidCoefficient(*into(s))
	}
}

// balanceWeights reads {cpus: 0.4, mem: 0.4, gpu: 0.2}.
func balanceWeights(s *settings, pairs map[string]string) error {
	s.balance.Weights = map[string]float64{}
	for kind, text := range pairs {
		if err := wantKind(kind); err != nil {
			return err
		}
		var w float64
		if err := number(func(*settings) *float64 { return &w })(s, text); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
		s.balance.Weights[kind] = w
	}
	return (&match.Balance{Weights: s.balance.Weights}).Validate()
}

func balanceFrom(s *settings, list []string) error {
	s.balance.From = nil
	for _, name := range list {
		s.balance.From = append(s.balance.From, match.WeightSource(name))
	}
	return (&match.Balance{From: s.balance.From}).Validate()
}
