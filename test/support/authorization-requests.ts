import { createHash } from 'node:crypto'

export const redirectAddress = 'https://notes.example.com/callback'
const verifier = 'a-verifier-of-an-application-with-43-letters'
const challenge = createHash('sha256').update(verifier).digest('base64url')

/** The parameters of a request that is right. Null leaves one out. */
export const parametersFor = (clientId: string, changed: Record<string, string | null> = {}) => {
  const all = {
    client_id: clientId,
    redirect_uri: redirectAddress,
    response_type: 'code',
    scope: 'openid profile',
    state: 'the state',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...changed,
  }
  const sent = Object.entries(all).filter((each): each is [string, string] => each[1] !== null)
  return new URLSearchParams(sent).toString()
}
