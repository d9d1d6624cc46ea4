package active

// path is the path of the file; mutate builds this source file with another one.
const path = ""
