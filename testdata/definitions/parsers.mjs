// What parsers that are no part of toolpipe say of a text: python3's ast of Python, V8 and
// tree-sitter of JavaScript, gofmt and tree-sitter of Go, and tree-sitter alone of
// TypeScript, C, C++, Rust, Java and Ruby.
//
// parse(path, text) gives the facts
//   errors       how many syntax errors there are
//   definitions  in the order of the text, each with its name and scope, its first and last
//                line (decorators included, counted from 1), how many decorators and lines
//                of comment it has above, and whether it shares a line with other code
//   code         of each line, whether it holds more than white space and comments of their own
//   plain        of each line, whether it holds more than white space and comments of any kind
//   spans        the first and last lines of comments and strings over several lines
import { spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { extname } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { Language, Parser, Query } from 'web-tree-sitter';

const words = (text) => text.trim().split(/\s+/);
const script = {
  statements: words('program statement_block export_statement ambient_declaration switch_case switch_default'),
  classes: ['class_body'],
  wrappers: words('export_statement ambient_declaration expression_statement'),
  strings: ['template_string'],
  comments: ['comment'],
};
const scriptNodes = words(`function_declaration generator_function_declaration class_declaration method_definition
  lexical_declaration variable_declaration pair assignment_expression`);
const typeNodes = words(`abstract_class_declaration public_field_definition interface_declaration type_alias_declaration enum_declaration
  enum_assignment internal_module module function_signature method_signature property_signature abstract_method_signature`);

const languages = {
  JavaScript: { ...script, grammar: 'javascript', extensions: words('.js .mjs .cjs .jsx'), nodes: [...scriptNodes, 'field_definition'] },
  TypeScript: { ...script, grammar: 'typescript', extensions: words('.ts .mts .cts'), nodes: [...scriptNodes, ...typeNodes] },
  TSX: { ...script, grammar: 'typescript', file: 'tsx', extensions: ['.tsx'], nodes: [...scriptNodes, ...typeNodes] },
  C: {
    grammar: 'c', extensions: words('.c .h'), comments: ['comment'], strings: ['string_literal'], classes: [], wrappers: [],
    statements: words('translation_unit preproc_if preproc_ifdef preproc_else preproc_elif declaration_list'),
    nodes: words(`function_definition declaration type_definition struct_specifier union_specifier enum_specifier field_declaration
      enumerator preproc_def preproc_function_def`),
  },
  Rust: {
    grammar: 'rust', extensions: ['.rs'], comments: ['line_comment', 'block_comment'], strings: ['string_literal', 'raw_string_literal'],
    statements: ['source_file', 'declaration_list', 'block'], classes: [], wrappers: [],
    nodes: words(`function_item function_signature_item struct_item enum_item union_item trait_item impl_item mod_item const_item static_item
      type_item associated_type macro_definition field_declaration enum_variant`),
  },
  Java: {
    grammar: 'java', extensions: ['.java'], comments: ['line_comment', 'block_comment'], strings: ['string_literal'],
    statements: words('program class_body interface_body enum_body_declarations annotation_type_body block'), classes: [], wrappers: [],
    nodes: words(`class_declaration interface_declaration enum_declaration record_declaration annotation_type_declaration method_declaration
      constructor_declaration compact_constructor_declaration field_declaration constant_declaration enum_constant
      annotation_type_element_declaration package_declaration`),
  },
  'C++': {
    grammar: 'cpp', extensions: words('.cc .cpp .cxx .hpp .hh .hxx'), comments: ['comment'], strings: ['string_literal', 'raw_string_literal'], classes: [],
    wrappers: ['template_declaration', 'friend_declaration'],
    statements: words('translation_unit preproc_if preproc_ifdef preproc_else preproc_elif declaration_list field_declaration_list'),
    nodes: words(`function_definition declaration type_definition class_specifier struct_specifier union_specifier enum_specifier field_declaration
      enumerator preproc_def preproc_function_def namespace_definition alias_declaration concept_definition`),
  },
  Ruby: {
    grammar: 'ruby', extensions: words('.rb .rake .gemspec .ru'), comments: ['comment'], strings: words('string heredoc_body subshell'),
    statements: words('program body_statement then else begin'), classes: [], wrappers: [],
    nodes: words('class module method singleton_method assignment alias'),
  },
  Go: {
    grammar: 'go', extensions: ['.go'], comments: ['comment'], strings: ['raw_string_literal'], statements: ['source_file'], classes: [],
    wrappers: words('type_declaration const_declaration var_declaration'),
    nodes: words('function_declaration method_declaration type_spec type_alias const_spec var_spec field_declaration method_elem'),
  },
};

export function languageOf(path) {
  const extension = extname(path);
  if (extension === '.py' || extension === '.pyi') return 'Python';
  return Object.keys(languages).find((name) => languages[name].extensions.includes(extension));
}

const textParser = new Map(); // by language
async function load(name) {
  if (textParser.has(name)) return textParser.get(name);
  if (textParser.size === 0) await Parser.init();
  const { grammar, file, nodes, comments, strings } = languages[name];
  const language = await Language.load(createRequire(import.meta.url).resolve(`tree-sitter-${grammar}/tree-sitter-${file ?? grammar}.wasm`));
  const parser = new Parser();
  parser.setLanguage(language);
  const query = (name, types) => `[${types.map((type) => `(${type})`).join(' ')}] @${name}`;
  const loaded = {
    parser,
    parts: new Query(language, `${query('node', nodes)} ${query('comment', comments)} ${query('string', strings)}`),
    errors: new Query(language, '[(ERROR) (MISSING)] @error'),
  };
  textParser.set(name, loaded);
  return loaded;
}

/** The errors that the parser of the language's own makers finds; 0 where there is none. */
async function ownErrors(language, path, text) {
  if (language === 'Go') return gofmt(text);
  if (language !== 'JavaScript' || path.endsWith('.jsx')) return 0;
  const kinds = [];
  if (!path.endsWith('.mjs')) kinds.push(() => vm.compileFunction(text.replace(/^#!/, '//')));
  if (!path.endsWith('.cjs')) kinds.push(() => new vm.SourceTextModule(text));
  const isValid = (kind) => {
    try {
      kind();
      return true;
    } catch (error) {
      if (error.name !== 'SyntaxError') throw error;
      return false;
    }
  };
  return kinds.some(isValid) ? 0 : 1;
}

function gofmt(text) {
  return new Promise((resolve, reject) => {
    const child = spawn('gofmt', ['-e'], { stdio: ['pipe', 'ignore', 'ignore'] });
    child.on('error', reject).on('close', (code) => resolve(code === 0 ? 0 : 1));
    child.stdin.on('error', () => {}).end(text);
  });
}

let python;
function askPython(text) {
  if (!python) {
    const child = spawn('python3', ['-I', '-S', '-W', 'ignore', fileURLToPath(new URL('definitions.py', import.meta.url))], { stdio: ['pipe', 'pipe', 'inherit'] });
    python = { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() };
  }
  python.child.stdin.write(`${JSON.stringify(text)}\n`);
  return python.lines.next().then(({ value }) => JSON.parse(value));
}

export const closeParsers = () => python?.child.stdin.end();

async function parsePython(text) {
  const lines = text.split('\n');
  const said = await askPython(text);
  const facts = { errors: said.error ? 1 : 0, definitions: said.definitions ?? [], spans: said.strings ?? [], lines, code: [] };
  const inString = new Set();
  for (const [first, last] of facts.spans) for (let n = first + 1; n <= last; n++) inString.add(n);
  facts.code = lines.map((line, i) => line.trim() !== '' && (inString.has(i + 1) || !line.trimStart().startsWith('#')));
  return facts;
}

const rowOf = (node) => node.startPosition.row + 1;
/** The last line of a node. That of a Rust comment ends at the begin of the next line. */
const lastOf = (node) => node.endPosition.row + (node.endPosition.column > 0 ? 1 : 0);
const isDecorator = (node) => node?.type === 'decorator' || node?.type === 'attribute_item';

/** The names that a node defines, each with the node that is it alone. */
function namesOf(node) {
  const one = (name) => (name === undefined ? [] : [{ name, own: node }]);
  switch (node.type) {
    case 'impl_item': return one(node.childForFieldName('type')?.text.replace(/<[\s\S]*/, ''));
    case 'package_declaration': return one(node.namedChildren.at(-1)?.text);
    case 'class_specifier': case 'struct_specifier': case 'union_specifier': case 'enum_specifier': // without a body, it is only named
      if (!node.childForFieldName('body')) return [];
      break;
    case 'pair': return one(node.childForFieldName('key')?.text);
    case 'assignment_expression': return one(node.childForFieldName('left')?.childForFieldName('property')?.text ?? undefined);
    case 'assignment': return one(node.childForFieldName('left')?.text);
    case 'field_definition': return one(node.childForFieldName('property')?.text);
  }
  const direct = node.childrenForFieldName('name').filter(Boolean);
  if (direct.length > 0) return direct.map((name) => ({ name: name.text, own: direct.length === 1 ? node : name }));
  const declarators = node.childrenForFieldName('declarator').filter(Boolean);
  const inside = declarators.length > 0 ? declarators : node.namedChildren.filter((child) => child.type === 'variable_declarator');
  return inside.flatMap((declarator) => declared(declarator).map((name) => ({ name, own: inside.length === 1 ? node : declarator })));
}

function declared(node) {
  if (node.type === 'operator_cast') return ['operator'];
  if (node.type === 'object_pattern' || node.type === 'array_pattern') return node.descendantsOfType(['identifier', 'shorthand_property_identifier_pattern']).map((name) => name.text);
  const inner = node.childForFieldName('declarator') ?? node.childForFieldName('name') ??
    (/declarator|attributed/.test(node.type) ? node.namedChildren.find((child) => /declarator|identifier/.test(child.type)) : null);
  return inner ? declared(inner) : [node.text];
}

/** The node around a definition that is its whole statement. */
function wholeOf(node, { wrappers }) {
  while (node.parent && wrappers.includes(node.parent.type) && node.parent.namedChildren.filter((child) => child.type === node.type).length === 1 &&
    node.parent.firstChild.text !== '(' && node.parent.child(1)?.type !== '(') node = node.parent;
  return node;
}

function firstOf(whole) {
  let first = whole;
  let decorators = whole.childrenForFieldName('decorator').filter(Boolean).length;
  for (let before = whole.previousSibling; before && (isDecorator(before) || before.type.includes('comment')); before = before.previousSibling) {
    if (!isDecorator(before)) continue;
    first = before;
    decorators++;
  }
  return { first, decorators };
}

function placeOf(whole, { statements, classes }) {
  if (/field|enum_(constant|variant|assignment)|enumerator|preproc|package|pair|signature|elem|_spec/.test(whole.type) && !classes.includes(whole.parent?.type)) return 'other';
  if (classes.includes(whole.parent?.type)) return 'class';
  return statements.includes(whole.parent?.type) ? 'statement' : 'other';
}

const incremental = 30_000; // characters; a shorter text is parsed anew

/** Facts of a text of a language that tree-sitter parses. A long text is parsed by what differs from the text before. */
async function parseTree(language, path, text, before) {
  const { parser, parts, errors } = await load(language);
  let old;
  if (before && text.length > incremental) {
    old = before.tree.copy();
    old.edit(difference(before.text, text));
  }
  const tree = parser.parse(text, old);
  old?.delete();
  const lines = text.split('\n');
  const facts = { errors: tree.rootNode.hasError ? errors.captures(tree.rootNode).length : 0, definitions: [], spans: [], lines, text, tree };
  facts.errors += await ownErrors(language, path, text);
  const masked = [...lines];
  const nodes = [];
  const comments = [];
  for (const { name, node } of parts.captures(tree.rootNode)) {
    const last = lastOf(node);
    if (name === 'node') {
      nodes.push(node);
      continue;
    }
    if (rowOf(node) < last) facts.spans.push([rowOf(node), last]);
    if (name === 'comment') comments.push(node);
  }
  for (const node of comments) blank(masked, node);
  facts.code = masked.map((line) => line.trim() !== '');
  facts.plain = [...facts.code];
  for (const { startPosition: start, endPosition: end } of comments) { // one that begins behind code belongs to that code
    if (end.row > start.row && masked[start.row].slice(0, start.column).trim() !== '') facts.code.fill(true, start.row, end.row + 1);
  }
  for (const node of nodes) define(facts, node, languages[language], masked);
  facts.definitions.sort((a, b) => a.from - b.from || b.to - a.to);
  const around = [];
  for (const d of facts.definitions) {
    while (around.length > 0 && around.at(-1).to <= d.from) around.pop();
    d.scope = around.filter((outer) => outer.from < d.from || outer.to > d.to).map((outer) => outer.name);
    around.push(d);
  }
  if (language === 'TypeScript' || language === 'TSX') facts.definitions = withOverloads(facts.definitions);
  return facts;
}

/** Overloads of a function that follow each other are one definition. */
function withOverloads(definitions) {
  const merged = [];
  for (const d of definitions) {
    const before = merged.findLast((other) => other.scope.join() === d.scope.join());
    if (before && /(function|method)_signature/.test(before.type) && before.name === d.name) {
      Object.assign(before, { to: d.to, last: d.last, type: d.type, shares: before.shares || d.shares });
    } else {
      merged.push(d);
    }
  }
  return merged;
}

function define(facts, node, language, masked) {
  const names = namesOf(node);
  if (names.length === 0) return;
  for (const { name, own } of names) { // of several in one declaration, each is what it is alone
    const whole = own === node ? wholeOf(node, language) : own;
    const { first, decorators } = firstOf(whole);
    const last = lastOf(whole);
    const before = masked[first.startPosition.row].slice(0, first.startPosition.column);
    const behind = masked[last - 1].slice(whole.endPosition.column > 0 ? whole.endPosition.column : masked[last - 1].length);
    const shares = !(own === node ? /^\s*$/ : /^[\s,]*$/).test(before) || !/^[\s;,]*$/.test(behind);
    facts.definitions.push({ from: first.startIndex, to: whole.endIndex, first: rowOf(first), last, decorators, place: own === node ? placeOf(whole, language) : 'other',
      shares, name, line: rowOf(own), type: node.type, node, statement: own === node ? undefined : [rowOf(node), lastOf(node)] });
  }
}

function blank(lines, node) {
  for (let row = node.startPosition.row; row <= node.endPosition.row; row++) {
    const from = row === node.startPosition.row ? node.startPosition.column : 0;
    const to = row === node.endPosition.row ? node.endPosition.column : lines[row].length;
    lines[row] = lines[row].slice(0, from) + ' '.repeat(to - from) + lines[row].slice(to);
  }
}

function difference(a, b) {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && a[start] === b[start]) start++;
  let same = 0;
  while (same < shorter - start && a[a.length - 1 - same] === b[b.length - 1 - same]) same++;
  const place = (text, index) => {
    const head = text.slice(0, index);
    return { row: head.split('\n').length - 1, column: index - head.lastIndexOf('\n') - 1 };
  };
  const [oldEnd, newEnd] = [a.length - same, b.length - same];
  return { startIndex: start, oldEndIndex: oldEnd, newEndIndex: newEnd, startPosition: place(a, start), oldEndPosition: place(a, oldEnd), newEndPosition: place(b, newEnd) };
}

/** The lines of a here-document belong to the constant that it is the value of. */
function withHereDocuments(facts) {
  for (const d of facts.definitions) {
    if (d.type !== 'assignment') continue;
    for (const [first, last] of facts.spans) if (first >= d.first && first <= d.last + 1) d.last = Math.max(d.last, last);
  }
}

/** Facts of a text. The facts of the text before an edit make it faster; release gives their memory back. */
export async function parse(path, text, before) {
  const language = languageOf(path);
  const facts = language === 'Python' ? await parsePython(text) : await parseTree(language, path, text, before);
  if (language === 'Ruby') withHereDocuments(facts);
  for (const d of facts.definitions) {
    d.comments = 0;
    for (let n = d.first - 1; n > 0 && !facts.code[n - 1] && facts.lines[n - 1].trim() !== ''; n--) d.comments++;
  }
  return facts;
}

export const release = (facts) => facts.tree?.delete();
