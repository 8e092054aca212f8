import type { DeviceWords } from '../contract/device-names.js'
import type { Language } from '../contract/languages.js'
import { mailTokenName, type SiteLink } from '../contract/pages.js'
import type { ChangesInMail } from './configuration-changes.js'

/** The undo link of a mail about a change, and how long it works in milliseconds. */
type UndoLink = { undoToken: string; undoFor: number }
/** How long no other user can have a name or an address, in milliseconds. */
type Reservation = { reservedFor: number }
/** A link or a code that the user has asked for. It works for `validFor` milliseconds. */
type Expiring<Value> = Value & { validFor: number }

/** What an administrator, or support, can do to an account of their groups. */
export type AdministratorChange =
  | 'account_recovered'
  | 'email_set'
  | 'factors_reset'
  | 'fields_changed'
  | 'group_joined'
  | 'group_left'
  | 'limits_cleared'
  | 'password_expired'
  | 'provider_unlinked'
  | 'reset_requested'
  | 'sessions_ended'
  | 'token_ended'
  | 'user_deleted'
  | 'user_disabled'
  | 'user_enabled'
  | 'user_locked_down'

/** What an administrator has done to an application, a resource or a setting. */
export type ConfigurationAction = 'added' | 'changed' | 'deleted'

/**
 * The values that each kind of mail needs. A mail to an unverified address contains nothing that a visitor has typed. Otherwise anyone
 * could send advertisements through the service.
 */
export type MailValues = {
  /** `code` is undefined when all tries for it are used up. */
  'verify-email': Expiring<{ token: string; code: string | undefined }>
  'already-registered': Record<never, never>
  /** `invitedBy` is the name of the inviter, undefined if there is none. A program with a key or an operator has given it. */
  invitation: Expiring<{ token: string; invitedBy: string | undefined }>
  /** To the owner of an account, who can join these groups. Counted with `invitation`. */
  'group-invitation': Expiring<{ token: string; invitedBy: string | undefined; groups: string }>
  'reset-password': Expiring<{ token: string; hasPassword: boolean }>
  'password-changed': { username: string } & UndoLink
  'password-reset': { username: string }
  'step-up-code': Expiring<{ username: string; code: string }>
  'enrolment-code': Expiring<{ username: string; code: string }>
  /** The code and the link work only in the browser that asked for them. */
  'mail-sign-in': Expiring<{ username: string; code: string; token: string }>
  /** To an address that has no account, and with which a user may register. */
  'mail-sign-up': Expiring<{ code: string; token: string }>
  /** To an address with which no one can sign in or register. */
  'no-mail-sign-in': Record<never, never>
  'provider-linked': { username: string; providerName: string } & UndoLink
  'provider-unlinked': { username: string; providerName: string }
  'new-device': { username: string }
  /** A program got a session of its own, at the resource if it is for one. */
  'new-program': { username: string; programName: string; resourceName: string | undefined }
  'device-trusted': { username: string }
  'session-stolen': { username: string }
  /** Somebody has sent the cookies of a bound session without the key of its device. */
  'device-proofs-refused': { username: string }
  /** The right password was entered, and the second step was not finished. */
  'sign-in-unfinished': { username: string }
  'totp-added': { username: string } & UndoLink
  'totp-replaced': { username: string } & UndoLink
  'totp-removed': { username: string }
  'recovery-codes-renewed': { username: string }
  'recovery-code-used': { username: string; left: number }
  'wrong-codes': { username: string }
  'passkey-added': { username: string; passkeyName: string } & UndoLink
  'passkey-removed': { username: string; passkeyName: string }
  'token-made': { username: string; tokenName: string; applications: string } & UndoLink
  'factors-reset': { username: string }
  /** This mail and the next two are about changes by an administrator in the browser. */
  'account-disabled': { username: string }
  'account-enabled': { username: string }
  'account-locked-down': { username: string }
  /** To an administrator whose session is used as an administrator for the first time. */
  'admin-session-began': { username: string }
  'password-expired': { username: string }
  'language-changed': { username: string; newLanguage: Language } & UndoLink
  'username-changed': { username: string; formerUsername: string } & Reservation & UndoLink
  'account-deleted': { username: string; byOperator: boolean }
  /** To the new address of an account. */
  'confirm-email': Expiring<{ token: string; code: string }>
  /** To an address that another user wants, and that has an account or had one until a short time ago. */
  'email-taken': Record<never, never>
  'address-reserved': Reservation
  /** To the present address, when another one is asked for. */
  'email-change-asked': { username: string; newEmail: string } & UndoLink
  /** To the former address of an account. */
  'email-changed': { username: string; newEmail: string } & UndoLink
  /** To the owner of an account that was taken back. With a token if no password was chosen yet. */
  'account-restored': { username: string; byOperator: boolean; token?: string; validFor?: number }
  /** To the address that an account loses through an undo. */
  'email-withdrawn': { username: string }
  /** To every administrator, when one of them changes an application, a resource or a setting. `token`: the id of the event. */
  'configuration-changed': {
    action: ConfigurationAction
    administrator: string
    thing: string
    token: string
  } & ChangesInMail
  /** To every administrator, when one of them, or support, changes an account of their groups. `token`: the id of the event. */
  'administrator-changed': {
    administrator: string
    account: string
    /** `groups`: that it was added to, or removed from. */
    accountChange: { change: AdministratorChange; groups: string | undefined }
    reason: string | undefined
    token: string
  }
}
export type MailKind = keyof MailValues

/**
 * The pages that mails lead to. `setPassword` is the page of `resetPassword`, for an account that has no password yet, and `join` that of
 * `invite`, for a person who has an account.
 */
