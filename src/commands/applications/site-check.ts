import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import { startPath } from '../../access-check/host-addresses.js'
import type { Application } from '../../applications/application-rules.js'
import { settingsElement } from '../../contract/pages.js'
import { codeOf } from '../../lib/caught.js'
import { seconds } from '../../lib/durations.js'
import { randomToken } from '../../lib/random.js'

/**
 * What was found at the site of a protected application. `error`: users are not protected, or cannot get in. `unreachable`: perhaps only
 * from this machine.
 */
export type SiteFinding = { level: 'ok' | 'warning' | 'error' | 'unreachable'; says: string }

const visitTimeout = 5 * seconds
const longestBody = 64 * 1024

type Visit = { status: number; location: string; body: string } | { fault: string }

const isTlsFault = (code: string) => /CERT|SSL|TLS|SELF_SIGNED|UNABLE_TO|ERR_TLS|EPROTO/.test(code)

const faultOf = (error: unknown) => {
  const code = String(codeOf(error) ?? 'unknown')
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'its name is not known on this machine'
  if (code === 'ECONNREFUSED') return 'nothing listens there'
  if (code === 'EPROTO')
    return `it does not speak TLS on this port, or has no certificate for this name: the proxy lacks this site (${code})`
  return isTlsFault(code)
    ? `its certificate cannot be used (${code}). NODE_EXTRA_CA_CERTS names the file of a certificate authority of your own`
    : `it does not answer (${code})`
}

/** Asks as a visitor who has just typed the address. Nothing is followed. */
const visit = (url: URL, headers: Readonly<Record<string, string>> = {}) =>
  new Promise<Visit>((resolve) => {
    const { request } = url.protocol === 'https:' ? https : http
    const navigation = { accept: 'text/html', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const options = {
      agent: false,
      headers: { ...navigation, 'sec-fetch-site': 'none', ...headers },
      // Otherwise it would be that of the Host header.
      ...(isIP(url.hostname) === 0 && { servername: url.hostname }),
    }
    const sent = request(url, options, (answer) => {
      let body = ''
      const finish = () => {
        clearTimeout(timer)
        answer.destroy()
        resolve({ status: answer.statusCode ?? 0, location: answer.headers.location ?? '', body })
      }
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text
        if (body.length > longestBody) finish()
      })
      answer.on('end', finish).on('error', finish)
    })
    const timer = setTimeout(
      () => sent.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })),
      visitTimeout,
    )
    sent.on('error', (error) => {
      clearTimeout(timer)
      resolve({ fault: faultOf(error) })
    })
    sent.end()
  })

/** nginx has one more step, at the site itself, where a host gets none of our cookies. */
const afterOwnStep = async (seen: Visit, site: URL) => {
  const step = 'fault' in seen || !URL.canParse(seen.location) ? undefined : new URL(seen.location)
  return step?.origin === site.origin && step.pathname === startPath ? visit(step) : seen
}

const codeIn = (body: string) => /"code":"([a-z_]+)"/.exec(body)?.[1]

/** The first answer to a stranger: whether the site is behind the check at all. */
const judgeFirst = (seen: Visit, origin: string, publicUrl: string): SiteFinding => {
  if ('fault' in seen) return { level: 'unreachable', says: `${origin} cannot be reached: ${seen.fault}` }
  const { status, location, body } = seen
  const isLedAway = status >= 300 && status < 400
  if (isLedAway && location.startsWith(`${publicUrl}/`))
    return { level: 'ok', says: `${origin}/ asks Latchkey, and leads strangers to ${publicUrl}` }
  if (isLedAway)
    return {
      level: 'error',
      says: `${origin} leads strangers to ${URL.canParse(location, origin) ? new URL(location, origin).origin : location}, and not to ${publicUrl}: register the address at which the application is, or put the check before this redirect`,
    }
  if (codeIn(body) === 'not_protected')
    return {
      level: 'error',
      says: `the proxy of ${origin} asks Latchkey about another address: another port, http instead of https, or another host. The log of Latchkey names it`,
    }
  if (status === 400 && codeIn(body) === 'bad_request')
    return {
      level: 'error',
      says: `the check of ${origin} is not understood. The log of Latchkey names the header; TRUST_PROXY must have the address of the proxy`,
    }
  if (status >= 500)
    return { level: 'error', says: `${origin} answers ${status}: the proxy gets no answer from Latchkey` }
  if (status === 401 || status === 403)
    return { level: 'error', says: `${origin} answers ${status}, and leads nobody to the sign-in page` }
  return { level: 'error', says: `${origin} answers a stranger with ${status}: it is not behind the check` }
}

