import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { emptyRooms, findingsIn, readModule, ruleNames } from '../../scripts/architecture.mjs'
import { filesThatKnowRequests, registrars, rooms } from '../../scripts/rooms.mjs'

const home = fileURLToPath(new URL('../..', import.meta.url))

const modulesOf = (files: Record<string, string>) => Object.entries(files).map(([path, text]) => readModule(path, text))

const judge = (files: Record<string, string>) => findingsIn(modulesOf(files))

const linesOf = (count: number) => 'void 0\n'.repeat(count)

type Planted = [rule: string, mistake: string, files: Record<string, string>]
const planted: Planted[] = [
  ['everyRoomIsListed', 'a new folder', { 'src/services/x.ts': '' }],
  ['rulesGoDown', 'users know sessions', { 'src/users/a.ts': `import { b } from '../sessions/b.js'` }],
  ['rulesGoDown', 'settings know a type', { 'src/settings/a.ts': `import type { B } from '../users/b.js'` }],
  ['rulesGoDown', 'a type among types', { 'src/settings/a.ts': `import { type B } from '../users/b.js'` }],
  ['rulesGoDown', 'the service calls a command', { 'src/service/a.ts': `import { x } from '../commands/x.js'` }],
  ['rulesGoDown', 'all of a room', { 'src/lib/a.ts': `import * as b from '../platform/b.js'` }],
  ['rulesGoDown', 'a re-export', { 'src/lib/a.ts': `export * from '../platform/b.js'` }],
  ['rulesGoDown', 'a type, exported again', { 'src/lib/a.ts': `export type { B } from '../platform/b.js'` }],
  ['rulesGoDown', 'an import inside a function', { 'src/lib/a.ts': `export const f = () => import('../http/b.js')` }],
  ['rulesGoDown', 'for its effect', { 'src/lib/a.ts': `import '../http/b.js'` }],
  ['rulesGoDown', 'a store looks up', { 'src/users/a.store.ts': `import type { B } from '../sessions/b.js'` }],
  ['rulesGoDown', 'the program itself', { 'src/commands/a.ts': `import { b } from '../main.js'` }],
  ['rulesGoDown', 'the product leans on a test', { 'src/lib/a.ts': `import { b } from '../../test/b.js'` }],
  ['rulesGoDown', 'and so does a route', { 'src/users/a.routes.ts': `import { b } from '../../test/b.js'` }],
  ['rulesGoDown', 'the contract knows users', { 'src/contract/a.ts': `import { b } from '../users/b.js'` }],
  ['nobodyImportsRoutes', 'a rule', { 'src/pages/a.ts': `import { b } from '../users/b.routes.js'` }],
  ['nobodyImportsRoutes', 'a type', { 'src/pages/a.ts': `import type { B } from '../users/b.routes.js'` }],
  ['nobodyImportsRoutes', 'other routes', { 'src/users/a.routes.ts': `import { b } from './b.routes.js'` }],
  ['nobodyImportsRoutes', 'a command', { 'src/commands/a.ts': `void import('../users/b.routes.js')` }],
  [
    'nobodyImportsRoutes',
    'administrators, the routes of others',
    { 'src/admin/admin.routes.ts': `import { b } from '../users/b.routes.js'` },
  ],
  ['rulesKnowNoRequest', 'a rule', { 'src/users/a.ts': `import { fastify } from 'fastify'` }],
  ['rulesKnowNoRequest', 'a type', { 'src/users/a.ts': `import type { FastifyRequest } from 'fastify'` }],
  ['rulesKnowNoRequest', 'what belongs to it', { 'src/users/a.ts': `import { b } from '@fastify/swagger'` }],
  ['rulesKnowNoRequest', 'late', { 'src/users/a.ts': `export const f = () => import('fastify')` }],
  ['requestsAreKnownWhereNeeded', 'one that needs it no more', { 'src/sessions/csrf.ts': '' }],
  ['storesStayHome', 'a stranger at a store', { 'src/sessions/a.ts': `import { b } from '../users/b.store.js'` }],
  ['storesStayHome', 'a route', { 'src/admin/a.routes.ts': `import type { B } from '../users/b.store.js'` }],
  ['storesStayHome', 'a test at a store', { 'test/a.test.ts': `import { b } from '../src/users/b.store.js'` }],
  ['contractIsPure', 'the contract needs Node', { 'src/contract/a.ts': `import { createHash } from 'node:crypto'` }],
  ['contractIsPure', 'the contract needs a package', { 'src/contract/a.ts': `import type { F } from 'pg'` }],
  [
    'browsersLoadNoTypebox',
    'a page',
    {
      'web/a.ts': `import { b } from '#contract/b.js'`,
      'src/contract/b.ts': `export { c } from './c.js'`,
      'src/contract/c.ts': `import { Type } from 'typebox'`,
    },
  ],
  [
    'browsersLoadNoTypebox',
    'a package',
    { 'packages/a/src/a.ts': `import '#contract/b.js'`, 'src/contract/b.ts': `import { Type } from 'typebox'` },
  ],
  ['packagesStandAlone', 'a package uses lib', { 'packages/a/src/a.ts': `import { b } from '../../../src/lib/b.js'` }],
  ['packagesStandAlone', 'another package', { 'packages/a/src/a.ts': `import { b } from '../../ab/src/b.js'` }],
  ['packagesStandAlone', 'a page', { 'packages/a/src/a.ts': `import { b } from '../../../web/b.js'` }],
  ['packagesStandAlone', 'by an alias', { 'packages/a/src/a.ts': `import { b } from '#verify/b.js'` }],
  ['pagesKnowTheContract', 'a page uses lib', { 'web/a.ts': `import { b } from '../src/lib/b.js'` }],
  ['pagesKnowTheContract', 'a type', { 'web/pages/a.tsx': `import type { B } from '../../src/users/b.js'` }],
  ['importsByAlias', 'a long way to the contract', { 'web/a.ts': `import { b } from '../src/contract/b.js'` }],
  ['importsByAlias', 'a package, to the contract', { 'packages/a/src/a.ts': `import '../../../src/contract/b.js'` }],
  ['importsByAlias', 'a test, to a package', { 'test/a.ts': `import { b } from '../packages/client/src/b.js'` }],
  ['devProvidersAreLoadedLate', 'always', { 'src/providers/a.ts': `import { d } from './dev/d.js'` }],
  ['devProvidersAreLoadedLate', 'by a room', { 'src/accounts/a.ts': `void import('../providers/dev/d.js')` }],
  ['isNamedForWhatItIs', 'an index', { 'src/lib/index.ts': '' }],
  ['isNamedForWhatItIs', 'a drawer', { 'web/utils/a.ts': '' }],
  ['isNamedForWhatItIs', 'a drawer as a file', { 'src/lib/helpers.ts': '' }],
]

