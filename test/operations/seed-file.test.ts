import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { applySeedFile } from '../../src/app/seed-file.js'
import { loadConfig } from '../../src/config.js'
import { createApplicationSecrets } from '../../src/domain/applications/application-secrets.js'
import { startLatchkey } from '../support/latchkey.js'
import { read } from '../support/project.js'

it('SEED_FILE makes groups, applications and an administrator, once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-seed-'))
  const path = join(folder, 'seed.json')
  const [, example = ''] = /```json\n([\s\S]+?)```/.exec(await read('docs/applications.md')) ?? []
  await writeFile(path, example)
  const seeded = await startLatchkey({ settings: { SEED_FILE: path } })
  try {
    const { platform, nouns } = seeded.app
    const wiki = await nouns.applications.find('wiki')
    expect(wiki).toMatchObject({ name: 'Wiki', home: 'http://127.0.0.1:8080', access: 'groups', groups: ['admins'] })
    const secrets = createApplicationSecrets({ database: seeded.sql, clock: seeded.clock })
    expect(await secrets.isRight('wiki', JSON.parse(example).applications[0].secret)).toBe(true)
    const tab = seeded.browser()
    const { username, password } = JSON.parse(example).administrator
    expect((await tab.post('/api/auth/login', { username, password })).status).toBe(200)
    expect((await tab.get('/api/auth/verify?group=admins')).status).toBe(204)
    const events = async () => (await seeded.sql.query('select id from events')).length
    const before = await events()
    await applySeedFile(path, platform, nouns)
    expect(await events()).toBe(before)
    for (const [text, sentence] of [
      ['{', 'is no JSON object'],
      ['{"users": []}', 'is no JSON object'],
      ['{"applications": [{"id": "x"}]}', 'applications[0] needs an id, a name and redirectAddresses'],
      ['{"applications": [{"id": "x", "name": "X", "redirectAddresses": ["https://x.example"]}]}', 'needs a secret'],
      ['{"administrator": {"username": "ben"}}', 'administrator needs a username, an email and a password'],
    ] as const) {
      await writeFile(path, text)
      await expect(applySeedFile(path, platform, nouns)).rejects.toThrow(sentence)
    }
  } finally {
    await seeded.stop()
    await rm(folder, { recursive: true, force: true })
  }
})

it('production refuses SEED_FILE', () => {
  expect(() => loadConfig({ NODE_ENV: 'production', SEED_FILE: '/seed.json' })).toThrow('SEED_FILE: is for development')
})
