import type { DeviceWords } from '../../contract/device-names.js'
import { type Language, languageName } from '../../contract/languages.js'
import type { SiteLink } from '../../contract/site-links.js'
import { timeSpan } from '../../contract/time-spans.js'

/** The undo link of a mail about a change, and how long it works in milliseconds. */
type UndoLink = { undoToken: string; undoFor: number }
/** How long no other user can have a name or an address, in milliseconds. */
type Reserved = { reservedFor: number }
/** A link or a code that was asked for. It works for so many milliseconds. */
type Expiring<Value> = Value & { validFor: number }

/**
 * The values that each kind of mail needs. A mail to an unverified address contains nothing that the visitor typed:
 * otherwise anyone could send advertisements through the service.
 */
export type MailValues = {
  /** Without a code when all tries for it are used up. */
  'verify-email': Expiring<{ token: string; code: string | undefined }>
  'already-registered': Record<never, never>
  invitation: Expiring<{ token: string }>
  'reset-password': Expiring<{ token: string; hasPassword: boolean }>
  'password-changed': { username: string } & UndoLink
  'password-reset': { username: string }
  'step-up-code': Expiring<{ username: string; code: string }>
  'enrolment-code': Expiring<{ username: string; code: string }>
  /** Both work only in the browser that asked. */
  'mail-sign-in': Expiring<{ username: string; code: string; token: string }>
  /** To an address without an account, which may have one. */
  'mail-sign-up': Expiring<{ code: string; token: string }>
  /** To an address with which no one can sign in or register. */
  'no-mail-sign-in': Record<never, never>
  'provider-linked': { username: string; providerName: string } & UndoLink
  'provider-unlinked': { username: string; providerName: string }
  'new-device': { username: string }
  'device-trusted': { username: string }
  'session-stolen': { username: string }
  /** The right password was entered, and the second step not finished. */
  'sign-in-unfinished': { username: string }
  'totp-added': { username: string } & UndoLink
  'totp-replaced': { username: string } & UndoLink
  'totp-removed': { username: string }
  'recovery-codes-renewed': { username: string }
  'recovery-code-used': { username: string; left: number }
  'wrong-codes': { username: string }
  'passkey-added': { username: string; passkeyName: string } & UndoLink
  'passkey-removed': { username: string; passkeyName: string }
  'factors-reset': { username: string }
  /** Changes by an administrator in the browser. */
  'account-disabled': { username: string }
  'account-enabled': { username: string }
  'account-locked-down': { username: string }
  /** To an administrator: a session is used as one for the first time. */
  'admin-session-began': { username: string }
  'password-expired': { username: string }
  'language-changed': { username: string; newLanguage: Language } & UndoLink
  'username-changed': { username: string; formerUsername: string } & Reserved & UndoLink
  'account-deleted': { username: string; byOperator: boolean }
  /** To the new address. */
  'confirm-email': Expiring<{ token: string; code: string }>
  /** To an address that another user wants, and that has an account or had one until a short time ago. */
  'email-taken': Record<never, never>
  'address-reserved': Reserved
  /** To the present address, when another one is asked for. */
  'email-change-asked': { username: string; newEmail: string } & UndoLink
  /** To the address before. */
  'email-changed': { username: string; newEmail: string } & UndoLink
  /** After an account was taken back, to its owner. With a token if no password was chosen yet. */
  'account-restored': { username: string; byOperator: boolean; token?: string; validFor?: number }
  /** To the address that the account had until then. */
  'email-withdrawn': { username: string }
}
export type MailKind = keyof MailValues

/** The pages that mails lead to. `setPassword` is that of `resetPassword`, for an account that has none yet. */
export type PageInMails =
  | 'login'
  | 'mailLogin'
  | 'forgotPassword'
  | 'resetPassword'
  | 'setPassword'
  | 'verifyEmail'
  | 'confirmEmail'
  | 'invite'
  | 'undo'

/** The sentence that says why the recipient gets the mail. `visitor`: the address was typed by a visitor, and may have no account. */
export type Footer = 'account' | 'visitor' | 'invited' | 'last'

const mail = <const Part extends string>(footer: Footer, ...parts: Part[]) => ({ footer, parts })

/**
 * Every mail, part by part. A name is a sentence in the words of each language. `origin` says who did it, from where and when: mails
 * to an address that a visitor has typed, or that belongs to a thief after an undo, do not say it. `asker` names only the browser, the
 * system and the time. `undo` is the same in all mails, and so is `help`: where the administrator is reached,
 * after a sentence that tells to ask, if SUPPORT_URL says it.
 */