const circle = (first: string, second: string): Record<string, string> => ({
  'src/users/a.ts': `${first}; export type A = 1`,
  'src/users/b.ts': `import { c } from './c.js'`,
  'src/users/c.ts': `${second}; export type C = 1`,
})
const circles: [mistake: string, files: Record<string, string>][] = [
  ['of values', circle(`import { b } from './b.js'`, `import { a } from './a.js'`)],
  ['of types', circle(`import type { B } from './b.js'`, `import type { A } from './a.js'`)],
  ['of late imports', circle(`void import('./b.js')`, `export * from './a.js'`)],
]

describe('each rule can fail', () => {
  it.each(planted)('%s: %s', (rule, _mistake, files) => {
    expect(judge(files).filter((line) => line.includes(`(${rule})`))).toHaveLength(1)
  })

  it.each(circles)('noCircles: %s', (_mistake, files) => {
    expect(judge(files)).toEqual([
      expect.stringMatching('^src/users/a.ts.*noCircles'),
      expect.stringMatching('^src/users/b.ts.*noCircles'),
      expect.stringMatching('^src/users/c.ts.*noCircles'),
    ])
  })

  it('noCircles: a file that imports itself', () => {
    expect(judge({ 'src/users/a.ts': `void import('./a.js')` })).toEqual([expect.stringContaining('(noCircles)')])
  })

  it('and none was forgotten in this list', () => {
    expect([...new Set([...planted.map(([rule]) => rule), 'noCircles'])].sort()).toEqual([...ruleNames].sort())
  })

  it('a room without a file is noticed', () => {
    const { main: _main, lib: _lib, ...others } = rooms
    expect(emptyRooms(modulesOf({ 'src/main.ts': '', 'src/lib/a.ts': '', 'src/users/a.test.ts': '' }))).toEqual(
      Object.keys(others),
    )
  })
})

