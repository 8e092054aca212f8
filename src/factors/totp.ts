import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import type { FormerSecret, Undo } from '../account-changes/undos.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { formerTotpColumn, pendingTotpColumn, totpColumn } from '../keys/sealed-columns.js'
import type { SealedValues } from '../keys/sealed-values.js'
import { type Clock, later } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { equalInConstantTime } from '../lib/random.js'
import { acceptTransaction, type Database, type Transaction } from '../platform/database/database.js'
import * as store from './factors.store.js'
import { readCode } from './recovery-codes.js'

/** RFC 6238 with the values that every authenticator app knows: SHA-1, 6 digits, 30 seconds. */
const period = 30
const digits = 6

/** The clock of a phone may be one step behind or ahead. */
const toleratedDifferences = [0, -1, 1]

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Base32 of RFC 4648 without padding. Each character has five bits. */
export const base32 = (bytes: Uint8Array) => {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

export const fromBase32 = (text: string) => {
  const bits = Array.from(text, (character) => alphabet.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)))
}

/** A secret of 160 bits, in base32. */
export const newSecret = () => base32(randomBytes(20))

export const stepAt = (seconds: number) => Math.floor(seconds / period)

export const codeOf = (secret: string, step: number) => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const hash = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  // RFC 4226, 5.3: the last four bits say where the 31 bits of the code begin.
  const offset = (hash.at(-1) ?? 0) & 0x0f
  const number = hash.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/**
 * The step that a code belongs to, near the given time in seconds since 1970. All tolerated steps are compared, so that the time of the
 * answer shows nothing.
 */
export const stepOfCode = (secret: string, code: string, seconds: number) => {
  const currentStep = stepAt(seconds)
  const steps = toleratedDifferences.map((difference) => currentStep + difference).filter((step) => step >= 0)
  const matchingSteps = steps.filter((step) =>
    equalInConstantTime(Buffer.from(codeOf(secret, step)), Buffer.from(code)),
  )
  return matchingSteps[0]
}

/** The content of the QR code. Apps show the issuer and the account. */
export const otpauthUri = (secret: string, { issuer, account }: { issuer: string; account: string }) => {
  const name = encodeURIComponent(issuer)
  const label = encodeURIComponent(account)
  return `otpauth://totp/${name}:${label}?secret=${secret}&issuer=${name}&algorithm=SHA1&digits=${digits}&period=${period}`
}

/** A value that cannot be opened is a broken row. It must never look like an account without a factor. */
const assertOpened = (secret: string | undefined) => {
  if (secret === undefined) throw new Error('A TOTP secret in the database cannot be opened')
  return secret
}

const pendingLifetime = 10 * minutes

/** `sessionId`: the session that asks for a secret, or the waiting sign-in at an enrolment. `account`: the name that the app shows. */
export type SecretRequest = { userId: string; sessionId: string; account: string }
export type SecretConfirmation = { userId: string; sessionId: string; code: string }

/** `FormerSecret`: the app with this secret works again, and the app that replaced it does not. */
type TotpBefore = 'stays' | 'removed' | FormerSecret

/** What happens to the authenticator app if these changes are taken back. The oldest change of the app decides. */
export const totpBefore = (openUndos: readonly Undo[]): TotpBefore => {
  for (const undo of openUndos) {
    if (undo.kind === 'totp') return 'removed'
    if (undo.kind === 'totp_replaced') return undo.former ?? 'removed'
  }
  return 'stays'
}

/** `productName`: the name that an authenticator app shows. */
type Services = { database: Database; clock: Clock; sealedValues: SealedValues; productName: string }

/**
 * Makes a new secret, and the text of its QR code. The user is shown both, and a code of the app has to confirm the secret. An account has
 * one such secret, the newest.
 */
const offerSecret = async (services: Services, { userId, sessionId, account }: SecretRequest) => {
  const { database, clock, sealedValues, productName } = services
  const secret = newSecret()
  const sealed = sealedValues.of(pendingTotpColumn).seal(userId, secret)
  const expiresAt = later(clock.now(), pendingLifetime)
  await store.replacePending(database, { userId, sessionId, secret: sealed, expiresAt })
  return { secret, uri: otpauthUri(secret, { issuer: productName, account }) }
}

