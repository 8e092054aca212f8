import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'

/** WCAG 2.2 AA, and axe's own good practices. */
const allRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The rules whose result depends on colours. */
export const colorRules = ['color-contrast', 'link-in-text-block']

type Axe = { run(options: RunOptions): Promise<AxeResults> }

let script: Promise<string> | undefined

const readAxe = () => {
  script ??= readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
  return script
}

/** What axe finds, in one line each. */
export const faultsOf = async (page: Page, rules = allRules) => {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(await readAxe())
  const options: RunOptions = { runOnly: rules, resultTypes: ['violations'] }
  const { passes, violations } = await page.evaluate(async (given) => {
    const { axe } = globalThis as unknown as { axe: Axe }
    const found = await axe.run(given)
    const lines = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
    return { passes: found.passes.length, violations: lines }
  }, options)
  // Without this, a run that checks nothing would pass.
  expect(passes).toBeGreaterThan(rules === colorRules ? 0 : 10)
  return violations
}