it('everything from the top down is allowed', () => {
  const found = judge({
    'src/main.ts': `void import('./commands/commands.js')`,
    'src/commands/commands.ts': `import { open } from '../service/open-rooms.js'; export const serve = open`,
    'src/service/open-rooms.ts': `import { users } from '../users/users.js'; export const open = users`,
    'src/service/register-routes.ts': `import { usersRoutes } from '../users/users.routes.js'
      export const register = () => [usersRoutes, import('../admin/admin.routes.js')]`,
    'src/admin/admin.routes.ts': `export { reports } from './reports.routes.js'`,
    'src/admin/reports.routes.ts': `import { fastify } from 'fastify'; export const reports = fastify`,
    'src/providers/providers.ts': `export const dev = () => import('./dev/people.js')`,
    'src/providers/dev/people.ts': `import './orders.js'`,
    'src/sessions/guards.ts': `import type { FastifyRequest } from 'fastify'; export type Guard = FastifyRequest`,
    'src/users/users.routes.ts': `import { guard } from '../sessions/guards.js'; export const usersRoutes = guard`,
    'src/users/users.ts': `import { store } from './names/names.store.js'; export const users = store`,
    'src/users/users.test.ts': `import { open } from '../service/open-rooms.js'
      import type { FastifyInstance } from 'fastify'; import { r } from './users.routes.js'; void [open, r]`,
    'src/users/names/names.store.ts': `import { uuid } from '../../lib/uuid.js'; export const store = uuid`,
    'src/http/server.ts': `import { fastify } from 'fastify'; export const server = fastify`,
    'src/contract/schemas.ts': `import { Type } from 'typebox'; export const Id = Type.String()`,
    'src/lib/uuid.ts': '',
    'test/contracts/statements.ts': `import { store } from '../../src/users/names/names.store.js'; void store`,
    'web/api.ts': `import type { Id } from '#contract/schemas.js'; export type T = typeof Id
      import { client } from '#client/client.js'; export const a = client`,
    'web/api.test.ts': `import { uuid } from '../src/lib/uuid.js'; void uuid`,
    'packages/client/src/client.ts': `import type { T } from '#contract/schemas.js'
      import { b } from '../../b.js'; export { a } from './a.js'; export type U = typeof b | T`,
    'packages/b.ts': `import { c } from './c.js'; import type { T } from '#contract/schemas.js'; export const b: T = c`,
  })

  expect(found).toEqual([])
})

it('the lists name files that are there', () => {
  for (const path of [...registrars.map(({ path }) => path), ...filesThatKnowRequests])
    expect(readFileSync(join(home, path), 'utf8')).not.toBe('')
})

const settingsOnly = 'no-restricted-properties'
const mistakesInOneFile: [rule: string, mistake: string, path: string, text: string][] = [
  ['max-lines', '601 lines', 'src/lib/a.ts', linesOf(601)],
  ['max-lines', 'a test', 'test/http/a.test.ts', linesOf(601)],
  ['max-lines-per-function', '81 lines', 'src/lib/b.ts', `export const a = () => {\n${linesOf(79)}}`],
  ['max-lines-per-function', 'a factory', 'scripts/c.mjs', `const createA = () => {\n${linesOf(79)}}`],
  ['max-lines-per-function', 'a server of tests', 'test/support/c.ts', `export const a = () => {\n${linesOf(119)}}`],
  ['max-lines-per-function', 'inside of one', 'web/d.tsx', `export const a = () => ({ b() {\n${linesOf(79)}} })`],
  [settingsOnly, 'process.env', 'src/lib/e.ts', 'export const a = process.env.A'],
  [settingsOnly, 'by brackets', 'src/sign-in/f.ts', `export const a = process['env']`],
  [settingsOnly, 'taken apart', 'src/main.ts', 'export const { env } = process'],
  ['no-restricted-imports', 'imported', 'src/lib/g.ts', `import { env } from 'node:process'`],
  ['no-restricted-imports', 'in routes', 'src/users/g.routes.ts', `import { env } from 'process'`],
  ['no-restricted-properties', 'a session', 'src/factors/h.ts', 'export const a = (b) => b.sessions.beginSession(b)'],
  ['no-restricted-properties', 'by name', 'src/users/h.routes.ts', `export const a = (b) => b['beginSession'](b)`],
  ['no-restricted-properties', 'taken apart', 'src/settings/h.ts', 'export const a = ({ beginSession: b }) => b()'],
  [
    'no-restricted-imports',
    'a refusal of no list',
    'src/users/i.routes.ts',
    `import { sendRefusal } from '../http/errors.js'`,
  ],
  ['no-restricted-imports', 'all', 'src/openid/i.routes.ts', `import * as errors from '../http/errors.js'`],
  ['no-restricted-imports', 'below', 'src/openid/a/i.routes.ts', `import { sendRefusal } from '../../http/errors.js'`],
  [
    'no-restricted-imports',
    'a fault of the protocol',
    'src/users/j.routes.ts',
    `import { sendProtocolError } from '../http/errors.js'`,
  ],
  ['no-restricted-globals', 'a page that fetches', 'web/k.ts', `export const a = () => fetch('/api/auth/me')`],
  ['no-restricted-globals', 'the old way', 'web/pages/l.tsx', 'export const a = new XMLHttpRequest()'],
  ['no-restricted-properties', 'by the window', 'web/m.ts', 'export const { send } = { send: window.fetch }'],
  ['no-restricted-properties', 'taken out of it', 'web/n.ts', 'export const { fetch } = globalThis'],
  ['no-restricted-properties', 'on leaving', 'web/o.ts', `export const a = () => navigator.sendBeacon('/x')`],
  ['consistent-type-imports', 'a type in passing', 'src/lib/p.ts', `export type T = import('../http/b.js').B`],
  ['consistent-type-imports', 'a type of all', 'packages/client/src/p.ts', `export type T = typeof import('fastify')`],
  ['noDefaultExport', 'a default export', 'src/lib/q.ts', 'export default 1'],
  ['noDefaultExport', 'by name', 'src/lib/r.ts', 'const a = 1\nexport { a as default }'],
]

