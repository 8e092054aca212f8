import { createClient } from '#client/client.js'
import { fetchInLanguage } from '#client/fetch-in-language.js'
import { readSettings } from './settings.js'

/** The service, for every page. An application may have asked for another language than the browser's: mails are in it, too. */
export const client = createClient({ fetch: fetchInLanguage(readSettings().language) })
