import { randomInt } from 'node:crypto'
import { type Clock, later } from '../../lib/clock.js'
import { hours } from '../../lib/durations.js'
import { fingerprint, randomToken, sameBytes } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Database, Sql } from '../../platform/database/database.js'
import { readEmail } from '../users/email.js'
import { readUsername } from '../users/username.js'
import type { NewUser, User, Users } from '../users/users.js'
import * as store from './registrations.store.js'

export const registrationLifetime = 24 * hours
const tries = 5
const codeLetters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
const codeLength = 8

export type Pending = { id: string; email: string; passwordHash: string; user: NewUser }
type Completed = User | { refused: 'invalid' | 'email_taken' | 'username_taken' }

const newCode = () => Array.from({ length: codeLength }, () => codeLetters[randomInt(codeLetters.length)]).join('')

/** People type codes in lower case and with the dash; both mean the same code. */
const normalCode = (code: string) => code.toUpperCase().replaceAll(/[^A-Z0-9]/g, '')

/** A code is short, so it is kept only together with the browser's secret, which nobody can guess. */
const codeFingerprint = (code: string, browser: string) => fingerprint(`${browser}:${normalCode(code)}`)

const toPending = (row: store.PendingRow): Pending => {
  const email = readEmail(row.email)
  const username = readUsername(row.username)
  if ('refused' in email || 'refused' in username)
    throw new Error('A pending registration holds a name that is no longer allowed')
  return {
    id: row.id,
    email: row.email,
    passwordHash: row.password_hash,
    user: { email, username, name: row.name, passwordHash: row.password_hash },
  }
}

export type Registrations = ReturnType<typeof createRegistrations>

export const createRegistrations = ({ database, users, clock }: { database: Database; users: Users; clock: Clock }) => {
  const findByBrowser = async (token: string, browser: string | undefined) => {
    const [row] = await store.selectByToken(database, fingerprint(token), clock.now())
    if (!row) return { refused: 'invalid' as const }
    if (!browser || !sameBytes(fingerprint(browser), row.browser_hash)) return { refused: 'password_required' as const }
    return toPending(row)
  }

  return {
    /** Keeps a registration until its address is proven. The three secrets leave by different ways: mail, mail, cookie. */
    begin: async (sql: Sql, user: NewUser) => {
      const now = clock.now()
      const secrets = { token: randomToken(), code: newCode(), browser: randomToken() }
      await store.insertPending(sql, {
        id: uuidv7(now),
        email: user.email.email,
        username: user.username.username,
        name: user.name,
        passwordHash: user.passwordHash,
        tokenHash: fingerprint(secrets.token),
        codeHash: codeFingerprint(secrets.code, secrets.browser),
        browserHash: fingerprint(secrets.browser),
        tries,
        expiresAt: later(now, registrationLifetime),
      })
      return secrets
    },

    findByBrowser,

    /** The caller must still compare the password; the try is spent already. */
    findForPassword: async (token: string) => {
      const [row] = await store.spendTryByToken(database, fingerprint(token), clock.now())
      return row ? toPending(row) : { refused: 'invalid' as const }
    },

    findByCode: async (code: string, browser: string | undefined) => {
      const [row] = browser ? await store.spendTryByBrowser(database, fingerprint(browser), clock.now()) : []
      if (!browser || !row || !sameBytes(codeFingerprint(code, browser), row.code_hash)) {
        return { refused: 'invalid' as const }
      }
      return toPending(row)
    },

    /** The account comes into being, once: whoever comes second finds nothing to complete. */
    complete: (pending: Pending): Promise<Completed> =>
      database.transaction(async (sql): Promise<Completed> => {
        const [mine] = await store.lockById(sql, pending.id)
        if (!mine) return { refused: 'invalid' }
        const created = await users.createWithPassword(sql, pending.user)
        if (!('refused' in created) || created.refused === 'email_taken') await store.deleteById(sql, pending.id)
        return created
      }),

    purge: async (sql: Sql, limit: number) => (await store.purge(sql, clock.now(), limit)).length,
  }
}
