import { applicationIdOf } from '#contract/authorization-request-id.js'
import { siteStorage, tabStorage } from './storage.js'

export const authorizePath = '/api/auth/authorize'
const key = 'latchkey.application'

/** The request id in a path of this site: its query may be followed by a fragment. */
const requestIn = (returnTo: string) => {
  if (!URL.canParse(returnTo, location.origin)) return null
  const { origin, pathname, searchParams } = new URL(returnTo, location.origin)
  return origin === location.origin && pathname === authorizePath ? searchParams.get('request') : null
}

/** For mails: the id of the application to which the visitor returns. */
export const applicationIdIn = (returnTo: string | undefined) => {
  const request = returnTo === undefined ? null : requestIn(returnTo)
  return request === null ? undefined : applicationIdOf(request) || undefined
}

/** Also for other tabs, which a link in a mail opens. */
export const rememberApplication = (request: string, name: string) => {
  for (const storage of [tabStorage, siteStorage]) storage.write(key, JSON.stringify({ request, name }))
}

const nameIn = (text: string | undefined, request: string) => {
  try {
    const stored = JSON.parse(text ?? '{}') as { request?: unknown; name?: unknown }
    return stored.request === request && typeof stored.name === 'string' ? stored.name : undefined
  } catch {
    return undefined
  }
}

/**
 * The application that sent the visitor here, and to which they return. The service has told its name to this browser for this very
 * request: a link cannot make the page show another one.
 */
export const applicationToReturnTo = (returnTo: string | undefined) => {
  const request = returnTo === undefined ? null : requestIn(returnTo)
  if (request === null) return undefined
  return nameIn(tabStorage.read(key), request) ?? nameIn(siteStorage.read(key), request)
}
