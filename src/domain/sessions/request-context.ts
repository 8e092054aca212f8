import type { Client } from './client.js'

/** The caller, and which of the session's tokens it used. */
export type SessionCaller = { sessionId: string; userId: string; generation: number }

/** The one who asks: the client, with the language of the browser, and the session of a signed-in user. */
export type RequestContext = { client: Client; caller?: SessionCaller | undefined }

/** The same for a request that needs a session. */
export type CallerContext = RequestContext & { caller: SessionCaller }
