import { createClient } from '#client/client.js'

/** The service, for every page. */
export const client = createClient()
