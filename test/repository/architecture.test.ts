import { describe, expect, it } from 'vitest'
import { readModule } from '../../scripts/architecture/modules.mjs'
import { emptyRings, findingsIn, ruleNames } from '../../scripts/architecture/rules.mjs'

const judge = (files: Record<string, string>) =>
  findingsIn(Object.entries(files).map(([path, text]) => readModule(path, text)))

const linesOf = (count: number) => 'void 0\n'.repeat(count)

type Planted = [rule: string, mistake: string, files: Record<string, string>]
const planted: Planted[] = [
  ['hasAPlace', 'a folder that no ring knows', { 'src/services/x.ts': '' }],
  ['importsInwards', 'the domain knows of a flow', { 'src/domain/a/a.ts': `import { b } from '../../flows/b/b.js'` }],
  [
    'importsInwards',
    'a flow reads the configuration',
    { 'src/flows/a/a.ts': `import type { C } from '../../config.js'` },
  ],
  ['importsInwards', 'the app calls a command', { 'src/app.ts': `import { x } from './commands/x.js'` }],
  ['importsInwards', 'a re-export is an import', { 'src/lib/a.ts': `export * from '../platform/b.js'` }],
  [
    'importsInwards',
    'an import inside a function',
    { 'src/lib/a.ts': `export const f = () => import('../http/b.js')` },
  ],
  ['importsInwards', 'a type named in passing', { 'src/lib/a.ts': `export type T = import('../http/b.js').B` }],
  ['importsInwards', 'the product leans on a test', { 'src/lib/a.ts': `import { b } from '../../test/b.js'` }],
  ['importsInwards', 'the contract knows the domain', { 'src/contract/a.ts': `import { b } from '../domain/b/b.js'` }],
  ['contractIsPure', 'the contract needs Node', { 'src/contract/a.ts': `import { createHash } from 'node:crypto'` }],
  ['contractIsPure', 'the contract needs a package', { 'src/contract/a.ts': `import type { F } from 'fastify'` }],
  ['packagesStandAlone', 'a package uses lib', { 'packages/a/src/a.ts': `import { b } from '../../../src/lib/b.js'` }],
  ['packagesStandAlone', 'another package', { 'packages/a/src/a.ts': `import { b } from '../../ab/src/b.js'` }],
  ['packagesStandAlone', 'a page', { 'packages/a/src/a.ts': `import { b } from '../../../web/b.js'` }],
  ['packagesStandAlone', 'by an alias', { 'packages/a/src/a.ts': `import { b } from '#verify/b.js'` }],
  ['pagesKnowTheContract', 'a page uses lib', { 'web/a.ts': `import { b } from '../src/lib/b.js'` }],
  [
    'pagesKnowTheContract',
    'a type of a flow',
    { 'web/pages/a.tsx': `import type { B } from '../../src/flows/b/b.js'` },
  ],
  ['importsByAlias', 'a long way to the contract', { 'web/a.ts': `import { b } from '../src/contract/b.js'` }],
  ['importsByAlias', 'a package, to the contract', { 'packages/a/src/a.ts': `import '../../../src/contract/b.js'` }],
  ['importsByAlias', 'a test, to a package', { 'test/a.ts': `import { b } from '../packages/client/src/b.js'` }],
  [
    'routesNameTheirRefusals',
    'a refusal that no list names',
    { 'src/flows/a/a.routes.ts': `import { sendRefusal } from '../../http/errors.js'` },
  ],
  ['importsWhatIsThere', 'a file that is gone', { 'src/lib/a.ts': `import { b } from './b.js'` }],
  ['flowsStandAlone', 'login leans on logout', { 'src/flows/login/l.ts': `import { b } from '../logout/b.js'` }],
  ['storesStayHome', 'a stranger at a store', { 'src/domain/a/a.ts': `import { b } from '../b/b.store.js'` }],
  ['storesStayHome', 'a test at a store', { 'test/a.test.ts': `import { b } from '../src/domain/b/b.store.js'` }],
  ...[
    ['a list', 'export const createA = () => ({ list: (sql) => store.selectAll(sql) })'],
    ['what a write returns', 'export const createA = () => ({ remove: (sql) => store.remove(sql) })'],
    ['by a return', 'export const a = () => { return b ? c : store.selectAll() }'],
    ['one row', 'export const a = async () => (await store.selectAll())[0]'],
    ['by a variable', 'export const a = async () => { const [row] = await store.selectAll(); return row }'],
    ['by its own function', 'const b = () => store.selectAll(); export const createA = () => ({ a: b })'],
    ['out of a transaction', 'export const a = (database) => database.transaction((sql) => store.selectAll(sql))'],
  ].map(
    ([mistake, code]): Planted => [
      'nounsKeepTheirRows',
      `${mistake}`,
      { 'src/domain/a/a.ts': `import * as store from './a.store.js'\n${code}`, 'src/domain/a/a.store.ts': '' },
    ],
  ),
  [
    'nounsKeepTheirRows',
    'what is for its own folder',
    {
      'src/domain/a/a.ts': `import * as store from './a.store.js'\nexport const findRow = () => store.selectAll()`,
      'src/domain/a/a.store.ts': '',
      'src/domain/b/b.ts': `import { findRow } from '../a/a.js'`,
    },
  ],
  ['nounsKeepTheirRows', 'its type', { 'src/domain/a/a.ts': `export type { NoteRow } from './a.store.js'` }],
  ['nounsKeepTheirRows', 'renamed', { 'src/domain/a/a.ts': 'export type Note = store.NoteRow' }],
  ['devProvidersAreOptional', 'loaded always', { 'src/app.ts': `import { d } from './dev-providers/d.js'` }],
  ['devProvidersAreOptional', 'loaded by a flow', { 'src/flows/a/a.ts': `void import('../../dev-providers/d.js')` }],
  ['pagesKnowTheContract', 'a page at the domain', { 'web/a.ts': `import { b } from '../src/domain/a/b.js'` }],
  ['pagesAskByTheClient', 'a page that fetches', { 'web/a.ts': `export const a = () => fetch('/api/auth/me')` }],
  ['pagesAskByTheClient', 'by the window', { 'web/a.ts': 'export const { send } = { send: window.fetch }' }],
  ['pagesAskByTheClient', 'the old way', { 'web/a.ts': 'export const a = new XMLHttpRequest()' }],
  [
    'oneWayIntoASession',
    'a flow that begins a session',
    { 'src/flows/a/a.ts': 'export const a = (b) => b.sessions.beginSession(b)' },
  ],
  [
    'oneWayIntoASession',
    'taken apart',
    { 'src/domain/a/a.ts': 'export const a = ({ beginSession }) => beginSession()' },
  ],
  ['configReadsTheEnvironment', 'in the open', { 'src/lib/a.ts': 'export const a = process.env.A' }],
  ['configReadsTheEnvironment', 'by brackets', { 'src/lib/a.ts': `export const a = process['env']` }],
  ['configReadsTheEnvironment', 'taken apart', { 'src/lib/a.ts': 'export const { env } = process' }],
  ['configReadsTheEnvironment', 'imported', { 'src/lib/a.ts': `import { env } from 'node:process'` }],
  ['exportsByName', 'a default export', { 'src/lib/a.ts': 'export default 1' }],
  ['exportsByName', 'a default export by name', { 'src/lib/a.ts': 'const a = 1; export { a as default }' }],
  ['isNamedForWhatItIs', 'an index', { 'src/lib/index.ts': '' }],
  ['isNamedForWhatItIs', 'a drawer', { 'web/utils/a.ts': '' }],
  ['isNamedForWhatItIs', 'a drawer as a file', { 'src/lib/helpers.ts': '' }],
  ['filesAreShort', '601 lines', { 'src/lib/a.ts': linesOf(601) }],
  ['functionsAreShort', '81 lines', { 'src/lib/a.ts': `export const a = () => {\n${linesOf(79)}}` }],
  ['functionsAreShort', 'a factory', { 'src/lib/a.ts': `const createA = () => {\n${linesOf(79)}}` }],
  ['functionsAreShort', 'a list of routes', { 'src/flows/a/a.ts': `const aRoutes = () => {\n${linesOf(79)}}` }],
  ['functionsAreShort', 'in a long factory', { 'test/a.ts': `const createA = () => ({ b() {\n${linesOf(79)}} })` }],
]

