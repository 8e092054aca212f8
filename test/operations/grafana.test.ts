import { describe, expect, it } from 'vitest'
import { knownMetrics, metricsNamedIn, read } from '../support/project.js'

type Panel = {
  id: number
  type: string
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets?: { expr: string }[]
}
type Dashboard = { panels: Panel[]; templating: { list: { definition?: string }[] } }

describe('the Grafana dashboard', () => {
  it('asks only for metrics that exist, and leaves out none of ours', async () => {
    const dashboard: Dashboard = JSON.parse(await read('deploy/grafana/latchkey.json'))
    const expressions = [
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
      ...dashboard.templating.list.map(({ definition = '' }) => definition),
    ]
    const [named, existing] = [metricsNamedIn(expressions.join('\n')), knownMetrics()]
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
