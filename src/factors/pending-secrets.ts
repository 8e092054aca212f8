import { refuse } from '../contract/outcome.js'
import { pendingTotpColumn } from '../keys/sealed-columns.js'
import type { SealedValues } from '../keys/sealed-values.js'
import { type Clock, later } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import type { Database, Transaction } from '../platform/database/database.js'
import { readCode } from './code-format.js'
import * as store from './factors.store.js'
import { newSecret, otpauthUri, stepOfCode } from './totp.js'

const pendingLifetime = 10 * minutes

type Dependencies = {
  database: Database
  clock: Clock
  sealedValues: SealedValues
  /** The name that an authenticator app shows. */
  productName: string
}

/** `sessionId`: the session that asks for a secret, or the challenge at an enrolment. `account`: the name that the app shows. */
export type SecretRequest = { userId: string; sessionId: string; account: string }
export type SecretConfirmation = { userId: string; sessionId: string; code: string }

export type PendingSecrets = ReturnType<typeof createPendingSecrets>

/** Secrets that were shown to a user and wait until a code of the app confirms them. An account has one such secret, the newest. */
export const createPendingSecrets = ({ database, clock, sealedValues, productName }: Dependencies) => {
  const { seal, open } = sealedValues.of(pendingTotpColumn)

  return {
    /** Makes a new secret, and the text of its QR code. The user is shown both. */
    create: async ({ userId, sessionId, account }: SecretRequest) => {
      const secret = newSecret()
      const expiresAt = later(clock.now(), pendingLifetime)
      await store.replacePending(database, { userId, sessionId, secret: seal(userId, secret), expiresAt })
      return { secret, uri: otpauthUri(secret, { issuer: productName, account }) }
    },

    /** The confirmed secret, and the time step of its code, which the caller uses up. The caller holds a lock on the user's row. */
    confirm: async (sql: Transaction, { userId, sessionId, code }: SecretConfirmation) => {
      const typedCode = readCode(code)
      const request = { userId, sessionId, now: clock.now(), clockOffset: clock.offset() }
      const [row] = await store.selectPending(sql, request)
      const secret = row && open(userId, row.secret)
      if (!row || secret === undefined) return refuse('no_totp_begun')
      const step = typedCode?.method === 'otp' ? stepOfCode(secret, typedCode.code, row.now_seconds) : undefined
      if (step === undefined) return refuse('wrong_second_factor')
      await store.deletePending(sql, userId)
      return { secret, step }
    },
  }
}
