// A bridge from Streamable HTTP to toolpipe --serve, which speaks over stdio, for the
// server scenarios of the conformance suite:
//   node bridge.mjs PORT PREFIX COMMAND [ARGUMENT...]
// The suite calls tools and prompts by the names that its reference server has, so the
// bridge puts PREFIX before them on the way there and takes it off on the way back. Each
// legacy session has a process of its own; the requests of 2026-07-28 share one.
import { createServer } from 'node:http';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { randomUUID } from 'node:crypto';

const [port, prefix, command, ...args] = process.argv.slice(2);
const versionKey = 'io.modelcontextprotocol/protocolVersion';
const subscriptionKey = 'io.modelcontextprotocol/subscriptionId';

class Peer {
  waiting = new Map(); // by our id: the HTTP response, the id and the progress token that came
  count = 0;
  constructor() {
    this.child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    createInterface({ input: this.child.stdout }).on('line', line => this.receive(JSON.parse(line)));
  }
  send(message, response) {
    const { id, method, params } = message;
    if (!method) return this.child.stdin.write(JSON.stringify(message) + '\n'); // the answer to a request of the server
    const token = params?._meta?.progressToken;
    if (id !== undefined) {
      message.id = ++this.count;
      this.waiting.set(message.id, { response, id, token, listens: method === 'subscriptions/listen' });
      response.on('close', () => this.cancel(message.id));
      if (token !== undefined) params._meta.progressToken = message.id;
    }
    if (method === 'tools/call' || method === 'prompts/get') params.name = prefix + params.name;
    if (method === 'completion/complete' && params.ref?.name) params.ref.name = prefix + params.ref.name;
    this.child.stdin.write(JSON.stringify(message) + '\n');
  }
  // cancel tells the server that nobody waits for an answer any more.
  cancel(id) {
    if (!this.waiting.delete(id)) return;
    this.child.stdin.write(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } }) + '\n');
  }
  receive(message) {
    const subscription = message.params?._meta?.[subscriptionKey] ?? message.result?._meta?.[subscriptionKey];
    if (subscription !== undefined) {
      const to = this.waiting.get(subscription);
      if (!to) return;
      (message.params ?? message.result)._meta[subscriptionKey] = to.id;
      if (message.method) return write(to.response, message);
    }
    if (message.method === 'notifications/progress') {
      const to = this.waiting.get(message.params.progressToken);
      if (to) write(to.response, { ...message, params: { ...message.params, progressToken: to.token } });
      return;
    }
    if (message.method && message.id !== undefined) { // a question: to the request that came last
      const to = [...this.waiting.values()].filter(to => !to.listens).at(-1);
      if (to) write(to.response, message);
      return;
    }
    if (message.method) { // a log: to every request that is being answered
      for (const to of this.waiting.values()) if (!to.listens) write(to.response, message);
      return;
    }
    const to = this.waiting.get(message.id);
    this.waiting.delete(message.id);
    for (const key of ['tools', 'prompts']) {
      for (const item of message.result?.[key] ?? []) item.name = item.name.replace(prefix, '');
    }
    if (to) write(to.response, { ...message, id: to.id });
    to?.response.end();
  }
}

// write sends a message as an event. An error of 2026-07-28 that comes first has a status
// of HTTP instead.
function write(response, message) {
  const status = response.modern && message.error && !response.headersSent && { '-32601': 404, '-32602': 400, '-32021': 400, '-32022': 400 }[message.error.code];
  if (status) return response.writeHead(status, { 'content-type': 'application/json' }).write(JSON.stringify(message));
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}
const sessions = new Map();
let modern;

const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  if (!/^(localhost|127\.0\.0\.1):/.test(request.headers.host)) return response.writeHead(403).end();
  const session = request.headers['mcp-session-id'];
  if (request.method === 'DELETE') {
    sessions.get(session)?.child.stdin.end();
    sessions.delete(session);
    return response.writeHead(200).end();
  }
  if (request.method !== 'POST') return response.writeHead(405).end();
  const message = JSON.parse(body);
  response.modern = message.params?._meta?.[versionKey] !== undefined;
  let peer = response.modern ? (modern ??= new Peer()) : sessions.get(session);
  if (message.method === 'initialize' && !response.modern) {
    const id = randomUUID();
    sessions.set(id, peer = new Peer());
    response.setHeader('mcp-session-id', id);
  }
  if (!peer) return response.writeHead(session ? 404 : 400).end();
  if (message.id === undefined) response.writeHead(202).end();
  peer.send(message, response);
});
server.listen(Number(port), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/mcp`));
