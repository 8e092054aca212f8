import { createClient } from '#client/client.js'
import { fetchInLanguage } from '#client/fetch-in-language.js'
import { readSettings } from './settings.js'

/** The service, for every page. The page may be in another language than the browser's: mails are in it, too. */
export const client = createClient({ fetch: (...request) => fetchInLanguage(readSettings().language)(...request) })
