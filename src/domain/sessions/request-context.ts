import type { Client } from './client.js'
import type { SessionCaller } from './sessions.js'

/** Who asks: what is known of the client, which has the language of the browser, and the session of a signed-in user. */
export type RequestContext = { client: Client; caller?: SessionCaller | undefined }

/** The same for a request that needs a session. */
export type CallerContext = RequestContext & { caller: SessionCaller }
