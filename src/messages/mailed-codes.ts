import { createHmac, randomUUID } from 'node:crypto'
import { inGroups, withoutGroups } from '../contract/factors.js'
import { refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import { type Clock, later } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { equalInConstantTime, type Key } from '../lib/random.js'
import type { Database, Sql } from '../platform/database/database.js'
import type { MailKind, MailValues } from './letters.js'
import * as store from './links-and-codes.store.js'
import type { Mails } from './mails.js'

/** The alphabet of codes, without letters and digits that look alike. */
const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
const bytesPerLetter = 4

const codeWith = (key: Key, id: string) => {
  const digest = createHmac('sha256', key).update(id).digest()
  const starts = Array.from({ length: digest.length / bytesPerLetter }, (_, index) => index * bytesPerLetter)
  return starts.map((start) => letters[digest.readUInt32BE(start) % letters.length]).join('')
}

const mailedCodeLifetime = 10 * minutes
const tries = 5

/** Deletes the mailed codes of a user, so that none of them works any more. */
export const forgetMailedCodes = async (sql: Sql, userId: string) => {
  await store.deleteCodesOfUser(sql, userId)
}

type Dependencies = { database: Database; clock: Clock; codeKeys: readonly Key[]; mails: Mails }
type Recipient = { id: string; email: string; username: string }
/** The kinds of mails whose only content is such a code. */
type CodeMail = {
  [Kind in MailKind]: { username: string; code: string; validFor: number } extends MailValues[Kind]
    ? MailValues[Kind] extends { code: string }
      ? Kind
      : never
    : never
}[MailKind]
/** The purpose of a code. `mail`: the mail that has it. `boundTo`: the id of the session or the sign-in that can use it. */
type Purpose = { mail: CodeMail; boundTo: string }
const holderOf = ({ mail, boundTo }: Purpose) => `${mail} ${boundTo}`

/** Short codes that prove that the user can read the mails of the account. */
export const createMailedCodes = ({ database, clock, codeKeys, mails }: Dependencies) => {
  // A code is computed from the id of a row with the first of our keys, so every mail about the row has the same code, and the database does
  // not have it.
  const [newestKey] = codeKeys
  const codeOf = (id: string) => {
    // A command that sends no mail works without keys.
    if (!newestKey) throw new Error('There is no key to make codes with')
    return inGroups(codeWith(newestKey, id))
  }
  const isCodeOf = (id: string, typedCode: string) => {
    const givenCode = Buffer.from(withoutGroups(typedCode))
    return codeKeys.some((key) => equalInConstantTime(Buffer.from(codeWith(key, id)), givenCode))
  }

  return {
    /** The code in groups, as mails show it. Also for codes that are not stored here, such as that of a registration. */
    codeOf,
    isCodeOf,
    /** Mails a new code, which replaces the earlier one. */
    send: async (purpose: Purpose, { id: userId, email: to, username }: Recipient, client: Client) => {
      const id = randomUUID()
      const expiresAt = later(clock.now(), mailedCodeLifetime)
      const values = { code: codeOf(id), validFor: mailedCodeLifetime, username }
      await database.transaction(async (sql) => {
        const refusal = await mails.queue(sql, { to, userId, template: purpose.mail, values, client })
        // If no new mail is sent, the code of the last mail still works.
        if (!refusal) await store.upsertCode(sql, { holder: holderOf(purpose), id, userId, tries, expiresAt })
      })
    },
    /** The id of the code if it is right. The code stays valid until `take`. */
    check: async (purpose: Purpose, userId: string, code: string) => {
      const [row] = await store.spendTry(database, holderOf(purpose), userId, clock.now())
      if (!row) return refuse('mailed_code_void')
      if (isCodeOf(row.id, code)) return { id: row.id }
      return refuse(row.tries_left > 0 ? 'wrong_mailed_code' : 'mailed_code_void')
    },
    take: async (sql: Sql, id: string) => (await store.takeCode(sql, id)).length > 0,
  }
}
