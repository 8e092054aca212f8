import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { startLatchkey } from '../support/latchkey.js'
import { read } from '../support/project.js'

it('shows a journey with curl that works when it is pasted', async () => {
  const [, journey = ''] = /A journey with curl.*?```sh\n(.*?)```/s.exec(await read('README.md')) ?? []
  const latchkey = await startLatchkey({ settings: { NODE_ENV: 'development' } })
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-readme-'))
  try {
    // A busy machine needs longer for the mail.
    const commands = journey.replaceAll('localhost:3000', latchkey.url).replace('sleep 1 ', 'sleep 4 ')
    const { stdout } = await promisify(execFile)('bash', ['-euc', commands], { cwd: folder })
    expect(stdout).toContain('Check your mail')
    expect(stdout).toMatch(/"username":"ada".*"username":"ada"/s)
  } finally {
    await rm(folder, { recursive: true, force: true })
    await latchkey.stop()
  }
})
