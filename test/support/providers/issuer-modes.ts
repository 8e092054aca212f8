import type { IssuerBehaviour } from './issuer.js'
import { json, replies } from './replies.js'
import {
  type Claims,
  signHs256,
  signRs256,
  unsigned,
  withAlteredClaims,
  withAlteredSignature,
} from './signed-tokens.js'

export type Outcome = 'failed' | 'cancelled' | 'no_email' | 'signed_in'
export type Mode<Behaviour> = [sentence: string, behaviour: Behaviour, outcome: Outcome]

const without =
  (...names: string[]) =>
  (claims: Claims): Claims =>
    Object.fromEntries(Object.entries(claims).filter(([name]) => !names.includes(name)))

const having =
  (change: Claims) =>
  (claims: Claims): Claims => ({ ...claims, ...change })

const claims = (idToken: IssuerBehaviour['idToken']): IssuerBehaviour => ({ idToken })
const signed = (sign: IssuerBehaviour['sign']): IssuerBehaviour => ({ sign })
const now = () => Math.floor(Date.now() / 1000)

/** Discovery is the first thing that can go wrong: the browser is never sent to such a provider. */
export const discoveryModes: Mode<IssuerBehaviour>[] = [
  ['discovery answers 500', { instead: { discovery: replies.serverError } }, 'failed'],
  ['discovery answers 503', { instead: { discovery: replies.unavailable } }, 'failed'],
  ['discovery answers with a page', { instead: { discovery: replies.html } }, 'failed'],
  ['discovery answers with a page that is called JSON', { instead: { discovery: replies.htmlNamedJson } }, 'failed'],
  ['discovery redirects', { instead: { discovery: replies.redirect } }, 'failed'],
  ['discovery is empty', { instead: { discovery: replies.empty } }, 'failed'],
  ['discovery is null', { instead: { discovery: replies.nullBody } }, 'failed'],
  ['discovery is cut short', { instead: { discovery: replies.cutShort } }, 'failed'],
  ['discovery hangs up', { instead: { discovery: replies.hangUp } }, 'failed'],
  ['discovery is huge', { instead: { discovery: replies.huge } }, 'failed'],
  ['discovery is endless', { instead: { discovery: replies.endless } }, 'failed'],
  ['discovery is compressed', { instead: { discovery: replies.compressed } }, 'failed'],
  ['discovery names another issuer', { document: having({ issuer: 'https://evil.example' }) }, 'failed'],
  ['discovery names no issuer', { document: without('issuer') }, 'failed'],
  ['discovery names no authorization endpoint', { document: without('authorization_endpoint') }, 'failed'],
  ['discovery names no token endpoint', { document: without('token_endpoint') }, 'failed'],
  ['discovery names no key set', { document: without('jwks_uri') }, 'failed'],
  ['discovery sends our secret to a file', { document: having({ token_endpoint: 'file:///etc/hostname' }) }, 'failed'],
  [
    'discovery sends people to an address that is no web page',
    { document: having({ authorization_endpoint: 'javascript:alert(1)' }) },
    'failed',
  ],
]

const tokenModes: Mode<IssuerBehaviour>[] = [
  ['the token endpoint answers 500', { instead: { token: replies.serverError } }, 'failed'],
  ['the token endpoint answers with a page', { instead: { token: replies.html } }, 'failed'],
  ['the token endpoint redirects', { instead: { token: replies.redirect } }, 'failed'],
  ['the token endpoint is cut short', { instead: { token: replies.cutShort } }, 'failed'],
  ['the token endpoint hangs up', { instead: { token: replies.hangUp } }, 'failed'],
  ['the token endpoint is huge', { instead: { token: replies.huge } }, 'failed'],
  ['the token endpoint is endless', { instead: { token: replies.endless } }, 'failed'],
  ['the token endpoint answers with a list', { instead: { token: replies.list } }, 'failed'],
  ['the code is not accepted', { instead: { token: json({ error: 'invalid_grant' }, 400) } }, 'failed'],
  ['the client is not accepted', { instead: { token: json({ error: 'invalid_client' }, 401) } }, 'failed'],
  ['an error comes with status 200', { instead: { token: json({ error: 'invalid_grant' }) } }, 'failed'],
  ['there is no ID token', { tokenBody: without('id_token') }, 'failed'],
  ['there is no access token', { tokenBody: without('access_token') }, 'failed'],
  ['the token type is unknown', { tokenBody: having({ token_type: 'mac' }) }, 'failed'],
  [
    'discovery sends our secret over plain http to elsewhere',
    { document: having({ token_endpoint: 'http://192.0.2.1/' }) },
    'failed',
  ],
]

