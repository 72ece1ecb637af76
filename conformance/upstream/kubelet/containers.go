package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// containers do the same in every Pod.
type containers struct{}

// exitCode ends a command as a runtime tells that a process ended.
type exitCode int

func (e exitCode) Error() string   { return fmt.Sprintf("command terminated with exit code %d", int(e)) }
func (e exitCode) String() string  { return e.Error() }
func (e exitCode) Exited() bool    { return true }
func (e exitCode) ExitStatus() int { return int(e) }

// Exec runs one of the commands that every container knows.
func (containers) Exec(ctx context.Context, _ string, command []string, in io.Reader, out, err io.WriteCloser, tty bool, sizes <-chan remotecommand.TerminalSize) error {
	argument := strings.Join(command[1:], " ")
	switch command[0] {
	case "print":
		return say(out, argument+"\n")
	case "complain":
		return say(err, argument+"\n")
	case "exit":
		code, _ := strconv.Atoi(argument)
		if code == 0 {
			return nil
		}
		return exitCode(code)
	case "copy":
		_, failed := io.Copy(out, in)
		return failed
	case "lines":
		return lines(argument, in, out)
	case "sizes":
		count, _ := strconv.Atoi(argument)
		for range count {
			size, more := <-sizes
			if !more {
				break
			}
			if failed := say(out, fmt.Sprintf("%dx%d\n", size.Width, size.Height)); failed != nil {
				return failed
			}
		}
		return nil
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	}
	return fmt.Errorf("exec: %q: executable file not found in $PATH", command[0])
}

// lines repeats so many lines of its input, each as soon as it is whole.
func lines(argument string, in io.Reader, out io.Writer) error {
	count, _ := strconv.Atoi(argument)
	reader := bufio.NewReader(in)
	for range count {
		line, failed := reader.ReadString('\n')
		if failed != nil {
			return failed
		}
		if failed := say(out, line); failed != nil {
			return failed
		}
	}
	return nil
}

// Attach is a first process that says so and repeats a line of its input; without input, it ends.
func (containers) Attach(_ context.Context, _ string, in io.Reader, out, _ io.WriteCloser, _ bool, _ <-chan remotecommand.TerminalSize) error {
	if failed := say(out, "attached\n"); failed != nil {
		return failed
	}
	if in == nil {
		return nil
	}
	if failed := lines("1", in, out); !errors.Is(failed, io.EOF) {
		return failed
	}
	return nil
}

// PortForward has an echo on port 7 and a server that talks first and ends on port 13.
func (containers) PortForward(_ context.Context, _ string, port int32, stream io.ReadWriteCloser) error {
	switch port {
	case 7:
		_, failed := io.Copy(stream, stream)
		return failed
	case 13:
		return say(stream, "noon\n")
	}
	return fmt.Errorf("failed to connect to port %d: connection refused: nothing listens on that port", port)
}

func say(to io.Writer, text string) error {
	if to == nil {
		return errors.New("the client did not ask for this stream")
	}
	_, failed := io.WriteString(to, text)
	return failed
}
