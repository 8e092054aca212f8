import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import type { FormerSecret } from '../account-changes/undos.js'
import { inGroups, withoutGroups } from '../contract/factors.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { formerTotpColumn, pendingTotpColumn, totpColumn } from '../keys/sealed-columns.js'
import type { SealedValues } from '../keys/sealed-values.js'
import { type Clock, later } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { equalInConstantTime } from '../lib/random.js'
import { acceptTransaction, type Database, type Transaction } from '../platform/database/database.js'
import * as store from './factors.store.js'
import type { CodeLimit } from './prove-code.js'

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

type TotpSecretsDependencies = {
  database: Database
  clock: Clock
  sealedValues: SealedValues
  pendingSecrets: PendingSecrets
}

/** A value that cannot be opened is a broken row. It must never look like an account without a factor. */
const assertOpened = (secret: string | undefined) => {
  if (secret === undefined) throw new Error('A TOTP secret in the database cannot be opened')
  return secret
}

export type TotpSecrets = ReturnType<typeof createTotpSecrets>

/** The secret that an account shares with its authenticator app. */
export const createTotpSecrets = ({ database, clock, sealedValues, pendingSecrets }: TotpSecretsDependencies) => {
  const secrets = sealedValues.of(totpColumn)

  const find = acceptTransaction(database)(async (sql, userId: string) => {
    const [row] = await store.selectTotp(sql, userId, clock.offset())
    return row
  })

  return {
    /** The time since which the account uses this app. Undefined while TOTP is off. */
    createdAt: acceptTransaction(database)(async (sql, userId: string) => (await find(sql, userId))?.created_at),

    begin: async (request: SecretRequest) =>
      (await find(request.userId)) ? refuse('totp_is_on') : pendingSecrets.create(request),

    /** Switches TOTP on. The caller holds a lock on the user's row. The confirming code is used up. */
    confirm: async (sql: Transaction, confirmation: SecretConfirmation) => {
      const { userId } = confirmation
      if (await find(sql, userId)) return refuse('totp_is_on')
      const newTotp = await pendingSecrets.confirm(sql, confirmation)
      if (isRefused(newTotp)) return newTotp
      const { secret, step } = newTotp
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
  }
}

const codeCount = 10

/** Crockford's base32, which has no I, L, O and U. Each character has five bits. */
const codeAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 12 characters have 60 bits. */
const codeLength = 12

const newCode = () => Array.from(randomBytes(codeLength), (byte) => codeAlphabet[byte % codeAlphabet.length]).join('')

/** Ten codes, in groups of four so that they can be read and copied. */
export const newRecoveryCodes = () => Array.from({ length: codeCount }, () => inGroups(newCode()))

/** Replaces characters that are often misread from a screen or from paper by those that codes have. */
const withoutLookalikes = (code: string) => code.replaceAll('O', '0').replaceAll(/[IL]/g, '1').replaceAll('U', 'V')

/** Reads a code that a user typed or pasted. Its form says which kind it is. Undefined if it has the form of none. */
export const readCode = (typed: string) => {
  const text = withoutGroups(typed)
  if (/^\d{6}$/.test(text)) return { method: 'otp' as const, code: text }
  return text.length === codeLength ? { method: 'rec' as const, code: withoutLookalikes(text) } : undefined
}

const pendingLifetime = 10 * minutes

type PendingSecretsDependencies = {
  database: Database
  clock: Clock
  sealedValues: SealedValues
  /** The name that an authenticator app shows. */
  productName: string
}

/** `sessionId`: the session that asks for a secret, or the challenge at an enrolment. `account`: the name that the app shows. */
export type SecretRequest = { userId: string; sessionId: string; account: string }
export type SecretConfirmation = { userId: string; sessionId: string; code: string }

type PendingSecrets = ReturnType<typeof createPendingSecrets>

/** Secrets that were shown to a user and wait until a code of the app confirms them. An account has one such secret, the newest. */
export const createPendingSecrets = ({ database, clock, sealedValues, productName }: PendingSecretsDependencies) => {
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

type AppReplacementsDependencies = {
  database: Database
  clock: Clock
  sealedValues: SealedValues
  pendingSecrets: PendingSecrets
  codeLimit: CodeLimit
}

export type AppReplacements = ReturnType<typeof createAppReplacements>

/** Replaces the authenticator app of an account by another. Recovery codes stay. */
export const createAppReplacements = ({
  database,
  clock,
  sealedValues,
  pendingSecrets,
  codeLimit,
}: AppReplacementsDependencies) => {
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
