// A command-line program that signs its user in with a code (device flow), and calls an API with the token it got.
import { readFile, rm, writeFile } from 'node:fs/promises'
import * as openid from 'openid-client'

const { ISSUER = '', CLIENT_ID = '', API_URL = '', TOKEN_FILE = '.cli-token' } = process.env
const options = ISSUER.startsWith('http:') ? { execute: [openid.allowInsecureRequests] } : {}
const latchkey = await openid.discovery(new URL(ISSUER), CLIENT_ID, undefined, openid.None(), options)

/** A refresh token is used once: the new one takes its place. Only the owner may read the file. */
const keep = async (/** @type {openid.TokenEndpointResponse} */ tokens) => {
  await writeFile(TOKEN_FILE, tokens.refresh_token ?? '', { mode: 0o600 })
  return tokens.access_token
}

const signIn = async () => {
  const started = await openid.initiateDeviceAuthorization(latchkey, { scope: 'openid profile' })
  console.log(`Open ${started.verification_uri} and enter ${started.user_code}`)
  return keep(await openid.pollDeviceAuthorizationGrant(latchkey, started))
}

const storedToken = () => readFile(TOKEN_FILE, 'utf8').catch(() => '')

/** Renews the access token, or signs in again if the user has ended the session of this device. */
const accessToken = async () => {
  const stored = await storedToken()
  if (stored === '') return signIn()
  return openid.refreshTokenGrant(latchkey, stored).then(keep, signIn)
}

if (process.argv[2] === 'sign-out') {
  await openid.tokenRevocation(latchkey, await storedToken())
  await rm(TOKEN_FILE, { force: true })
  console.log('Signed out')
} else {
  const answer = await fetch(API_URL, { headers: { authorization: `Bearer ${await accessToken()}` } })
  console.log(answer.status, await answer.text())
}
