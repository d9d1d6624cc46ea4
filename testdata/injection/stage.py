#!/usr/bin/env python3
"""stage.py BINARY DIR [EVERY]: plays the tasks, and of the attacks every EVERYth (all), of DIR with --stage, then applies the
plans of the everyday tasks.

DIR holds SUITE.json, as README.md says. What changes nothing is allowed, all else is staged. No call that changes something
may reach the server before the plan is applied; applying it must leave the server with the calls that change something, in
the order of a run without staging. A call that repeats a staged one is staged once. A scripted model plays the calls.
"""
import concurrent.futures as futures, http.server, json, os, socketserver, subprocess, sys, tempfile, threading
from pathlib import Path

binary, here = sys.argv[1], Path(sys.argv[2])
suites = {name: json.load(open(here / (name + '.json'))) for name in ('workspace', 'banking')}
runs = {}


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
            function = {'name': 'd__' + call['name'], 'arguments': json.dumps(call['args'])}
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
            run['ran'].append([body['params']['name'], body['params'].get('arguments')])
            result = {'content': [{'type': 'text', 'text': 'ok'}]}
        self.reply(200, json.dumps({'jsonrpc': '2.0', 'id': body['id'], 'result': result}).encode())


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads, request_queue_size = True, 64


server = Server(('127.0.0.1', 0), Handler)
port = server.server_address[1]
threading.Thread(target=server.serve_forever, daemon=True).start()
home = tempfile.mkdtemp(prefix='stage-')


def toolpipe(run, *flags):
    return subprocess.run([binary, '--no-config', '-m', 'm', '--base-url', 'http://127.0.0.1:%d/m/%s/v1' % (port, run), '-t', 'd=http://127.0.0.1:%d/mcp/%s' % (port, run),
        '--egress', 'off', '--no-input', '--no-stdin', '--max-rounds', '60', *flags], stdin=subprocess.DEVNULL, capture_output=True, timeout=120, env={'PATH': os.environ['PATH'], 'HOME': home})


def play(job):
    suite, user, attack = job
    task = suites[suite]['user'][user]
    script = task['calls']
    if attack:
        script = script[:task['inj'].index(True) + 1] + suites[suite]['inj'][attack]['calls']
    effects = suites[suite]['effects']
    run = '-'.join(str(j) for j in job)
    runs[run] = here_run = {'suite': suite, 'script': script, 'ran': []}
    plan = os.path.join(home, run + '.jsonl')
    allowed = ['d__' + t['name'] for t in suites[suite]['tools'] if t['name'] not in effects]
    staged = toolpipe(run, '--stage', plan, '--allow', ','.join(allowed), '--', task['prompt'])
    if staged.returncode != 0:
        return job, 'ended with %d: %s' % (staged.returncode, staged.stderr.decode()[:300])
    early = [c for c in here_run['ran'] if c[0] in effects]
    if early:
        return job, 'reached the server before the review: %s' % early
    if attack:
        return job, ''
    here_run['ran'] = []
    applied = toolpipe(run, '--apply', plan)
    want = []
    for c in script:
        if c['name'] in effects and [c['name'], c['args']] not in want:
            want.append([c['name'], c['args']])
    if applied.returncode != 0 or here_run['ran'] != want:
        return job, 'applying ended with %d and made %s, not %s: %s' % (applied.returncode, here_run['ran'], want, applied.stderr.decode()[:300])
    return job, ''


jobs = [(s, u, None) for s in suites for u in suites[s]['user']]
jobs += [(s, u, a) for s, d in suites.items() for u, t in d['user'].items() if any(t['inj']) for a in d['inj']]
attacks = [job for job in jobs if job[2]]
jobs = [job for job in jobs if not job[2]] + attacks[::int(sys.argv[3]) if len(sys.argv) > 3 else 1]
wrong = 0
with futures.ThreadPoolExecutor(3) as pool:
    for job, why in pool.map(play, jobs):
        if why:
            wrong += 1
            print(*job, why)
tasks = sum(job[2] is None for job in jobs)
print('staged: %d everyday tasks, applied with the same calls; %d attacks, none of which changed anything before the review; wrong: %d' % (tasks, len(jobs) - tasks, wrong))
sys.exit(wrong > 0)
