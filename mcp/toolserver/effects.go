package toolserver

// Effects are what the calls of a built-in tool may do, and what its results may hold, as
// those who approve calls judge it. The zero value does nothing and brings nothing.
type Effects struct {
	Reads, Writes bool   // files
	Path          string // of the file or directory: the argument; absent, it is the root
	To            string // of a second file: the argument; "" for none
	Shows         bool   // it writes, and the answer tells what the file held
	Runs          bool   // programs that the arguments name
	Sends         bool   // data to somebody else
	Destination   string // to whom: the argument

	Private, Untrusted bool // what its results may hold
}

// Effects are those of a tool that the server has.
func (s *Server) Effects(tool string) Effects {
	for i := range s.tools {
		if s.tools[i].tool.Name == tool {
			return s.tools[i].effects
		}
	}
	return Effects{}
}
