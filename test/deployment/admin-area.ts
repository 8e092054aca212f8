import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Visitor } from '../support/site/https-client.js'
import { expectOurHeaders, navigation } from './proxy-answers.js'

const guide = fileURLToPath(new URL('../../docs/forward-auth.md', import.meta.url))

/**
 * The lines of the guide for an admin area, the same for `/strong`, which is for everyone, and for `/recent`, where one factor is
 * enough too.
 */
export const adminArea = async (proxy: 'nginx' | 'caddyfile') => {
  const [, section = ''] = (await readFile(guide, 'utf8')).split('## An admin area')
  const lines = new RegExp(`\`\`\`${proxy}\\n(.*?)\`\`\``, 's').exec(section)?.[1]
  if (lines === undefined) throw new Error(`The guide has no lines for an admin area with ${proxy}`)
  const forPart = (name: string) => lines.replaceAll(/([/@])admin/g, `$1${name}`).replace('&group=admins', '')
  return lines + forPart('strong') + forPart('recent').replace('&factors=2', '')
}

type Refusal = { path: string; code: string; page: string }

const expectRefused = async (visitor: Visitor, { path, code, page }: Refusal) => {
  const program = await visitor.get(`${path}/users?a=1`)
  expect([program.status, program.body.code]).toEqual([403, code])
  expect(program.lines).toContainEqual(['x-auth-step-up', page])
  expectOurHeaders(program)
  const person = await visitor.get(path, navigation('same-origin'))
  expect([person.status, person.text.includes(`location.replace('${page}&returnTo='`)]).toEqual([403, true])
  expectOurHeaders(person)
  const form = await visitor.post(`${path}/users`, { some: 'body' }, navigation('same-origin'))
  expect([form.status, form.text.includes('Your form was not sent'), form.text.includes(page)]).toEqual([
    403,
    true,
    true,
  ])
}

/** The visitor is signed in with one factor, a moment ago, and is in no group. */
export const expectAdminArea = async (visitor: Visitor, heard: () => unknown[], spellings: readonly string[] = []) => {
  const before = heard().length
  for (const path of ['/ADMIN/users', '/%61dmin', '/admin;a=b/users', '/%3b/admin', '/x/%3B/admin', ...spellings])
    expect((await visitor.get(path)).status, path).toBe(403)
  await expectRefused(visitor, { path: '/admin', code: 'group_required', page: '/step-up?group=1' })
  await expectRefused(visitor, { path: '/strong', code: 'step_up_required', page: '/step-up?fresh=10m&factors=2' })
  expect(heard()).toHaveLength(before)
  expect((await visitor.get('/recent/users')).status).toBe(200)
  expect(heard()).toHaveLength(before + 1)
}
