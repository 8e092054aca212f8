import type { Fetch } from './requests.js'

/** For our own pages only, so it is no part of the client. Mails that a request causes are in this language. */
export const fetchInLanguage =
  (language: string): Fetch =>
  (address, { headers, ...init } = {}) =>
    fetch(address, { ...init, headers: { ...Object.fromEntries(new Headers(headers)), 'accept-language': language } })
