import { de } from './de.js'
import { en, type Words } from './en.js'
import { fr } from './fr.js'

export type { Words } from './en.js'

/** Every language there is. web/build.mjs writes this out for the server, which hands each page its own part. */
export const catalogue: Record<string, Words> = { en, de, fr }

/** The parts of the catalogue that each page is given, its own first. A page cannot name a text it does not get. */
export const sections = {
  login: ['login', 'common'],
  register: ['register', 'common', 'password'],
  'verify-email': ['verify-email', 'common'],
  'forgot-password': ['forgot-password', 'common'],
  'reset-password': ['reset-password', 'common', 'password'],
  dashboard: ['dashboard', 'common', 'password'],
} as const satisfies Record<string, readonly (keyof Words)[]>

export type PageName = keyof typeof sections
export type WordsOf<Page extends PageName> = Pick<Words, (typeof sections)[Page][number]>
