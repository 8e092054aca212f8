import { randomUUID } from 'node:crypto'
import type { FormerSecret } from '../account-changes/undos.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { formerTotpColumn, totpColumn } from '../keys/sealed-columns.js'
import type { SealedValues } from '../keys/sealed-values.js'
import type { Clock } from '../lib/clock.js'
import type { Database, Transaction } from '../platform/database/database.js'
import type { CodeLimit } from './code-limit.js'
import * as store from './factors.store.js'
import type { PendingSecrets, SecretConfirmation, SecretRequest } from './pending-secrets.js'
import { assertOpened } from './totp-secrets.js'

type Dependencies = {
  database: Database
  clock: Clock
  sealedValues: SealedValues
  pendingSecrets: PendingSecrets
  codeLimit: Pick<CodeLimit, 'forget'>
}

export type AppReplacements = ReturnType<typeof createAppReplacements>

/** Replaces the authenticator app of an account by another. Recovery codes stay. */
export const createAppReplacements = ({ database, clock, sealedValues, pendingSecrets, codeLimit }: Dependencies) => {
  const secrets = sealedValues.of(totpColumn)
  const formerSecrets = sealedValues.of(formerTotpColumn)

  /** Also forgets the wrong codes, which were guesses at the former secret. False if two-step sign-in is off. */
  const replaceSecret = async (sql: Transaction, userId: string, secret: string, step: number) => {
    const sealed = secrets.seal(userId, secret)
    const updatedRows = await store.replaceTotp(sql, { userId, secret: sealed, step, clockOffset: clock.offset() })
    await codeLimit.forget(sql, userId)
    return updatedRows.length > 0
  }

  return {
    /** Shows a new secret. The present app goes on working until the new one is confirmed. */
    begin: async (request: SecretRequest) => {
      const [current] = await store.selectTotp(database, request.userId, clock.offset())
      return current ? pendingSecrets.create(request) : refuse('totp_is_off')
    },

    /**
     * Replaces the app, and returns the former secret that the undo link brings back. The caller holds a lock on the user's row.
     * `totpBefore`: what would happen to the app if the earlier changes were taken back. The undo link must not bring back an app that may
     * be a thief's, even after the earlier undo links have expired.
     */
    confirm: async (
      sql: Transaction,
      confirmation: SecretConfirmation,
      totpBefore: 'stays' | 'removed' | FormerSecret,
    ) => {
      const { userId } = confirmation
      const [current] = await store.selectTotp(sql, userId, clock.offset())
      if (!current) return refuse('totp_is_off')
      const newTotp = await pendingSecrets.confirm(sql, confirmation)
      if (isRefused(newTotp)) return newTotp
      await replaceSecret(sql, userId, newTotp.secret, newTotp.step)
      if (totpBefore === 'removed') return { former: undefined }
      const former =
        totpBefore === 'stays'
          ? secrets.open(userId, current.secret)
          : formerSecrets.open(totpBefore.id, totpBefore.sealed)
      const id = randomUUID()
      return { former: { id, sealed: formerSecrets.seal(id, assertOpened(former)) } satisfies FormerSecret }
    },

    /** Lets the app from before a replacement work again, and no other app. False if two-step sign-in is off. */
    restore: (sql: Transaction, userId: string, { id, sealed }: FormerSecret) =>
      replaceSecret(sql, userId, assertOpened(formerSecrets.open(id, sealed)), 0),
  }
}
