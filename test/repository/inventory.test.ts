import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const home = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string) => readFile(join(home, path), 'utf8')

const sourcesBelow = async (folder: string) => {
  const files = await readdir(join(home, folder), { recursive: true })
  return files.filter((file) => /\.ts$/.test(file) && !file.endsWith('.test.ts')).map((file) => `${folder}/${file}`)
}

it('names every file that uses cryptography, and no other', async () => {
  const paths = (
    await Promise.all(['src', 'packages/client/src', 'packages/service/src', 'packages/verify/src'].map(sourcesBelow))
  ).flat()
  const texts = await Promise.all(paths.map(async (path) => ({ path, text: await read(path) })))
  const used = texts.filter(({ text }) => /node:crypto|crypto\.subtle/.test(text)).map(({ path }) => path)
  const list =
    /These files use cryptography[^:]*:\n([^.]*(?:\.(?:worker\.)?ts[^.]*)*)\.\n/.exec(
      await read('docs/inventory.md'),
    )?.[1] ?? ''
  expect([...list.matchAll(/`([^`]+)`/g)].map(([, path]) => path).sort()).toEqual(used.sort())
})

it('names every purpose of a derived key', async () => {
  const inventory = await read('docs/inventory.md')
  const texts = await Promise.all((await sourcesBelow('src')).map(read))
  const purposes = texts.flatMap((text) => [
    ...[...text.matchAll(/(?:keysFor|sealFor)\('([^']+)'\)/g)].map(([, purpose]) => purpose ?? ''),
    ...[...text.matchAll(/deriveKey\(\w+, '([^']+)'\)/g)].map(([, purpose]) => purpose ?? ''),
    ...[...text.matchAll(/\w+Purpose = '([^']+)'/g)].map(([, purpose]) => purpose ?? ''),
  ])
  expect(purposes.length).toBeGreaterThan(10)
  expect(purposes.filter((purpose) => !inventory.includes(`\`${purpose}\``))).toEqual([])
})

it('counts the verdicts of docs/asvs.md as they stand in its rows, and names files that exist', async () => {
  const text = await read('docs/asvs.md')
  const rows = [...text.matchAll(/^\| (L[123][^|]+) \| \*{0,2}([a-z/ ]+?)\*{0,2} \|/gm)].flatMap(
    ([, requirements = '', verdict]) =>
      [...requirements.matchAll(/L([123]) ([\d., ]+\d)/g)].flatMap(([, level, ids = '']) =>
        ids.split(', ').map((id) => ({ id, level, verdict })),
      ),
  )
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
  const counts = (level: string, verdicts: string[]) =>
    verdicts.map((verdict) => rows.filter((row) => row.level === level && row.verdict === verdict).length)
  const stated = [...text.matchAll(/^\| [123] \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|$/gm)].map((row) =>
    row.slice(1).map(Number),
  )
  const all = ['met', 'partly', 'not met', 'n/a']
  // Of level 3 the rows have what is met or partly met.
  expect([stated[0], stated[1], stated[2]?.slice(0, 2)]).toEqual([
    counts('1', all),
    counts('2', all),
    counts('3', all.slice(0, 2)),
  ])
  const paths = [...text.matchAll(/\b(?:src|web|packages|test|deploy|scripts)\/[\w./-]+\.\w+/g)].map(([path]) => path)
  const missing = await Promise.all(
    paths.map((path) =>
      read(path).then(
        () => [],
        () => [path],
      ),
    ),
  )
  expect(missing.flat()).toEqual([])
})
