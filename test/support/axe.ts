import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** WCAG 2.2 AA, and axe's own good practices. */
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The rules whose result depends on colours. They take half of the time of a run. */
const colorRules = ['color-contrast', 'link-in-text-block']

/**
 * Colours come from the design tokens, and src/lib/brand.test.ts compares each pair of them. So `all` is for the pages
 * that together have every component, and `structure` for their other states.
 */
const choices = {
  all: { runOnly: { type: 'tag', values: tags } },
  colors: { runOnly: { type: 'rule', values: colorRules } },
  structure: {
    runOnly: { type: 'tag', values: tags },
    rules: Object.fromEntries(colorRules.map((rule) => [rule, { enabled: false }])),
  },
} satisfies Record<string, RunOptions>
export type AxeRules = keyof typeof choices

type Axe = { run(options: RunOptions): Promise<AxeResults> }

let script: Promise<string> | undefined

const readAxe = () => {
  script ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  return script
}

/** The faults that axe finds, in one line each. */
export const faultsOf = async (page: Page, rules: AxeRules = 'structure') => {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(await readAxe())
  // What axe would load first is the length of films and sounds, which no page has.
  const options: RunOptions = { ...choices[rules], resultTypes: ['violations'], preload: false }
  const { passes, violations } = await page.evaluate(async (given) => {
    const { axe } = globalThis as unknown as { axe: Axe }
    const found = await axe.run(given)
    const lines = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
    return { passes: found.passes.length, violations: lines }
  }, options)
  // Without this, a run that checks nothing would pass.
  expect(passes).toBeGreaterThan(rules === 'colors' ? 0 : 10)
  return violations
}
