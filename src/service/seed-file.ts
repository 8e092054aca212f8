import { type Static, type TSchema, Type } from 'typebox'
import { Check } from 'typebox/schema'
import { applicationRefusalSentence, createApplicationChanges } from '../applications/application-changes.js'
import { defaultHome, type NewApplication, type Place } from '../applications/application-rules.js'

import { groupPattern } from '../contract/groups.js'
import { isRefused } from '../contract/outcome.js'
import type { ProfileFieldChanges } from '../contract/profile-fields.js'
import { refusals } from '../contract/refusals.js'

import { operatorClient } from '../http/request-origin.js'
import { OperatorError } from '../lib/operator-error.js'
import { readEmail, readUsername } from '../users/names.js'

import type { RoomPlatform, Rooms } from './open-rooms.js'
import { readOperatorFile } from './operator-files.js'

const Text = Type.String({ description: 'a text' })
const Addresses = Type.Array(Type.String(), { description: 'a list of addresses' })
const Groups = Type.Array(Type.String({ pattern: groupPattern }), {
  description: 'a list of names with 1 to 32 small letters, digits, dots, underscores and hyphens',
})

/** `description` completes the error message “… must be …”. */
const SeededApplication = Type.Object({
  id: Type.String({
    pattern: '^[a-z0-9][a-z0-9_-]{0,62}$',
    description: 'a text of 1 to 63 small letters, digits, hyphens and underscores',
  }),
  secret: Type.Optional(
    Type.String({
      pattern: '^[\\w-]{16,128}$',
      description: 'a text of 16 to 128 letters, digits, hyphens and underscores',
    }),
  ),
  name: Text,
  kind: Type.Optional(
    Type.Union([Type.Literal('web'), Type.Literal('browser'), Type.Literal('native')], {
      description: 'web, browser or native',
    }),
  ),
  home: Type.Optional(Text),
  redirectAddresses: Addresses,
  logoutAddresses: Type.Optional(Addresses),
  backchannelLogout: Type.Optional(Text),
  groups: Type.Optional(Groups),
  pkce: Type.Optional(Type.Boolean({ description: 'true or false' })),
  deviceFlow: Type.Optional(Type.Boolean({ description: 'true or false' })),
  proxyOrigin: Type.Optional(Type.String({ description: 'an address such as https://wiki.example.com' })),
  openPaths: Type.Optional(Type.Array(Type.String(), { description: 'a list of paths' })),
})

const SeededUser = Type.Object({
  username: Text,
  email: Text,
  password: Text,
  groups: Type.Optional(Groups),
  fields: Type.Optional(Type.Unknown()),
})

const SeedFile = Type.Object({
  groups: Type.Optional(Groups),
  applications: Type.Optional(Type.Array(Type.Unknown(), { description: 'a list of applications' })),
  administrator: Type.Optional(Type.Unknown()),
})

const client = operatorClient('SEED_FILE')

const fault = (sentence: string) => new OperatorError(`SEED_FILE: ${sentence}`)

type ObjectSchema = { properties: Record<string, TSchema>; required?: string[] }

/** The value, if it has the keys of the schema and no others. Otherwise an error names `place`, where the value stands in the file. */
const readObject = <Content>(schema: ObjectSchema, value: unknown, place: string): Content => {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw fault(`${place} is no JSON object`)
  const unknownKey = Object.keys(value).find((key) => !Object.hasOwn(schema.properties, key))
  if (unknownKey !== undefined)
    throw fault(
      `${place} has the key ${unknownKey}, which is not known. It can have: ${Object.keys(schema.properties).join(', ')}`,
    )
  const given = value as Record<string, unknown>
  for (const [key, property] of Object.entries(schema.properties)) {
    const isMissing = given[key] === undefined
    if (isMissing && !schema.required?.includes(key)) continue
    if (isMissing) throw fault(`${place} has no ${key}`)
    if (!Check(property, given[key]))
      throw fault(`${key} of ${place} must be ${(property as { description?: string }).description}`)
  }
  return given as Content
}

const readSeedFile = (path: string) =>
  readOperatorFile('SEED_FILE', path, (value) => readObject<Static<typeof SeedFile>>(SeedFile, value, path))

const applicationFrom = (given: Static<typeof SeededApplication>): NewApplication => {
  const { name, kind = 'web', redirectAddresses, logoutAddresses = [], backchannelLogout, groups } = given
  const { pkce = true, deviceFlow = false } = given
  return {
    name,
    kind,
    home: given.home ?? defaultHome(redirectAddresses, given.proxyOrigin),
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
    deviceFlow,
    proxyOrigin: given.proxyOrigin,
    openPaths: given.openPaths ?? [],
    openPreflight: false,
    tokens: true,
  }
}

