import { createClient } from '#client/client.js'
import { fetchInLanguage } from '#client/fetch-in-language.js'
import { readSettings } from './settings.js'

/** The client of every page. Its requests name the language of the page, so that mails are in that language, too. */
export const client = createClient({ fetch: (...request) => fetchInLanguage(readSettings().language)(...request) })
