import { applicationIdOf } from '#contract/openid.js'
import { siteStorage, tabStorage } from './storage.js'

export const authorizePath = '/api/auth/authorize'
const key = 'latchkey.application'

/** The id of the request in a path of this site. A fragment may follow the query, so the path is parsed as a URL. */
const requestIdIn = (returnTo: string) => {
  if (!URL.canParse(returnTo, location.origin)) return null
  const { origin, pathname, searchParams } = new URL(returnTo, location.origin)
  return origin === location.origin && pathname === authorizePath ? searchParams.get('request') : null
}

/** For mails: the id of the application to which the visitor returns. */
export const applicationIdIn = (returnTo: string | undefined) => {
  const request = returnTo === undefined ? null : requestIdIn(returnTo)
  return request === null ? undefined : applicationIdOf(request) || undefined
}

/** The name is stored for other tabs, too, because a link in a mail opens a new one. */
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
 * The name of the application that sent the visitor here, and to which they return. The service has told it to this browser for this
 * very request, so a link cannot make the page show another name.
 */
export const nameOfApplicationIn = (returnTo: string | undefined) => {
  const request = returnTo === undefined ? null : requestIdIn(returnTo)
  if (request === null) return undefined
  return nameIn(tabStorage.read(key), request) ?? nameIn(siteStorage.read(key), request)
}
