import { createClient } from '#client/client.js'
import { readSettings } from './settings.js'

const { language } = readSettings()

/** The service, for every page. An application may have asked for another language than the browser's: mails are in it, too. */
export const client = createClient({
  fetch: (address, { headers, ...init } = {}) =>
    fetch(address, { ...init, headers: { ...Object.fromEntries(new Headers(headers)), 'accept-language': language } }),
})
