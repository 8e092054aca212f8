import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { readModule } from '../../scripts/architecture/modules.mjs'

const home = fileURLToPath(new URL('../..', import.meta.url))

const importsOf = async (path: string) =>
  readModule(path, await readFile(home + path, 'utf8'))
    .imports.filter(({ dynamic, typeOnly }) => !dynamic && !typeOnly)
    .map(({ target }) => target)

/** Every file that is loaded together with this one, without what `import()` loads later. */
const loadedWith = async (first: string) => {
  const loaded = new Set([first])
  for (const path of loaded) for (const target of await importsOf(path)) loaded.add(target)
  return loaded
}

it('the service loads none of the nouns of the provider at its start', async () => {
  const loaded = await loadedWith('src/app.ts')
  expect(loaded).toContain('src/app/openid-provider.ts')
  const nouns = (await importsOf('src/app/openid-nouns.ts')).filter((path) => path.startsWith('src/domain/'))
  expect(nouns).toContain('src/domain/applications/application-secrets.ts')
  // A function without state, which addresses are made with.
  const pure = 'src/domain/applications/application-issuer.ts'
  expect(nouns.filter((path) => loaded.has(path) && path !== pure)).toEqual([])
  expect(loaded).not.toContain('src/app/openid-nouns.ts')
})
