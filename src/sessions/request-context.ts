import type { Client } from '../http/request-origin.js'

/** The session of a signed-in caller, and the generation of the token that was used. */
export type SessionCaller = { sessionId: string; userId: string; generation: number }

/** Where a request comes from: the client, and the session if the user is signed in. */
export type RequestContext = { client: Client; caller?: SessionCaller | undefined }

/** The context of a request that needs a session. */
export type CallerContext = RequestContext & { caller: SessionCaller }
