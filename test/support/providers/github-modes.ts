import type { Address, GitHubBehaviour } from './github.js'
import type { Mode } from './issuer-modes.js'
import { json, replies } from './replies.js'

const primary: Address = { email: 'ada@example.com', primary: true, verified: true }
const secondary = (number: number): Address => ({ email: `ada${number}@example.com`, primary: false, verified: true })
const fullPage = Array.from({ length: 100 }, (_, number) => secondary(number))

const tokenModes: Mode<GitHubBehaviour>[] = [
  ['the token endpoint answers 500', { instead: { token: replies.serverError } }, 'failed'],
  ['the token endpoint answers with a page', { instead: { token: replies.html } }, 'failed'],
  [
    'the token endpoint answers with a form',
    { instead: { token: (r) => r.end('access_token=x&token_type=bearer') } },
    'failed',
  ],
  ['the token endpoint redirects', { instead: { token: replies.redirect } }, 'failed'],
  ['the token endpoint hangs up', { instead: { token: replies.hangUp } }, 'failed'],
  ['the token endpoint is huge', { instead: { token: replies.huge } }, 'failed'],
  ['the token endpoint is endless', { instead: { token: replies.endless } }, 'failed'],
  [
    'the code is not accepted, with status 200',
    { instead: { token: json({ error: 'bad_verification_code' }) } },
    'failed',
  ],
  [
    'our secret is not accepted, with status 200',
    { instead: { token: json({ error: 'incorrect_client_credentials' }) } },
    'failed',
  ],
  ['the access token is a number', { tokenBody: (body) => ({ ...body, access_token: 7 }) }, 'failed'],
  ['the access token is not good for anything', { tokenBody: (body) => ({ ...body, access_token: 'x' }) }, 'failed'],
]

const userModes: Mode<GitHubBehaviour>[] = [
  ['the user answers 500', { instead: { user: replies.serverError } }, 'failed'],
  ['the user answers 403', { instead: { user: json({ message: 'rate limit' }, 403) } }, 'failed'],
  ['the user is a page', { instead: { user: replies.html } }, 'failed'],
  ['the user is a page that is called JSON', { instead: { user: replies.htmlNamedJson } }, 'failed'],
  ['the user redirects', { instead: { user: replies.redirect } }, 'failed'],
  ['the user is null', { instead: { user: replies.nullBody } }, 'failed'],
  ['the user is empty', { instead: { user: replies.empty } }, 'failed'],
  ['the user is cut short', { instead: { user: replies.cutShort } }, 'failed'],
  ['the user is endless', { instead: { user: replies.endless } }, 'failed'],
  ['the user has no id', { user: ({ id: _, ...user }) => user }, 'failed'],
  ['the id is text', { user: (user) => ({ ...user, id: '583231' }) }, 'failed'],
  ['the id is a fraction', { user: (user) => ({ ...user, id: 1.5 }) }, 'failed'],
  ['the id is zero', { user: (user) => ({ ...user, id: 0 }) }, 'failed'],
  ['the id is beyond exact numbers', { user: (user) => ({ ...user, id: 2 ** 60 }) }, 'failed'],
  ['the user has no login', { user: ({ login: _, ...user }) => user }, 'failed'],
]

const emailModes: Mode<GitHubBehaviour>[] = [
  ['there are no addresses', { pages: [[]] }, 'no_email'],
  ['the primary address is not verified', { pages: [[{ ...primary, verified: false }, secondary(1)]] }, 'no_email'],
  ['the primary address is verified in words', { pages: [[{ ...primary, verified: 'true' }]] }, 'no_email'],
  ['no address is primary', { pages: [[secondary(1), secondary(2)]] }, 'no_email'],
  ['the primary address is null', { pages: [[{ ...primary, email: null }]] }, 'no_email'],
  [
    'the public address of the profile is not in the list',
    { user: (user) => ({ ...user, email: 'victim@example.com' }), pages: [[]] },
    'no_email',
  ],
  ['the addresses answer 500', { instead: { emails: replies.serverError } }, 'failed'],
  [
    'the addresses answer 404, as without the scope',
    { instead: { emails: json({ message: 'Not Found' }, 404) } },
    'failed',
  ],
  ['the addresses are a page', { instead: { emails: replies.html } }, 'failed'],
  ['the addresses are no list', { instead: { emails: json({ message: 'Hello' }) } }, 'failed'],
  ['the addresses redirect', { instead: { emails: replies.redirect } }, 'failed'],
  ['the addresses are nothing', { instead: { emails: replies.noContent } }, 'failed'],
  ['the addresses are endless', { instead: { emails: replies.endless } }, 'failed'],
  [
    'the next page is on another host',
    { pages: [fullPage, [primary]], link: () => '<https://evil.example/?page=2>; rel="next"' },
    'failed',
  ],
  [
    'the pages go round in a circle',
    { pages: [fullPage], link: (_, api) => `<${api}/user/emails?page=1>; rel="next"` },
    'failed',
  ],
  ['the next page is no address', { pages: [fullPage], link: () => '<http://[>; rel="next"' }, 'failed'],
]

const callbackModes: Mode<GitHubBehaviour>[] = [
  ['the person declines', { callback: (p) => [p.delete('code'), p.set('error', 'access_denied')] }, 'cancelled'],
  [
    'the application is suspended',
    { callback: (p) => [p.delete('code'), p.set('error', 'application_suspended')] },
    'failed',
  ],
  ['there is neither code nor error', { callback: (p) => p.delete('code') }, 'failed'],
  ['the code is made up', { callback: (p) => p.set('code', 'made-up') }, 'failed'],
  ['there are two codes', { callback: (p) => p.append('code', 'second') }, 'failed'],
]

const honestModes: Mode<GitHubBehaviour>[] = [
  ['the primary address is on the second page', { pages: [fullPage, [primary]] }, 'signed_in'],
  [
    'the primary address is on the tenth page',
    { pages: [...Array.from({ length: 9 }, () => fullPage), [primary]] },
    'signed_in',
  ],
  ['the person gave no name', { user: (user) => ({ ...user, name: null }) }, 'signed_in'],
  ['odd entries stand among the addresses', { pages: [[{ email: 7 }, primary]] }, 'signed_in'],
]

export const githubModes: Mode<GitHubBehaviour>[] = [
  ...tokenModes,
  ...userModes,
  ...emailModes,
  ...callbackModes,
  ...honestModes,
]
