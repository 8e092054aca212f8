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

it('the service loads nothing of an open provider at its start', async () => {
  const loaded = await loadedWith('service/open-service.js')
  expect(loaded).toContain('openid/openid-door.js')
  const opened = (await importsOf('openid/open-openid.js')).filter((path) =>
    /^(?:applications|keys|openid)\//.test(path),
  )
  expect(opened).toContain('applications/applications.js')
  expect(opened).toContain('openid/authorize/authorize.js')
  // The first is functions that addresses are made with. Accounts end what was used also while there is no provider.
  const needed = ['applications/applications.js', 'applications/used-applications.js']
  expect(opened.filter((path) => loaded.has(path)).sort()).toEqual(needed)
  expect(loaded).not.toContain('openid/open-openid.js')
})
