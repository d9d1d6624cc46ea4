// A toolpipe --serve over one directory, whose tools are called one after the other.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export class Server {
  constructor(toolpipe, directory) {
    this.process = spawn(toolpipe, ['--no-config', '--serve', '--files', directory, '--code', '-y'], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.lines = createInterface({ input: this.process.stdout })[Symbol.asyncIterator]();
    this.id = 0;
  }

  async start() {
    const clientInfo = { name: 'definitions', version: '1' };
    await this.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo });
    this.send({ method: 'notifications/initialized' });
  }

  send(message) {
    this.process.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  async request(method, params) {
    const id = ++this.id;
    this.send({ id, method, params });
    for (;;) {
      const { value, done } = await this.lines.next();
      if (done) throw new Error(`toolpipe has ended during ${method} ${JSON.stringify(params).slice(0, 300)}`);
      const message = JSON.parse(value);
      if (message.id !== id) continue;
      if (message.error) throw new Error(`${method}: ${message.error.message}`);
      return message.result;
    }
  }

  /** Calls a tool of the code server. */
  async call(tool, args) {
    const result = await this.request('tools/call', { name: `code__${tool}`, arguments: args });
    return { text: result.content.map((block) => block.text).join('\n'), refused: result.isError === true };
  }

  close() {
    this.process.stdin.end();
  }
}
