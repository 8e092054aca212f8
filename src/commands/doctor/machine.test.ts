import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { loadConfig } from '../../config.js'
import { newServiceKey } from '../../domain/service-keys/service-keys.js'
import { days } from '../../lib/durations.js'
import { runCheck } from './check.js'
import { machineChecks } from './machine.js'

it('a secret that the service takes is fine for doctor too: one in thirty of openssl lacks a digit', async () => {
  const secret = '123456789abcdef0'.repeat(6).replaceAll('0', '7').replace('123', '921')
  const config = loadConfig({ JWT_SECRET: `${secret.slice(0, 50)}fe${secret.slice(3, 47)}` })
  const check = machineChecks(config).checks.find(({ name }) => name === 'secrets')
  expect(check && (await runCheck(check))).toMatchObject({ level: 'ok' })
})

it('warns of service keys that have expired or soon will', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
  const file = join(folder, 'keys')
  const inDays = (count: number) => ({ expiresAt: new Date(Date.now() + count * days) })
  const check = machineChecks(loadConfig({ SERVICE_KEYS_FILE: file })).checks.find(
    ({ name }) => name === 'service keys',
  )
  const findingWith = async (...keys: { line: string }[]) => {
    await writeFile(file, keys.map(({ line }) => line).join('\n'))
    return check && runCheck(check)
  }
  const fine = [newServiceKey('always'), newServiceKey('later', inDays(15))]
  expect(await findingWith(...fine)).toMatchObject({ level: 'ok', says: expect.stringMatching(/^2 keys in /) })
  const found = await findingWith(...fine, newServiceKey('soon', inDays(13)), newServiceKey('old', inDays(-1)))
  expect(found).toMatchObject({
    level: 'warning',
    says: expect.stringMatching(/: soon expires \(.*\), old has expired \(/),
  })
  await rm(folder, { recursive: true })
})
