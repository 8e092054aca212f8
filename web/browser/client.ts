import { createClient } from '#client/client.js'
import { readSettings } from './settings.js'

/** The service, for every page. An application may have asked for another language than the browser's: mails are in it, too. */
export const client = createClient({ language: readSettings().language })