export type PageInMails =
  | 'login'
  | 'mailLogin'
  | 'forgotPassword'
  | 'resetPassword'
  | 'setPassword'
  | 'verifyEmail'
  | 'confirmEmail'
  | 'invite'
  | 'join'
  | 'undo'
  | 'adminEvent'
  | 'devices'

/** The sentence that says why the recipient gets the mail. `visitor`: a visitor has typed the address, which may have no account. */
export type Footer = 'account' | 'visitor' | 'invited' | 'last'

const mail = <const Part extends string>(footer: Footer, ...parts: Part[]) => ({ footer, parts })

/**
 * Every mail, part by part. Most parts are the name of a sentence in the words of each language. `origin` says who caused the mail, from
 * where and when. Mails to an address that a visitor has typed, or that belongs to a thief after an undo, do not have it. `asker` names
 * only the browser, the system and the time, and `place` only the address and the time. `undo` and `help` are the same in all mails. `help` follows a sentence that tells the reader
 * to ask the administrator, and says where, if SUPPORT_URL is set.
 */
export const mailForms = {
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
  'group-invitation': mail('account', 'opening', 'link:join', 'closing'),
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
  'new-program': mail('account', 'happened', 'place', 'advice', 'link:devices'),
  'device-trusted': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
  'device-proofs-refused': mail('account', 'happened', 'origin', 'advice', 'link:forgotPassword'),
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
  'token-made': mail('account', 'happened', 'origin', 'undo', 'link:undo'),
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
  // What was added comes first.
  'configuration-changed': (values: MailValues['configuration-changed']) =>
    mail(
      'account',
      'happened',
      'origin',
      ...(['added', 'removed', 'before', 'after', 'kept'] as const).filter((part) => values[part] !== undefined),
      ...(values.isShortened ? (['shortened'] as const) : []),
      'advice',
      'link:adminEvent',
    ),
  'administrator-changed': ({ reason }: MailValues['administrator-changed']) =>
    reason === undefined
      ? mail('account', 'happened', 'origin', 'advice', 'link:adminEvent')
      : mail('account', 'happened', 'origin', 'reason', 'advice', 'link:adminEvent'),
  'account-deleted': mail('last', 'happened', 'origin', 'advice', 'help'),
} as const satisfies Record<MailKind, object>

type FormOf<Kind extends MailKind> = (typeof mailForms)[Kind] extends (values: never) => infer Form
  ? Form
  : (typeof mailForms)[Kind]
type PartOf<Kind extends MailKind> =
  FormOf<Kind> extends { parts: readonly (infer Part extends string)[] } ? Part : never
type SentenceOf<Kind extends MailKind> = Exclude<
  PartOf<Kind>,
  `link:${PageInMails}` | 'code' | 'origin' | 'asker' | 'place' | 'undo' | 'help'
>

/** Values that are shown as a span of time. */
export const timeSpans = ['validFor', 'undoFor', 'reservedFor'] as const
type TimeSpan = (typeof timeSpans)[number]

/** The values in the form that a letter needs: times, languages and changes are in its language. */
export type LocalizedValues<Values> = {
  [Name in keyof Values]: Name extends TimeSpan | 'newLanguage' | 'accountChange'
    ? string | Extract<Values[Name], undefined>
    : Values[Name]
}

/** The texts of mails in one language. A sentence that is missing does not compile. */
export type MailWords = {
  /** The words of the button that leads to a page. */
  labels: Record<PageInMails, string>
  footers: Record<Footer, (productName: string) => string>
  /** The same words as on pages. */
  devices: DeviceWords
  /** The same words as on pages. */
  links: Record<SiteLink, string>
  byOperator: (productName: string, time: string) => string
  byClient: (device: string, ip: string, time: string) => string
  byVisitor: (device: string, time: string) => string
  byProgram: (ip: string, time: string) => string
  /** The username in mails while a change of it can be undone: its owner knows the former one. */
  renamed: (formerUsername: string, username: string) => string
  undo: (undoFor: string) => string
  /** In place of the links that an address gets only if it was proven. */
  unproven: string
  accountChanges: Record<AdministratorChange, string>
  /** The sentence before the address of SUPPORT_URL. */
  help: string
  letters: {
    [Kind in MailKind]: (
      values: LocalizedValues<MailValues[Kind]> & { productName: string },
    ) => Record<'subject' | SentenceOf<Kind>, string>
  }
}

export type PageAddress = ReturnType<typeof createPageAddress>

const paths: Record<PageInMails, string> = {
  login: '/login',
  mailLogin: '/login',
  forgotPassword: '/forgot-password',
  resetPassword: '/reset-password',
  setPassword: '/reset-password',
  verifyEmail: '/verify-email',
  confirmEmail: '/confirm-email',
  invite: '/invite',
  join: '/invite',
  undo: '/undo',
  adminEvent: '/api/auth/admin',
  devices: '/api/auth/account-page#devices',
}
const pagesWithoutToken: readonly PageInMails[] = ['login', 'forgotPassword', 'devices']

/** Tokens are in the fragment, which appears in no log and no `Referer`. */
export const createPageAddress = (publicUrl: string) => {
  const base = publicUrl.replace(/\/+$/, '')
  return (page: PageInMails, token?: string) => {
    if (pagesWithoutToken.includes(page)) return base + paths[page]
    if (token === undefined) throw new Error(`A link to ${paths[page]} needs a token`)
    // The id of an event opens nothing: the page asks for a session of an administrator.
    if (page === 'adminEvent') return `${base}${paths[page]}#events/${token}`
    return `${base}${paths[page]}#${page === 'mailLogin' ? mailTokenName : 'token'}=${token}`
  }
}
