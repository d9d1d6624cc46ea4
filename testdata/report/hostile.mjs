// Writes logs in which every value is hostile: node hostile.mjs DIR. They are made from the log of a
// real run on standard input, whose strings are replaced one after the other, in each way.
import { readFileSync, writeFileSync } from 'node:fs'

const markup = `</pre></code></style></script></title></svg><script>window.executed=1</script><img src=x onerror="window.executed=1"><svg onload=window.executed=1>`
const attribute = `"' onfocus=window.executed=1 autofocus onmouseover='window.executed=1' style=position:fixed x="`
const values = {
  markup,
  attribute,
  links: `javascript:window.executed=1 [x](javascript:window.executed=1) <https://example.com> https://example.com @octocat #1 !1 <!-- ![](https://example.com/x.png)`,
  control: '\u0000\u0007\u001b[31m\u001b]0;x\u0007\r\u0085\u009b31m\u202e\u2066\u200b\ufeff\u2028\u{e0041}' + 'e' + '\u0301'.repeat(50) + '\ud800',
  wide: 'W'.repeat(5000),
  markdown: '`` ` ``` ~~~ | \\| \\\\| *x* _x_ # x\n# y\n```\n````diff\n- x\n| a | b |\n|---|---|\n&lt;b&gt; $x$ $$x$$',
  empty: '',
  deep: '['.repeat(300) + ']'.repeat(300),
}
const lines = readFileSync(0, 'utf8').trim().split('\n').map((line) => JSON.parse(line))
const change = (v, to, key) => {
  if (key === 'type' || key === 'run') return v
  if (typeof v === 'string') return to
  if (typeof v === 'number') return to === '' ? -v : v * 1e12
  if (Array.isArray(v)) return v.map((e) => change(e, to))
  if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, e]) => [['input', 'query', 'path', 'text', 'pattern'].includes(k) && key === 'arguments' ? to || k : k, change(e, to, k)]))
  return v
}
for (const [name, value] of Object.entries(values)) {
  const made = lines.map((line) => JSON.stringify(change(line, value)))
  made.push(JSON.stringify({ type: value || 'x', [value || 'y']: value, nested: JSON.parse('{"a":'.repeat(60) + '1' + '}'.repeat(60)) }))
  writeFileSync(`${process.argv[2]}/hostile-${name}.ndjson`, made.join('\n') + '\n')
}
