import { readFile } from 'node:fs/promises'
import { type Static, Type } from 'typebox'
import { Check } from 'typebox/schema'
import { groupPattern } from '../contract/groups.js'
import { isRefused } from '../contract/outcome.js'
import { homeOf } from '../domain/applications/application-addresses.js'
import { createApplicationChanges } from '../domain/applications/application-changes.js'
import type { NewApplication } from '../domain/applications/application-rules.js'
import { createApplicationSecrets } from '../domain/applications/application-secrets.js'
import { operatorClient } from '../domain/sessions/client.js'
import { readEmail } from '../domain/users/email.js'
import { readUsername } from '../domain/users/username.js'
import { whyUnreadable } from '../lib/file-faults.js'
import { OperatorError } from '../lib/operator-error.js'
import { parseStrictJson } from '../lib/strict-json.js'
import type { NounPlatform, Nouns } from './nouns.js'

const exact = { additionalProperties: false }
const Group = Type.String({ pattern: groupPattern })
const Addresses = Type.Array(Type.String())

const SeededApplication = Type.Object(
  {
    id: Type.String({ pattern: '^[a-z0-9][a-z0-9_-]{0,62}$' }),
    secret: Type.Optional(Type.String({ pattern: '^[\\w-]{16,128}$' })),
    name: Type.String(),
    kind: Type.Optional(Type.Union([Type.Literal('web'), Type.Literal('browser'), Type.Literal('native')])),
    home: Type.Optional(Type.String()),
    redirectAddresses: Type.Array(Type.String(), { minItems: 1 }),
    logoutAddresses: Type.Optional(Addresses),
    backchannelLogout: Type.Optional(Type.String()),
    groups: Type.Optional(Type.Array(Group)),
    pkce: Type.Optional(Type.Boolean()),
  },
  exact,
)

const SeededUser = Type.Object(
  { username: Type.String(), email: Type.String(), password: Type.String(), groups: Type.Optional(Type.Array(Group)) },
  exact,
)

const SeedFile = Type.Object(
  {
    groups: Type.Optional(Type.Array(Group)),
    applications: Type.Optional(Type.Array(Type.Unknown())),
    administrator: Type.Optional(Type.Unknown()),
  },
  exact,
)

const client = operatorClient('SEED_FILE')

const fault = (sentence: string) => new OperatorError(`SEED_FILE: ${sentence}`)

const readSeedFile = async (path: string): Promise<Static<typeof SeedFile>> => {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw fault(`the file cannot be read: ${path} (${whyUnreadable(error)})`)
  })
  const value = parseStrictJson(bytes)?.value
  if (!Check(SeedFile, value)) throw fault(`${path} is no JSON object with groups, applications and administrator`)
  return value
}

const applicationFrom = (given: Static<typeof SeededApplication>): NewApplication => {
  const { name, kind = 'web', redirectAddresses, logoutAddresses = [], backchannelLogout, groups, pkce = true } = given
  const [first = ''] = redirectAddresses
  return {
    name,
    kind,
    home: given.home ?? (URL.canParse(first) ? homeOf(first) : first),
    redirectAddresses,
    logoutAddresses,
    backchannelLogout,
    access: groups === undefined ? 'everyone' : 'groups',
    groups: groups ?? [],
    factors: 1,
    maxAge: undefined,
    consent: kind === 'native' ? 'ask' : 'none',
    pkce,
    algorithm: 'RS256',
  }
}

const addApplication = async (seeded: unknown, place: string, platform: NounPlatform, nouns: Nouns) => {
  if (!Check(SeededApplication, seeded)) throw fault(`${place} needs an id, a name and redirectAddresses`)
  if (await nouns.applications.find(seeded.id)) return
  const application = applicationFrom(seeded)
  if (application.kind === 'web' && seeded.secret === undefined)
    throw fault(`${place} needs a secret of 16 to 128 letters, digits, hyphens and underscores`)
  const { database, clock } = platform
  const { events, groups, usedApplications } = nouns
  const applicationSecrets = createApplicationSecrets({ database, clock })
  const parts = { database, clock, events, groups, applicationSecrets, usedApplications, production: false }
  const added = await createApplicationChanges(parts).add(application, client, seeded)
  if (isRefused(added)) throw fault(`${place} is refused: ${added.refused}`)
}

const addUser = async (
  { username, email, password }: Static<typeof SeededUser>,
  platform: NounPlatform,
  nouns: Nouns,
) => {
  const address = readEmail(email)
  const name = readUsername(username)
  if (isRefused(address) || isRefused(name)) throw fault('administrator needs a username and an email')
  const existing = await nouns.users.findByLogin(name.username)
  if (existing) return existing
  const asker = { ip: client.ip }
  const weak = await nouns.passwords.refusalFor(password, { username, email, name: null }, asker)
  if (weak) throw fault(`the password of administrator is refused: ${weak.refused}`)
  const passwordHash = await nouns.passwords.hash(password, asker)
  if (isRefused(passwordHash)) throw fault('the password of administrator could not be hashed in time')
  const user = { email: address, username: name, name: null, passwordHash }
  const created = await nouns.newUsers.createWithPassword(platform.database, user)
  if (isRefused(created)) throw fault(`administrator is refused: ${created.refused}`)
  await nouns.events.record({ kind: 'user_added', userId: created.id }, client)
  return created
}

/** Makes what the file names, if it is not there. For development: its secrets are no secrets. */
export const applySeedFile = async (path: string, platform: NounPlatform, nouns: Nouns) => {
  const { groups = [], applications = [], administrator } = await readSeedFile(path)
  for (const name of groups) await nouns.groups.add(name, client)
  for (const [at, given] of applications.entries()) await addApplication(given, `applications[${at}]`, platform, nouns)
  if (administrator === undefined) return
  if (!Check(SeededUser, administrator)) throw fault('administrator needs a username, an email and a password')
  const { id: userId } = await addUser(administrator, platform, nouns)
  const joined = await nouns.groupChanges.change({ userId, client }, { add: administrator.groups ?? [] })
  if (isRefused(joined)) throw fault(`the groups of administrator are refused: ${joined.refused}`)
}
