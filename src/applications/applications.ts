import { refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import { equalInConstantTime, fingerprint, randomToken } from '../lib/random.js'
import { uuidv7 } from '../lib/uuid.js'
import type { Database, Transaction } from '../platform/database/database.js'
import type { Application } from './application-rules.js'
import * as store from './applications.store.js'

export type { Application } from './application-rules.js'

/** The `client_id` of the protocol. */
export const clientIdOf = ({ id, document }: Pick<Application, 'id' | 'document'>) => document ?? id

/** The part of an application that users see. */
export const publicApplication = ({ name, home }: Application) => ({ name, home })

/** Why devices without a browser may not sign in with the application. The developer of the program reads it, so it is ASCII. */
export const deviceFlowFault = ({ kind, deviceFlow }: Application) => {
  if (deviceFlow) return undefined
  return kind === 'native'
    ? 'The device flow is off for this client. An operator switches it on: latchkey application change NAME --device'
    : 'Only a client of the kind native can have the device flow'
}

/** Who may use an application. */
export type Access = { access: Application['access']; groups: readonly string[] }

/** Whether a user who is in these groups may use the application. */
export const mayUse = ({ access, groups }: Access, userGroups: readonly string[]) =>
  access === 'everyone' || groups.some((group) => userGroups.includes(group))

/** Where pages get the icon of an application. */
export const iconPath = '/api/auth/application-icons'

/** The address changes with the icon. */
const iconAddress = (id: string, version: string | undefined) =>
  version === undefined ? null : `${iconPath}/${id}?v=${version}`

export type NamedApplication = { id: string; name: string }

export type Applications = ReturnType<typeof createApplications>

/** Finds applications for everything that signs users in. Operators change them with `application-changes`. */
export const createApplications = ({ database }: { database: Database }) => ({
  /** Whether there is any application or resource. While there is none, the OpenID Connect provider is not loaded. */
  exist: async () => (await store.selectExists(database))[0]?.exist ?? false,

  find: async (id: string) => (await store.selectById(database, id))[0],
  findByName: async (name: string) => (await store.selectByName(database, name))[0],
  list: () => store.selectAll(database),
  /** The applications that a member of these groups may open in a browser. */
  usableBy: async (groups: readonly string[]) => {
    const [all, icons] = await Promise.all([store.selectAll(database), store.selectIcons(database)])
    const versions = new Map(icons.map(({ id, version }) => [id, version]))
    return all
      .filter(
        (application) =>
          application.kind !== 'document' && /^https?:\/\//.test(application.home) && mayUse(application, groups),
      )
      .map(({ id, name, home }) => ({ id, name, home, icon: iconAddress(id, versions.get(id)) }))
  },
  /** A text for each icon that changes with it, by the id of the application. */
  iconVersions: async () => new Map((await store.selectIcons(database)).map(({ id, version }) => [id, version])),
  /** The address of the icon, or null. */
  iconAddressOf: async (id: string) => iconAddress(id, (await store.selectIconVersion(database, id))[0]?.version),
  iconOf: async (id: string) => (await store.selectIcon(database, id))[0]?.png,
})

/** An application has one secret, or two while the old one is being replaced. */
export const maxSecrets = 2

export type ApplicationSecret = { id: string; createdAt: Date }

/** An application, its version (another one after every change of its row), and whether a secret is one of its own. */
export type SecretOwner = { application: Application; version: string; isRight: (secret: string) => boolean }

/** Each hash is compared, so that the time does not show which one was right. */
const ownerFrom = ({ application, version, hashes }: StoredOwner): SecretOwner => ({
  application,
  version,
  isRight: (secret) => {
    const givenHash = fingerprint(secret)
    return hashes.map((hash) => equalInConstantTime(hash, givenHash)).includes(true)
  },
})
type StoredOwner = Awaited<ReturnType<typeof store.selectAllWithSecrets>>[number]

/**
 * A client that was authenticated from memory. The statement that answers it finds nothing if the client has changed since, or has lost the
 * secret that it sent.
 */
export type RememberedClient = { version: string; secretHash: Uint8Array | null }

export type ApplicationSecrets = ReturnType<typeof createApplicationSecrets>

/** The secrets with which applications of the kind `web` authenticate. Only hashes are kept. */
export const createApplicationSecrets = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** Adds a secret to an application whose row the caller holds. The operator sees it only now. */
  add: async (sql: Transaction, applicationId: string, secret = randomToken()) => {
    if ((await store.selectSecrets(sql, applicationId)).length >= maxSecrets) return refuse('too_many_secrets')
    const id = uuidv7(clock.now())
    await store.insertSecret(sql, { id, applicationId, hash: fingerprint(secret), clockOffset: clock.offset() })
    return { id, secret }
  },

  /**
   * Removes a secret of an application whose row the caller holds. Without an `id` it is the older one. The last secret stays, because the
   * application could sign no user in without it.
   */
  remove: async (sql: Transaction, applicationId: string, id?: string) => {
    const secrets = await store.selectSecrets(sql, applicationId)
    const secretToRemove = id === undefined ? secrets[0] : secrets.find((secret) => secret.id === id)
    if (!secretToRemove) return refuse('no_secret')
    if (secrets.length === 1) return refuse('last_secret')
    await store.deleteSecret(sql, applicationId, secretToRemove.id)
    return { id: secretToRemove.id }
  },

  /** Makes these the secrets of an application whose row the caller holds. One that stays keeps its id. */
  replace: async (sql: Transaction, applicationId: string, secrets: readonly string[]) => {
    const wanted = secrets.map(fingerprint)
    const kept = await store.selectSecrets(sql, applicationId)
    for (const { id, hash } of kept)
      if (!wanted.some((each) => equalInConstantTime(each, hash))) await store.deleteSecret(sql, applicationId, id)
    for (const hash of wanted)
      if (!kept.some((each) => equalInConstantTime(each.hash, hash)))
        await store.insertSecret(sql, { id: uuidv7(clock.now()), applicationId, hash, clockOffset: clock.offset() })
  },

  list: async (applicationId: string): Promise<ApplicationSecret[]> =>
    (await store.selectSecrets(database, applicationId)).map(({ id, created_at }) => ({ id, createdAt: created_at })),

  findOwnerOf: async (applicationId: string): Promise<SecretOwner | undefined> =>
    (await store.selectWithSecrets(database, applicationId)).map(ownerFrom)[0],

  /** Every application. */
  owners: async (): Promise<SecretOwner[]> => (await store.selectAllWithSecrets(database)).map(ownerFrom),

  /** The application that has this secret. Every hash is compared, so that the time does not show which one was right. */
  findOwner: async (secret: string): Promise<NamedApplication | undefined> => {
    const givenHash = fingerprint(secret)
    const [owner] = (await store.selectHashes(database)).filter(({ hash }) => equalInConstantTime(hash, givenHash))
    return owner && { id: owner.id, name: owner.name }
  },
})

