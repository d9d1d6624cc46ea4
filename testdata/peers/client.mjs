// A client on the TypeScript SDK, which talks to an MCP server over stdio and prints
// what it saw as one JSON object:
//   node client.mjs v1|legacy|2026-07-28 COMMAND [ARGUMENT...]
// v1 is version 1 of the SDK, the others are version 2. The server is toolpipe --serve
// before the Go SDK's conformance server, named go, and a server fs with a tool that
// never answers.
const [era, command, ...args] = process.argv.slice(2);
const v1 = era === 'v1';
const { Client } = await import(v1 ? '@modelcontextprotocol/sdk/client/index.js' : '@modelcontextprotocol/client');
const { StdioClientTransport } = await import(v1 ? '@modelcontextprotocol/sdk/client/stdio.js' : '@modelcontextprotocol/client/stdio');

const mode = era === 'legacy' || v1 ? 'legacy' : { pin: era };
const client = new Client({ name: 'client', version: '1' }, v1 ? {} : { versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));

const call = (name, options) => client.callTool({ name, arguments: {} }, ...(v1 ? [undefined, options] : [options]));
const report = { server: client.getServerVersion()?.name };
if (!v1) report.protocol = client.getNegotiatedProtocolVersion();
report.tools = (await client.listTools()).tools.length;
// The calls behind it wait for this one: they are answered only if it is cancelled.
report.cancelled = await call('fs__hang', { timeout: 500 }).then(() => false, () => true);
report.text = (await call('go__test_simple_text')).content[0].text;
report.blocks = (await call('go__test_multiple_content_types')).content.length;
report.isError = (await call('go__test_error_handling')).isError;
let progress = 0;
await call('go__test_tool_with_progress', { onprogress: () => progress++ });
report.progress = progress;
report.prompt = (await client.getPrompt({ name: 'go__test_simple_prompt' })).messages.length === 1;
report.resource = (await client.readResource({ uri: 'test://static-text' })).contents.length === 1;
report.templates = (await client.listResourceTemplates()).resourceTemplates.length > 0;
report.denied = (await call('fs__write')).isError;
await client.close();
console.log(JSON.stringify(report));
