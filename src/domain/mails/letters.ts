import type { Language } from '../../contract/languages.js'
import { english } from './letters-english.js'
import { french } from './letters-french.js'
import { german } from './letters-german.js'
import { namesOrigin, type Origin, writtenOrigin } from './origin.js'

/** The undo link of a mail about a change, and how long it works in milliseconds. */
type UndoLink = { undoToken: string; undoFor: number }
/** How long no other user can have a name or an address, in milliseconds. */
type Reserved = { reservedFor: number }

/**
 * The values that each kind of mail needs. A mail to an unverified address contains nothing that the visitor typed:
 * otherwise anyone could send advertisements through the service.
 */
export type MailValues = {
  'verify-email': {
    token: string
    /** Missing when all tries for it are used up. */
    code: string | undefined
    /** Milliseconds. */
    validFor: number
  }
  'already-registered': Record<never, never>
  invitation: { token: string /** Milliseconds. */; validFor: number }
  'reset-password': { token: string /** Milliseconds. */; validFor: number; hasPassword: boolean }
  'password-changed': { username: string } & UndoLink
  'password-reset': { username: string }
  'step-up-code': { username: string; code: string /** Milliseconds. */; validFor: number }
  'enrolment-code': { username: string; code: string /** Milliseconds. */; validFor: number }
  'provider-linked': { username: string; providerName: string } & UndoLink
  'provider-unlinked': { username: string; providerName: string }
  'new-device': { username: string }
  'device-trusted': { username: string }
  'session-stolen': { username: string }
  /** The right password was entered, and the second step not finished. */
  'sign-in-unfinished': { username: string }
  'totp-added': { username: string } & UndoLink
  'totp-removed': { username: string }
  'recovery-codes-renewed': { username: string }
  'recovery-code-used': { username: string; left: number }
  'wrong-codes': { username: string }
  'passkey-added': { username: string; passkeyName: string } & UndoLink
  'passkey-removed': { username: string; passkeyName: string }
  'factors-reset': { username: string }
  'password-expired': { username: string }
  'language-changed': { username: string; newLanguage: Language } & UndoLink
  'username-changed': { username: string; formerUsername: string } & Reserved & UndoLink
  'account-deleted': { username: string; byOperator: boolean }
  /** To the new address. */
  'confirm-email': { token: string /** Milliseconds. */; validFor: number }
  /** To an address that another user wants, and that has an account or had one until a short time ago. */
  'email-taken': Record<never, never>
  'address-reserved': Reserved
  /** To the present address, when another one is asked for. */
  'email-change-asked': { username: string; newEmail: string } & UndoLink
  /** To the address before. */
  'email-changed': { username: string; newEmail: string } & UndoLink
  /** After an account was taken back, to its owner. With a token if no password was chosen yet. */
  'account-restored': { username: string; byOperator: boolean; token?: string /** Milliseconds. */; validFor?: number }
  /** To the address that the account had until then. */
  'email-withdrawn': { username: string }
}
export type MailKind = keyof MailValues

/** The parts of a mail. A link has its own line, so that every mail program recognises it. */
export type Block = { text: string } | { link: string; label: string } | { code: string }
export type Letter = { subject: string; blocks: Block[]; footer: string }

export type Site = { productName: string; addresses: Addresses }
export type Letters = { [Kind in MailKind]: (values: MailValues[Kind], site: Site) => Letter }
export type AccountLetters = Pick<
  Letters,
  'language-changed' | 'username-changed' | 'account-deleted' | 'password-expired'
>
export type SignInLetters = Pick<Letters, 'new-device' | 'device-trusted' | 'session-stolen' | 'sign-in-unfinished'>

/** They stand in a file of their own for each language. */
export type EmailLetters = Pick<
  Letters,
  | 'confirm-email'
  | 'email-taken'
  | 'address-reserved'
  | 'email-change-asked'
  | 'email-changed'
  | 'account-restored'
  | 'email-withdrawn'
>

export type Addresses = ReturnType<typeof addressesOf>

/** Tokens are in the fragment, which appears in no log and no `Referer`. */
export const addressesOf = (publicUrl: string) => {
  const base = publicUrl.replace(/\/+$/, '')
  return {
    login: `${base}/login`,
    forgotPassword: `${base}/forgot-password`,
    invite: (token: string) => `${base}/invite#token=${token}`,
    verifyEmail: (token: string) => `${base}/verify-email#token=${token}`,
    resetPassword: (token: string) => `${base}/reset-password#token=${token}`,
    confirmEmail: (token: string) => `${base}/confirm-email#token=${token}`,
    undo: (token: string) => `${base}/undo#token=${token}`,
  }
}

const lettersIn: Record<Language, Letters> = { en: english, de: german, fr: french }

type Request<Kind extends MailKind> = { kind: Kind; values: MailValues[Kind]; language: Language; origin: Origin }

/** Who did it stands between what happened, with its link or code, and what to do about it. */
const withOrigin = (blocks: readonly Block[], origin: Block) => {
  const advice = blocks.findIndex((block, index) => index > 0 && 'text' in block)
  return advice === -1 ? [...blocks, origin] : [...blocks.slice(0, advice), origin, ...blocks.slice(advice)]
}

export const writeLetter = <Kind extends MailKind>(
  { kind, values, language, origin }: Request<Kind>,
  site: Site,
): Letter => {
  const letter = lettersIn[language][kind](values, site)
  if (!namesOrigin(kind)) return letter
  const text = writtenOrigin(origin, site.productName, language)
  return { ...letter, blocks: withOrigin(letter.blocks, { text }) }
}
