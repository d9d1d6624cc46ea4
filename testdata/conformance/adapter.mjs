// Stands between the conformance suite and toolpipe:
//   node adapter.mjs TOOLPIPE URL
// It plays the model and calls every offered tool once, so that a tool which
// should have been left out is seen as a failure. The context that the suite
// gives (credentials, calls to make) becomes a config file and the plan.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const [toolpipe, url] = process.argv.slice(2);
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT || '{}');
const scenario = process.env.MCP_CONFORMANCE_SCENARIO || '';

// plan returns the calls of the model: pairs of the offered name and the arguments.
function plan(tools) {
  const offered = (name) => tools.find((t) => t.function.name === name || t.function.name.endsWith('__' + name))?.function.name;
  if (context.toolCalls) {
    return context.toolCalls.map((c) => [offered(c.name), c.arguments]).filter(([name]) => name);
  }
  const known = {
    add_numbers: () => ({ a: 5, b: 3 }),
    valid_tool: () => ({ region: 'us-west1' }),
    read_resource: () => ({ uri: 'skill://pdf-processing/references/FORMS.md' }), // of a skill that should have been refused
  };
  const calls = [];
  for (const { function: f } of tools) {
    const name = f.name.replace(/^.*?__/, '');
    if (name === 'json_schema_echo' || name === 'lookup_user') continue;
    if (name === 'json_schema_2020_12_tool') calls.push([offered('json_schema_echo'), { schema: f.parameters }]);
    else calls.push([f.name, known[name]?.() ?? {}]);
  }
  return calls;
}

// answer is one streamed reply: the calls first, then a word.
function answer(request) {
  const done = !request.tools?.length || request.messages.some((m) => m.role === 'tool');
  if (done) return [{ content: 'done' }, 'stop'];
  const tool_calls = plan(request.tools).map(([name, args], index) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  return tool_calls.length ? [{ tool_calls }, 'tool_calls'] : [{ content: 'nothing to call' }, 'stop'];
}

const model = createServer((req, res) => {
  let body = '';
  req.on('data', (part) => (body += part));
  req.on('end', () => {
    const [delta, finish] = answer(JSON.parse(body || '{}'));
    const event = (delta, finish_reason) =>
      res.write(`data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    res.setHeader('content-type', 'text/event-stream');
    event({ role: 'assistant', ...delta }, null);
    event({}, finish);
    res.end('data: [DONE]\n\n');
  });
});

// config writes the server as the user's config file, credentials included.
function config(dir, scopes) {
  const server = { url, oauth: { client_metadata_url: 'https://conformance-test.local/client-metadata.json' } };
  const file = (name, text) => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return name;
  };
  if (context.client_id) {
    server.oauth = { client_id: context.client_id };
    if (context.client_secret) server.oauth.client_secret = context.client_secret;
    if (context.name === 'auth/pre-registration') Object.assign(server.oauth, { grant: 'code' });
    if (context.private_key_pem) {
      server.oauth.private_key_file = file('key.pem', context.private_key_pem);
      if (context.signing_algorithm) server.oauth.algorithm = context.signing_algorithm;
    }
    if (context.valid_jwt) Object.assign(server.oauth, { grant: 'jwt_bearer', assertion_file: file('platform.jwt', context.valid_jwt) });
    if (context.idp_id_token) {
      const idp = { token_url: context.idp_token_endpoint, client_id: context.idp_client_id };
      Object.assign(server.oauth, { grant: 'id_jag', assertion_file: file('id.jwt', context.idp_id_token), idp });
    }
  }
  if (scopes) server.oauth.scopes = scopes;
  return join(dir, file('config.json', JSON.stringify({ mcpServers: { c: server } })));
}

const dir = mkdtempSync(join(tmpdir(), 'conformance-'));
const configFile = config(dir);
// The suite itself may run under CI, where a person's browser is not opened.
const { CI, ...environment } = process.env;
const env = { ...environment, XDG_STATE_HOME: dir, BROWSER: `${process.execPath} ${new URL('browser.mjs', import.meta.url).pathname}` };

// toolpipe runs the program and gives its exit status and the events that it wrote.
function run(args, input) {
  return new Promise((resolve) => {
    const child = spawn(toolpipe, ['--config', configFile, '-o', 'ndjson', ...args], { stdio: ['pipe', 'pipe', 'inherit'], env });
    let out = '';
    child.stdout.on('data', (part) => (out += part));
    child.on('error', (e) => {
      console.error(e.message);
      resolve({ status: 1, events: [] });
    });
    child.on('close', (status) => resolve({ status: status ?? 1, events: out.split('\n').filter(Boolean).map((line) => JSON.parse(line)) }));
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

// What a person does: runs the program, signs in when it says so with the scopes
// that it names, and runs it again; a few times at most.
model.listen(0, '127.0.0.1', async () => {
  const args = ['-y', '--elicit', 'defaults', '--max-result-bytes', '16777216', '--base-url', `http://127.0.0.1:${model.address().port}/v1`, '-m', 'm'];
  if (scenario === 'sep-2640-client-no-prefetch') args.push('--list', 'skills');
  else if (scenario.startsWith('sep-2640-')) args.push('--skill', 'c:pdf-processing');
  let status;
  for (let logins = 0; ; logins++) {
    const result = await run(args, 'run every tool\n');
    status = result.status;
    const wanted = result.events.find((e) => e.type === 'warning' && (e.code === 'login_needed' || e.code === 'login_scope'));
    if (!wanted || logins === 3) break;
    if (wanted.code === 'login_scope') config(dir, wanted.scopes);
    const login = await run(['--login', 'c'], '');
    if (login.status !== 0) {
      status = login.status;
      break;
    }
  }
  rmSync(dir, { recursive: true, force: true });
  process.exit(status);
});
