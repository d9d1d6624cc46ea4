"""The model and the tool server of the suites: one HTTP server, /m/RUN/v1 and /mcp/RUN. See README.md."""
import http.server, json, os, socketserver, subprocess, tempfile, threading
from pathlib import Path

runs = {}  # by name: suite, script (calls), ran (calls that the server got), and commands if programs of commands make them
suites = {}


def load(directory):
    for name in ('workspace', 'banking'):
        suites[name] = json.load(open(Path(directory) / (name + '.json')))


def jobs(every):
    """The everyday tasks, and every EVERYth attack: suite, user task, injection or None."""
    tasks = [(s, u, None) for s in suites for u in suites[s]['user']]
    attacks = [(s, u, a) for s, d in suites.items() for u, t in d['user'].items() if any(t['inj']) for a in d['inj']]
    return tasks + attacks[::every]


def script(suite, user, attack):
    """The calls of a task; of an attack, those up to the first result with it, and its own."""
    task = suites[suite]['user'][user]
    return task['calls'][:task['inj'].index(True) + 1] + suites[suite]['inj'][attack]['calls'] if attack else task['calls']


def in_command(call):
    return 'shell__run_command', {'script': "toolpipe --call d__%s - <<'END'\n%s\nEND" % (call['name'], json.dumps(call['args']))}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def log_message(self, *_): pass

    def reply(self, code, body, kind='application/json'):
        self.send_response(code)
        self.send_header('content-type', kind)
        self.send_header('content-length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self): self.reply(405, b'')

    def do_DELETE(self): self.reply(200, b'')

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers['content-length'])))
        kind, run = self.path.split('/')[1:3]
        (self.model if kind == 'm' else self.server_of)(runs[run], body)

    def model(self, run, body):
        n = sum(m['role'] == 'tool' for m in body['messages'])
        delta, finish = {'content': 'done'}, 'stop'
        if n < len(run['script']):
            call = run['script'][n]
            name, args = in_command(call) if run.get('commands') else ('d__' + call['name'], call['args'])
            function = {'name': name, 'arguments': json.dumps(args)}
            delta, finish = {'tool_calls': [{'index': 0, 'id': 'c%d' % n, 'type': 'function', 'function': function}]}, 'tool_calls'
        chunk = json.dumps({'choices': [{'index': 0, 'delta': delta, 'finish_reason': finish}]}).encode()
        self.reply(200, b'data: ' + chunk + b'\n\ndata: [DONE]\n\n', 'text/event-stream')

    def server_of(self, run, body):
        if body.get('id') is None:
            return self.reply(202, b'')
        result = {}
        if body['method'] == 'initialize':
            result = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'serverInfo': {'name': 'd', 'version': '1'}}
        elif body['method'] == 'tools/list':
            result = {'tools': [{'name': t['name'], 'description': t['description'], 'inputSchema': {'type': 'object'}} for t in suites[run['suite']]['tools']]}
        elif body['method'] == 'tools/call':
            asked = [body['params']['name'], body['params'].get('arguments')]
            run['ran'].append(asked)
            results = [c['result'] for c in run['script'] if [c['name'], c['args']] == asked]
            result = {'content': [{'type': 'text', 'text': (results or ['ok'])[0][:2000]}]}
        self.reply(200, json.dumps({'jsonrpc': '2.0', 'id': body['id'], 'result': result}).encode())


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size = True, 64


server = Server(('127.0.0.1', 0), Handler)
port = server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()
home = tempfile.mkdtemp(prefix='injection-')


def toolpipe(binary, run, *flags):
    return subprocess.run([binary, '--no-config', '-m', 'm', '--base-url', 'http://127.0.0.1:%d/m/%s/v1' % (port, run), '-t', 'd=http://127.0.0.1:%d/mcp/%s' % (port, run),
        '--no-input', '--no-stdin', '--max-rounds', '60', *flags], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, env={'PATH': os.environ['PATH'], 'HOME': home})
