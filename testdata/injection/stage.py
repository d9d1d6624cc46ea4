#!/usr/bin/env python3
"""stage.py BINARY DIR [EVERY]: plays the tasks, and of the attacks every EVERYth (all), of DIR with --stage, then applies the
plans of the everyday tasks.

DIR holds SUITE.json, as README.md says. What changes nothing is allowed, all else is staged. No call that changes something
may reach the server before the plan is applied; applying it must leave the server with the calls that change something, in
the order of a run without staging. A call that repeats a staged one is staged once. A scripted model plays the calls.
"""
import concurrent.futures as futures, os, sys
import played

binary = sys.argv[1]
played.load(sys.argv[2])


def play(job):
    suite, user, attack = job
    script, prompt = played.script(*job), played.suites[suite]['user'][user]['prompt']
    effects = played.suites[suite]['effects']
    run = '-'.join(str(j) for j in job)
    played.runs[run] = here_run = {'suite': suite, 'script': script, 'ran': []}
    plan = os.path.join(played.home, run + '.jsonl')
    allowed = ['d__' + t['name'] for t in played.suites[suite]['tools'] if t['name'] not in effects]
    staged = played.toolpipe(binary, run, '--egress', 'off', '--stage', plan, '--allow', ','.join(allowed), '--', prompt)
    if staged.returncode != 0:
        return job, 'ended with %d: %s' % (staged.returncode, staged.stderr.decode()[:300])
    early = [c for c in here_run['ran'] if c[0] in effects]
    if early:
        return job, 'reached the server before the review: %s' % early
    if attack:
        return job, ''
    here_run['ran'] = []
    applied = played.toolpipe(binary, run, '--egress', 'off', '--apply', plan)
    want = []
    for c in script:
        if c['name'] in effects and [c['name'], c['args']] not in want:
            want.append([c['name'], c['args']])
    if applied.returncode != 0 or here_run['ran'] != want:
        return job, 'applying ended with %d and made %s, not %s: %s' % (applied.returncode, here_run['ran'], want, applied.stderr.decode()[:300])
    return job, ''


jobs = played.jobs(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
wrong = 0
with futures.ThreadPoolExecutor(3) as pool:
    for job, why in pool.map(play, jobs):
        if why:
            wrong += 1
            print(*job, why)
tasks = sum(job[2] is None for job in jobs)
print('staged: %d everyday tasks, applied with the same calls; %d attacks, none of which changed anything before the review; wrong: %d' % (tasks, len(jobs) - tasks, wrong))
sys.exit(wrong > 0)
