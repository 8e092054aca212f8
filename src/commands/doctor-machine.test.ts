import { expect, it } from 'vitest'
import { loadConfig } from '../config.js'
import { runCheck } from './doctor-check.js'
import { machineChecks } from './doctor-machine.js'

it('a secret that the service takes is fine for doctor too: one in thirty of openssl lacks a digit', async () => {
  const secret = '123456789abcdef0'.repeat(6).replaceAll('0', '7').replace('123', '921')
  const config = loadConfig({ JWT_SECRET: `${secret.slice(0, 50)}fe${secret.slice(3, 47)}` })
  const check = machineChecks(config).checks.find(({ name }) => name === 'secrets')
  expect(check && (await runCheck(check))).toMatchObject({ level: 'ok' })
})
