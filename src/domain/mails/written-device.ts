import type { Language } from '../../contract/languages.js'

/** "Firefox, Windows": names that are the same in every language. */
export const writtenDevice = ({ browser, system }: { browser: string | null; system: string | null }) =>
  [browser, system].filter((part) => part !== null).join(', ') || undefined

/** "15 November 2026 at 12:00 UTC" */
export const writtenTime = (moment: Date, language: Language) =>
  new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
  })
    .format(moment)
    .concat(' UTC')
