import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountEventKinds, eventKinds, mailEventKinds, securityEventKinds } from '#contract/events.js'
import { limitTitles } from '#contract/limits.js'
import { refusals } from '#contract/refusals.js'
import { apiGuide } from '../../scripts/api-guide.mjs'
import { forAdministrators, forPrograms, partOf } from '../../scripts/document-parts.mjs'
import { accountChangeTable } from '../../src/account-changes/account-change-table.js'
import { commandNames, runCommand } from '../../src/commands/commands.js'
import { signInLabels, waitsAs, waysToSignIn } from '../../src/factors/ways-to-sign-in.js'
import { cookieTable, hostPrefix, sessionCookies } from '../../src/http/cookie-table.js'
import { protocolRoutes } from '../../src/http/exempt-routes.js'
import { limiters, routeLimitersFor } from '../../src/http/limiters.js'
import { furtherFields } from '../../src/settings/provider-settings.js'
import { settings } from '../../src/settings/settings.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { freePort } from '../support/servers/server.js'

// What is, written down as values in before/, while the code around it is moved and merged. The documents in docs/ are written by the
// program, so a guard that is lost is one line of a diff there; here it is a failing test. Who changes one of these on purpose changes
// the copy in the same commit, by hand.

const copy = (name: string) => readFile(new URL(`before/${name}`, import.meta.url), 'utf8')
const copied = async (name: string) => JSON.parse(await copy(name)) as unknown
/** As JSON has it: without undefined, and a pattern as its text. */
const asJson = (value: unknown) =>
  JSON.parse(JSON.stringify(value, (_, each: unknown) => (each instanceof RegExp ? each.source : each))) as unknown

/** The page names the file that it is made from, and the file moves. */
const withoutOrigin = (guide: string) => guide.replace(/^This page is generated from .*$/m, '')

let folder: string
let users: Latchkey
let everybody: Latchkey
let metrics: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-before-'))
  const SERVICE_KEYS_FILE = join(folder, 'service-keys')
  await writeFile(SERVICE_KEYS_FILE, '')
  const port = await freePort()
  users = await startLatchkey({ settings: { ADMIN_GROUP: '', MAIL_SIGN_IN: 'on', METRICS_PORT: String(port) } })
  everybody = await startLatchkey({ settings: { ADMIN_GROUP: 'admins', MAIL_SIGN_IN: 'on', SERVICE_KEYS_FILE } })
  metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
})
afterAll(async () => {
  await Promise.all([users.stop(), everybody.stop()])
  await rm(folder, { recursive: true })
})

const documentOf = async (latchkey: Latchkey) => (await latchkey.browser().get('/api/openapi.json')).body

describe('the API is what it was', () => {
  it('each route has its guard, its limiters and its words', async () => {
    const guide = apiGuide(everybody.app.routes.list(), limiters, settings)
    expect(withoutOrigin(guide)).toBe(withoutOrigin(await copy('api.md')))
  })

  it('for users', async () => {
    expect(await documentOf(users)).toEqual(await copied('openapi.json'))
  })

  it.each([
    ['administrators', 'openapi-admin.json', forAdministrators],
    ['other programs', 'openapi-service.json', forPrograms],
  ])('for %s', async (_, name, part) => {
    expect(partOf(await documentOf(everybody), part)).toEqual(await copied(name))
  })
})

const means = { hasPassword: false, hasProvider: false, hasPasskey: false }
/** A function as its answers: which means alone keep the way open. */
const waysAsValues = () =>
  Object.fromEntries(
    Object.entries(waysToSignIn).map(([way, row]) => [
      way,
      { ...row, isOpenTo: Object.keys(means).filter((name) => row.isOpenTo({ ...means, [name]: true })) },
    ]),
  )

const namedLimit = (name: string) => name as unknown as { maximum: number; window: number }
/** The limiters as requests meet them, with the name of a setting instead of its limit. TOTAL_MAIL_LIMIT has numbers, because one of them is halved. */
const limitersOfRequests = routeLimitersFor({
  LOGIN_LIMIT: namedLimit('LOGIN_LIMIT'),
  ACCOUNT_LIMIT: namedLimit('ACCOUNT_LIMIT'),
  SIGN_IN_LIMIT: namedLimit('SIGN_IN_LIMIT'),
  NETWORK_SIGN_IN_LIMIT: namedLimit('NETWORK_SIGN_IN_LIMIT'),
  NETWORK_MAIL_LIMIT: namedLimit('NETWORK_MAIL_LIMIT'),
  GENERAL_LIMIT: namedLimit('GENERAL_LIMIT'),
  SENSITIVE_LIMIT: namedLimit('SENSITIVE_LIMIT'),
  TOTAL_REGISTRATION_LIMIT: namedLimit('TOTAL_REGISTRATION_LIMIT'),
  TOTAL_MAIL_LIMIT: { maximum: 101, window: 1 },
  TOTAL_WAITING_LIMIT: namedLimit('TOTAL_WAITING_LIMIT'),
})
const counters = Object.fromEntries(
  Object.entries(limiters).map(([name, { countsBy, limit, refusalIsEvent, about }]) => [
    name,
    { countsBy, limit, refusalIsEvent, about },
  ]),
)

const settingsAsValues = (rows: Record<string, object>) =>
  Object.fromEntries(
    Object.entries(rows).map(([name, row]) => {
      const { fallback, otherwise, secret, takesEmpty, commonName } = row as Record<string, unknown>
      return [name, { fallback, otherwise, secret, takesEmpty, commonName }]
    }),
  )

describe('the tables are what they were', () => {
  const tables: Record<string, unknown> = {
    'account-changes': accountChangeTable,
    'ways-to-sign-in': { ways: waysAsValues(), waitsAs, labels: signInLabels() },
    limiters: { counters, ofRequests: limitersOfRequests },
    cookies: { hostPrefix, sessionCookies, cookies: cookieTable },
    refusals: { refusals, limitTitles },
    'exempt-routes': protocolRoutes,
    settings: { settings: settingsAsValues(settings), ofFurtherProviders: settingsAsValues(furtherFields) },
    events: { accountEventKinds, securityEventKinds, mailEventKinds, eventKinds },
  }

  it.each(Object.keys(tables))('%s', async (name) => {
    const written = await copied(`${name}.json`)
    expect(asJson(tables[name])).toEqual(written)
    // Some tables are read in their order: the help, the guide, the list of ways.
    expect(JSON.stringify(asJson(tables[name]))).toBe(JSON.stringify(written))
  })
})

/** What a command prints, and its exit code. */
const outputOf = async (args: string[]) => {
  let text = ''
  const terminal = () =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        text += chunk.toString()
        done()
      },
    })
  const context = { stdout: terminal(), stderr: terminal() } as unknown as Parameters<typeof runCommand>[1]
  return { code: await runCommand(args, context), text }
}

it('each command has its name and its help', async () => {
  const helps: Record<string, unknown> = { '': await outputOf(['--help']) }
  for (const name of commandNames) helps[name] = await outputOf([...name.split(' '), '--help'])
  expect(asJson(helps)).toEqual(await copied('commands.json'))
  expect(Object.keys(helps)).toEqual(Object.keys((await copied('commands.json')) as object))
})

it('each metric has its name, its type and its sentence', async () => {
  const ours = metrics.match(/^# (?:HELP|TYPE) latchkey_.*$/gm) ?? []
  expect(ours.sort()).toEqual(await copied('metrics.json'))
})
