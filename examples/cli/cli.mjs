// A command-line program that signs its user in with a code (device flow), and calls an API with the token it got.
import { readFile, rm, writeFile } from 'node:fs/promises'
import * as openid from 'openid-client'

const { ISSUER = '', CLIENT_ID = '', API_URL = '', TOKEN_FILE = '.cli-token' } = process.env

const discover = () => {
  const options = ISSUER.startsWith('http:') ? { execute: [openid.allowInsecureRequests] } : {}
  return openid.discovery(new URL(ISSUER), CLIENT_ID, undefined, openid.None(), options)
}

/** A refresh token is used once: the new one takes its place. Only the owner may read the file. */
const keep = async (/** @type {openid.TokenEndpointResponse} */ tokens) => {
  await writeFile(TOKEN_FILE, tokens.refresh_token ?? '', { mode: 0o600 })
  return tokens.access_token
}

const signIn = async (/** @type {openid.Configuration} */ latchkey) => {
  const started = await openid.initiateDeviceAuthorization(latchkey, { scope: 'openid profile email' })
  console.log(`Open ${started.verification_uri} and enter ${started.user_code}`)
  return keep(await openid.pollDeviceAuthorizationGrant(latchkey, started))
}

const storedToken = () => readFile(TOKEN_FILE, 'utf8').catch(() => '')

/** The user has ended the session of this device. Every other answer is about this moment, and the token stays good. */
const isOver = (/** @type {unknown} */ error) =>
  error instanceof openid.ResponseBodyError && error.error === 'invalid_grant'

const accessToken = async () => {
  const latchkey = await discover()
  const stored = await storedToken()
  if (stored === '') return signIn(latchkey)
  return openid.refreshTokenGrant(latchkey, stored).then(keep, (error) => {
    if (isOver(error)) return signIn(latchkey)
    throw error
  })
}

const callApi = async () => {
  const answer = await fetch(API_URL, { headers: { authorization: `Bearer ${await accessToken()}` } })
  return `${answer.status} ${await answer.text()}`
}

const signOut = async () => {
  const stored = await storedToken()
  if (stored === '') throw new Error('You are not signed in')
  await openid.tokenRevocation(await discover(), stored)
  await rm(TOKEN_FILE, { force: true })
  return 'Signed out'
}

try {
  console.log(await (process.argv[2] === 'sign-out' ? signOut() : callApi()))
} catch (error) {
  // One sentence, in the words of the service if it has answered.
  const { error_description: description, message } = /** @type {openid.ResponseBodyError} */ (error)
  const reason = message === 'fetch failed' ? 'Latchkey or the API cannot be reached. Try again later.' : message
  console.error(`This did not work: ${description ?? reason}`)
  process.exitCode = 1
}
