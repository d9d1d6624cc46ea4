package stdio

import "io"

// Streams are the standard streams of a run and what main knows of them.
type Streams struct {
	In          io.Reader
	Out, Err    io.Writer
	InTerminal  bool
	InFile      bool // a regular file: reading it never waits
	InPipe      bool // a pipe: if it is empty, the program before it may have failed
	InNull      bool // the null device, which also stands for a descriptor that was closed
	OutTerminal bool
	OutWidth    int  // columns of stdout's terminal; 0: unknown
	OutFile     bool // Out is a file or a null device: nothing written to it appears on a screen
	ErrTerminal bool
	Width       func() int // columns of stderr's terminal; nil or 0: unknown

	// Background reports whether this process is in the background of stderr's
	// terminal, and whether the terminal stops a process that writes to it from
	// there (stty tostop). If it is nil, the process never is.
	Background func() (background, stops bool)

	// Suspend brings functions that stop the process, as ^Z asks for, and return
	// when it goes on. The screen is left clean before each is called. It may be nil.
	Suspend <-chan func()
}
