import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { panelsOfSections, placeIds, sectionNames } from './sections.js'

describe('an address of the account page', () => {
  it('leads to a panel, or to its section where an account lacks the panel', () => {
    expect(placeIds('#two-step')).toEqual(['two-step', 'signing-in'])
    expect(placeIds('#devices')).toEqual(['devices', 'devices'])
  })

  it('that is unknown leads nowhere', () => {
    for (const unknown of ['', '#', '#page', '#constructor', '#two-step/x']) expect(placeIds(unknown)).toEqual([])
  })

  it('is listed in the guide, for every section and panel', async () => {
    const guide = await readFile(new URL('../../packages/client/README.md', import.meta.url), 'utf8')
    const [, table = ''] = guide.split('## The addresses of the account page')
    const listed = [...(table.split('\n## ')[0] ?? '').matchAll(/`#([a-z-]+)`/g)].map(([, name]) => name)
    expect(listed).toEqual(sectionNames.flatMap((section) => [section, ...panelsOfSections[section]]))
  })
})