const signatureModes: Mode<IssuerBehaviour>[] = [
  [
    'the signature is wrong',
    signed((c, { key }) => withAlteredSignature(signRs256(c, key, { kid: key.kid }))),
    'failed',
  ],
  [
    'the claims were changed under a good signature',
    signed((c, { key }) => withAlteredClaims(signRs256(c, key, { kid: key.kid }), { email: 'victim@example.com' })),
    'failed',
  ],
  ['the token is not signed', signed((c) => unsigned(c)), 'failed'],
  ['the token is not signed, spelt otherwise', signed((c) => unsigned(c, 'NONE')), 'failed'],
  ['the token is signed with our own secret', signed((c, { clientSecret }) => signHs256(c, clientSecret)), 'failed'],
  [
    'the token is signed with the public key as a secret',
    signed((c, { key }) => signHs256(c, JSON.stringify(key.jwk))),
    'failed',
  ],
  [
    'another key signs under the name of the right one',
    signed((c, { key, strangerKey }) => signRs256(c, strangerKey, { kid: key.kid })),
    'failed',
  ],
  [
    'another key signs under its own name',
    signed((c, { strangerKey }) => signRs256(c, strangerKey, { kid: strangerKey.kid })),
    'failed',
  ],
  ['another key signs without a name', signed((c, { strangerKey }) => signRs256(c, strangerKey, {})), 'failed'],
  [
    'the token brings its own key',
    signed((c, { strangerKey }) => signRs256(c, strangerKey, { jwk: strangerKey.jwk })),
    'failed',
  ],
  [
    'the token names a place for its own keys',
    signed((c, { strangerKey }) =>
      signRs256(c, strangerKey, { kid: strangerKey.kid, jku: 'https://evil.example/keys' }),
    ),
    'failed',
  ],
  [
    'the token demands an extension we do not know',
    signed((c, { key }) => signRs256(c, key, { kid: key.kid, crit: ['x'], x: 1 })),
    'failed',
  ],
  ['the token is garbage', signed(() => 'not.a.token'), 'failed'],
  ['the key set answers 500', { instead: { keys: replies.serverError } }, 'failed'],
  ['the key set is a page', { instead: { keys: replies.html } }, 'failed'],
  ['the key set is huge', { instead: { keys: replies.huge } }, 'failed'],
  ['the key set is empty', { keySet: () => [] }, 'failed'],
  ['the key set holds nonsense', { keySet: () => [1, null, 'key'] }, 'failed'],
]

const claimModes: Mode<IssuerBehaviour>[] = [
  ['the token is by another issuer', claims(having({ iss: 'https://evil.example' })), 'failed'],
  ['the token is for another client', claims(having({ aud: 'somebody-else' })), 'failed'],
  [
    'the token is for two clients and names the other',
    claims((c) => ({ ...c, aud: [c.aud, 'other'], azp: 'other' })),
    'failed',
  ],
  ['the token answers another attempt', claims(having({ nonce: 'another' })), 'failed'],
  ['the token answers no attempt', claims(without('nonce')), 'failed'],
  ['the token has expired', claims((c) => ({ ...c, exp: now() - 3600, iat: now() - 7200 })), 'failed'],
  ['the token never expires', claims(without('exp')), 'failed'],
  ['the token does not say when it was issued', claims(without('iat')), 'failed'],
  ['the token is for later', claims((c) => ({ ...c, nbf: now() + 3600 })), 'failed'],
  ['the token names no subject', claims(without('sub')), 'failed'],
  ['the token is about an empty name', claims(having({ sub: '' })), 'failed'],
  ['the token is about a number', claims(having({ sub: 7 })), 'failed'],
  ['the token is about a name without end', claims(having({ sub: 's'.repeat(2000) })), 'failed'],
]

