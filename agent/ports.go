package agent

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/ringmaster-project/ringmaster/offers"
)

// checkPorts refuses ports that a program on this host uses, for TCP or UDP, on
// any address. Which tasks hold which ports is counted elsewhere; this finds
// programs that no agent has started.
func checkPorts(ports offers.Ports) error {
	for _, port := range ports.Each() {
		for protocol, kind := range map[string]int{"tcp": unix.SOCK_STREAM, "udp": unix.SOCK_DGRAM} {
			if errors.Is(bindPort(kind, port), unix.EADDRINUSE) {
				return because{offers.ReasonPortTaken, fmt.Errorf("port %d is taken: another program on this host uses it (%s)", port, protocol)}
			}
		}
	}
	return nil
}

// bindPort takes a port on all addresses and gives it back. It does not listen,
// so nobody can connect meanwhile; connections that have just ended are no use.
func bindPort(kind int, port uint16) error {
	family, any := unix.AF_INET6, unix.Sockaddr(&unix.SockaddrInet6{Port: int(port)})
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, unix.EAFNOSUPPORT) {
		family, any = unix.AF_INET, &unix.SockaddrInet4{Port: int(port)}
		fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if family == unix.AF_INET6 {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
	}
	if kind == unix.SOCK_STREAM {
		err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
	}
	if err != nil {
		return err
	}
	return unix.Bind(fd, any)
}
