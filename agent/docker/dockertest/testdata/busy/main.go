// Busy does what its arguments say, one after the other. It is the same
// program in a container, which holds nothing else, and on the host.
package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	for _, step := range os.Args[1:] {
		verb, value, _ := strings.Cut(step, "=")
		if err := do(verb, value); err != nil {
			fmt.Fprintln(os.Stderr, step+":", err)
			os.Exit(99)
		}
	}
}

// in returns a path in the sandbox, or an absolute one as it is.
func in(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(os.Getenv("RINGMASTER_SANDBOX"), path)
}

func do(verb, value string) error {
	switch verb {
	case "out":
		_, err := fmt.Print(value)
		return err
	case "err":
		_, err := fmt.Fprint(os.Stderr, value)
		return err
	case "bytes": // that are no text
		for n := range number(value) {
			if _, err := os.Stdout.Write([]byte{byte(n), byte(n >> 8), 0xff, 0}); err != nil {
				return err
			}
		}
	case "copy": // standard input, to its end
		_, err := io.Copy(os.Stdout, os.Stdin)
		return err
	case "window": // its size, once it is wanted
		for {
			size, err := unix.IoctlGetWinsize(0, unix.TIOCGWINSZ)
			if err != nil {
				return err
			}
			if fmt.Sprintf("%dx%d", size.Row, size.Col) == value {
				return nil
			}
			time.Sleep(10 * time.Millisecond)
		}
	case "exit":
		os.Exit(number(value))
	case "sleep":
		d, err := time.ParseDuration(value)
		time.Sleep(d)
		return err
	case "line": // added to a file, with what follows
		f, err := os.OpenFile(in(value), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = fmt.Fprintln(f, "line")
		return err
	case "wait":
		for {
			if _, err := os.Stat(in(value)); err == nil {
				return nil
			}
			time.Sleep(5 * time.Millisecond)
		}
	case "need": // a file, or fails
		_, err := os.Stat(in(value))
		return err
	case "mark": // tells its process from others'
	case "open": // a file, to read
		f, err := os.Open(in(value))
		if err == nil {
			err = f.Close()
		}
		return err
	case "same": // NAME=VALUE in the environment, or fails
		if name, want, _ := strings.Cut(value, "="); os.Getenv(name) != want {
			return fmt.Errorf("it is %q", os.Getenv(name))
		}
	case "child": // that takes one step beside this process
		return exec.Command("/proc/self/exe", value).Start()
	case "cat":
		data, err := os.ReadFile(in(value))
		fmt.Print(string(data))
		return err
	case "env":
		fmt.Printf("%s=%s\n", value, os.Getenv(value))
	case "whoami":
		dir, err := os.Getwd()
		fmt.Printf("%d:%d in %s\n", os.Getuid(), os.Getgid(), dir)
		return err
	case "trap":
		orders := make(chan os.Signal, 1)
		signal.Notify(orders, syscall.SIGTERM)
		go func() { <-orders; fmt.Println("asked"); os.Exit(number(value)) }()
	case "ignore":
		signal.Ignore(syscall.SIGTERM)
	case "memory":
		block := make([]byte, number(value))
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		fmt.Println(len(block), "bytes")
	case "listen":
		l, err := net.Listen("tcp", ":"+value)
		if err != nil {
			return err
		}
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				fmt.Fprintln(conn, "here")
				conn.Close()
			}
		}()
	default:
		return fmt.Errorf("there is no %q", verb)
	}
	return nil
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(98)
	}
	return n
}
