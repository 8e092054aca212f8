import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { generatedSecret } from './generated-secret.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-secret-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const built = new URL('../../dist/modules/platform/generated-secret.js', import.meta.url).href

/** What another process gets that starts in the same folder. */
const inAnotherProcess = async () => {
  const script = `const { generatedSecret } = await import('${built}'); process.stdout.write(await generatedSecret('${folder}'))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  await once(child, 'close')
  return text
}

describe('the generated secret', () => {
  it('is made once, kept for its owner alone, and leaves nothing else behind', async () => {
    const secret = await generatedSecret(folder)
    expect(secret).toMatch(/^[0-9a-f]{96}$/)
    expect(await generatedSecret(folder)).toBe(secret)
    expect(await readdir(folder)).toEqual(['secret'])
    expect((await stat(join(folder, 'secret'))).mode & 0o777).toBe(0o600)
  })

  it('replaces an empty file that a crash has left', async () => {
    await writeFile(join(folder, 'secret'), '')
    const secret = await generatedSecret(folder)
    expect(secret).toMatch(/^[0-9a-f]{96}$/)
    expect(await readFile(join(folder, 'secret'), 'utf8')).toBe(secret)
  })

  it('goes on with what a crash in the middle had agreed on', async () => {
    await writeFile(join(folder, 'secret.claim'), 'a'.repeat(96))
    expect(await generatedSecret(folder)).toBe('a'.repeat(96))
    expect(await readdir(folder)).toEqual(['secret'])
  })

  it.each([
    ['nothing is there', undefined],
    ['an empty file is there', ''],
  ])('is one for all who start at once: %s', async (_, content) => {
    if (content !== undefined) await writeFile(join(folder, 'secret'), content)
    const here = Array.from({ length: 20 }, () => generatedSecret(folder))
    const secrets = await Promise.all([...here, ...Array.from({ length: 3 }, inAnotherProcess)])
    expect(new Set(secrets).size).toBe(1)
    expect(await readdir(folder)).toEqual(['secret'])
  })
})
