// Package active is the switch of the changes that the command mutate builds into
// the program, all at once: each is a call of a function below with the number of
// the change. One change at most is on in a process. A file that every process maps
// says which, and gets a mark for each change that would have made a difference.
package active

import (
	"cmp"
	"os"
	"syscall"
)

// Size is the length of the file: four bytes with the number of the change that is
// on, 0 for none, and then a byte for the mark of each change.
const Size = 1 << 16

// Marks is where the marks begin; the numbers count from 1.
const Marks = 4

var page, on = open()

func open() (page []byte, on int) {
	if path == "" {
		return make([]byte, Size), 0
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	page, err = syscall.Mmap(int(f.Fd()), 0, Size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	return page, int(page[0]) | int(page[1])<<8 | int(page[2])<<16
}

// On reports whether a change is on, where it always makes a difference.
func On(n int) bool {
	page[Marks+n] = 1
	return n == on
}

// Keep is the opposite of On, for a statement that the change leaves out.
func Keep(n int) bool { return !On(n) }

// True is c, or true if the change is on.
func True[T ~bool](n int, c T) T { return c || T(On(n)) }

// False is c, or false if the change is on.
func False[T ~bool](n int, c T) T { return c && T(Keep(n)) }

// Less is x < y, or x <= y if the change is on.
func Less[T cmp.Ordered](n int, x, y T) bool { return x < y || x == y && On(n) }

// LessEqual is x <= y, or x < y if the change is on.
func LessEqual[T cmp.Ordered](n int, x, y T) bool { return x < y || x == y && Keep(n) }

// Greater is x > y, or x >= y if the change is on.
func Greater[T cmp.Ordered](n int, x, y T) bool { return x > y || x == y && On(n) }

// GreaterEqual is x >= y, or x > y if the change is on.
func GreaterEqual[T cmp.Ordered](n int, x, y T) bool { return x > y || x == y && Keep(n) }
