import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { createApplicationSecrets } from '../../src/applications/applications.js'
import { applySeedFile } from '../../src/service/seed-file.js'
import { loadConfig } from '../../src/settings/config.js'
import { startLatchkey } from '../support/latchkey.js'
import { everyField, profileFieldsFile } from '../support/profile-fields.js'
import { read } from '../support/project.js'

type Secrets = ReturnType<typeof createApplicationSecrets>
const isRight = async ({ findOwnerOf }: Secrets, id: string, secret: string) =>
  (await findOwnerOf(id))?.isRight(secret) ?? false

it('SEED_FILE makes groups, applications and an administrator, once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-seed-'))
  const path = join(folder, 'seed.json')
  const example = await read('docs/samples/seed.json')
  await writeFile(path, example)
  // None of them required: the sign-in below is to end in a session.
  const fields = await profileFieldsFile(everyField.filter(({ required = false }) => !required))
  const seeded = await startLatchkey({ settings: { SEED_FILE: path, PROFILE_FIELDS_FILE: fields.path } })
  try {
    const { platform, rooms } = seeded.app
    const seededAddress = { publicUrl: seeded.config.publicUrl, cookieDomain: undefined }
    const wiki = await rooms.applications.find('wiki')
    expect(wiki).toMatchObject({ name: 'Wiki', home: 'http://127.0.0.1:8080', access: 'groups', groups: ['admins'] })
    const secrets = createApplicationSecrets({ database: seeded.sql, clock: seeded.clock })
    expect(await isRight(secrets, 'wiki', JSON.parse(example).applications[0].secret)).toBe(true)
    const tab = seeded.browser()
    const { username, password } = JSON.parse(example).administrator
    expect((await tab.post('/api/auth/login', { username, password })).status).toBe(200)
    expect((await tab.get('/api/auth/verify?group=admins')).status).toBe(204)
    const events = async () => (await seeded.sql.query('select id from events')).length
    const before = await events()
    await applySeedFile(path, platform, rooms, seededAddress)
    expect(await events()).toBe(before)
    const application = { id: 'x', name: 'X', secret: 'x'.repeat(16), redirectAddresses: ['https://x.example'] }
    const administrator = { username: 'ben', email: 'ben@example.com', password: 'violet-Harbor-91-lantern' }
    const { secret: _, ...withoutSecret } = application
    const applied = (changed: object) => JSON.stringify({ applications: [{ ...application, ...changed }] })
    const administered = (changed: object) => JSON.stringify({ administrator: { ...administrator, ...changed } })
    for (const [text, sentence] of [
      ['{', "is no JSON: Expected property name or '}' in line 1"],
      ['[]', 'is no JSON object'],
      ['{"users": []}', 'has the key users, which is not known. It can have: groups, applications, administrator'],
      ['{"groups": ["Big"]}', 'must be a list of names with 1 to 32 small letters'],
      ['{"applications": [{"id": "x"}]}', 'applications[0] has no name'],
      [JSON.stringify({ applications: [withoutSecret] }), 'applications[0] has no secret'],
      [applied({ secret: 'short' }), 'secret of applications[0] must be a text of 16 to 128 letters'],
      [
        applied({ redirect: 'x' }),
        'applications[0] has the key redirect, which is not known. It can have: id, secret,',
      ],
      [applied({ redirectAddresses: ['x'] }), 'applications[0] is refused. x is no address'],
      [applied({ deviceFlow: true }), 'applications[0] is refused. Only an application of the kind native'],
      [applied({ groups: ['crew'] }), 'applications[0] names the group crew, which does not exist: add it to "groups"'],
      [applied({ name: 'wiki' }), 'another application has the name of applications[0]'],
      ['{"administrator": {"username": "ben"}}', 'administrator has no email'],
      [administered({ username: 'b@n' }), 'username of administrator cannot be used. '],
      [administered({ email: 'ben' }), 'email of administrator is no email address'],
      [administered({ password: '12345678' }), 'password of administrator cannot be used. '],
      [administered({ email: 'ada@example.com' }), 'email of administrator belongs to another user'],
      [administered({ fields: ['x'] }), 'fields of administrator is no JSON object'],
      [
        administered({ fields: { mobile: '1', team: 'x' } }),
        'fields of administrator cannot be used: mobile (phone), team (unknown)',
      ],
      [administered({ groups: ['crew'] }), 'administrator names the group crew, which does not exist'],
    ] as const) {
      await writeFile(path, text)
      await expect(applySeedFile(path, platform, rooms, seededAddress)).rejects.toThrow(sentence)
    }
    // What only administrators edit, and a day that users could not enter.
    const given = { staffnumber: 'A 7', birthday: '2999-01-01' }
    await writeFile(path, administered({ username: 'cy', email: 'cy@example.com', fields: given }))
    await applySeedFile(path, platform, rooms, seededAddress)
    expect((await rooms.users.findByLogin('cy'))?.fields).toEqual(given)
  } finally {
    await seeded.stop()
    await fields.remove()
    await rm(folder, { recursive: true, force: true })
  }
})

it('production refuses SEED_FILE', () => {
  expect(() => loadConfig({ NODE_ENV: 'production', SEED_FILE: '/seed.json' })).toThrow('SEED_FILE: is for development')
})