/** The issuer of ID tokens and logout tokens. Access tokens have another issuer, so that neither kind passes for the other. */
export const applicationIssuer = (publicUrl: string) => `${publicUrl}/api/auth`

const maxLength = 200

/**
 * Quotes a value of a request in a sentence for operators. It is shortened, and in printable ASCII, so that it cannot control a terminal or
 * a page.
 */
export const quoted = (value: string) => {
  const printable = value.slice(0, maxLength).replaceAll(/[^\x20-\x7e]|`/g, '?')
  return `\`${printable}${value.length > maxLength ? '…' : ''}\``
}

/** For an application whose secret came as a client_id. The secret itself is in no sentence. */
export const swappedSentence = 'The id and the secret are swapped: the secret was sent as client_id'

const shownLength = 8

/** An unknown client_id may be a secret that was pasted into the wrong field, so no more than its beginning is shown. */
export const unknownClientSentence = (clientId: string) => {
  const beginning = clientId.slice(0, shownLength)
  return `The client_id ${quoted(clientId.length > shownLength ? `${beginning}...` : beginning)} is not known`
}

const reasonEnd = ': no_access, the user is in none of its groups'

/** The reason of the event `application_refused` if the user has no access. */
export const noAccessReason = (applicationName: string) => `${applicationName}${reasonEnd}`

/** The name of the application that such a reason is about. Undefined for another reason. */
export const applicationWithoutAccess = (reason: string | null) =>
  reason?.endsWith(reasonEnd) ? reason.slice(0, -reasonEnd.length) : undefined

const maxShown = 3

/** A sentence for operators only, because it says which addresses are registered. */
export const unregisteredSentence = (parameter: string, address: string, registered: readonly string[]) => {
  const firstAddresses = registered.slice(0, maxShown).map(quoted).join(', ')
  if (registered.length === 0) return `${parameter} ${quoted(address)} is not registered, and no other is`
  return `${parameter} ${quoted(address)} is not registered, ${firstAddresses} ${registered.length === 1 ? 'is' : 'are'}`
}
