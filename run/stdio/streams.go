package stdio

import "io"

type Streams struct {
	In          io.Reader
	Out, Err    io.Writer
	InTerminal  bool
	InFile      bool // a regular file: reading never waits
	InPipe      bool // a pipe: if it is empty, the program before it may have failed
	InNull      bool // the null device, which also replaces a closed descriptor
	OutTerminal bool
	OutWidth    int  // columns of stdout's terminal; 0: unknown
	OutFile     bool // Out is a file or a null device, so its text is not on a screen
	ErrTerminal bool
	Width       func() int // columns of stderr's terminal; nil or 0: unknown

	// Background reports whether this process is in the background of stderr's terminal, and
	// whether the terminal stops background processes that write to it (stty tostop). nil means
	// never.
	Background func() (background, stops bool)

	// Suspend delivers functions that stop the process, as for ^Z, and return when it continues.
	// The screen is cleaned before each call. It may be nil.
	Suspend <-chan func()
}
