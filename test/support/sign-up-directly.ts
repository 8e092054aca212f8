import { randomUUID } from 'node:crypto'
import { isRefused, type Refused } from '#contract/outcome.js'
import { cookieLine } from '../../src/http/cookies.js'
import type { App } from '../../src/service/open-service.js'
import { factsAtStart } from '../../src/sessions/session-facts.js'
import { readEmail, readUsername } from '../../src/users/names.js'

/** As the service sees `fetch` of this machine. */
const client = { ip: '127.0.0.1', userAgent: 'node', language: 'en' as const }

const orThrow = <Outcome>(outcome: Outcome, username: string): Exclude<Outcome, Refused | undefined> => {
  if (isRefused(outcome)) throw new Error(`${username} was not signed up: ${outcome.refused}`)
  if (outcome === undefined) throw new Error(`${username} was not signed up`)
  return outcome as Exclude<Outcome, Refused | undefined>
}

/** Most users of the tests have the same password. */
const hashes = new Map<string, string>()

const hashOf = async ({ config, rooms }: App, password: string) => {
  const key = `${config.bcryptCost} ${password}`
  const hash = hashes.get(key) ?? (await rooms.passwords.hash(password, client))
  if (typeof hash === 'string') hashes.set(key, hash)
  return hash
}

type NewTestUser = { username: string; email: string; password: string }

/** A new user whose address counts as proven. It leaves no registration and no mail behind. */
export const addUser = async (app: App, { username, email, password }: NewTestUser) => {
  const person = {
    username: orThrow(readUsername(username), username),
    email: orThrow(readEmail(email), username),
    passwordHash: orThrow(await hashOf(app, password), username),
    name: null,
    emailProven: true,
  }
  return orThrow(await app.platform.database.transaction((sql) => app.rooms.newUsers.create(sql, person)), username)
}

/** The same with a session, which begins as after the confirmation of the address: the lines that would set its cookies. */
export const signUpDirectly = async (app: App, given: NewTestUser) => {
  const { config, rooms } = app
  const user = await addUser(app, given)
  const visit = {
    client: { ...client, requestId: randomUUID() },
    trustedDevices: [],
    knownDevices: [],
    earlierSession: undefined,
    facts: factsAtStart({}),
  }
  const entry = orThrow(await rooms.signIns.byRegistration(user, visit), given.username)
  if (!('issued' in entry)) throw new Error(`The sign-in of ${given.username} waits for ${entry.next}`)
  const { accessToken, accessTokenMaxAge, refreshToken, refreshTokenMaxAge, knownDevices = [] } = entry.issued
  const options = { secure: config.production, domain: config.cookieDomain }
  return [
    cookieLine('access_token', accessToken, { ...options, maxAge: accessTokenMaxAge }),
    cookieLine('refresh_token', refreshToken, { ...options, maxAge: refreshTokenMaxAge }),
    cookieLine('known_device', knownDevices.join('.'), { secure: config.production, maxAge: 'as in the table' }),
  ]
}
