import { readdir, readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { createMetrics } from '../../src/platform/metrics/metrics.js'

type Panel = {
  id: number
  type: string
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string }[]
}
type Dashboard = { panels: Panel[]; templating: { list: { definition?: string }[] } }

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')

const known = () => {
  const metrics = createMetrics()
  metrics.watch({
    workers: { queueLength: () => 0 },
    cache: { ping: async () => {} },
    database: { query: async () => [] },
  })
  return metrics
    .names()
    .flatMap(({ name, type }) => (type === 'histogram' ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name]))
}

const namedIn = (text: string) => new Set(text.match(/\b(?:latchkey|process|nodejs)_[a-z0-9_]+\b/g) ?? [])

describe('the Grafana dashboard', () => {
  it('asks only for metrics that exist, and leaves out none of ours', async () => {
    const dashboard: Dashboard = JSON.parse(await read('deploy/grafana/latchkey.json'))
    const expressions = [
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...dashboard.templating.list.map(({ definition = '' }) => definition),
    ]
    const [named, existing] = [namedIn(expressions.join('\n')), known()]
    expect([...named].filter((name) => !existing.includes(name))).toEqual([])
    expect(existing.filter((name) => name.startsWith('latchkey_') && !named.has(name))).toEqual([])
  })

  it('has panels that do not lie on each other', async () => {
    const { panels }: Dashboard = JSON.parse(await read('deploy/grafana/latchkey.json'))
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)} ${y + Math.floor(at / w)}`),
    )
    expect(new Set(taken).size).toBe(taken.length)
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24)
    for (const { type, targets, title } of panels)
      expect(type === 'row' || (targets?.length ?? 0) > 0, title).toBe(true)
  })
})

describe('the guide for operators', () => {
  it('names only metrics that exist', async () => {
    const existing = known()
    const named = [...namedIn(await read('docs/operating.md'))]
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
