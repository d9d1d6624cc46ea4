// Looks at pages of --report in Chromium: node check.mjs [--screenshots DIR] FILE.html ...
//
// A page must load nothing but itself, print nothing on the console, break no policy, execute
// nothing of what a log holds (a hostile log sets window.executed), be no wider than a telephone, and pass
// axe-core, in light and dark, with and without scripts. Its filter must work, and a link to a call open it.
import { readFileSync, existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import puppeteer from 'puppeteer-core'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const files = process.argv.slice(2)
const screenshots = files[0] === '--screenshots' ? files.splice(0, 2)[1] : ''
const programs = (process.env.PATH ?? '').split(':').flatMap((dir) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => resolve(dir, name)))
const executablePath = programs.find((path) => existsSync(path))
if (!executablePath) throw new Error('there is no Chromium')

const browser = await puppeteer.launch({ executablePath, pipe: true, headless: true, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] })
const views = [
  { width: 360, scheme: 'light', scripts: true },
  { width: 1280, scheme: 'dark', scripts: true },
  { width: 1280, scheme: 'light', scripts: false },
]
const found = []
try {
  for (const file of files) await look(file)
} finally {
  await browser.close()
}
for (const line of found) console.log(line)
console.log(`${files.length} pages, findings: ${found.length}`)
process.exitCode = found.length ? 1 : 0

async function look(file) {
  // The elements, colours and names of most hostile logs are those of the others.
  const name = basename(file, '.html')
  const hostile = name.startsWith('hostile')
  for (const view of hostile ? views.slice(0, 1) : views) {
    const say = (what) => found.push(`${file} at ${view.width}, ${view.scheme}, scripts ${view.scripts}: ${what}`)
    const page = await browser.newPage()
    const url = pathToFileURL(resolve(file)).href
    page.on('console', (m) => say(`console: ${m.text()}`))
    page.on('pageerror', (e) => say(`error: ${e.message}`))
    page.on('dialog', (d) => (say(`dialog: ${d.message()}`), d.dismiss()))
    page.on('request', (r) => r.url() === url || say(`request: ${r.url()}`))
    page.on('popup', () => say('a window was opened'))
    await page.evaluateOnNewDocument(() => {
      window.broken = []
      document.addEventListener('securitypolicyviolation', (e) => window.broken.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`))
    })
    await page.setViewport({ width: view.width, height: 900, isMobile: view.width < 500, hasTouch: view.width < 500 })
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: view.scheme }])
    await page.setJavaScriptEnabled(view.scripts)
    await page.goto(url, { waitUntil: 'load' })
    // What follows is evaluated by the debugger, which the policy and the switch for scripts do not concern.
    const seen = await page.evaluate(() => ({
      executed: window.executed,
      broken: window.broken ?? [],
      wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      widest: [...document.querySelectorAll('*')].filter((e) => e.getBoundingClientRect().right > document.documentElement.clientWidth).map((e) => e.outerHTML.slice(0, 80)).slice(-3).join(' '),
      calls: document.querySelectorAll('details.call').length,
      filters: [...document.querySelectorAll('form.filter')].map((f) => f.hidden),
      links: [...document.querySelectorAll('a')].map((a) => a.getAttribute('href')).filter((h) => !h.startsWith('#') || !document.getElementById(h.slice(1))),
      elements: [...new Set([...document.querySelectorAll('*')].map((e) => e.localName))].sort().join(' '),
      handlers: [...document.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on|^style$|^srcdoc$/i.test(a.name))).length,
    }))
    if (seen.executed !== undefined) say('something of the log was executed')
    for (const b of seen.broken) say(`policy: ${b}`)
    if (seen.wide > 0) say(`${seen.wide} pixels too wide: ${seen.widest}`)
    for (const l of seen.links) say(`a link to ${l}`)
    if (seen.handlers) say(`${seen.handlers} elements with a handler or a style`)
    const known = 'a b body code data dd details div dl dt figcaption figure form h1 h2 h3 h4 h5 h6 head header html input label li line main meta nav ol option output p pre rect script section select span style summary svg table tbody td text th thead title tr ul'
    for (const e of seen.elements.split(' ')) if (!known.split(' ').includes(e)) say(`an element ${e}`)
    if (seen.filters.some((hidden) => hidden === view.scripts)) say('the filter is not as it should be')
    if (screenshots) await page.screenshot({ path: `${screenshots}/${basename(file, '.html')}-${view.width}-${view.scheme}.png`, fullPage: false })
    if (view.scripts) {
      await page.evaluate(() => document.querySelectorAll('details').forEach((d) => (d.open = true)))
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
      if (wide > 0) say(`${wide} pixels too wide when all is open`)
      // In the second scheme only colours differ, of which these pages have all.
      const colours = view.scheme === 'dark'
      const whole = hostile ? name === 'hostile-empty' : !colours
      const { violations } = whole || colours && /parallel|denied|edit/.test(name) ? await judge(page, colours) : { violations: [] }
      for (const v of violations) say(`axe: ${v.id}: ${v.help}: ${v.nodes.length}, such as ${v.nodes[0].html.slice(0, 200)}`)
      if (seen.filters.length > 0) await filter(page, say)
      if (screenshots) await page.screenshot({ path: `${screenshots}/${basename(file, '.html')}-${view.width}-${view.scheme}-open.png`, fullPage: seen.calls < 12 })
    }
    await page.close()
  }
}

async function judge(page, colours) {
  await page.evaluate(axe)
  const only = colours ? { runOnly: { type: 'rule', values: ['color-contrast'] } } : {}
  return page.evaluate((only) => axe.run({ resultTypes: ['violations'], elementRef: false, ...only }), only)
}

// filter uses the first filter of a page, by its fields, and a link to its last call.
async function filter(page, say) {
  const result = await page.evaluate(() => {
    const form = document.querySelector('form.filter')
    const calls = [...document.getElementById(form.dataset.of).children]
    const shown = () => calls.filter((c) => !c.hidden)
    const set = (name, value) => {
      form.elements.namedItem(name).value = value
      form.dispatchEvent(new Event('input', { bubbles: true }))
    }
    const all = shown().length
    set('text', calls[0].querySelector('dl').textContent.trim().split('\n')[0].slice(0, 40).toLowerCase())
    const some = shown().includes(calls[0])
    set('text', 'no call has this text \u0001')
    const none = shown().length
    set('text', '')
    const select = form.elements.namedItem('status')
    select.selectedIndex = 1
    form.dispatchEvent(new Event('input', { bubbles: true }))
    const right = shown().every((c) => c.dataset.status === select.value) && shown().length > 0
    select.selectedIndex = 0
    form.dispatchEvent(new Event('input', { bubbles: true }))
    const last = calls[calls.length - 1]
    last.open = false
    location.hash = last.id
    return new Promise((done) => setTimeout(() => done({ all: all === calls.length, some, none: none === 0, right, opened: last.open }), 50))
  })
  for (const [what, is] of Object.entries(result)) if (!is) say(`the filter: ${what}`)
}
