import { mkdir, mkdtemp, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { filesBelow, publish } from './publish.mjs'

const emptyFolder = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-publish-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  return folder
}

const filesOf = (texts: Record<string, string>) =>
  new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)]))

describe('publishing a build', () => {
  it('writes what is new and removes what is gone, with the folders it leaves empty', async () => {
    const folder = await emptyFolder()
    await publish({ folder, files: filesOf({ 'main.js': '1', 'old/deep/a.js': '2' }) })

    const changes = await publish({ folder, files: filesOf({ 'main.js': '3', 'lib/b.js': '4' }) })

    expect(changes).toBe(3)
    expect(await filesBelow(folder)).toEqual(['lib/b.js', 'main.js'])
    expect(await readFile(join(folder, 'main.js'), 'utf8')).toBe('3')
    await expect(stat(join(folder, 'old'))).rejects.toThrow('ENOENT')
  })

  it('does not touch what is already right', async () => {
    const folder = await emptyFolder()
    const files = filesOf({ 'main.js': '1' })
    await publish({ folder, files })
    await utimes(join(folder, 'main.js'), 1, 1)

    expect(await publish({ folder, files })).toBe(0)
    expect((await stat(join(folder, 'main.js'))).mtimeMs).toBe(1000)
  })

  it('spares what is not its own', async () => {
    const folder = await emptyFolder()
    await mkdir(join(folder, 'web'))
    await writeFile(join(folder, 'web/page.js'), '')

    await publish({ folder, files: filesOf({ 'main.js': '1' }), isKept: (path) => path.startsWith('web/') })

    expect(await filesBelow(folder)).toEqual(['main.js', 'web/page.js'])
  })

  it('may happen several times at once', async () => {
    const folder = await emptyFolder()
    const files = filesOf(Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`${at}/x.js`, 'x'.repeat(at)])))

    await Promise.all([publish({ folder, files }), publish({ folder, files }), publish({ folder, files })])

    expect(await filesBelow(folder)).toEqual([...files.keys()].sort())
  })
})
