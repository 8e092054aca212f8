import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { testProgram } from '../../support/servers/programs.js'
import { startSite } from '../../support/site/site.js'

// Every check takes three times as long; docs/deployment.md has the command. These are the ones that a setting decides.
it('testssl finds nothing of medium severity or above', async () => {
  const site = await startSite({ instances: 1 })
  const file = join(site.front.folder, 'testssl.json')
  const checks = ['--protocols', '--std', '--server-preference', '--header']
  const quick = ['--quiet', '--color', '0', '--warnings', 'off', '--ip', '127.0.0.1', '--sneaky']
  const place = `https://localhost:${site.front.port}/login`
  const args = [...quick, ...checks, '--jsonfile', file, '--severity', 'MEDIUM', place]
  // It ends with the number of its findings.
  await promisify(execFile)(testProgram('testssl'), args).catch(() => {})
  const findings: { id: string; severity: string; finding: string }[] = JSON.parse(await readFile(file, 'utf8'))
  await site.stop()
  expect(findings.filter(({ severity }) => ['MEDIUM', 'HIGH', 'CRITICAL', 'FATAL'].includes(severity))).toEqual([])
}, 900_000)
