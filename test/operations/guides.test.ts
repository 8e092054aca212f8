import { access, readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { knownMetrics, metricsNamedIn, read } from '../support/project.js'

const home = fileURLToPath(new URL('../..', import.meta.url))
const exists = (path: string) =>
  access(join(home, path)).then(
    () => true,
    () => false,
  )

/** What GitHub makes of a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} -]/gu, '')
    .replaceAll(' ', '-')

const guides = [
  'README.md',
  'docs/deployment.md',
  'docs/forward-auth.md',
  'docs/operating.md',
  'docs/reliability.md',
  'docs/security.md',
  'docs/server-side-rendering.md',
  'docs/single-page-application.md',
  'docs/specification.md',
  'docs/verify-tokens.md',
  'examples/README.md',
  'packages/client/README.md',
  'packages/verify/README.md',
  'docs/webhooks.md',
]

describe.each(guides)('%s', (guide) => {
  it('links to files and headings that are there', async () => {
    const links = [...(await read(guide)).matchAll(/\]\(((?!https:)[^)]+)\)/g)].map(([, target = '']) => target)
    const broken = await Promise.all(
      links.map(async (link) => {
        const [path = '', anchor] = link.split('#')
        const file = path === '' ? guide : join(dirname(guide), path)
        if (!(await exists(file))) return [link]
        if (anchor === undefined) return []
        const headings = [...(await read(file)).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading))
        return headings.includes(anchor) ? [] : [link]
      }),
    )
    expect(broken.flat()).toEqual([])
    expect(links.length).toBeGreaterThan(0)
  })
})

describe('the guide for operators', () => {
  it('names only metrics that exist', async () => {
    const existing = knownMetrics()
    const named = [...metricsNamedIn(await read('docs/operating.md'))]
    expect(named.filter((name) => !existing.includes(name) && !existing.includes(`${name}_count`))).toEqual([])
    expect(named.length).toBeGreaterThan(5)
  })

  it('quotes the log word for word', async () => {
    const files = (await readdir(new URL('../../src', import.meta.url), { recursive: true })).filter((file) =>
      file.endsWith('.ts'),
    )
    const source = (await Promise.all(files.map((file) => read(`src/${file}`)))).join('\n')
    const quoted = [...(await read('docs/operating.md')).matchAll(/“([^”]+)”/g)].map(([, message = '']) => message)
    expect(quoted.filter((message) => !source.includes(message))).toEqual([])
    expect(quoted.length).toBeGreaterThan(10)
  })
})

describe('the promises of the security guide', () => {
  it('each say whether they are tested, and where', async () => {
    const text = await read('docs/security.md')
    const rows = text
      .slice(text.indexOf('## The promises'))
      .split('\n')
      .filter((line) => line.startsWith('| ') && !/^\| (?:promise|fault) /.test(line))
      .map((line) => line.split(' | '))
    expect(rows.length).toBeGreaterThan(50)
    for (const [promise = '', state = '', where = ''] of rows) {
      expect(state, promise).toMatch(/^(?:tested|partly|not tested)/)
      expect(/\.test\.ts\)/.test(where), promise).toBe(!state.startsWith('not tested'))
    }
  })
})
