import { createClient } from '../packages/client/src/client.js'

/** The service, for every page. */
export const client = createClient()