const emailModes: Mode<IssuerBehaviour>[] = [
  ['there is no email anywhere', { idToken: without('email'), userinfo: without('email') }, 'no_email'],
  ['the email is not verified', claims(having({ email_verified: false })), 'no_email'],
  ['the email is not verified, in words', claims(having({ email_verified: 'false' })), 'no_email'],
  ['the email is verified by the number one', claims(having({ email_verified: 1 })), 'no_email'],
  [
    'nothing says that the email is verified',
    { idToken: without('email_verified'), userinfo: without('email_verified') },
    'no_email',
  ],
  ['the email is null', claims(having({ email: null })), 'no_email'],
  ['the email is a list', claims(having({ email: ['ada@example.com'] })), 'no_email'],
  ['the email is no address', claims(having({ email: 'ada' })), 'no_email'],
  ['the email has a look-alike letter', claims(having({ email: 'mi\u212ae@example.com' })), 'no_email'],
  [
    'the verified address of userinfo is not that of the token',
    {
      idToken: (c) => ({ ...without('email_verified')(c), email: 'victim@example.com' }),
      userinfo: without('email'),
    },
    'no_email',
  ],
]

const userinfoModes: Mode<IssuerBehaviour>[] = [
  ['userinfo is about another person', { idToken: without('email'), userinfo: having({ sub: 'subject-2' }) }, 'failed'],
  ['userinfo names no subject', { idToken: without('email'), userinfo: without('sub') }, 'failed'],
  ['userinfo answers 500', { idToken: without('email'), instead: { userinfo: replies.serverError } }, 'failed'],
  ['userinfo is a page', { idToken: without('email'), instead: { userinfo: replies.html } }, 'failed'],
  ['userinfo redirects', { idToken: without('email'), instead: { userinfo: replies.redirect } }, 'failed'],
  ['userinfo is endless', { idToken: without('email'), instead: { userinfo: replies.endless } }, 'failed'],
]

const callbackModes: Mode<IssuerBehaviour>[] = [
  ['the person declines', { callback: (p) => [p.delete('code'), p.set('error', 'access_denied')] }, 'cancelled'],
  ['the provider reports an error', { callback: (p) => [p.delete('code'), p.set('error', 'server_error')] }, 'failed'],
  ['there is neither code nor error', { callback: (p) => p.delete('code') }, 'failed'],
  ['there are two codes', { callback: (p) => p.append('code', 'second') }, 'failed'],
  ['the code is made up', { callback: (p) => p.set('code', 'made-up') }, 'failed'],
  [
    'the answer claims to come from another issuer',
    { callback: (p) => p.set('iss', 'https://evil.example') },
    'failed',
  ],
  [
    'the provider promised to name itself and does not',
    { document: having({ authorization_response_iss_parameter_supported: true }) },
    'failed',
  ],
]

/** Things a provider may do that look odd and are in order. */
const honestModes: Mode<IssuerBehaviour>[] = [
  ['the email is verified in words', claims(having({ email_verified: 'true' })), 'signed_in'],
  ['all claims are in userinfo', claims(without('email', 'email_verified', 'name')), 'signed_in'],
  ['only the name is in userinfo', claims(without('name')), 'signed_in'],
  [
    'the token is for two clients and names us',
    claims((c) => ({ ...c, aud: [c.aud, 'other'], azp: c.aud })),
    'signed_in',
  ],
  ['its clock is some seconds off', claims((c) => ({ ...c, iat: now() + 10, exp: now() + 300 })), 'signed_in'],
  [
    'it takes client secrets in the header only',
    { document: having({ token_endpoint_auth_methods_supported: ['client_secret_basic'] }) },
    'signed_in',
  ],
  [
    'it does not say how it takes client secrets',
    { document: without('token_endpoint_auth_methods_supported') },
    'signed_in',
  ],
]

export const issuerModes: Mode<IssuerBehaviour>[] = [
  ...tokenModes,
  ...signatureModes,
  ...claimModes,
  ...emailModes,
  ...userinfoModes,
  ...callbackModes,
  ...honestModes,
]
