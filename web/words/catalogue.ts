import type { Language } from '#contract/languages.js'
import type { PageName } from '#contract/pages.js'
import { operatorRefusals } from '#contract/refusals.js'
import type { Words } from './en.js'
import { wordsIn } from './words-in.js'

export type { Words } from './en.js'

/** "E-Mail" is not divided at its hyphen at the end of a line. */
const withUnbrokenEmail = (words: Words): Words =>
  JSON.parse(JSON.stringify(words).replaceAll(/\b(e)-(?=mail)/gi, '$1\u2011'))

/** Every language. web/build.mjs writes this out for the server, which gives each page its sections. */
export const catalogue = Object.fromEntries(
  Object.entries<Words>(wordsIn).map(([language, words]) => [language, withUnbrokenEmail(words)]),
) as Record<keyof typeof wordsIn, Words> satisfies Record<Language, Words>

/** The refusals that only the page of administrators can get. The other pages are smaller without their sentences. */
export const operatorCodes: readonly string[] = Object.keys(operatorRefusals)

/** The sections of the catalogue that each page gets, its own first. */
export const sections = {
  login: ['login', 'mail-login', 'common', 'refusals', 'passkeys', 'profile-fields'],
  register: ['register', 'common', 'refusals', 'password', 'profile-fields'],
  'verify-email': ['verify-email', 'common', 'refusals'],
  'forgot-password': ['forgot-password', 'common', 'refusals'],
  'reset-password': ['reset-password', 'common', 'refusals', 'password'],
  'second-factor': [
    'second-factor',
    'enrolment',
    'two-step',
    'step-up',
    'passkeys',
    'common',
    'refusals',
    'profile-fields',
  ],
  'step-up': ['step-up', 'common', 'refusals', 'passkeys'],
  authorize: ['authorize', 'step-up', 'common', 'refusals', 'passkeys'],
  device: ['device', 'authorize', 'step-up', 'common', 'refusals', 'passkeys'],
  'confirm-email': ['confirm-email', 'common', 'refusals'],
  'end-session': ['end-session', 'common', 'step-up', 'refusals'],
  undo: ['undo', 'common', 'refusals', 'password'],
  setup: [
    'setup',
    'setup-proxy',
    'register',
    'enrolment',
    'two-step',
    'step-up',
    'passkeys',
    'common',
    'refusals',
    'password',
  ],
  invite: ['invite', 'register', 'common', 'refusals', 'password', 'profile-fields'],
  dashboard: [
    'dashboard',
    'next-steps',
    'account-life',
    'tokens',
    'profile-fields',
    'two-step',
    'passkeys',
    'change-email',
    'common',
    'refusals',
    'password',
    'step-up',
  ],
  admin: [
    'admin',
    'configuration',
    'next-steps',
    'dashboard',
    'profile-fields',
    'common',
    'refusals',
    'step-up',
    'passkeys',
    'not-found',
  ],
} as const satisfies Record<PageName, readonly (keyof Words)[]>
