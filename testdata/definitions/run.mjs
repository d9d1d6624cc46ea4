// Edits the definitions of whole repositories one at a time with toolpipe's tool
// code__edit_definition, and has each accepted edit judged by parsers that are no part of
// toolpipe (see parsers.mjs):
//
//   npm ci --ignore-scripts
//   node run.mjs --toolpipe PATH [--every N] [--seed S] [--jobs N] [--operations LIST] [--report DIR] DIRECTORY|FILE...
//
// A file that parsed must parse after the edit; the lines of the edit must be those of the
// definition with its decorators and comments, and of nothing else; and all other
// definitions must be there as before. --every N takes about every Nth definition, chosen
// by the seed. The sources are not changed: the edits are made in copies. A name that ends
// with .txt counts without it. --report writes a file for each broken edit, and report.json.
//
// The status is 1 when an accepted edit breaks something, when none was accepted, or when
// the judge does not find the broken edits of self-check.mjs.
import { fork } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { operations, tryFile } from './edits.mjs';
import { closeParsers, languageOf } from './parsers.mjs';
import { selfCheck } from './self-check.mjs';
import { Server } from './server.mjs';

const leftOut = new Set(['node_modules', '.git']);

/** The source files of a directory, with their repository and their path in it. */
function* sourceFiles(root) {
  const repository = basename(root);
  const place = (source, path) => ({ repository, source, path: path.replace(/\.txt$/, '') });
  if (!statSync(root).isDirectory()) {
    yield place(root, repository);
    return;
  }
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true })) {
    const source = join(entry.parentPath ?? entry.path, entry.name);
    const file = place(source, relative(root, source));
    if (entry.isFile() && languageOf(file.path) && !file.path.split('/').some((part) => leftOut.has(part))) yield file;
  }
}

/** A worker does the files that it is sent, and sends the result of each. */
async function work({ toolpipe, ...options }) {
  const directory = mkdtempSync(join(tmpdir(), 'definitions-'));
  const server = new Server(toolpipe, directory);
  await server.start();
  process.on('message', async (file) => {
    if (file) {
      process.send(await tryFile(server, directory, file, options));
      return;
    }
    server.close();
    closeParsers();
    rmSync(directory, { recursive: true });
    process.disconnect();
  });
  process.send('ready');
}

/** Has all files done, by some workers. */
function doAll(files, jobs, options, done) {
  const queue = [...files];
  const execArgv = ['--experimental-vm-modules', '--no-warnings']; // V8's parser of modules
  const all = Array.from({ length: jobs }, () => new Promise((finish, fail) => {
    const worker = fork(fileURLToPath(import.meta.url), ['--work', JSON.stringify(options)], { execArgv });
    worker.on('message', (message) => {
      if (message !== 'ready') done(message);
      worker.send(queue.shift() ?? null);
    });
    worker.on('exit', (code) => (code === 0 ? finish() : fail(new Error(`a worker ended with ${code}`))));
  }));
  return Promise.all(all);
}

function table(results) {
  const rows = new Map();
  for (const r of results) {
    const key = `${r.file.repository} ${r.language}`;
    const row = rows.get(key) ?? { repository: r.file.repository, language: r.language, files: 0, skipped: 0, definitions: 0, unknown: 0, needless: 0, by: {} };
    rows.set(key, row);
    row.files++;
    if (r.skipped) row.skipped++;
    for (const name of ['definitions', 'unknown', 'needless']) row[name] += r[name];
    for (const operation of operations) {
      const [sum, more] = [(row.by[operation] ??= { tried: 0, accepted: 0, refused: 0, broken: 0, unclear: 0 }), r.by[operation] ?? {}];
      for (const name of Object.keys(sum)) sum[name] += more[name] ?? 0;
    }
  }
  const head = ['repository', 'language', 'files', 'skipped', 'definitions', 'unknown', 'operation', 'tried', 'accepted', 'refused', 'broken', 'unclear', 'needless'];
  const lines = [head];
  for (const row of [...rows.values()].sort((a, b) => `${a.repository} ${a.language}`.localeCompare(`${b.repository} ${b.language}`))) {
    for (const operation of operations) {
      const by = row.by[operation];
      if (by.tried > 0) lines.push([row.repository, row.language, row.files, row.skipped, row.definitions, row.unknown, operation, by.tried, by.accepted, by.refused, by.broken, by.unclear, operation === 'remove' ? row.needless : '']);
    }
  }
  return lines.map((cells) => cells.map((cell, i) => String(cell).padEnd(i === 6 ? 14 : 12)).join('').trimEnd()).join('\n');
}

