package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Main runs one command line (args[0] is the program) and returns the exit
// code: 0 done, 1 failed, 2 wrong usage, 128+n ended by signal n; run and dev
// pass the code of what they ran.
func Main(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := untilSignal(ctx)
	defer stop()
	a := newApp(in, out, errOut)
	ordered, err := arrange(a, args)
	if err == nil {
		err = a.RunContext(ctx, ordered)
	}
	return exitCode(ctx, err, errOut)
}

// interrupted is why a context ended: somebody sent the process a signal.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string { return "ended by " + i.signal.String() }

// untilSignal ends the context at the first SIGINT or SIGTERM. A second one
// ends the process at once, as if nobody had listened.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(interrupted{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
		<-done
	}
}

// usageError is a wrong use of the command line: exit code 2.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// exitError ends the program with the code of what it ran; it prints nothing.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// exitCode prints what went wrong as one sentence and returns the exit code.
func exitCode(ctx context.Context, err error, errOut io.Writer) int {
	var code exitError
	var usage usageError
	var cause interrupted
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	case errors.Is(err, context.Canceled) && errors.As(context.Cause(ctx), &cause):
		return 128 + int(cause.signal)
	case errors.As(err, &usage):
		complain(errOut, err)
		return 2
	default:
		complain(errOut, err)
		return 1
	}
}

// complain writes one line that says once who speaks.
func complain(w io.Writer, err error) {
	text := strings.ReplaceAll(err.Error()+hint(err), "\n", "; ")
	if !strings.HasPrefix(text, "ringmaster ") {
		text = "ringmaster: " + text
	}
	fmt.Fprintln(w, text)
}
