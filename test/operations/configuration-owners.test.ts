import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { secretOne, secretTwo, startWithFiles } from '../support/configuration-files.js'

let files: Awaited<ReturnType<typeof startWithFiles>>
beforeAll(async () => {
  files = await startWithFiles()
  await writeFile(join(files.folder, 'one'), secretOne)
  await writeFile(join(files.folder, 'two'), secretTwo)
})
afterAll(() => files.stop())
beforeEach(() => files.clear())

const wiki = (more = '') => `applications: {Wiki: {id: wiki, redirect: [https://w.example/cb], allow: everyone${more}}}`
const setByFile = { code: 1, err: expect.stringContaining('is set by latchkey.yaml') }

it('secrets that a file names are changed by nobody else; those that it does not name are for commands', async () => {
  const { apply, command, planned, planText } = files
  const named = wiki(', secret: [{file: one}, {file: two}]')
  await apply(named)
  const [secret] = await files.latchkey.sql.query<{ id: string }>('select id from application_secrets')
  expect(await command(['application', 'secret', 'add', 'Wiki'])).toMatchObject(setByFile)
  expect(await command(['application', 'secret', 'remove', 'Wiki'])).toMatchObject(setByFile)
  expect(await command(['application', 'secret', 'remove', 'Wiki', secret?.id ?? ''])).toMatchObject(setByFile)
  expect((await command(['application', 'show', 'Wiki'])).out).toMatch(/^secrets set by +latchkey\.yaml$/m)
  expect(await planned(named)).toEqual([])

  // From here on the file leaves them to others, which is a change of its own.
  expect(await planned(wiki())).toMatchObject([{ action: 'change', ownsSecrets: false }])
  expect(await planText(wiki())).toContain('secrets: pages and commands may change them from now on')
  await apply(wiki())
  expect(await command(['application', 'secret', 'remove', 'Wiki'])).toMatchObject({ code: 0 })
  expect(await planned(wiki())).toEqual([])
  expect(await planned(wiki(', secret: {file: two}'))).toMatchObject([{ ownsSecrets: true }])

  // What the file hands back, is handed back with its secrets.
  await apply(named)
  await apply('groups: {}')
  expect(await command(['application', 'secret', 'remove', 'Wiki'])).toMatchObject({ code: 0 })
})

it('the plan says who owns a thing from now on only if that changes', async () => {
  const { apply, planText, planned, command, write } = files
  await command(['application', 'add', 'Wiki', '--id', 'wiki', '--redirect', 'https://w.example/cb', '--everyone'])
  expect(await planText(wiki())).toBe('~ application Wiki: set by latchkey.yaml from now on\n')
  expect(await planned(wiki())).toMatchObject([{ takenFrom: null }])
  await apply(wiki(', secret: {file: one}'))
  const next = wiki(', secret: {file: two}')
  expect(await planText(next)).toBe('~ application Wiki\n    secrets: 1 added, 1 removed\n')
  expect((await planned(next))[0]).not.toHaveProperty('takenFrom')
  const other = await command(['apply', await write(next, 'other.yaml'), '--plan', '--json'])
  expect(JSON.parse(other.out).changes).toMatchObject([{ takenFrom: 'latchkey.yaml' }])
})
