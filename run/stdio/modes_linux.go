package stdio

import "syscall"

const getModes = syscall.TCGETS // of a terminal
