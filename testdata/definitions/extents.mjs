// Compares the names and lines of all definitions that toolpipe's tool code__outline gives
// with those of parsers that are no part of toolpipe (see parsers.mjs):
//
//   npm ci --ignore-scripts
//   node --experimental-vm-modules extents.mjs --toolpipe PATH [--examples FILE] [--least PERCENT] DIRECTORY...
//
// It prints a line for each directory and language: of the definitions that the parser finds
// and a reader would count (counted.mjs), how many are right, marked as a guess with ~, wrong
// without that mark, and missed; and how many the outline has that the parser does not know.
// --examples writes each that is not right. The lines are right when they hold the
// definition with its decorators, and beside it at most comments.
//
// Of files that the parser does not understand whole, none is counted but in C and C++ what
// it does understand. The status is 1 when a definition is wrong without a mark, or when less
// than PERCENT of a language are right.
import { readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ancestors, isCounted } from './counted.mjs';
import { entries } from './edits.mjs';
import { closeParsers, languageOf, parse, release } from './parsers.mjs';
import { Server } from './server.mjs';

const longest = 3_000_000; // bytes of a file
const leftOut = /(^|\/)(node_modules|\.git|vendor|third_party|dist|build)\//;
const columns = ['definitions', 'right', 'guess', 'wrong', 'missed', 'unknown'];

/** The last part of a name as both sides write it. */
function plain(name) {
  if (/(^|[.:])operator\b/.test(name)) return 'operator';
  return name.replace(/<[^]*$/, '').split(/\.|::/).at(-1).replace(/^(r#|[#'"`[])|['"`\]]$/g, '').replace(/\s+/g, '');
}

function byName(list) {
  const all = new Map();
  for (const one of list) {
    const name = plain(one.name);
    all.set(name, [...(all.get(name) ?? []), one]);
  }
  return all;
}

/** A macro in a line of its own belongs to what follows for a reader; to tree-sitter it is a statement or a type. */
const isMacro = (text) => /^\s*([A-Z_][A-Z0-9_]*\s*(\(.*\))?)?\s*$/.test(text);

function isRight(facts, d, entry) {
  if (d.statement && isRight(facts, { first: d.statement[0], last: d.statement[1] }, entry)) return true; // of several in one declaration
  const isC = /^C/.test(facts.language);
  let { first } = d;
  while (isC && first < d.last && first < entry.start && isMacro(facts.lines[first - 1])) first++;
  if (first < entry.start || d.last > entry.end) return false;
  for (let n = entry.start; n < first; n++) if (facts.code[n - 1] && !(isC && isMacro(facts.lines[n - 1]))) return false;
  return !(facts.plain ?? facts.code).slice(d.last, entry.end).some(Boolean);
}

/** Compares the definitions of a file with the entries of its outline, whose last line that was shown is known if it was cut. */
function compare(facts, found, shown) {
  const result = { definitions: 0, right: 0, guess: [], wrong: [], missed: [] };
  const named = byName(found);
  for (const d of facts.definitions) {
    if (!isCounted(d, facts.language) || d.line > shown) continue;
    result.definitions++;
    const same = (named.get(plain(d.name)) ?? []).filter((entry) => entry.start <= d.line + 3 && entry.end >= Math.max(d.line, d.first));
    if (same.some((entry) => !entry.guessed && isRight(facts, d, entry))) {
      result.right++;
      continue;
    }
    const distance = (entry) => Math.abs(entry.start - d.first) + Math.abs(entry.end - d.last);
    const [nearest] = same.sort((a, b) => distance(a) - distance(b));
    if (!nearest) result.missed.push([d]);
    else (nearest.guessed ? result.guess : result.wrong).push([d, nearest]);
  }
  const known = byName(facts.definitions);
  result.unknown = found.filter((entry) => !known.get(plain(entry.name))?.some((d) => d.line >= entry.start - 1 && d.line <= entry.end + 1)).map((entry) => [undefined, entry]);
  return result;
}

/** Of a file that tree-sitter understood in part, the definitions that it did understand. */
function understood(definitions) {
  const isWhole = (node) => node.type !== 'ERROR' && (!node.hasError || /translation_unit|preproc|namespace|declaration_list|linkage/.test(node.type));
  return definitions.filter(({ node }) => !node.hasError && [...ancestors(node)].every(isWhole));
}

async function compareFile(server, root, path) {
  let text;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(join(root, path)));
  } catch {
    return undefined; // it is not UTF-8
  }
  const facts = await parse(path, text);
  facts.language = languageOf(path);
  if (facts.errors > 0 && /^C/.test(facts.language)) facts.definitions = understood(facts.definitions);
  else if (facts.errors > 0) facts.definitions = [];
  const { text: outline, refused } = await server.call('outline', { path });
  const found = refused || (facts.errors > 0 && !/^C/.test(facts.language)) ? [] : entries(outline);
  const result = compare(facts, found, outline.includes('definitions are shown') ? found.at(-1).start : Infinity);
  release(facts);
  return { language: facts.language, ...result };
}

function example(kind, root, path, language, [d, entry]) {
  const of = d ? `${d.type} ${d.name} ${d.first}-${d.last}` : '';
  const is = entry ? `${entry.kind} ${entry.full} ${entry.start}-${entry.end}${entry.guessed ? '~' : ''}` : '';
  return [kind, language, `${basename(root)}/${path}:${d?.line ?? entry.start}`, of, is].join('\t');
}

async function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { toolpipe: { type: 'string' }, examples: { type: 'string' }, least: { type: 'string', default: '0' } } });
  if (!values.toolpipe || positionals.length === 0) {
    console.error('usage: node --experimental-vm-modules extents.mjs --toolpipe PATH [--examples FILE] [--least PERCENT] DIRECTORY...');
    process.exit(2);
  }
  const rows = new Map();
  const examples = [];
  for (const root of positionals.map((directory) => resolve(directory))) {
    const server = new Server(resolve(values.toolpipe), root);
    await server.start();
    const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)));
    for (const path of files.sort()) {
      if (!languageOf(path) || leftOut.test(path) || statSync(join(root, path)).size > longest) continue;
      const result = await compareFile(server, root, path);
      if (!result) continue;
      const key = `${basename(root)} ${result.language}`;
      const row = rows.get(key) ?? Object.fromEntries(columns.map((column) => [column, 0]));
      for (const column of columns) row[column] += Array.isArray(result[column]) ? result[column].length : result[column];
      rows.set(key, row);
      for (const kind of ['guess', 'wrong', 'missed', 'unknown']) examples.push(...result[kind].map((pair) => example(kind, root, path, result.language, pair)));
    }
    server.close();
  }
  closeParsers();
  if (values.examples) writeFileSync(values.examples, `${examples.join('\n')}\n`);
  const lines = [['directory and language', ...columns, '% right']];
  for (const [key, row] of [...rows].sort()) {
    if (row.definitions > 0) lines.push([key, ...columns.map((column) => row[column]), (100 * row.right / row.definitions).toFixed(1)]);
  }
  console.log(lines.map(([key, ...cells]) => key.padEnd(34) + cells.map((cell) => String(cell).padStart(12)).join('')).join('\n'));
  for (const line of examples.filter((line) => line.startsWith('wrong')).slice(0, 50)) console.log(line);
  const isBad = [...rows.values()].some((row) => row.wrong > 0 || (row.definitions > 0 && 100 * row.right / row.definitions < Number(values.least)));
  process.exitCode = isBad || rows.size === 0 ? 1 : 0;
}

await main();
