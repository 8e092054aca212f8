import { readFile } from 'node:fs/promises'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { filesBelow } from '../../scripts/publish.mjs'
import { designStyle } from './brand.js'
import { contrastFaults, designOf } from './design.js'

import { colours } from './design-tokens.js'

const read = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const importedBy = async (path: string) =>
  [...(await read(path)).matchAll(/@import "([^"]+)"/g)].map(([, file = '']) => posix.join(posix.dirname(path), file))
const lists = ['base', 'dashboard', 'admin', 'device', 'authorize'].map((name) => `web/styles/${name}.css`)
const ofPages = [...new Set((await Promise.all(lists.map(importedBy))).flat())]

/** Everything that has a look of its own. Mails use the tokens' values, so they have no custom properties. */
const styled = [...ofPages, 'src/pages/dev-page.ts', 'src/providers/dev/people.ts', 'src/messages/layout.ts']

describe('the style of the pages', () => {
  it('has every style sheet in web/', async () => {
    const found = (await filesBelow(fileURLToPath(new URL('../../web', import.meta.url)))).map((path) => `web/${path}`)
    expect(found.filter((path) => path.endsWith('.css')).sort()).toEqual([...ofPages, ...lists].sort())
  })
})

/** Of a mail in the preview, which the page knows. */
const heights = ['--wide', '--narrow']

describe('the design tokens', () => {
  const defined = new Set(designStyle(designOf('#1f6f5c')).match(/--[\w-]+(?=:)/g))

  it.each(styled)('are what %s uses, and no colour of its own', async (path) => {
    const text = await read(path)
    const used = [...text.matchAll(/var\((--[\w-]+)/g)].map(([, name]) => name ?? '')
    expect(used.filter((name) => !defined.has(name) && !heights.includes(name))).toEqual([])
    expect(text.match(/(?<!&)#[0-9a-f]{3,8}\b|\brgba?\(/gi) ?? []).toEqual([])
  })

  it.each(Object.entries(colours))('can be read in the %s scheme', (_scheme, scheme) => {
    expect(contrastFaults(scheme)).toEqual([])
  })
})

describe('a button', () => {
  it('has a border that can be seen', async () => {
    const [, rule] = /^\.button \{([^}]+)\}/.exec(await read('web/components/button.css')) ?? []
    expect(rule).toContain('border: 1px solid var(--edge)')
  })
})

describe('the keyboard focus', () => {
  it.each(styled)('is never hidden in %s', async (path) => {
    expect(await read(path)).not.toMatch(/outline\s*:\s*(none|0)/)
  })
})
