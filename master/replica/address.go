package replica

import (
	"errors"
	"fmt"
	"net"
	"strconv"
)

// Advertised returns the host:port under which others reach a listener bound
// to bound. An advertised address given by the operator wins (its port 0
// stands for the bound one); a listener on all addresses is advertised under
// the host's first address that is not loopback.
func Advertised(bound net.Addr, given string) (string, error) {
	_, port, err := net.SplitHostPort(bound.String())
	if err != nil {
		return "", fmt.Errorf("advertise %s: %w", bound, err)
	}
	if given != "" {
		host, givenPort, err := net.SplitHostPort(given)
		if err != nil || host == "" || unspecified(host) {
			return "", fmt.Errorf("advertise %.100q is not a host:port that others can reach", given)
		}
		if givenPort != "0" {
			port = givenPort
		}
		return net.JoinHostPort(host, port), nil
	}
	host, _, _ := net.SplitHostPort(bound.String())
	if !unspecified(host) {
		return bound.String(), nil
	}
	host, err = outwardAddress()
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(host, port), nil
}

func unspecified(host string) bool {
	ip := net.ParseIP(host)
	return host == "" || ip != nil && ip.IsUnspecified()
}

// outwardAddress prefers IPv4, which more hosts reach each other by.
func outwardAddress() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("advertise: the host's addresses: %w", err)
	}
	var six string
	for _, a := range addresses {
		ipnet, ok := a.(*net.IPNet)
		if !ok || !ipnet.IP.IsGlobalUnicast() {
			continue
		}
		if ipnet.IP.To4() != nil {
			return ipnet.IP.String(), nil
		}
		if six == "" {
			six = ipnet.IP.String()
		}
	}
	if six == "" {
		return "", errors.New("advertise: this host has no address but loopback: give --advertise-http and --advertise-raft, or bind to 127.0.0.1")
	}
	return six, nil
}

func validAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return fmt.Errorf("%.100q is not host:port", address)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%.100q has no port from 1 to 65535", address)
	}
	return nil
}
