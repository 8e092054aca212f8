import type { Language } from './languages.js'
import type { ProfileFieldDefinition } from './profile-fields.js'
import type { ProviderId } from './providers.js'
import type { TermsOfUse, UsernameSource } from './schemas.js'

/** Each page has its name as its path. */
export const pageNames = [
  'login',
  'register',
  'verify-email',
  'forgot-password',
  'reset-password',
  'second-factor',
  'step-up',
  'invite',
  'confirm-email',
  'undo',
  'dashboard',
] as const

/** Pages at addresses of the protocol, to which applications send their users. */
export const protocolPageNames = ['authorize', 'device', 'end-session'] as const

/** The page of administrators, at `/api/auth/admin`. */
const adminPageName = 'admin'

/** The page of the first start, at `/api/auth/setup`. */
const setupPageName = 'setup'

export type PageName =
  | (typeof pageNames)[number]
  | (typeof protocolPageNames)[number]
  | typeof adminPageName
  | typeof setupPageName

/** `REGISTRATION`: who may create an account. */
export type RegistrationMode = 'open' | 'invited' | 'closed'

export type ProviderButton = {
  id: ProviderId
  name: string
  path: string
  /** The operator's file (`PROVIDER_<NAME>_LOGO_URL`). */
  logo?: string | undefined
}

/** The settings of a page at its start. All but `parameters` and `maybeSignedIn` are the same for every visitor with this language. */
export type PageSettings = {
  language: Language
  productName: string
  providers: ProviderButton[]
  registration: RegistrationMode
  usernames: UsernameSource
  /** `SECOND_FACTOR`: whether every account needs a second factor. */
  secondFactor: 'optional' | 'required'
  /** `MAIL_SIGN_IN`: whether users can sign in with a mailed code. */
  mailSignIn: boolean
  /** `BOUND_SESSIONS`: whether browsers that can do it bind their sessions to the device. */
  boundSessions: boolean
  /** Whether nothing is mailed (production without `SMTP_URL`), so that nothing that needs a mail is offered. */
  mailIsOff: boolean
  /** A path of this site, used after a sign-in if no other page was requested. */
  afterSignIn: string
  /** Other sites to which a sign-in may lead back. */
  allowedOrigins: readonly string[]
  /** Further fields of the registration (PROFILE_FIELDS_FILE). */
  registrationFields: readonly ProfileFieldDefinition[]
  /** The terms that new users agree to. */
  terms?: TermsOfUse | undefined
  /** `SUPPORT_URL`: where users find help. */
  supportUrl?: string | undefined
  /** Whether this process keeps the mails, for /dev/mailbox. */
  hasMailbox: boolean
  /** The parameters that an application has sent as a form. Otherwise they are in the URL. */
  parameters?: string
  /** The browser has sent a session cookie, which was not checked. The page asks the service before it shows a form. */
  maybeSignedIn?: boolean
}

/** Changes the language of the pages in this browser: `?to=es`. With `&page=login` it answers with the words of that page. */
export const languageSwitch = '/api/auth/language'

/**
 * Draws the HTML that a page shows before its script has loaded. The build makes this function from web/first-cards. `words` are the texts
 * that `settingsElement` holds.
 */
export type DrawFirstCard = (page: PageName, settings: PageSettings & { words: Record<string, unknown> }) => string

/** The element of the page that holds its settings, and the texts of its language, as JSON. */
export const settingsElement = 'settings'

/** The element that says that the script of the page has not come. The script removes it. */
export const notCompleteElement = 'not-complete'

/** `?notice=` at the login page: why the visitor is there. */
export const loginNotices = [
  'device_lost',
  'signed_out',
  'signed_out_everywhere',
  'sign_in',
  'connect_device',
  'other_account',
  'session_ended',
  'password_reset',
  'account_deleted',
] as const

export type LoginNotice = (typeof loginNotices)[number]

/** The name of the mailed token in the fragment of the login page. */
export const mailTokenName = 'mail'

/** `?error=` after a sign-in with a provider, if the service itself had a fault. */
export const callbackFailed = 'callback_failed'

/** `?error=` after a sign-in with this provider that failed there, or that we have refused: then `&reason=` may say why. */
export const signInFailed = (provider: ProviderId) => `${provider}_auth_failed` as const

export const providerOfFailure = <Provider extends { id: ProviderId }>(error: string, providers: Provider[]) =>
  providers.find(({ id }) => signInFailed(id) === error)

/** `&reason=` beside `?error=`. No other reason is shown, because it could reveal whether an account exists. */
export const publicReasons = [
  'cancelled',
  'no_email',
  'registration_closed',
  'invitation_required',
  'email_domain_not_allowed',
  'too_many_requests',
] as const

export type PublicReason = (typeof publicReasons)[number]

/** `?provider=provider-a` at the login page (the name as in paths, not the id): the provider whose button has the focus. */
export const providerParameter = 'provider'

/** `?linking=` at the account page (`dashboard`): the provider whose link the page has to finish. */
export const linkingParameter = 'linking'

/** Pages of the operator, in the footer of pages and mails: TERMS_URL, PRIVACY_URL, IMPRINT_URL, SUPPORT_URL. */
const siteLinks = ['terms', 'privacy', 'imprint', 'support'] as const

export type SiteLink = (typeof siteLinks)[number]

export type SiteLinks = Partial<Record<SiteLink, string>>

/**
 * The mail address of a `mailto:` link; undefined for any other link. The mail address is shown as text, so that the reader can write
 * to it from any program.
 */
export const mailAddressIn = (address: string) =>
  address.startsWith('mailto:') ? new URL(address).pathname : undefined

/** The links that are set, in the order of the footer. */
export const labelledLinks = (links: SiteLinks, labels: Readonly<Record<SiteLink, string>>) =>
  siteLinks.flatMap((name) => {
    const address = links[name]
    return address === undefined ? [] : [{ name, label: labels[name], address }]
  })

/** An undo link takes back a change of the email, or any other change: a new factor, a new username and so on (`factor`). */
export type UndoLinkKind = 'factor' | 'email'

/** The token begins with the kind of its link, so that the page of the link knows which call to make. */
export const undoTokenFor = (linkKind: UndoLinkKind, random: string) => `${linkKind}-${random}`

export const isUndoOfEmail = (token: string) => token.startsWith('email-')

/** The id of a stored request begins with the id of its application, so that the application is known even after the request is over. */
export const applicationIdOf = (requestId: string) => requestId.slice(0, Math.max(requestId.lastIndexOf('.'), 0))