function reasons(results) {
  const count = {};
  for (const r of results) {
    for (const [reason, n] of Object.entries(r.refused)) (count[reason] ??= { refused: 0, needless: 0 }).refused += n;
    for (const [reason, list] of Object.entries(r.needlessly)) count[reason].needless += list.length;
  }
  return Object.entries(count).sort(([, a], [, b]) => b.refused - a.refused).slice(0, 15)
    .map(([reason, n]) => `${String(n.refused).padStart(7)} ${String(n.needless).padStart(6)}  ${reason}`).join('\n');
}

/** Writes a report of what is done so far. */
function report(directory, results) {
  for (const [folder, kind] of [['failures', 'broken'], ['unclear', 'unclear']]) {
    rmSync(join(directory, folder), { recursive: true, force: true });
    mkdirSync(join(directory, folder), { recursive: true });
    for (const { file, ...result } of results) {
      for (const b of result[kind]) {
        const name = `${file.repository}-${file.path}-${b.start}-${b.name}-${b.operation}.txt`.replace(/[^\w.-]/g, '_').slice(-200);
        writeFileSync(join(directory, folder, name),
          `${file.repository}: ${file.path}\n${b.operation} ${b.kind} ${b.full}:${b.start}, lines ${b.start}-${b.end}\ntoolpipe: ${b.answer}\njudge:\n  ${b.problems.join('\n  ')}\n\n${b.around}\n`);
      }
    }
  }
  writeFileSync(join(directory, 'report.txt'), `${table(results)}\n\nrefusals, and removals among them that the parser finds right\n${reasons(results)}\n`);
  writeFileSync(join(directory, 'report.json'), JSON.stringify(results));
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      toolpipe: { type: 'string' }, every: { type: 'string', default: '1' }, seed: { type: 'string', default: '1' }, jobs: { type: 'string', default: '2' },
      operations: { type: 'string', default: operations.join() }, report: { type: 'string' },
    },
  });
  if (!values.toolpipe || positionals.length === 0) {
    console.error('usage: node run.mjs --toolpipe PATH [--every N] [--seed S] [--jobs N] [--operations LIST] [--report DIR] DIRECTORY|FILE...');
    process.exit(2);
  }
  const checked = await selfCheck();
  console.log(`the judge finds all of ${checked} broken edits`);
  const files = positionals.flatMap((root) => [...sourceFiles(resolve(root))]);
  const options = { toolpipe: resolve(values.toolpipe), every: Number(values.every), seed: values.seed, operations: values.operations.split(',') };
  const results = [];
  let next = Date.now();
  await doAll(files, Math.min(Number(values.jobs), files.length), options, (result) => {
    results.push(result);
    if (values.report && Date.now() > next) {
      report(values.report, results);
      next = Date.now() + 30_000;
    }
  });
  if (values.report) report(values.report, results);
  const sum = (name) => results.reduce((n, r) => n + r[name], 0);
  const broken = results.flatMap((r) => r.broken.map((b) => `broken: ${r.file.repository}/${r.file.path}:${b.start} ${b.operation} ${b.name}: ${b.problems.join('; ')}`));
  console.log(`${table(results)}\n\nrefusals, and removals among them that the parser finds right\n${reasons(results)}\n`);
  for (const r of results) if (r.skipped) console.log(`skipped: ${r.file.repository}/${r.file.path}: ${r.skipped}`);
  for (const line of broken.slice(0, 100)) console.log(line);
  console.log(`${results.length} files, ${sum('definitions')} definitions, ${sum('tried')} edits: ${sum('accepted')} accepted, ${sum('tried') - sum('accepted')} refused, ${broken.length} broken, ${results.flatMap((r) => r.unclear).length} unclear`);
  process.exitCode = broken.length > 0 || sum('accepted') === 0 ? 1 : 0;
}

if (process.argv[2] === '--work') await work(JSON.parse(process.argv[3]));
else await main();