export const forms = {
  'verify-email': mail('visitor', 'opening', 'link:verifyEmail', 'codeLead', 'code', 'closing'),
  'already-registered': mail(
    'account',
    'happened',
    'signIn',
    'link:login',
    'forgotten',
    'link:forgotPassword',
    'closing',
  ),
  'address-reserved': mail('visitor', 'happened', 'signIn', 'link:login', 'closing'),
  invitation: mail('invited', 'opening', 'link:invite', 'closing'),
  'reset-password': ({ hasPassword }: MailValues['reset-password']) =>
    mail('account', 'opening', hasPassword ? 'link:resetPassword' : 'link:setPassword', 'origin', 'closing'),
  'password-changed': mail('account', 'happened', 'origin', 'wasYou', 'undo', 'link:undo'),
  'password-reset': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'password-expired': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'step-up-code': mail('account', 'opening', 'code', 'origin', 'closing'),
  'enrolment-code': mail('account', 'opening', 'code', 'origin', 'closing', 'link:forgotPassword'),
  'mail-sign-in': mail('account', 'opening', 'code', 'origin', 'linkLead', 'link:mailLogin', 'closing'),
  'mail-sign-up': mail('visitor', 'opening', 'code', 'asker', 'linkLead', 'link:mailLogin', 'closing'),
  'no-mail-sign-in': mail('visitor', 'happened', 'asker', 'advice', 'help'),
  'new-device': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'device-trusted': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'session-stolen': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'sign-in-unfinished': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'wrong-codes': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'provider-linked': mail('account', 'happened', 'origin', 'undo', 'link:undo'),
  'provider-unlinked': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'totp-added': mail('account', 'happened', 'origin', 'undo', 'link:undo'),
  'totp-replaced': mail('account', 'happened', 'origin', 'undo', 'link:undo'),
  'totp-removed': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'recovery-codes-renewed': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword', 'help'),
  'recovery-code-used': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'passkey-added': mail('account', 'happened', 'origin', 'undo', 'link:undo'),
  'passkey-removed': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'factors-reset': mail('account', 'happened', 'origin', 'advice', 'link:login', 'help'),
  'account-disabled': mail('account', 'happened', 'origin', 'advice', 'help'),
  'account-enabled': mail('account', 'happened', 'link:login', 'origin'),
  'account-locked-down': mail('account', 'happened', 'origin', 'advice', 'help'),
  'admin-session-began': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'language-changed': mail('account', 'happened', 'origin', 'undo', 'link:undo'),
  'username-changed': mail('account', 'happened', 'origin', 'undo', 'link:undo'),
  'confirm-email': mail('visitor', 'opening', 'link:confirmEmail', 'codeLead', 'code', 'closing'),
  'email-taken': mail('visitor', 'happened', 'signIn', 'link:login', 'closing'),
  'email-change-asked': mail('account', 'happened', 'origin', 'advice', 'link:undo'),
  'email-changed': mail('account', 'happened', 'origin', 'advice', 'link:undo'),
  'account-restored': ({ token }: MailValues['account-restored']) =>
    token === undefined
      ? mail('account', 'happened', 'origin', 'signIn', 'link:login', 'notChosen')
      : mail('account', 'happened', 'origin', 'choose', 'link:resetPassword', 'expiry'),
  'email-withdrawn': mail('account', 'happened', 'advice', 'link:forgotPassword'),
  'account-deleted': mail('last', 'happened', 'origin', 'advice', 'help'),
} as const satisfies Record<MailKind, object>

type FormOf<Kind extends MailKind> = (typeof forms)[Kind] extends (values: never) => infer Form
  ? Form
  : (typeof forms)[Kind]
type PartOf<Kind extends MailKind> =
  FormOf<Kind> extends { parts: readonly (infer Part extends string)[] } ? Part : never
type SentenceOf<Kind extends MailKind> = Exclude<
  PartOf<Kind>,
  `link:${PageInMails}` | 'code' | 'origin' | 'asker' | 'undo' | 'help'
>

const timeSpans = ['validFor', 'undoFor', 'reservedFor'] as const
type TimeSpan = (typeof timeSpans)[number]
const isTimeSpan = (name: string) => timeSpans.some((each) => each === name)

/** The values as a letter gets them: times and languages are written in its language already. */
type LocalizedValues<Values> = {
  [Name in keyof Values]: Name extends TimeSpan | 'newLanguage'
    ? string | Extract<Values[Name], undefined>
    : Values[Name]
}

export const localizedValues = <Values extends object>(values: Values, language: Language) => {
  const written = Object.entries(values).map(([name, value]) => {
    if (typeof value === 'number' && isTimeSpan(name)) return [name, timeSpan(value, language)]
    return [name, name === 'newLanguage' ? languageName(value, language) : value]
  })
  return Object.fromEntries(written) as LocalizedValues<Values>
}

/** The texts of mails in one language. A sentence that is missing does not compile. */
export type MailWords = {
  /** The words of the button that leads to a page. */
  labels: Record<PageInMails, string>
  footers: Record<Footer, (productName: string) => string>
  /** As pages name them. */
  devices: DeviceWords
  /** As pages name them. */
  links: Record<SiteLink, string>
  byOperator: (productName: string, time: string) => string
  byClient: (device: string, ip: string, time: string) => string
  byVisitor: (device: string, time: string) => string
  /** An account whose username was changed, as long as that can be undone: its owner knows the name from before. */
  renamed: (formerUsername: string, username: string) => string
  undo: (undoFor: string) => string
  /** In front of the address of SUPPORT_URL. */
  help: string
  letters: {
    [Kind in MailKind]: (
      values: LocalizedValues<MailValues[Kind]> & { productName: string },
    ) => Record<'subject' | SentenceOf<Kind>, string>
  }
}
