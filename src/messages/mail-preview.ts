import type { Language } from '../contract/languages.js'
import { days, hours, minutes } from '../lib/durations.js'
import { asHtml, asText, type Letterhead, letterSite } from './layout.js'
import { type MailKind, type MailValues, mailForms } from './letters.js'
import { writeLetter } from './write-letter.js'

const code = 'K7QP-2MXW'
const username = 'ada'
const undo = { undoToken: 'factor-TOKEN', undoFor: 7 * days }

/** Example values of every mail, for the preview in development and for tests. */
export const mailExamples: MailValues = {
  'verify-email': { token: 'TOKEN', code, validFor: 24 * hours },
  'already-registered': {},
  invitation: { token: 'TOKEN', invitedBy: 'Ada of Acme', validFor: 7 * days },
  'group-invitation': { token: 'TOKEN', invitedBy: 'Ada of Acme', groups: 'acme, acme-admins', validFor: 7 * days },
  'reset-password': { token: 'TOKEN', validFor: 30 * minutes, hasPassword: true },
  'password-changed': { username, ...undo },
  'password-reset': { username },
  'enrolment-code': { username, code, validFor: 10 * minutes },
  'mail-sign-in': { username, code, token: 'the-token', validFor: 10 * minutes },
  'mail-sign-up': { code, token: 'the-token', validFor: 10 * minutes },
  'no-mail-sign-in': {},
  'step-up-code': { username, code, validFor: 10 * minutes },
  'provider-unlinked': { username, providerName: 'Google' },
  'new-device': { username },
  'new-program': { username, programName: 'Helper (programs.example)', resourceName: 'Wiki tools' },
  'device-trusted': { username },
  'session-stolen': { username },
  'device-proofs-refused': { username },
  'sign-in-unfinished': { username },
  'language-changed': { username, newLanguage: 'fr', ...undo },
  'provider-linked': { username, providerName: 'GitHub', ...undo },
  'totp-added': { username, ...undo },
  'totp-replaced': { username, ...undo },
  'totp-removed': { username },
  'recovery-codes-renewed': { username },
  'recovery-code-used': { username, left: 9 },
  'wrong-codes': { username },
  'passkey-added': { username, passkeyName: 'Phone', ...undo },
  'passkey-removed': { username, passkeyName: 'Phone' },
  'token-made': { username, tokenName: 'Phone', applications: 'Photos, Wiki', ...undo },
  'username-changed': {
    username: 'lovelace',
    formerUsername: 'ada',
    reservedFor: 30 * days,
    undoToken: 'TOKEN',
    undoFor: 7 * days,
  },
  'configuration-changed': {
    action: 'changed',
    administrator: 'grace',
    thing: 'Wiki (application)',
    added: 'redirect: https://wiki.example.net/callback',
    removed: 'redirect: https://wiki.example.com/callback',
    before: 'factors: 2',
    after: 'factors: 1',
    kept: 'redirect (3)',
    isShortened: true,
    token: '0190c0de-0000-7000-8000-000000000001',
  },
  'administrator-changed': {
    administrator: 'grace',
    account: 'ada',
    accountChange: { change: 'group_joined', groups: 'administrators' },
    reason: 'ada takes over the helpdesk',
    token: '0190c0de-0000-7000-8000-000000000001',
  },
  'account-deleted': { username, byOperator: false },
  'factors-reset': { username },
  'account-disabled': { username },
  'account-enabled': { username },
  'account-locked-down': { username },
  'admin-session-began': { username },
  'password-expired': { username },
  'confirm-email': { token: 'TOKEN', code, validFor: 24 * hours },
  'email-taken': {},
  'address-reserved': { reservedFor: 7 * days },
  'email-change-asked': { username, newEmail: 'ada@example.org', ...undo },
  'email-changed': { username, newEmail: 'ada@example.org', ...undo },
  'account-restored': { username, byOperator: false, token: 'TOKEN', validFor: 30 * minutes },
  'email-withdrawn': { username },
}

export const mailKinds = Object.keys(mailForms) as MailKind[]
export const isMailKind = (name: string): name is MailKind => mailKinds.some((kind) => kind === name)

export type PreviewedMail = { subject: string; text: string; html: string }

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0'

/** Writes the example of a mail as the service would send it. */
export const previewMail = (letterhead: Letterhead, kind: MailKind, language: Language): PreviewedMail => {
  const { brand, site } = letterSite(letterhead)
  const origin = { client: { ip: '192.0.2.1', userAgent: firefox }, at: new Date('2026-01-31T12:00:00Z') }
  const letter = writeLetter({ kind, values: mailExamples[kind], language, origin }, site)
  return { subject: letter.subject, text: asText(letter), html: asHtml(letter, brand, language) }
}