/** A path of its own may have been given rules of its own, which come before the check. */
const judgeOtherPath = (seen: Visit, address: string, first: Visit): SiteFinding[] => {
  if ('fault' in seen || 'fault' in first || seen.status === first.status) return []
  return [
    {
      level: 'error',
      says: `${address} answers a stranger with ${seen.status}, and the first page with ${first.status}: part of the site is not behind the check`,
    },
  ]
}

/** Whether a stranger who is led away finds the sign-in page. */
const judgeOwnHost = (seen: Visit, publicUrl: string): SiteFinding[] => {
  const page = `${publicUrl}/login`
  if ('fault' in seen)
    return [{ level: 'unreachable', says: `nobody can sign in: ${page} cannot be reached: ${seen.fault}` }]
  if (seen.status === 200 && seen.body.includes(`id="${settingsElement}"`)) return []
  return [
    {
      level: 'error',
      says: `nobody can sign in: ${page} answers ${seen.status}, and it is not the sign-in page. Lead this host to Latchkey, without the check`,
    },
  ]
}

/** Whether the check is shown a header of the visitor that names a user: it refuses such a request. */
const judgeIdentity = (seen: Visit, origin: string): SiteFinding[] =>
  'fault' in seen || seen.status === 400
    ? []
    : [
        {
          level: 'warning',
          says: `${origin}: a header of a visitor that names a user does not reach the check. If the proxy removes all of them (X-Auth-…), that is good; otherwise the application believes them: leave authRequestHeaders out`,
        },
      ]

const judgeOtherHost = (seen: Visit, origin: string): SiteFinding[] =>
  'fault' in seen || codeIn(seen.body) !== 'not_protected'
    ? []
    : [
        {
          level: 'warning',
          says: `the proxy of ${origin} gives this application to every host name: a visitor chooses the name, and with it the rule. Add a first server that refuses (default_server)`,
        },
      ]

const judgePlain = (seen: Visit, host: string): SiteFinding[] =>
  'fault' in seen || seen.status >= 300
    ? []
    : [{ level: 'error', says: `http://${host}/ answers ${seen.status} without TLS: redirect it to https` }]

/** Only an open page that repeats what it was sent shows this. */
const judgeCookies = (seen: Visit, address: string, marker: string): SiteFinding[] =>
  'fault' in seen || !seen.body.includes(marker)
    ? []
    : [
        {
          level: 'error',
          says: `${address} was sent a cookie of Latchkey: let the proxy copy Cookie from the answer of the check`,
        },
      ]

const isOpenAt = ({ pathname }: URL, openPaths: readonly string[]) =>
  openPaths.some((path) => path.endsWith('/') && pathname.startsWith(path))

/** Asks the site as strangers would. It changes nothing there. */
export const checkSite = async (
  { openPaths }: Pick<Application, 'openPaths'>,
  proxyOrigin: string,
  publicUrl: string,
): Promise<SiteFinding[]> => {
  const site = new URL(proxyOrigin)
  const start = await visit(site)
  const first = judgeFirst(await afterOwnStep(start, site), proxyOrigin, publicUrl)
  if (first.level !== 'ok') return [first]
  const otherPath = new URL(`/api/${randomToken()}`, site)
  const marker = randomToken()
  const openPath = openPaths.find((path) => path.startsWith('/'))
  const openPage = openPath === undefined ? undefined : new URL(openPath, site)
  const isUsual = site.protocol === 'https:' && site.port === ''
  const [ownHost, other, identity, otherHost, plain, page] = await Promise.all([
    visit(new URL(`${publicUrl}/login`)),
    visit(otherPath),
    visit(site, { 'x-auth-user-id': 'check' }),
    visit(site, { host: 'check.invalid' }),
    isUsual ? visit(new URL(`http://${site.host}/`)) : undefined,
    openPage && visit(openPage, { cookie: `access_token=${marker}` }),
  ])
  return [
    first,
    ...judgeOwnHost(ownHost, publicUrl),
    ...(isOpenAt(otherPath, openPaths) ? [] : judgeOtherPath(other, otherPath.href, start)),
    ...judgeIdentity(identity, proxyOrigin),
    ...judgeOtherHost(otherHost, proxyOrigin),
    ...(plain ? judgePlain(plain, site.host) : []),
    ...(page && openPage ? judgeCookies(page, openPage.href, marker) : []),
  ]
}
