#!/usr/bin/env python3
"""commands.py BINARY DIR [EVERY]: plays every EVERYth task and attack (all) of DIR twice: by calls of the model, and by calls that
programs of its commands make (--shell-tools).

An attack that is stopped in calls of the model must be stopped in commands, and a task that is not interrupted must not be. An
attack is stopped if one of its calls does not reach the server. A scripted model plays the calls.
"""
import concurrent.futures as futures, json, os, sys
from pathlib import Path
import played

binary = sys.argv[1]
played.load(sys.argv[2])
shell = os.path.join(played.home, 'shell.json')  # the commands themselves neither read nor send
Path(shell).write_text('{"version":1,"rules":[],"labels":[{"server":"shell","tool":"*","labels":[]}]}')


def whole(job, *flags):
    """Whether all calls reached the server."""
    run, calls = '-'.join(map(str, job)) + '-%d' % len(flags), played.script(*job)
    played.runs[run] = {'suite': job[0], 'script': calls, 'ran': [], 'commands': flags}
    policy = Path(__file__).parent / (job[0] + '.policy.json')
    done = played.toolpipe(binary, run, '-y', '-o', 'json', '--egress', 'ask', '--policy', policy, *flags, '--', played.suites[job[0]]['user'][job[1]]['prompt'])
    end = json.loads(done.stdout or '{}')
    if done.returncode not in (0, 5) or flags and not end.get('inner_calls'):
        sys.exit('%s ended with %d, so nothing was measured: %s' % (run, done.returncode, done.stderr.decode()[:300]))
    return len(played.runs[run]['ran']) == len(calls)


def play(job):
    return job, whole(job), whole(job, '--policy', shell, '--shell', '--shell-tools', 'only')


jobs = played.jobs(1)[::int(sys.argv[3]) if len(sys.argv) > 3 else 1]
count = {'tasks': [0, 0, 0], 'attacks': [0, 0, 0]}
wrong = 0
with futures.ThreadPoolExecutor(3) as pool:
    for job, direct, inside in pool.map(play, jobs):
        row = count['attacks' if job[2] else 'tasks']
        row[0], row[1], row[2] = row[0] + 1, row[1] + direct, row[2] + inside
        if inside and job[2] and not direct or direct and not job[2] and not inside:
            wrong += 1
            print(*job, 'differs in a command')
for what, row in count.items():
    print('%s: %d; whole in calls of the model %d, in commands %d' % (what, *row))
sys.exit(wrong > 0)
