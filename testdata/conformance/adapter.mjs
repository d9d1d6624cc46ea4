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

// plan returns the calls of the model: pairs of the offered name and the arguments.
function plan(tools) {
  const offered = (name) => tools.find((t) => t.function.name === name || t.function.name.endsWith('__' + name))?.function.name;
  if (context.toolCalls) {
    return context.toolCalls.map((c) => [offered(c.name), c.arguments]).filter(([name]) => name);
  }
  const known = {
    add_numbers: () => ({ a: 5, b: 3 }),
    valid_tool: () => ({ region: 'us-west1' }),
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

// config writes the server as a config file, credentials included.
function config(dir) {
  const server = { url };
  if (context.client_id) {
    server.oauth = { client_id: context.client_id };
    if (context.client_secret) server.oauth.client_secret = context.client_secret;
    if (context.private_key_pem) {
      server.oauth.private_key_file = join(dir, 'key.pem');
      writeFileSync(server.oauth.private_key_file, context.private_key_pem, { mode: 0o600 });
      if (context.signing_algorithm) server.oauth.algorithm = context.signing_algorithm;
    }
  }
  const file = join(dir, 'mcp.json');
  writeFileSync(file, JSON.stringify({ mcpServers: { c: server } }), { mode: 0o600 });
  return file;
}

model.listen(0, '127.0.0.1', () => {
  const dir = mkdtempSync(join(tmpdir(), 'conformance-'));
  const args = ['--no-config', '--mcp-config', config(dir), '-y', '--elicit', 'defaults', '--max-result-bytes', '16777216',
    '--base-url', `http://127.0.0.1:${model.address().port}/v1`, '-m', 'm'];
  const child = spawn(toolpipe, args, { stdio: ['pipe', 'inherit', 'inherit'] });
  const end = (status) => {
    rmSync(dir, { recursive: true, force: true });
    process.exit(status);
  };
  child.on('error', (e) => {
    console.error(e.message);
    end(1);
  });
  child.on('exit', (status) => end(status ?? 1));
  child.stdin.on('error', () => {});
  child.stdin.end('run every tool\n');
});
