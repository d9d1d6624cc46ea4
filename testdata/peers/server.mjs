// A server on version 2 of the TypeScript SDK, for protocol revisions with and
// without initialize:
//   node server.mjs              stdio
//   node server.mjs http PORT    Streamable HTTP on loopback
import { createServer } from 'node:http';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { z } from 'zod';

function server() {
  const s = new McpServer({ name: 'ts2', version: '1' });
  s.registerTool(
    'add',
    { description: 'Adds two numbers.', inputSchema: z.object({ a: z.number(), b: z.number() }) },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }] }),
  );
  return s;
}

const [how, port] = process.argv.slice(2);
if (how === 'http') {
  createServer(toNodeHandler(createMcpHandler(server))).listen(Number(port), '127.0.0.1');
} else {
  await serveStdio(server, how === 'modern' ? { legacy: 'reject' } : undefined);
}
