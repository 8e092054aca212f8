// An API for the command-line program beside it, and for browsers that are signed in.
import { createServer } from 'node:http'
import { createVerifier } from '@latchkey/verify'
import { applicationTokens } from '@latchkey/verify/bearer'
import { nodeGuard } from '@latchkey/verify/node'

// The service key needs the scopes revocations:read and tokens:read.
const { PORT = '4000', LATCHKEY_URL = '', JWT_SECRET = '', SERVICE_KEY = '', CLIENT_ID = '' } = process.env

const verifier = createVerifier({
  publicUrl: LATCHKEY_URL,
  secret: JWT_SECRET,
  revocations: { serviceKey: SERVICE_KEY },
})
const bearer = applicationTokens({ serviceKey: SERVICE_KEY, applications: [CLIENT_ID] })
const guard = nodeGuard(verifier, { bearer })

/** @type {(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => Promise<void>} */
const answer = async (request, response) => {
  const decision = await guard(request, response)
  if (decision.goOn) response.end(`Hello ${decision.auth?.user.username}\n`)
}

const server = createServer((request, response) => void answer(request, response))
server.listen(Number(PORT), '127.0.0.1', () => console.log(`The API listens on port ${PORT}`))
