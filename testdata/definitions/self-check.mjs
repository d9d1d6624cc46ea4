// Edits that break something, each in its own way, and one that breaks nothing: a judge
// that would let one of them pass, or refuse the last, is worth nothing.
import { judge, match } from './judge.mjs';
import { closeParsers, parse } from './parsers.mjs';

const c = 'int before(void) { return 0; }\n\n/*\n * victim\n * does\n */\nint victim(void)\n{\n\treturn 0;\n}\n\n/* next */\nint next(void) { return 1; }\n';
const without = (text, from, to) => text.split('\n').filter((_, i) => i < from - 1 || i >= to).join('\n');
const py = '@one\n@two(\n    1,\n)\ndef a():\n    pass\n\n\ndef b():\n    pass\n';
const ts = 'export class Z<T> extends Base<\n  T,\n  T\n> {\n  run() {}\n}\n\nexport const after = 1;\n';
const tail = 'int a; /* of\n          a */\nint b;\nint c;\n';
const removal = (path, before, name, start, end) => ({ path, before, name, start, end, operation: 'remove', after: without(before, start, end) });

const broken = [
  { ...removal('cut.c', c, 'victim', 5, 10), finds: /comment or string in lines 3-6 is cut/ },
  { ...removal('left.c', c.replace('/*\n * victim\n * does\n */', '// one\n// two'), 'victim', 4, 8), finds: /a part of the comment above it is left/ },
  { ...removal('decorator.py', py, 'a', 5, 6), finds: /missing: b \(0 decorators/ },
  { ...removal('body.py', py, 'a', 1, 5), finds: /new syntax errors/ },
  { ...removal('two.py', py, 'a', 1, 10), finds: /missing: b/ },
  { ...removal('header.ts', ts, 'Z', 1, 4), finds: /new syntax errors/ },
  { ...removal('next.c', c, 'victim', 3, 13), finds: /missing: next/ },
  { ...removal('row.js', 'let a = 1, b = 2;\nlet d;\n', 'a', 1, 1), finds: /missing: b/ },
  { ...removal('row.go', 'package p\n\nfunc a() {}; func b() {}\n', 'a', 3, 3), finds: /code in its lines goes too/ },
  { ...removal('attribute.rs', '#[test]\n#[ignore]\nfn a() {}\n\nfn b() {}\n', 'a', 2, 3), finds: /missing: b \(0 decorators/ },
  { ...removal('other.java', 'class A {\n  int b;\n\n  int c;\n}\n', 'b', 2, 2), after: 'class A {\n\n    int c;\n}\n', finds: /lines outside the edit have changed/ },
  { ...removal('tail.c', tail, 'b', 2, 3), finds: /comment or string in lines 1-2 is cut/ },
  { path: 'inside.c', before: c, name: 'victim', start: 5, end: 10, operation: 'insert_before', content: 'int written(void) { return 1; }', newName: 'written',
    after: c.replace(' * does', 'int written(void) { return 1; }\n\n * does'), finds: /written is not defined/ },
];
const right = [
  removal('tail.c', tail, 'b', 3, 3),
  removal('right.c', c, 'victim', 3, 10),
  removal('right.py', py, 'a', 1, 6),
  { ...removal('right.ts', ts, 'Z', 1, 6), operation: 'replace', content: 'function Z() {}', newName: 'Z', after: `function Z() {}\n${without(ts, 1, 6)}` },
];

/** Judges all of these, and gives the number of the broken ones. An error says which verdict is wrong. */
export async function selfCheck() {
  const verdict = async (edit) => {
    const before = await parse(edit.path, edit.before);
    if (before.errors > 0) return ['the text before does not parse'];
    const { broken, unclear } = judge({ ...edit, name: edit.newName, before, after: await parse(edit.path, edit.after), definition: match(before, edit) });
    return [...broken, ...unclear];
  };
  for (const edit of broken) {
    const problems = await verdict(edit);
    if (!problems.some((problem) => edit.finds.test(problem))) throw new Error(`self-check: the judge finds ${JSON.stringify(problems)} in ${edit.path}, and not ${edit.finds}`);
  }
  for (const edit of right) {
    const problems = await verdict(edit);
    if (problems.length > 0) throw new Error(`self-check: the judge finds ${JSON.stringify(problems)} in ${edit.path}, where all is right`);
  }
  closeParsers();
  return broken.length;
}
