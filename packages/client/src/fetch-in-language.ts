import type { Fetch } from './requests.js'

/** For our own pages. It is no part of the client, which other pages load. Mails that a request causes are in this language. */
export const fetchInLanguage =
  (language: string): Fetch =>
  (address, { headers, ...init } = {}) =>
    fetch(address, { ...init, headers: { ...Object.fromEntries(new Headers(headers)), 'accept-language': language } })
