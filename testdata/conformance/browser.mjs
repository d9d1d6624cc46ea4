// Stands in for the browser of a person who agrees to everything: it fetches the
// address and follows it to the end.
await (await fetch(process.argv[2])).text();
