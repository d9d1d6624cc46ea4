// Judges an accepted edit by the facts of the texts before and after it.

/** The definition of the parser that an entry of the outline is, if the parser knows it. */
export function match(facts, entry) {
  const name = entry.name.split(/\.|::/).at(-1).replace(/^#/, '');
  const same = (d) => d.name.split(/\.|::/).at(-1).replace(/^#|^['"]|['"]$/g, '') === name.replace(/^['"]|['"]$/g, '');
  const inside = facts.definitions.filter((d) => same(d) && d.line >= entry.start && d.line <= entry.end);
  return inside.find((d) => d.first >= entry.start || d.line === d.first) ?? inside[0];
}

const isInside = (inner, outer) => inner !== outer && inner.from >= outer.from && inner.to <= outer.to && (inner.from > outer.from || inner.to < outer.to);

/**
 * judge gives what is broken by an edit, or nothing. Of a text that the parser understood
 * in part only, what it says of definitions is unclear. An edit is
 *   before, after   the facts of the texts
 *   start, end      the lines of the definition, as the outline shows them
 *   definition      what the parser calls it; undefined when the parser does not know it
 *   operation       remove, replace, insert_before or insert_after
 *   content         the text of the operation
 *   name            of the definition in the content; none when this is the old one below a comment
 */
export function judge(edit) {
  const isInsert = edit.operation.startsWith('insert');
  const sure = [...judgeText(edit), ...(isInsert ? [] : judgeComments(edit))];
  const found = [...(isInsert ? [] : judgeExtent(edit)), ...judgeFacts(edit)];
  const isSure = edit.before.errors === 0 || sure.length > 0;
  return { broken: isSure ? [...sure, ...found] : [], unclear: isSure ? [] : found };
}

const visible = (lines) => lines.filter((line) => line.trim() !== '');
const trimmed = (lines) => visible(lines).map((line) => line.trim());

/** No line outside the definition changes, and inside there is the content. */
function judgeText({ before, after, start, end, operation, content = '' }) {
  const at = operation === 'insert_before' ? start - 1 : operation === 'insert_after' ? end : undefined;
  const head = visible(before.lines.slice(0, at ?? start - 1));
  const tail = visible(before.lines.slice(at ?? end));
  const now = visible(after.lines);
  const inside = now.slice(head.length, now.length - tail.length);
  const plain = (line) => line.replace(/\r$/, '');
  const same = (a, b) => a.length === b.length && a.every((line, i) => plain(line) === plain(b[i]));
  const problems = [];
  if (!same(head, now.slice(0, head.length)) || (tail.length > 0 && !same(tail, now.slice(-tail.length)))) problems.push('lines outside the edit have changed');
  if (!same(trimmed(inside), trimmed(content.split('\n')))) problems.push('the lines of the edit are not those of its content');
  return problems;
}

/** The lines are those of the definition with its decorators, and of nothing else. */
function judgeExtent({ before, start, end, definition: d }) {
  const problems = [];
  const hasCode = (from, to) => before.code.slice(from - 1, to).some(Boolean);
  if (d) {
    if (d.first < start) problems.push(`lines ${d.first}-${start - 1} of it are left`);
    if (d.last > end) problems.push(`lines ${end + 1}-${d.last} of it are left`);
    if (d.first > start && hasCode(start, d.first - 1)) problems.push('code above it goes too');
    if (d.last < end && hasCode(d.last + 1, end)) problems.push('code below it goes too');
    if (d.shares && d.first >= start && d.last <= end) problems.push('code in its lines goes too');
  }
  return problems;
}

/** No comment or string is cut, and no comment above is left. */
function judgeComments({ before, start, end }) {
  const problems = [];
  for (const [first, last] of before.spans) {
    const isCut = (line) => first < line && line <= last; // between this line and the one above
    if (isCut(start) || isCut(end + 1)) problems.push(`the comment or string in lines ${first}-${last} is cut`);
  }
  const isComment = (n) => n > 0 && !before.code[n - 1] && before.lines[n - 1].trim() !== '';
  if (isComment(start - 1)) problems.push(isComment(start) ? 'a part of the comment above it is left' : 'the comment above it is left');
  return problems;
}

/** It parses as before, and all other definitions are there, with as many decorators and lines of comment. */
function judgeFacts({ before, after, start, end, definition: d, operation, name }) {
  if (after.errors > before.errors) return [`${after.errors - before.errors} new syntax errors`];
  const isCopy = operation === 'replace' && !name; // the content is the definition itself below another comment
  const isGone = (o) => !isCopy && (operation === 'remove' || operation === 'replace') && (d ? o === d || isInside(o, d) : o.first >= start && o.last <= end);
  const describe = (o) => `${[...o.scope, o.name].join('.')} (${o.decorators} decorators${isCopy ? '' : `, ${o.comments} lines of comment`})`;
  const expected = before.definitions.filter((o) => !isGone(o)).map(describe);
  let found = after.definitions;
  if (name) { // the new definition may have any decorators
    const at = found.findIndex((o) => o.name === name && (operation !== 'replace' || same(o.scope, d.scope)) && isNew(o));
    if (at < 0) return [`${name} is not defined by the content`];
    found = found.filter((o) => o !== found[at] && !isInside(o, found[at]));
  }
  const now = found.map(describe);
  const wrong = [...missing(expected, now).map((o) => `missing: ${o}`), ...missing(now, expected).map((o) => `new: ${o}`)];
  return wrong.slice(0, 6);

  /** With others of the same name, the new one is as manyth as the old one was. */
  function isNew(o) {
    if (operation !== 'replace') return true;
    const nth = (list, of) => list.filter((other) => other.name === name && same(other.scope, d.scope)).indexOf(of);
    return nth(found, o) === nth(before.definitions, d);
  }
}

const same = (a, b) => a.length === b.length && a.every((part, i) => part === b[i]);

/** What of a list is not in another, as often as it is in the first. */
function missing(list, other) {
  const count = new Map();
  for (const item of other) count.set(item, (count.get(item) ?? 0) + 1);
  return list.filter((item) => {
    const left = count.get(item) ?? 0;
    count.set(item, left - 1);
    return left <= 0;
  });
}