const allowedInOneFile: [path: string, text: string][] = [
  ['src/settings/environment.ts', `import { env } from 'node:process'\nexport const a = [process.env.A, env]`],
  ['src/sign-in/new-sessions.ts', 'export const a = ({ beginSession }) => beginSession()'],
  ['src/lib/a.test.ts', `export const a = (b) => [process.env.A, b.beginSession()]`],
  ['src/openid/token.routes.ts', `export { sendProtocolError } from '../http/errors.js'`],
  ['src/users/own.routes.ts', `import type { NeedsMail } from '../http/errors.js'\nexport type A = NeedsMail`],
  ['web/a.ts', `export const a = (client) => client.fetch('/notes')`],
  ['web/words/eo.ts', linesOf(700)],
  ['test/support/server.ts', `export const a = () => {\n${linesOf(118)}}`],
  ['test/http/long.test.ts', `export const a = () => {\n${linesOf(200)}}`],
]

const plant = (files: readonly (readonly [path: string, text: string])[]) => {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-lint-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const file of ['.oxlintrc.json', 'biome.json', '.gitignore']) cpSync(join(home, file), join(folder, file))
  symlinkSync(join(home, 'node_modules'), join(folder, 'node_modules'))
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  const run = (program: string, ...args: string[]) =>
    spawnSync(join(home, 'node_modules/.bin', program), args, { cwd: folder, encoding: 'utf8' }).stdout
  const { diagnostics } = JSON.parse(run('oxlint', '--format=json')) as {
    diagnostics: { code: string; filename: string }[]
  }
  const biome = run('biome', 'lint', '--only=style/noDefaultExport', '--reporter=github')
  return [
    ...diagnostics.map(({ code, filename }) => `${filename} ${/\((.*)\)/.exec(code)?.[1]}`),
    ...[...biome.matchAll(/title=lint\/style\/(\w+),file=[^,]*latchkey-lint-\w+\/([^,]+),/g)].map(
      ([, rule, path]) => `${path} ${rule}`,
    ),
  ]
}

// The rules about one file belong to the linters. A pattern for files that matches none is quiet, so this is tried too.
describe('the linters', () => {
  it('find each planted mistake', () => {
    const found = plant(mistakesInOneFile.map(([, , path, text]) => [path, text]))
    for (const [rule, mistake, path] of mistakesInOneFile) expect(found, mistake).toContain(`${path} ${rule}`)
  })

  it('allow what is right', () => {
    const rules = new Set(mistakesInOneFile.map(([rule]) => rule))
    expect(plant(allowedInOneFile).filter((line) => rules.has(line.split(' ')[1] ?? ''))).toEqual([])
  })

  it('forbid names that are there', () => {
    const names = ['sendRefusal', 'sendProtocolError', 'bodyOf', 'protocolBodyOf', 'handleError']
    const errors = readFileSync(join(home, 'src/http/errors.ts'), 'utf8')
    const exported = [...errors.matchAll(/^export const (\w+)/gm)].map(([, name]) => name)
    expect(exported).toEqual(expect.arrayContaining(names))
    const config = readFileSync(join(home, '.oxlintrc.json'), 'utf8')
    for (const name of names) expect(config).toContain(`"${name}"`)
    expect(readFileSync(join(home, 'src/sessions/sessions.ts'), 'utf8')).toMatch(/\bbeginSession\b/)
  })

  it('let a file be longer only while it is', () => {
    const { overrides } = JSON.parse(readFileSync(join(home, '.oxlintrc.json'), 'utf8')) as {
      overrides: { files: string[]; rules: Record<string, unknown> }[]
    }
    const longer = overrides.filter(({ rules }) => Array.isArray(rules['max-lines'])).flatMap(({ files }) => files)
    for (const path of longer)
      expect(readFileSync(join(home, path), 'utf8').trimEnd().split('\n').length, path).toBeGreaterThan(600)
  })
})
