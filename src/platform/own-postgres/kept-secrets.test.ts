import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { keptSecret, makeSecret, secretsFolder } from './kept-secrets.js'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-secret-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const built = new URL('../../../dist/modules/platform/own-postgres/kept-secrets.js', import.meta.url).href

/** What another process gets that starts in the same folder. */
const inAnotherProcess = async () => {
  const script = `const { makeSecret } = await import('${built}'); process.stdout.write(await makeSecret('${folder}', 'jwt_secret'))`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
  })
  await once(child, 'close')
  return text
}

describe('a secret that nobody gave', () => {
  it('is made once, kept for its owner alone, and leaves nothing else behind', async () => {
    expect(await keptSecret(folder, 'jwt_secret')).toBeUndefined()
    const secret = await makeSecret(folder, 'jwt_secret')
    expect(secret).toMatch(/^[0-9a-f]{96}$/)
    expect(await makeSecret(folder, 'jwt_secret')).toBe(secret)
    expect(await makeSecret(folder, 'sealing_key')).not.toBe(secret)
    expect(await readdir(secretsFolder(folder))).toEqual(['jwt_secret', 'sealing_key'])
    expect((await stat(join(secretsFolder(folder), 'jwt_secret'))).mode & 0o777).toBe(0o600)
    expect((await stat(secretsFolder(folder))).mode & 0o777).toBe(0o700)
  })

  it('is not replaced if its file was emptied, because stored values depend on it', async () => {
    await makeSecret(folder, 'jwt_secret')
    await writeFile(join(secretsFolder(folder), 'jwt_secret'), '')
    await expect(makeSecret(folder, 'jwt_secret')).rejects.toThrow(/jwt_secret is damaged: restore it from a backup/)
  })

  it('is one for all who start at once', async () => {
    const here = Array.from({ length: 20 }, () => makeSecret(folder, 'jwt_secret'))
    const secrets = await Promise.all([...here, ...Array.from({ length: 3 }, inAnotherProcess)])
    expect(new Set(secrets).size).toBe(1)
    expect(await readdir(secretsFolder(folder))).toEqual(['jwt_secret'])
  })
})
