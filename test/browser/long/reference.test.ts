import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { designOf } from '../../../src/lib/design.js'
import { type ReferenceDocument, renderReference } from '../../../src/pages/reference-page.js'
import { faultsOf } from '../../support/axe.js'
import { keepPicture, openChromium } from '../../support/chromium.js'

/** A few operations and schemas with everything that the page can show: axe would need minutes for all of them. */
const excerpt = async (): Promise<ReferenceDocument> => {
  const text = await readFile(new URL('../../../docs/openapi.json', import.meta.url), 'utf8')
  const { tags, paths, components, ...rest } = JSON.parse(text) as ReferenceDocument
  const chosen = ['/api/auth/login', '/api/auth/verify', '/api/service/users/{id}']
  const only = <Value>(all: Record<string, Value>, names: readonly string[]) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
  const shown = only(paths, chosen)
  const used = Object.values(shown).flatMap((each) => Object.values(each).flatMap((operation) => operation.tags ?? []))
  const schemas = only(components.schemas, ['SignedIn', 'Error', 'RefusalCode', 'Limited', 'LoginLimited'])
  return {
    ...rest,
    tags: tags.filter(({ name }) => used.includes(name)),
    paths: shown,
    components: { ...components, schemas },
  }
}

it('the reference of the API can be used by every user, on a desk and on a phone, without script', async () => {
  const browser = await openChromium()
  const context = await browser.newContext({ colorScheme: 'light', reducedMotion: 'reduce' })
  const page = await context.newPage()
  await page.setContent(renderReference(await excerpt(), designOf('#3355dd')))
  // The dark scheme changes nothing but colours.
  for (const { width, colorScheme, rules } of [
    { width: 1280, colorScheme: 'light', rules: 'all' },
    { width: 360, colorScheme: 'dark', rules: 'colors' },
  ] as const) {
    await page.setViewportSize({ width, height: 800 })
    await page.emulateMedia({ colorScheme })
    await keepPicture(page, `api-reference-${width}-${colorScheme}`)
    expect(await faultsOf(page, rules)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)).toBe(false)
  }
  await context.close()
})
