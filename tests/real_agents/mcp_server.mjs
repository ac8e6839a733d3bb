// An MCP server with one tool, `keep_owl`, that writes a file. It holds itself to nothing, as a user's own server may.
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const tool = { name: 'keep_owl', description: 'Keeps a note', inputSchema: schema };

function answer({ method, params }) {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'notes', version: '1.0.0' },
      };
    case 'tools/list':
      return { tools: [tool] };
    case 'tools/call':
      writeFileSync(params.arguments.path, 'hello');
      return { content: [{ type: 'text', text: 'kept' }] };
    default:
      return {};
  }
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const request = JSON.parse(line);
  if (request.id === undefined) return;
  const message = { jsonrpc: '2.0', id: request.id, result: answer(request) };
  process.stdout.write(JSON.stringify(message) + '\n');
});
