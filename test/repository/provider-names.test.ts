import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const home = fileURLToPath(new URL('../..', import.meta.url))
const table = 'src/contract/providers.ts'

const sourcesIn = async (folder: string) =>
  (await readdir(join(home, folder), { recursive: true }))
    .filter((name) => /\.tsx?$/.test(name) && !/\.test\.tsx?$/.test(name))
    .map((name) => join(folder, name))

const withoutComments = (text: string) => text.replaceAll(/\/\*.*?\*\/|(?<=^|\s)\/\/[^\n]*/gs, '')

// Whatever is written down for one provider is missing for the next one.
it('no source names a provider, except the table of providers', async () => {
  const paths = [...(await sourcesIn('src')), ...(await sourcesIn('web'))]
  expect(paths).toContain(table)
  const found = await Promise.all(
    paths.map(async (path) => {
      const text = withoutComments(await readFile(join(home, path), 'utf8'))
      return /provider[_-][a-z]\b|PROVIDER_[A-Z]_/.test(text) ? [path] : []
    }),
  )
  expect(found.flat()).toEqual([table])
})