describe('each rule can fail', () => {
  it.each(planted)('%s: %s', (rule, _mistake, files) => {
    expect(judge(files).filter((line) => line.includes(`(${rule})`))).toHaveLength(1)
  })

  it('and none was forgotten in this list', () => {
    expect([...new Set(planted.map(([rule]) => rule))].sort()).toEqual([...ruleNames].sort())
  })
})

it('a ring without a file is noticed', () => {
  const found = emptyRings([readModule('src/main.ts', ''), readModule('src/dev-providers/d.ts', '')])
  expect(found).toEqual(['commands', 'app', 'config', 'http', 'domain', 'platform', 'contract', 'lib'])
})

describe('what is allowed', () => {
  it('is everything from the outside in', () => {
    const found = judge({
      'src/main.ts': `import { serve } from './commands/serve.js'`,
      'src/commands/serve.ts': `import { app } from '../app.js'; export const serve = app`,
      'src/app.ts': `import { config } from './config.js'
        import { login } from './sign-in/login.js'
        export const app = [config, login, () => import('./dev-providers/d.js')]`,
      'src/config.ts': 'export const config = process.env',
      'src/dev-providers/d.ts': '',
      'src/sign-in/password.routes.ts': `import { users } from '../../domain/notes/notes.js'; export const login = users`,
      'src/flows/login/login.test.ts': `import { app } from '../../app.js'; void [app, process.env.HOME]`,
      'src/domain/notes/notes.ts': `import { store } from './notes.store.js'; export const users = store`,
      'src/domain/notes/notes.store.ts': `import { uuid } from '../../lib/uuid.js'; export const store = uuid`,
      'src/lib/uuid.ts': `export const uuid = 'process.env'`,
      'src/contract/schemas.ts': `import { Type } from 'typebox'; export const Id = Type.String()`,
      'web/api.ts': `import type { Id } from '#contract/schemas.js'; export type T = typeof Id
        import { client } from './client.js'; export const a = () => client.fetch('/notes')`,
      'packages/client/src/client.ts': `import type { T } from '#contract/schemas.js'
        import { b } from '../../b.js'; export { a } from './a.js'; export type U = typeof b | T`,
      'web/api.test.ts': `import { uuid } from '../src/lib/uuid.js'; void uuid`,
    })

    expect(found).toEqual([])
  })

  it('is a noun that makes objects, numbers or answers of its rows', () => {
    const noun = `import * as store from './notes.store.js'
      export type { Note } from './notes.store.js'
      const fromRow = (row: store.NoteRow) => row.title
      export const list = async () => (await store.selectAll()).map(fromRow)
      export const since = async () => (await store.selectAll())[0]?.since
      export const isThere = async () => (await store.selectAll()).length > 0`
    expect(judge({ 'src/domain/notes/notes.ts': noun, 'src/domain/notes/notes.store.ts': '' })).toEqual([])
  })

  it('is a long list of the words of a language', () => {
    expect(judge({ 'web/words/eo.ts': linesOf(700) })).toEqual([])
  })
})
