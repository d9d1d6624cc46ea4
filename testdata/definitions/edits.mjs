// Tries edits on the definitions of one file, and judges those that toolpipe accepts.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { judge, match } from './judge.mjs';
import { languageOf, parse, release } from './parsers.mjs';

export const operations = ['remove', 'replace', 'insert_before', 'insert_after'];

const entryLine = /^( *)(\S+) ((?:operator\s?\S+?(?=\()|[<=>+*\-/%~!&|^[\]@`]+(?=\()|"[^"]*"|'[^']*'|\[[^\]]*\]|[^\s(<:]|::|:(?=\w))+)(?:.*?)  (\d+)(?:-(\d+))?(~?)$/;

/** The definitions that the answer of the tool outline lists. */
export function entries(outline) {
  const found = [];
  const around = []; // by depth, the full names
  for (const line of outline.split('\n').slice(1)) {
    const m = entryLine.exec(line);
    if (!m) continue;
    const [, indent, kind, name, start, end, guess] = m;
    const depth = indent.length / 2;
    const outer = around[depth - 1];
    const full = depth === 0 || name.startsWith(`${outer}.`) ? name : `${outer}.${name}`;
    around[depth] = full;
    if (name !== '(anonymous)') found.push({ kind, name, full, start: Number(start), end: Number(end ?? start), guessed: guess === '~' });
  }
  return found;
}

/** A small definition of a name, for the place of another; nothing where there is none. */
export function small(language, place, name) {
  if (!/^[A-Za-z_$][\w$]*$/.test(name) || place === 'other') return undefined;
  const method = `${name}() {\n  return 1;\n}`;
  switch (language) {
    case 'Python': return `def ${name}(*args):\n    return None`;
    case 'C': case 'C++': return `int ${name}(void)\n{\n\treturn 1;\n}`;
    case 'Ruby': return /^[a-z]/.test(name) ? `def ${name}\n  1\nend` : undefined;
    case 'Rust': return `fn ${name}() -> i32 {\n    1\n}`;
    case 'Java': return `class ${name} {\n}`;
    case 'Go': return `func ${name}() int {\n\treturn 1\n}`;
    default: return place === 'class' ? method : `function ${method}`;
  }
}

/** The edit of an operation: its content, and the name in it if it is new. */
function contentOf(operation, language, lines, entry, definition) {
  if (operation === 'remove') return {};
  const name = operation === 'replace' ? entry.name.split(/\.|::/).at(-1) : 'insertedHere';
  const indentation = /^[ \t]*/.exec(lines[entry.start - 1])[0]; // content is written as it is
  const content = small(language, definition?.place ?? 'other', name)?.replace(/^(?=.)/gm, indentation);
  if (content) return { content, name };
  if (operation !== 'replace') return undefined;
  const own = lines.slice(entry.start - 1, entry.end).map((line) => line.replace(/\r$/, ''));
  const indent = /^\s*/.exec(own[0])[0];
  return { content: [`${indent}${['Python', 'Ruby'].includes(language) ? '#' : '//'} written`, ...own].join('\n') };
}

const chosen = (path, i, { every, seed }) => every <= 1 || createHash('sha256').update(`${seed} ${path} ${i}`).digest().readUInt32BE() % every === 0;

/** A refusal without what differs from definition to definition. */
function reasonOf(text, { name }) {
  const known = /stands in one line with|not certain where|of .* do not match|would no longer \w+/.exec(text);
  if (known) return `… ${known[0].replace(/of .* do/, 'of … do')} …`;
  return text.split('\n')[0].replace(/"[^"]*"/g, '"…"').replace(/\d+/g, 'N').replaceAll(name.length > 3 ? name : '\n', 'NAME').slice(0, 120);
}

/** Edits a file and gives the results. The file below directory is written anew for each. */
export async function tryFile(server, directory, file, options) {
  const bytes = readFileSync(file.source);
  const language = languageOf(file.path);
  const result = { file, language, definitions: 0, unknown: 0, tried: 0, accepted: 0, unchanged: 0, needless: 0, refused: {}, needlessly: {}, broken: [], unclear: [], by: {} };
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes); // without the byte order mark
  } catch {
    return { ...result, skipped: 'it is not UTF-8' };
  }
  const before = await parse(file.path, text);
  result.errorsBefore = before.errors;
  if (before.errors > 0 && (language === 'Python' || language === 'JavaScript' || language === 'Go')) return { ...result, skipped: 'it does not parse' };
  const path = join(directory, file.path);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  const outline = await server.call('outline', { path: file.path });
  if (outline.refused) return { ...result, skipped: outline.text.slice(0, 200) };
  result.partial = outline.text.includes('definitions are shown');
  let i = 0;
  for (const entry of entries(outline.text)) {
    if (!chosen(file.path, i++, options)) continue;
    const definition = match(before, entry);
    result.definitions++;
    if (!definition) result.unknown++;
    for (const operation of options.operations) await tryEdit(operation, entry, definition);
  }
  rmSync(path);
  release(before);
  return result;

  async function tryEdit(operation, entry, definition) {
    const edit = contentOf(operation, language, before.lines, entry, definition);
    if (!edit) return;
    const by = (result.by[operation] ??= { tried: 0, accepted: 0, refused: 0, broken: 0, unclear: 0 });
    result.tried++;
    by.tried++;
    const call = (name) => server.call('edit_definition', { path: file.path, name: `${name}:${entry.start}`, operation, content: edit.content });
    let answer = await call(entry.full);
    if (answer.refused && entry.full !== entry.name && answer.text.includes(' defines no ')) answer = await call(entry.name); // it stands in another scope
    if (answer.refused) {
      by.refused++;
      await tellRefusal(operation, entry, definition, answer.text);
      return;
    }
    result.accepted++;
    by.accepted++;
    const edited = readFileSync(path, 'utf8').replace(/^\ufeff/, '');
    writeFileSync(path, bytes);
    const { broken, unclear } = await verdict(operation, entry, definition, edit, edited);
    if (entry.guessed) broken.unshift('the outline marks its end as a guess');
    const kind = broken.length > 0 ? 'broken' : 'unclear';
    const problems = broken.length > 0 ? broken : unclear;
    if (problems.length === 0) return;
    by[kind]++;
    result[kind].push({ ...entry, operation, problems, answer: answer.text, around: around(before.lines, entry) });
  }

  async function verdict(operation, entry, definition, edit, edited) {
    const facts = (after) => ({ before, after, start: entry.start, end: entry.end, definition, operation, ...edit });
    let after = await parse(file.path, edited, before);
    let found = judge(facts(after));
    release(after);
    if (found.broken.length + found.unclear.length > 0 && after.tree) { // what was parsed by a difference is parsed anew
      after = await parse(file.path, edited);
      found = judge(facts(after));
      release(after);
    }
    return found;
  }

  /** Counts a refusal, and whether the same lines could go by the independent parser. */
  async function tellRefusal(operation, entry, definition, text) {
    const reason = reasonOf(text, entry);
    result.refused[reason] = (result.refused[reason] ?? 0) + 1;
    if (operation !== 'remove' || !definition || definition.shares) return;
    let start = definition.first;
    while (start > 1 && !before.code[start - 2] && before.lines[start - 2].trim() !== '') start--;
    const edited = [...before.lines.slice(0, start - 1), ...before.lines.slice(definition.last)].join('\n');
    const after = await parse(file.path, edited, before);
    const { broken, unclear } = judge({ before, after, start, end: definition.last, definition, operation });
    release(after);
    if (broken.length + unclear.length > 0) return;
    result.needless++;
    (result.needlessly[reason] ??= []).push(`${entry.name}:${definition.first}-${definition.last}`);
  }
}

/** The lines around the first and the last one of a definition, with their numbers. */
function around(lines, { start, end }) {
  const numbers = new Set();
  for (const at of [start, end]) for (let n = Math.max(1, at - 4); n <= Math.min(lines.length, at + 4); n++) numbers.add(n);
  return [...numbers].sort((a, b) => a - b).map((n) => `${n >= start && n <= end ? '>' : ' '} ${n}  ${lines[n - 1]}`).join('\n');
}