const missingGroupSentence = (group: string, place: string) =>
  `${place} names the group ${group}, which does not exist: add it to "groups" of the file`

const addApplication = async (
  given: unknown,
  place: string,
  platform: RoomPlatform,
  rooms: Rooms,
  address: Omit<Place, 'production'>,
) => {
  const seeded = readObject<Static<typeof SeededApplication>>(SeededApplication, given, place)
  if (await rooms.applications.find(seeded.id)) return
  const application = applicationFrom(seeded)
  if (application.kind === 'web' && seeded.secret === undefined)
    throw fault(`${place} has no secret, which an application of the kind web needs`)
  const { database, clock } = platform
  const { events, configurationTrail, groups, applicationSecrets, usedApplications } = rooms
  const rights = { database, clock, events, configurationTrail, groups, applicationSecrets, usedApplications }
  const { publicUrl, cookieDomain } = address
  const parts = { ...rights, production: false, publicUrl, cookieDomain }
  const outcome = await createApplicationChanges(parts).add(application, client, {
    id: seeded.id,
    ...(seeded.secret !== undefined && { secrets: [seeded.secret] }),
  })
  if (!isRefused(outcome)) return
  if (outcome.refused === 'no_group') throw fault(missingGroupSentence(outcome.group, place))
  if (outcome.refused === 'origin_taken') throw fault(`another application has the address of ${place}`)
  // The id was free a moment ago.
  if (outcome.refused === 'name_taken' || outcome.refused === 'id_taken')
    throw fault(`another application has the name of ${place}`)
  // `too_many_secrets` cannot happen: a new application has no secret yet.
  if (outcome.refused !== 'too_many_secrets') throw fault(`${place} is refused. ${applicationRefusalSentence(outcome)}`)
}

const hashingTimeoutText = 'the password of administrator could not be hashed in time'

const fieldsFrom = (given: unknown = {}, { profileFields }: Rooms) => {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw fault('fields of administrator is no JSON object')
  const outcome = profileFields.change({}, given as ProfileFieldChanges, 'administrators')
  if (!isRefused(outcome)) return outcome.fields
  const faults = outcome.fields.map(({ key, fault: why }) => `${key} (${why})`)
  throw fault(`fields of administrator cannot be used: ${faults.join(', ')}`)
}

const addUser = async (
  { username, email, password, fields }: Static<typeof SeededUser>,
  platform: RoomPlatform,
  rooms: Rooms,
) => {
  const address = readEmail(email)
  const name = readUsername(username)
  if (isRefused(address)) throw fault('email of administrator is no email address')
  if (isRefused(name)) throw fault(`username of administrator cannot be used. ${refusals[name.refused].message}`)
  const existing = await rooms.users.findByLogin(name.username)
  if (existing) return existing
  const asker = { ip: client.ip }
  const passwordRefusal = await rooms.passwords.refusalFor(password, { username, email, name: null }, asker)
  if (passwordRefusal?.refused === 'password_rejected')
    throw fault(`password of administrator cannot be used. ${passwordRefusal.errors.join(' ')}`)
  if (passwordRefusal) throw fault(hashingTimeoutText)
  const passwordHash = await rooms.passwords.hash(password, asker)
  if (isRefused(passwordHash)) throw fault(hashingTimeoutText)
  const user = { email: address, username: name, name: null, passwordHash, fields: fieldsFrom(fields, rooms) }
  const created = await platform.database.transaction((sql) => rooms.newUsers.create(sql, user))
  if (isRefused(created))
    throw fault(`${created.refused === 'email_taken' ? 'email' : 'username'} of administrator belongs to another user`)
  await rooms.events.record({ kind: 'user_added', userId: created.id }, client)
  return created
}

/** Creates what the file names and the database does not have. For development only, because the file holds secrets in plain text. */
export const applySeedFile = async (
  path: string,
  platform: RoomPlatform,
  rooms: Rooms,
  address: Omit<Place, 'production'>,
) => {
  const { groups = [], applications = [], administrator } = await readSeedFile(path)
  for (const name of groups) await rooms.groups.add(name, client)
  for (const [index, given] of applications.entries())
    await addApplication(given, `applications[${index}]`, platform, rooms, address)
  if (administrator === undefined) return
  const seeded = readObject<Static<typeof SeededUser>>(SeededUser, administrator, 'administrator')
  const { id: userId } = await addUser(seeded, platform, rooms)
  const groupOutcome = await rooms.groupChanges.change({ userId, client }, { add: seeded.groups ?? [] })
  if (!isRefused(groupOutcome)) return
  throw fault(
    groupOutcome.refused === 'no_group'
      ? missingGroupSentence(groupOutcome.group, 'administrator')
      : 'administrator has too many groups',
  )
}
