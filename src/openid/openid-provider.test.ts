import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const modules = new URL('../../dist/modules/', import.meta.url)

/** The compiled files that this one imports, by their paths. Types are not among them, and neither is what `import()` loads later. */
const importsOf = async (path: string) => {
  const file = new URL(path, modules)
  const text = await readFile(file, 'utf8')
  const targets = [...text.matchAll(/^(?:im|ex)port\b[^"';]*["'](\.[^"']+)["']/gm)].map(([, target = '']) => target)
  return targets.map((target) => fileURLToPath(new URL(target, file)).slice(fileURLToPath(modules).length))
}

/** Every file that is loaded together with this one. */
const loadedWith = async (first: string) => {
  const loaded = new Set([first])
  for (const path of loaded) for (const target of await importsOf(path)) loaded.add(target)
  return loaded
}

it('the service loads none of the nouns of the provider at its start', async () => {
  const loaded = await loadedWith('app.js')
  expect(loaded).toContain('openid/openid-door.js')
  const nouns = (await importsOf('openid/open-openid.js')).filter((path) => path.startsWith('domain/'))
  expect(nouns).toContain('applications/application-secrets.js')
  // A function without state, which addresses are made with.
  const pure = 'applications/applications.js'
  expect(nouns.filter((path) => loaded.has(path) && path !== pure)).toEqual([])
  expect(loaded).not.toContain('openid/open-openid.js')
})
