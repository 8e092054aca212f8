import type { Client } from '../../http/request-origin.js'
import type { TokenHolder } from '../../sessions/sessions.js'

/** The browser that brings the request of an application, and the session in it. */
export type Visitor = {
  /** The value of the cookie that ties requests to their browser. */
  browser: string
  caller: TokenHolder | undefined
  /** There is a session, but its tokens have expired and could not be renewed. */
  couldNotRenew: boolean
  client: Client
}