/** The confirmed secret, and the time step of its code, which the caller uses up. The caller holds a lock on the user's row. */
const takeConfirmed = async (
  { clock, sealedValues }: Services,
  sql: Transaction,
  { userId, sessionId, code }: SecretConfirmation,
) => {
  const typedCode = readCode(code)
  const request = { userId, sessionId, now: clock.now(), clockOffset: clock.offset() }
  const [row] = await store.selectPending(sql, request)
  const secret = row && sealedValues.of(pendingTotpColumn).open(userId, row.secret)
  if (!row || secret === undefined) return refuse('no_totp_begun')
  const step = typedCode?.method === 'otp' ? stepOfCode(secret, typedCode.code, row.now_seconds) : undefined
  if (step === undefined) return refuse('wrong_second_factor')
  await store.deletePending(sql, userId)
  return { secret, step }
}

/** Also forgets the wrong codes, which were guesses at the former secret. False if two-step sign-in is off. */
const replaceSecret = async (
  { clock, sealedValues }: Services,
  sql: Transaction,
  userId: string,
  { secret, step }: { secret: string; step: number },
) => {
  const sealed = sealedValues.of(totpColumn).seal(userId, secret)
  const updatedRows = await store.replaceTotp(sql, { userId, secret: sealed, step, clockOffset: clock.offset() })
  await store.forgetWrongCodes(sql, userId)
  return updatedRows.length > 0
}

export type Totp = ReturnType<typeof createTotp>

/** The secret that an account shares with its authenticator app. For a change, the caller holds a lock on the user's row. */
export const createTotp = (services: Services) => {
  const { database, clock, sealedValues } = services
  const secrets = sealedValues.of(totpColumn)
  const formerSecrets = sealedValues.of(formerTotpColumn)

  const find = acceptTransaction(database)(async (sql, userId: string) => {
    const [row] = await store.selectTotp(sql, userId, clock.offset())
    return row
  })

  return {
    /** The time since which the account uses this app. Undefined while TOTP is off. */
    createdAt: async (userId: string) => (await find(userId))?.created_at,

    begin: async (request: SecretRequest) =>
      (await find(request.userId)) ? refuse('totp_is_on') : offerSecret(services, request),

    /** Switches TOTP on. The confirming code is used up. */
    confirm: async (sql: Transaction, confirmation: SecretConfirmation) => {
      const { userId } = confirmation
      if (await find(sql, userId)) return refuse('totp_is_on')
      const confirmed = await takeConfirmed(services, sql, confirmation)
      if (isRefused(confirmed)) return confirmed
      const { secret, step } = confirmed
      await store.insertTotp(sql, { userId, secret: secrets.seal(userId, secret), step, clockOffset: clock.offset() })
      return undefined
    },

    /** The time step of a code. Undefined if the code is wrong. */
    matchingStep: async (userId: string, code: string) => {
      const row = await find(userId)
      return row && stepOfCode(assertOpened(secrets.open(userId, row.secret)), code, row.now_seconds)
    },
    /** False if a code of this step, or of a later step, was used before. */
    useStep: async (sql: Transaction, userId: string, step: number) =>
      (await store.acceptStep(sql, userId, step)).length > 0,

    /** Switches TOTP off. False if it was off before. */
    remove: async (sql: Transaction, userId: string) => (await store.deleteTotp(sql, userId)).length > 0,

    /** Shows a new secret. The present app goes on working until the new one is confirmed. */
    beginReplacement: async (request: SecretRequest) =>
      (await find(request.userId)) ? offerSecret(services, request) : refuse('totp_is_off'),

    /**
     * Replaces the app, and returns the former secret that the undo link brings back. `before`: what would happen to the app if the
     * earlier changes were taken back. The undo link must not bring back an app that may be a thief's, even after the earlier undo links
     * have expired.
     */
    confirmReplacement: async (sql: Transaction, confirmation: SecretConfirmation, before: TotpBefore) => {
      const { userId } = confirmation
      const current = await find(sql, userId)
      if (!current) return refuse('totp_is_off')
      const confirmed = await takeConfirmed(services, sql, confirmation)
      if (isRefused(confirmed)) return confirmed
      await replaceSecret(services, sql, userId, confirmed)
      if (before === 'removed') return { former: undefined }
      const former =
        before === 'stays' ? secrets.open(userId, current.secret) : formerSecrets.open(before.id, before.sealed)
      const id = randomUUID()
      return { former: { id, sealed: formerSecrets.seal(id, assertOpened(former)) } satisfies FormerSecret }
    },

    /** Lets the app from before a replacement work again, and no other app. False if two-step sign-in is off. */
    restore: (sql: Transaction, userId: string, { id, sealed }: FormerSecret) =>
      replaceSecret(services, sql, userId, { secret: assertOpened(formerSecrets.open(id, sealed)), step: 0 }),
  }
}
