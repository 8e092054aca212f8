import { refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import { equalInConstantTime, fingerprint, randomToken } from '../lib/random.js'
import { uuidv7 } from '../lib/uuid.js'
import type { Database, Transaction } from '../platform/database/database.js'
import { ownersAmong, type SecretHash } from './applications.js'
import * as store from './applications.store.js'

/** An application has one secret, or two while the old one is being replaced. */
export const maxSecrets = 2

export type ApplicationSecret = { id: string; createdAt: Date }

const readHashes = async (database: Database): Promise<SecretHash[]> =>
  (await store.selectHashes(database)).map(({ id, name, hash }) => ({ id, name, hash }))

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

  list: async (applicationId: string): Promise<ApplicationSecret[]> =>
    (await store.selectSecrets(database, applicationId)).map(({ id, created_at }) => ({ id, createdAt: created_at })),

  /** Every stored secret is compared, so that the time does not show which one was right. */
  isRight: async (applicationId: string, secret: string) => {
    const givenHash = fingerprint(secret)
    const matches = (await store.selectSecrets(database, applicationId)).map(({ hash }) =>
      equalInConstantTime(hash, givenHash),
    )
    return matches.includes(true)
  },

  /** The hashes of all secrets, with the application of each. */
  hashes: () => readHashes(database),

  /** The application that has this secret. */
  findOwner: async (secret: string) => ownersAmong(await readHashes(database), secret)[0],
})
